"""Results: a learning curve, the curves of several estimators side by side, and labelling advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._methods.learning_curve.extrapolation import Extrapolation, RowsNeeded
from truefit._methods.learning_curve.forecast import Forecast, MeasuredCurve
from truefit._methods.result import Result, frame, plot_method
from truefit._methods.text import MetricText, counted, new_rows
from truefit._metrics.row_loss import is_share
from truefit._plots.curve import bands

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.learning_curve.plan import CurveRun, StopDecision


class LearningCurve(Extrapolation):
    """Cross-validated errors in growing samples, a forecast for more rows, and why the curve stopped.

    Attributes
    ----------
    name : str
        Name of the estimator.
    sizes : array of shape (points,)
        Rows of each sample, test folds included.
    errors : array of shape (points,)
        The cross-validated error in each sample.
    stderr : array of shape (points,)
        The standard error of each error over samples of the rows.
    train : array of shape (points,) or None
        Mean error on the training rows of the folds, with ``train=True``.
    train_sd : array of shape (points,) or None
        Standard deviation of the training errors of the folds.
    stopped : bool
        False only where more rows have to be read before the curve can continue.
    reason : str
        Why the curve stopped, or what comes next.
    rule : str or None
        Why the curve stopped, in a word: "gain" (more rows gain less than the tolerance), "width" (the gain is known to
        within the tolerance), "target reached", "target out of reach", "paper" (Eq. 40), or rows, budget, sizes or time
        are exhausted: "rows", "budget", "sizes", "time".
    estimand : str
        What the errors are estimates of.
    next_size : int or None
        The size to continue with; None where more rows are not worth it, or the horizon or the budget allows no more.
    price_per_row : float or None
        The price of a row, where the budget has one.
    most_rows : float
        The rows that the budget allows; infinite without a limit.
    fits : int
        Number of fits.
    seconds : float
        Time spent in the fits, restored ones included.
    """

    title = "Learning curve"

    def __init__(
        self, curve_run: CurveRun, measured: MeasuredCurve, forecast: Forecast, horizon: float, decision: StopDecision
    ) -> None:
        config, points = curve_run.config, curve_run.points
        super().__init__(measured, forecast, mode=config.mode, horizon=horizon, metric=config.metric.name)
        self.name = curve_run.name
        rows = new_rows(curve_run.sampled.data)
        learner = f"the learner trained on {1 - 1 / config.k:.0%} of each sample"
        self.estimand = f"{self._metric_name} on {rows} of {learner}"
        self.k = config.k
        self.target = config.target
        self.rule = decision.rule
        self.next_size = decision.next_size
        self.fits = curve_run.fits
        self.seconds = curve_run.seconds
        train = [point.train for point in points if point.train is not None]
        self.train = np.array([each.mean() for each in train]) if config.train else None
        self.train_sd = np.array([each.std(ddof=1) for each in train]) if config.train else None
        self.price_per_row, self.most_rows = config.budget.price_per_row, config.budget.most_rows
        self.stopped, self.reason = decision.rule is not None, decision.reason
        self._seconds = [point.seconds for point in points]

    @property
    def enough(self) -> bool:
        """Whether more rows are not worth it, or not needed."""
        return self.rule in ("gain", "width", "paper", "target reached", "target out of reach")

    @property
    def outlook(self) -> pd.DataFrame:
        """The forecast at 1, 2, 5 and 10 times the rows and at the horizon."""
        return self._forecast.table

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per size; in paper mode with the columns of the paper's Table 1."""
        import pandas as pd

        index = pd.Index(self.sizes.astype(np.int64), name="rows")
        if self.mode == "paper":
            return self._forecast.table.set_index(index)
        columns: dict[str, Any] = {"error": self.errors, "stderr": self.stderr}
        if self.train is not None:
            columns |= {"train": self.train, "train_sd": self.train_sd}
        return pd.DataFrame(columns | {"seconds": self._seconds}, index=index)

    def summary(self) -> str:
        """Return the last error, the forecast at several sizes, and why the curve stopped."""
        lines = [
            f"{self._metric_name} of {self.name} with {self._measured.last:,.0f} rows: {self.errors[-1]:.4g}"
            f" ({self.k}-fold; {counted(len(self.sizes), 'size')} from {self.sizes[0]:,.0f}, "
            f"{counted(self.fits, 'fit')})",
            f"Estimated: {self.estimand}.",
            *self._outlook_lines(),
        ]
        reason = self.reason.removesuffix(self.refused or "").strip()
        if reason:
            lines.append(f"{'Stopped' if self.stopped else 'Not finished'}: {reason}")
        # Where the advice is to stop, the size is only where the curve could be continued.
        if self.next_size is not None and self.rule not in ("budget", "time"):
            lines.append(f"Next: {self.next_size:,} rows.")
        if self.target is not None and self.refused is None:
            lines.append(str(self.rows_for(self.target)))
        return "\n".join(lines + [f"Note: {warning}" for warning in self.warnings])

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        own = ("name", "estimand", "k", "rule", "next_size", "target", "fits", "seconds", "train", "train_sd")
        return super().to_dict() | {"kind": "learning_curve", **self._values(*own)}


