"""Learning curve: would more data help? Errors in samples that grew until enough was known."""

from __future__ import annotations

from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit.methods.curves.course import Course, Verdict
from truefit.methods.curves.extrapolate import Extrapolation
from truefit.methods.curves.forecast import MULTIPLES, Forecast
from truefit.methods.curves.measured import Measured
from truefit.plots.learning_curve import learning_curve

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


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
        self, course: Course, measured: Measured, forecast: Forecast, horizon: float, verdict: Verdict
    ) -> None:
        terms, points = course.terms, course.points
        super().__init__(measured, forecast, mode=terms.mode, horizon=horizon, metric=terms.metric.name)
        self.name = course.name
        self.k = terms.k
        self.target = terms.target
        self.rule = verdict.rule
        self.next_size = verdict.next_size
        self.fits = course.fits
        self.seconds = course.seconds
        self.train = (
            np.array([point.train.mean() for point in points if point.train is not None]) if terms.train else None
        )
        self.train_sd = (
            np.array([point.train.std(ddof=1) for point in points if point.train is not None]) if terms.train else None
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
