"""Learning curves of several estimators, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit.methods.curves.learning_curve import LearningCurve
from truefit.methods.curves.rows_needed import RowsNeeded
from truefit.methods.result import Result
from truefit.plots.curve import bands

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class LearningCurves(Result):
    """Learning curves by name; each property is a dict of theirs.

    Attributes
    ----------
    curves : dict of str to LearningCurve
    """

    title = "Learning curves"

    def __init__(self, curves: Mapping[str, LearningCurve]) -> None:
        self.curves = dict(curves)

    def __getitem__(self, name: str) -> LearningCurve:
        return self.curves[name]

    def _each(self, attribute: str) -> dict[str, Any]:
        return {name: getattr(curve, attribute) for name, curve in self.curves.items()}

    @property
    def names(self) -> list[str]:
        """Names in the order given."""
        return list(self.curves)

    @property
    def sizes(self) -> dict[str, Any]:
        """Sizes at which each was measured."""
        return self._each("sizes")

    @property
    def errors(self) -> dict[str, Any]:
        """Errors of each."""
        return self._each("errors")

    @property
    def well_behaved(self) -> dict[str, bool]:
        """Whether the last three points of each fall, ever more slowly."""
        return self._each("well_behaved")

    @property
    def stopped(self) -> dict[str, bool]:
        """Whether each came to its end."""
        return self._each("stopped")

    @property
    def rule(self) -> dict[str, str | None]:
        """Why each was not measured further, in a word."""
        return self._each("rule")

    @property
    def reason(self) -> dict[str, str]:
        """Why each was not measured further."""
        return self._each("reason")

    @property
    def refused(self) -> dict[str, str | None]:
        """Why there is no extrapolation of each; None where there is one."""
        return self._each("refused")

    @property
    def next_size(self) -> dict[str, int | None]:
        """The size to go on with; None where more rows are not worth it."""
        return self._each("next_size")

    @property
    def families(self) -> dict[str, pd.DataFrame]:
        """What each family of curves expects."""
        return self._each("families")

    def predict(self, n: Any) -> dict[str, Any]:
        """Return the error of each that is expected with n rows, and the ends of its interval."""
        return {name: curve.predict(n) for name, curve in self.curves.items()}

    def rows_for(self, error: float) -> dict[str, RowsNeeded]:
        """Say how many rows each takes to reach an error."""
        return {name: curve.rows_for(error) for name, curve in self.curves.items()}

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator: the error at its last size, and what is expected at the horizon."""
        import pandas as pd

        rows = []
        for name, curve in self.curves.items():
            value, low, high = curve.predict(curve.horizon)
            row = {"estimator": name, "rows": int(curve.sizes[-1]), "error": curve.errors[-1], "horizon": curve.horizon}
            row |= {"estimate": value, "low": low, "high": high, "rule": curve.rule, "next_size": curve.next_size}
            rows.append(row)
        return pd.DataFrame(rows).set_index("estimator")

    def summary(self) -> str:
        """Return the summaries one below the other."""
        return "\n\n".join(curve.summary() for curve in self.curves.values())

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw all curves as they were measured, in bands of two standard errors."""
        sizes = np.unique(np.concatenate([curve.sizes for curve in self.curves.values()]))
        series = {}
        for name, curve in self.curves.items():
            columns = np.full((3, len(sizes)), np.nan)
            place = np.searchsorted(sizes, curve.sizes)
            reach = np.zeros_like(curve.errors) if curve.stderr is None else 2 * curve.stderr
            columns[:, place] = curve.errors, curve.errors - reach, curve.errors + reach
            series[name] = tuple(_between(sizes, column) for column in columns)
        metric = next(iter(self.curves.values())).metric
        label = f"{metric} (± 2 standard errors)"
        return bands(sizes.tolist(), series, xlabel="rows", ylabel=label, log_x=True, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        curves = {name: curve.to_dict() for name, curve in self.curves.items()}
        return {"kind": "learning_curves", "version": 1, "curves": curves}


def _between(sizes: Any, column: Any) -> Any:
    """Fill in sizes that other curves were measured at, so that lines are not broken there."""
    known = np.isfinite(column)
    filled = np.interp(np.log(sizes), np.log(sizes[known]), column[known])
    inside = (sizes >= sizes[known].min()) & (sizes <= sizes[known].max())
    return np.where(inside, filled, np.nan)