class LearningCurves(Result):
    """Learning curves by name.

    Attributes
    ----------
    curves : dict of str to LearningCurve
        The curve of each estimator.
    names : list of str
        Names of the estimators.
    sizes, errors, well_behaved, stopped, rule, reason, refused, next_size : dict
        The attribute of this name of each curve, by name of the estimator: see :class:`LearningCurve`.
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
        """The forecasts of the families of curves, by name."""
        return self._each("families")

    def predict(self, n: Any) -> dict[str, Any]:
        """Return the error of each that is expected with n rows, and the ends of its interval.

        Parameters
        ----------
        n : int or array of int
            Number of rows, as in ``sizes``.
        """
        return {name: curve.predict(n) for name, curve in self.curves.items()}

    def rows_for(self, error: float) -> dict[str, RowsNeeded]:
        """Return how many rows each takes to reach an error.

        Parameters
        ----------
        error : float
            The target error.
        """
        return {name: curve.rows_for(error) for name, curve in self.curves.items()}

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator: the error at its last size, and the forecast at the horizon."""
        rows = []
        for name, curve in self.curves.items():
            value, low, high = curve.predict(curve.horizon)
            row = {"estimator": name, "rows": int(curve.sizes[-1]), "error": curve.errors[-1], "horizon": curve.horizon}
            row |= {"estimate": value, "low": low, "high": high, "rule": curve.rule, "next_size": curve.next_size}
            rows.append(row)
        return frame(rows, "estimator")

    def summary(self) -> str:
        """Return the summaries of all curves."""
        return "\n\n".join(curve.summary() for curve in self.curves.values())

    @plot_method()
    def plot(self, *, ax: Axes | None = None) -> Axes:
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
        label = f"{MetricText.from_name(metric).name} (± 2 standard errors)"
        percent = is_share(metric)
        return bands(sizes.tolist(), series, xlabel="rows", ylabel=label, log_x=True, percent=percent, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        curves = {name: curve.to_dict() for name, curve in self.curves.items()}
        return {"kind": "learning_curves", "version": 1, "curves": curves}


def _between(sizes: Any, column: Any) -> Any:
    """Interpolate at sizes of other curves, so that lines are not broken there."""
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
        The advice as a sentence.
    """

    rows: int
    reading: str

    def __str__(self) -> str:
        return self.reading

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def labelling(curve: LearningCurve, labelled: int, *, unlabelled: int | None = None) -> Labelling:
    """Return whether to label more rows after a curve, and how many of the ``unlabelled`` before the next one."""
    if curve.enough:
        return Labelling(0, f"Stop labelling. {curve.reason}")
    if curve.rule in ("budget", "time"):
        return Labelling(0, f"Stop here. {curve.reason}")
    if curve.next_size is None or curve.next_size <= labelled:
        return Labelling(0, f"No more labels are needed now. {curve.reason}")
    if unlabelled == 0:
        return Labelling(0, "Stop labelling: all rows are labelled.")
    more = curve.next_size - labelled
    remaining = unlabelled is not None and unlabelled <= more
    rows = min(more, unlabelled or more)
    what = f"{rows:,}{'' if remaining else ' more'} {'row' if rows == 1 else 'rows'}"
    advice = f"Label {'the remaining ' if remaining else ''}{what}{_cost(curve, labelled, rows)}, then rerun."
    if curve.beats_baseline is False:  # on few rows that is no reason to stop
        return Labelling(
            rows,
            "The error is not clearly below that of the baseline yet. Check the features and try other models first. "
            f"If you go on: {advice[0].lower()}{advice[1:]}",
        )
    return Labelling(rows, f"{_expected(curve)}{advice}")


def _cost(curve: LearningCurve, labelled: int, rows: int) -> str:
    """Return what rows cost and what is left of the budget, in brackets; nothing without a price."""
    price = curve.price_per_row
    if price is None:
        return ""
    left = "" if np.isinf(curve.most_rows) else f", {(curve.most_rows - labelled - rows) * price:,.6g} left"
    return f" (cost {rows * price:,.6g}{left})"


def _expected(curve: LearningCurve) -> str:
    """Say what is expected of the target before the advice, so that the two agree; nothing without a target."""
    if curve.target is None or curve.refused is not None:
        return ""
    needed = curve.rows_for(curve.target)
    if needed.rows is None:
        return f"The target {curve.target:.4g} is not expected to be reached, but it is not excluded either. "
    price = "" if curve.price_per_row is None else f", {needed.rows * curve.price_per_row:,.6g} in all"
    return f"About {needed.rows:,} rows are expected to reach the target {curve.target:.4g}{price}. "
