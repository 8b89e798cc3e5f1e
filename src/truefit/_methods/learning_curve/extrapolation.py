"""Extrapolation: the error at larger sizes from measured points, and the number of rows for a target error."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._methods.complexity import number
from truefit._methods.learning_curve.forecast import (
    MULTIPLES,
    CalibratedForecast,
    Forecast,
    MeasuredCurve,
    PaperForecast,
)
from truefit._methods.result import Result, frame, plot_method
from truefit._methods.text import MetricText, counted
from truefit._metrics.row_loss import is_share
from truefit._plots.curve import learning_curve
from truefit._stats.curve_fit import FAMILIES, fit
from truefit._stats.curve_forecast import shipped
from truefit._stats.curve_paper import well_behaved
from truefit._stats.curve_points import SLOWEST
from truefit._stats.curve_single_runs import FARTHEST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


@dataclass(frozen=True)
class RowsNeeded:
    """How many rows it takes to reach an error. ``print`` it, or read the parts.

    Attributes
    ----------
    error : float
        The target error.
    rows : int or None
        Where the curve reaches it; None if it does not within 1,000 times the measured rows.
    low : int or None
        Where the low end of the curve's interval reaches it: the number of rows at best.
    high : int or None
        Where the high end of the curve's interval reaches it: the number of rows at worst.
    reading : str
        The answer as a sentence.
    """

    error: float
    rows: int | None
    low: int | None
    high: int | None
    reading: str

    def __str__(self) -> str:
        return self.reading

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return asdict(self)


def rows_needed(
    error: float,
    predict: Callable[[Floats], tuple[Floats, Floats, Floats]],
    *,
    first: float,
    last: float,
    end: float,
    level: float,
) -> RowsNeeded:
    """Find where a curve and its interval reach an error.

    ``predict`` returns value, low and high end at sizes; ``first`` and ``last`` are the smallest and largest measured
    size, ``end`` is the asymptotic error of the curve, ``level`` that of the interval.
    """
    sizes = np.geomspace(first, FARTHEST * last, 4001)
    rows, low, high = (_crossing(sizes, values, error) for values in predict(sizes))
    if low is not None and (rows is None or rows > last):
        # The measured sizes were not enough.
        low = max(low, int(last))
    return RowsNeeded(error, rows, low, high, _reading(error, rows, low, high, last=last, end=end, level=level))


def _crossing(sizes: Floats, values: Floats, error: float) -> int | None:
    below = np.flatnonzero(values <= error)
    if not below.size:
        return None
    at = int(below[0])
    if at == 0:
        return int(np.ceil(sizes[0]))
    share = (values[at - 1] - error) / (values[at - 1] - values[at])
    return int(np.ceil(sizes[at - 1] * (sizes[at] / sizes[at - 1]) ** share))


def _reading(
    error: float, rows: int | None, low: int | None, high: int | None, *, last: float, end: float, level: float
) -> str:
    target, percent = f"an error of {error:.4g}", f"{100 * level:.4g}%"
    if rows is None:
        where = f": it levels off at {end:.3g}" if end > error else f" within {FARTHEST:,} times the measured rows"
        best = "" if low is None else f" (low end of the {percent} interval: about {_about(low)} rows)"
        return f"The fitted curve does not reach {target}{where}{best}."
    if rows <= last:
        return f"About {_about(rows)} rows reach {target}; {last:,.0f} were measured."
    least = _about(low or rows)
    interval = f"from {least} rows; it may never be reached" if high is None else f"{least} to {_about(high)}"
    return f"About {_about(rows)} rows for {target} ({percent} interval {interval})."


def _about(rows: float) -> str:
    """Rows rounded to two significant digits."""
    digits = max(int(np.floor(np.log10(max(rows, 1)))) - 1, 0)
    return f"{round(rows / 10**digits) * 10**digits:,}"


Mode = Literal["default", "paper"]

#: Default tolerance: of an error rate, and as a share of the largest loss.
TOLERANCE = 0.02


def extrapolated(
    measured: MeasuredCurve,
    *,
    level: float = 0.95,
    mode: Mode = "default",
    tolerance: float | None = None,
    horizon: float | None = None,
    metric: str = "error",
) -> Extrapolation:
    """Extrapolate a measured curve; the arguments are those of :func:`truefit.extrapolate`."""
    far = MULTIPLES[-1] * measured.last if horizon is None else number("horizon", horizon, at_least=measured.last)
    forecast = forecast_of(measured, level=level, mode=mode, tolerance=tolerance, horizon=far)
    return Extrapolation(measured, forecast, mode=mode, horizon=far, metric=metric)


def forecast_of(
    measured: MeasuredCurve,
    *,
    level: float,
    mode: Mode,
    tolerance: float | None,
    horizon: float,
    single_runs: bool = False,
) -> Forecast:
    """Return the forecast of a mode; with ``single_runs`` each point is a single cross-validation."""
    check_forecast(mode, level, tolerance)
    if mode == "paper":
        # The paper uses percent: errors above 1 are percentages.
        unit = 1.0 if measured.errors.max() <= 1 else 100.0
        return PaperForecast(measured, TOLERANCE * unit if tolerance is None else float(tolerance))
    enough = TOLERANCE * measured.unit if tolerance is None else float(tolerance)
    return CalibratedForecast(measured, level, enough, horizon, single_runs)


def check_forecast(mode: Any, level: Any, tolerance: Any) -> None:
    """Refuse invalid options before anything is measured."""
    if mode not in get_args(Mode):
        raise InvalidInput(f"The 'mode' parameter must be 'default' or 'paper'. Got {mode!r} instead.")
    if tolerance is not None:
        number("tolerance", tolerance, above=0.0)
    if mode == "default":
        shipped().check(level)


def _at_sizes(forecast: Callable[[Floats], tuple[Floats, Floats, Floats]], n: Any) -> Any:
    """Return a forecast at one size as floats, at several as arrays."""
    sizes = np.asarray(n, dtype=np.float64)
    if sizes.ndim > 1 or not (np.isfinite(sizes) & (sizes > 0)).all():
        raise InvalidInput(f"The 'n' parameter must be a positive number of rows, or a list of them. Got {n!r}.")
    found = forecast(np.atleast_1d(sizes))
    return tuple(float(each[0]) for each in found) if sizes.ndim == 0 else found


class Extrapolation(Result):
    """The error expected with more rows, with intervals; or why there is no forecast.

    Attributes
    ----------
    sizes : array of shape (points,)
        Measured sizes, ascending.
    errors : array of shape (points,)
        The error at each size.
    stderr : array of shape (points,) or None
        The standard error of each error.
    mode : {"default", "paper"}
        How the forecast is made.
    level : float
        Level of the intervals; in paper mode the paper's, 0.999.
    horizon : float
        The largest size of the forecast.
    refused : str or None
        Why no extrapolation is given; None where one is.
    warnings : list of str
        Warnings about the extrapolation.
    stopped : bool
        Whether enough has been measured.
    reason : str
        Why the curve can stop, or why not.
    end : float
        The asymptotic error: what the curve falls to with ever more rows.
    plateau : bool
        Whether the curve is level at its end, below the error of the baseline. False where that is unknown.
    beats_baseline : bool or None
        Whether the error at the largest size is below that of the baseline by more than its standard error. None where
        that is unknown.
    """

    title = "Extrapolation"
    #: Measured by a learning curve only: the target error, and the training errors with their standard deviations.
    target: float | None = None
    train: Floats | None = None
    train_sd: Floats | None = None

    def __init__(self, measured: MeasuredCurve, forecast: Forecast, *, mode: Mode, horizon: float, metric: str) -> None:
        self.sizes = measured.sizes
        self.errors = measured.errors
        self.stderr = measured.stderr
        self.mode = mode
        self.level = forecast.level
        self.horizon = horizon
        self.metric = metric
        self.refused, self.warnings, self.end = forecast.refused, forecast.warnings, forecast.end
        self.plateau, self.beats_baseline = forecast.plateau, forecast.beats_baseline
        self.stopped, self.reason = forecast.stop.rule is not None, forecast.stop.reason
        self._measured = measured
        self._forecast = forecast
        self._percent = f"{100 * self.level:.4g}%"

    @property
    def _metric_name(self) -> str:
        return MetricText.from_name(self.metric).name

    @property
    def well_behaved(self) -> bool:
        """Whether the last three points fall, each more slowly (the paper's Eqs. 38 and 39)."""
        return bool(len(self.sizes) > 2 and well_behaved(self.sizes, self.errors)[-1])

    @overload
    def predict(self, n: float) -> tuple[float, float, float]: ...

    @overload
    def predict(self, n: npt.NDArray[Any] | list[float]) -> tuple[Floats, Floats, Floats]: ...

    def predict(self, n: Any) -> Any:
        """Return the error expected with n rows, and the low and high end of its interval.

        Parameters
        ----------
        n : int or array of int
            Number of rows, as in ``sizes``.

        Returns
        -------
        (value, low, high)
            Floats for one n, arrays for several. NaN where the extrapolation is refused.
        """
        return _at_sizes(self._forecast.predict, n)

    @overload
    def gain(self, n: float) -> tuple[float, float, float]: ...

    @overload
    def gain(self, n: npt.NDArray[Any] | list[float]) -> tuple[Floats, Floats, Floats]: ...

    def gain(self, n: Any) -> Any:
        """Return by how much the error falls from the largest measured size to n rows, and its interval.

        For a learning curve that was measured by ``learning_curve``, the interval is narrower than a difference of the
        errors' intervals: both errors share the noise of the measured points.

        Parameters
        ----------
        n : int or array of int
            Number of rows, as in ``sizes``.

        Returns
        -------
        (value, low, high)
            Floats for one n, arrays for several; negative where the error may rise. NaN where the extrapolation is
            refused.
        """
        return _at_sizes(self._forecast.gain, n)

    def rows_for(self, error: float) -> RowsNeeded:
        """Return how many rows it takes to reach an error.

        Parameters
        ----------
        error : float
            The target error.

        Returns
        -------
        RowsNeeded
            ``rows`` is None where the curve does not reach the error; ``reading`` is the answer as a sentence.
        """
        wanted = number("error", error, at_least=0.0)
        if self.refused is not None:
            return RowsNeeded(wanted, None, None, None, f"No answer. {self.refused}")
        return rows_needed(
            wanted,
            self._forecast.predict,
            first=float(self.sizes[0]),
            last=self._measured.last,
            end=self.end,
            level=self.level,
        )

    @cached_property
    def families(self) -> pd.DataFrame:
        """One row per family of curves: its residual error, and its forecast at the horizon.

        Later points have more weight, as in the extrapolation; in paper mode all have the same.
        """
        weights = (self.sizes / self.sizes[-1]) ** (SLOWEST if self.mode == "default" else 0.0)
        rows = []
        for name, family in FAMILIES.items():
            curve = fit(family, self.sizes, self.errors[None], weights)
            expected = float(curve.predict([self.horizon])[0, 0])
            off = float(np.sqrt(curve.loss[0] / weights.sum()))
            rows.append(
                {"family": name, "formula": family.formula, "off": off, "at_horizon": expected, "end": curve.a[0]}
            )
        return frame(rows, "family")

    @cached_property
    def table(self) -> pd.DataFrame:
        """The forecast at several sizes; in paper mode the columns of the paper's Table 1."""
        return self._forecast.table

    def summary(self) -> str:
        """Return the last error, the forecast at several sizes, and the reason to stop or go on."""
        measured = f"{counted(len(self.sizes), 'size')} from {self.sizes[0]:,.0f}"
        lines = [f"{self._metric_name} with {self._measured.last:,.0f} rows: {self.errors[-1]:.4g} ({measured})"]
        lines += self._outlook_lines()
        if self.refused is None:
            lines.append(("Stop measuring. " if self.stopped else "") + self.reason)
        return "\n".join(lines + [f"Note: {warning}" for warning in self.warnings])

    def _outlook_lines(self) -> list[str]:
        """Return the forecast at 2, 5 and 10 times the rows and at the horizon, one line each."""
        if self.refused is not None:
            return [f"No extrapolation: {self.refused}"]
        lines = []
        for n in np.unique([*(multiple * self._measured.last for multiple in MULTIPLES[1:]), self.horizon]):
            value, low, high = self.predict(float(n))
            line = f"  {n:>12,.0f} rows  {value:.4g}  ({self._percent} interval {low:.4g} to {high:.4g})"
            if self.mode == "default":
                value, low, high = self.gain(float(n))
                line += f", gain {value:.3g} ({low:.3g} to {high:.3g})"
            lines.append(line)
        return lines

    @plot_method()
    def plot(self, *, ax: Axes | None = None, target: float | None = None) -> Axes:
        """Draw the measured points, with training errors where there are any, and the curve in its band.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        target : float, optional
            A target error, drawn as a line; by default that of a learning curve.
        """
        curve = None
        if self.refused is None:
            sizes = np.geomspace(self.sizes[0], max(self.horizon, self._measured.last * 1.001), 121)
            curve = (sizes, *self._forecast.predict(sizes))
        return learning_curve(
            self.sizes,
            self.errors,
            self.stderr,
            curve=curve,
            train=None if self.train is None or self.train_sd is None else (self.train, self.train_sd),
            target=self.target if target is None else target,
            ylabel=f"{self._metric_name} ({self._percent} interval)" if curve else self._metric_name,
            # The errors of any curve are called "error" by default: greater ones than 1 are no shares.
            percent=is_share(self.metric) and float(self.errors.max()) <= 1,
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        ahead = [] if self.refused is not None else [multiple * self._measured.last for multiple in MULTIPLES]
        return {
            "kind": "extrapolation",
            "version": 1,
            **self._values("mode", "metric", "level", "sizes", "errors", "stderr", "refused", "warnings"),
            **self._values("well_behaved", "stopped", "reason", "horizon"),
            "end": None if self.refused is not None else self.end,
            "outlook": [
                dict(zip(("rows", "estimate", "low", "high"), (n, *self.predict(n)), strict=True)) for n in ahead
            ],
        }
