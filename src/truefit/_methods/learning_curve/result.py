"""Results: a learning curve, the curves of several estimators side by side, and labelling advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._methods.learning_curve.extrapolation import Extrapolation, RowsNeeded
from truefit._methods.learning_curve.forecast import MULTIPLES, Forecast
from truefit._methods.learning_curve.samples import MeasuredCurve
from truefit._methods.result import Result
from truefit._plots.curve import bands
from truefit._plots.learning_curve import learning_curve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.learning_curve.plan import CurveRun, Verdict


class LearningCurve(Extrapolation):
    """Errors in samples that grow, what more rows would bring, and why it was not measured further.

    Attributes
    ----------
    name : str
        Of the estimator.
    sizes, errors, stderr : array of shape (points,)
        Rows of each sample, test folds included; the cross-validated error in it; and its standard error, from what
        drawing the rows anew would do.
    train, train_sd : array of shape (points,) or None
        Mean error on the training rows of the folds, and its standard deviation, where asked for.
    stopped : bool
        False only where more rows are to be read before the curve can go on.
    rule : str or None
        Why it was not measured further: "gain" (more rows bring less than matters), "width" (what they bring is known),
        "target reached", "target out of reach", "paper" (Eq. 40), "rows", "budget", "sizes" or "time" (spent).
    next_size : int or None
        The size to go on with; None where more rows are not worth it.
    fits : int
    seconds : float
        Spent in the fits, also in those that were found in a store.
    """

    title = "Learning curve"

    def __init__(
        self, curve_run: CurveRun, measured: MeasuredCurve, forecast: Forecast, horizon: float, verdict: Verdict
    ) -> None:
        config, points = curve_run.config, curve_run.points
        super().__init__(measured, forecast, mode=config.mode, horizon=horizon, metric=config.metric.name)
        self.name = curve_run.name
        self.k = config.k
        self.target = config.target
        self.rule = verdict.rule
        self.next_size = verdict.next_size
        self.fits = curve_run.fits
        self.seconds = curve_run.seconds
        self.train = (
            np.array([point.train.mean() for point in points if point.train is not None]) if config.train else None
        )
        self.train_sd = (
            np.array([point.train.std(ddof=1) for point in points if point.train is not None]) if config.train else None
        )
        self._reason = verdict.reason
        self._seconds = [point.seconds for point in points]

    @property
    def stopped(self) -> bool:
        """Whether the curve came to its end; ``reason`` says why."""
        return self.rule is not None

    @property
    def enough(self) -> bool:
        """Whether more rows are not worth it, or not needed."""
        return self.rule in ("gain", "width", "paper", "target reached", "target out of reach")

    @property
    def reason(self) -> str:
        """Why it was not measured further, or what is to come."""
        return self._reason

    @property
    def outlook(self) -> pd.DataFrame:
        """What once, twice, 5 and 10 times the rows bring, and those at the horizon."""
        return self._forecast.table

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per size; in paper mode with the columns of the paper's Table 1."""
        import pandas as pd

        if self.mode == "paper":
            found = self._forecast.table
            return found.set_index(pd.Index(self.sizes.astype(np.int64), name="rows"))
        columns: dict[str, Any] = {"error": self.errors, "stderr": self.stderr}
        if self.train is not None:
            columns |= {"train": self.train, "train_sd": self.train_sd}
        return pd.DataFrame(
            columns | {"seconds": self._seconds}, index=pd.Index(self.sizes.astype(np.int64), name="rows")
        )

    def summary(self) -> str:
        """Return what was measured, what more rows would bring, and why it ended."""
        lines = [
            f"{self.metric} of {self.name} with {self._measured.last:,.0f} rows: {self.errors[-1]:.4g}"
            f" ({self.k}-fold; {len(self.sizes)} sizes from {self.sizes[0]:,.0f}, {self.fits:,} fits)"
        ]
        if self.refused is not None:
            lines.append(f"No extrapolation: {self.refused}")
        else:
            ahead = [multiple * self._measured.last for multiple in MULTIPLES[1:]]
            for n in np.unique([*ahead, self.horizon]):
                value, low, high = self.predict(float(n))
                lines.append(f"  {n:>12,.0f} rows  {value:.4g}  ({self._percent} interval {low:.4g} to {high:.4g})")
        lines.append(f"{'Stopped' if self.stopped else 'Not at its end'}: {self.reason}")
        if self.next_size is not None:
            lines.append(f"Next: {self.next_size:,} rows.")
        if self.target is not None and self.refused is None:
            lines.append(str(self.rows_for(self.target)))
        return "\n".join(lines + [f"Note: {warning}" for warning in self.warnings])

    def plot(self, ax: Axes | None = None, *, target: float | None = None) -> Axes:
        """Draw the measured points, with training errors where there are any, and the curve in its band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        target : float, optional
            An error to be reached, drawn as a line; by default that of the curve.
        """
        return learning_curve(
            self.sizes,
            self.errors,
            self.stderr,
            curve=self._drawn(),
            train=None if self.train is None or self.train_sd is None else (self.train, self.train_sd),
            target=self.target if target is None else target,
            ylabel=f"{self.metric} ({self._percent} interval)" if self.refused is None else self.metric,
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return super().to_dict() | {
            "kind": "learning_curve",
            "name": self.name,
            "k": self.k,
            "rule": self.rule,
            "next_size": self.next_size,
            "target": self.target,
            "fits": self.fits,
            "seconds": self.seconds,
            "train": None if self.train is None else self.train.tolist(),
            "train_sd": None if self.train_sd is None else self.train_sd.tolist(),
        }


class LearningCurves(Result):
    """Learning curves by name.

    Attributes
    ----------
    curves : dict of str to LearningCurve
    names : list of str
    sizes, errors, well_behaved, stopped, rule, reason, refused, next_size : dict
        The attribute of that name of each curve.
    """

    title = "Learning curves"

    def __init__(self, curves: Mapping[str, LearningCurve]) -> None:
        self.curves = dict(curves)
        self.names = list(self.curves)
        self.sizes, self.errors = self._each("sizes"), self._each("errors")
        self.well_behaved, self.refused = self._each("well_behaved"), self._each("refused")
        self.stopped, self.rule = self._each("stopped"), self._each("rule")
        self.reason, self.next_size = self._each("reason"), self._each("next_size")

    def __getitem__(self, name: str) -> LearningCurve:
        return self.curves[name]

    def _each(self, attribute: str) -> dict[str, Any]:
        return {name: getattr(curve, attribute) for name, curve in self.curves.items()}

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


@dataclass(frozen=True)
class Labelling:
    """What to do next. ``print`` it, or read the parts.

    Attributes
    ----------
    rows : int
        How many more rows to label; 0 to stop.
    reading : str
        The advice in words.
    """

    rows: int
    reading: str

    def __str__(self) -> str:
        return self.reading

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {"rows": self.rows, "reading": self.reading}


def labelling(curve: LearningCurve, labelled: int, *, unlabelled: int | None = None) -> Labelling:
    """Say whether to label more rows after a curve, and how many before the next one.

    Parameters
    ----------
    curve : LearningCurve
    labelled : int
        Rows that have a label.
    unlabelled : int, optional
        Rows that could still be labelled, if that is known.
    """
    if curve.enough:
        return Labelling(0, f"Stop labelling. {curve.reason}")
    if curve.rule in ("budget", "time"):
        return Labelling(0, f"Stop here. {curve.reason}")
    if curve.next_size is None or curve.next_size <= labelled:
        return Labelling(0, f"No more labels are asked for. {curve.reason}")
    more = curve.next_size - labelled
    if unlabelled is None or unlabelled >= more:
        return Labelling(more, f"Label {more:,} more {_rows(more)}, then look again.")
    if unlabelled:
        return Labelling(unlabelled, f"Label what is left, {unlabelled:,} {_rows(unlabelled)}, then look again.")
    return Labelling(0, "Stop labelling: no rows are left to label.")


def _rows(count: int) -> str:
    return "row" if count == 1 else "rows"
