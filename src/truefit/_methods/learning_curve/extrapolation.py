"""Extrapolation: the error at larger sizes from measured points, and how many rows an error needs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, get_args, overload

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._methods.complexity import number
from truefit._methods.learning_curve.forecast import MULTIPLES, CalibratedForecast, Forecast, PaperForecast
from truefit._methods.learning_curve.samples import MeasuredCurve
from truefit._methods.result import Result
from truefit._plots.learning_curve import extrapolation
from truefit._stats.curve_fit import FAMILIES, fit
from truefit._stats.curve_forecast import shipped
from truefit._stats.curve_paper import well_behaved
from truefit._stats.curve_points import SLOWEST

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


#: Nothing is said about more rows than so many times those that were measured.
SIGHT = 1000


@dataclass(frozen=True)
class RowsNeeded:
    """How many rows it takes to reach an error. ``print`` it, or read the parts.

    Attributes
    ----------
    error : float
        What is to be reached.
    rows : int or None
        Where the curve reaches it; None if it does not, as far as can be seen.
    low, high : int or None
        Where the ends of the curve's interval reach it: at best, and at worst. None where they do not.
    reading : str
        The answer in words.
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
        return {"error": self.error, "rows": self.rows, "low": self.low, "high": self.high, "reading": self.reading}


def rows_needed(
    error: float,
    predict: Callable[[Floats], tuple[Floats, Floats, Floats]],
    *,
    first: float,
    last: float,
    end: float,
    level: float,
) -> RowsNeeded:
    """Find where a curve and its interval come down to an error.

    Parameters
    ----------
    error : float
    predict : callable
        Value, low and high end at sizes.
    first, last : float
        Smallest and largest size measured.
    end : float
        What the curve falls to in the end.
    level : float
        Of the interval.
    """
    sizes = np.geomspace(first, SIGHT * last, 4001)
    rows, low, high = (_crossing(sizes, values, error) for values in predict(sizes))
    if low is not None and (rows is None or rows > last):
        # What was measured says that so many rows are not enough.
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
    target = f"an error of {error:.4g}"
    if rows is None:
        never, why = "Never", f"the curve levels off at {end:.3g}"
        if end <= error:
            never, why = "Hardly ever", f"not within {SIGHT:,} times the rows that were measured"
        best = "" if low is None else f" At best about {_about(low)} rows would do."
        return f"{never}, at this learner: {why}, and {target} is asked for.{best}"
    if rows <= last:
        return f"About {_about(rows)} rows reach {target}, no more than were measured."
    least = _about(low or rows)
    sure = f"at least {least}, and it may never be reached"
    if high is not None:
        sure = f"{100 * level:.4g}% interval {least} to {_about(high)}"
    return f"About {_about(rows)} rows for {target} ({sure})."


def _about(rows: float) -> str:
    """Two digits: no more of it is known."""
    digits = max(int(np.floor(np.log10(max(rows, 1)))) - 1, 0)
    return f"{round(rows / 10**digits) * 10**digits:,}"


Mode = Literal["default", "paper"]

#: How much of an error does not matter unless said otherwise: of a share, and as a share of a loss.
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
    """Return the forecast of a mode; with ``single_runs`` each point is one cross-validation."""
    check_forecast(mode, level, tolerance)
    if mode == "paper":
        # The paper counts in percent: errors above 1 are no shares.
        unit = 1.0 if measured.errors.max() <= 1 else 100.0
        return PaperForecast(measured, TOLERANCE * unit if tolerance is None else float(tolerance))
    enough = TOLERANCE * measured.unit if tolerance is None else float(tolerance)
    return CalibratedForecast(measured, level, enough, horizon, single_runs)


def check_forecast(mode: Any, level: Any, tolerance: Any) -> None:
    """Refuse what no forecast can be made with, before anything is measured."""
    if mode not in get_args(Mode):
        raise InvalidInput(f"The 'mode' parameter must be 'default' or 'paper'. Got {mode!r} instead.")
    if tolerance is not None:
        number("tolerance", tolerance, above=0.0)
    if mode == "default":
        shipped().check(level)


class Extrapolation(Result):
    """What more rows would bring, with intervals; or why that cannot be said.

    Attributes
    ----------
    sizes, errors : array of shape (points,)
        What was measured, by size.
    stderr : array of shape (points,) or None
    mode : {"default", "paper"}
    level : float
        Level of the intervals; in paper mode the paper's, 0.999.
    horizon : float
        The size up to which it is asked what more rows would bring.
    """

    title = "Extrapolation"

    def __init__(self, measured: MeasuredCurve, forecast: Forecast, *, mode: Mode, horizon: float, metric: str) -> None:
        self.sizes = measured.sizes
        self.errors = measured.errors
        self.stderr = measured.stderr
        self.mode = mode
        self.level = forecast.level
        self.horizon = horizon
        self.metric = metric
        self._measured = measured
        self._forecast = forecast

    @property
    def _percent(self) -> str:
        return f"{100 * self.level:.4g}%"

    @property
    def refused(self) -> str | None:
        """Why no extrapolation is given; None where one is."""
        return self._forecast.refused

    @property
    def warnings(self) -> list[str]:
        """What to know about the extrapolation."""
        return self._forecast.warnings

    @property
    def well_behaved(self) -> bool:
        """Whether the last three points fall, ever more slowly (the paper's Eqs. 38 and 39)."""
        return bool(len(self.sizes) > 2 and well_behaved(self.sizes, self.errors)[-1])

    @property
    def stopped(self) -> bool:
        """Whether enough has been measured; ``reason`` says why."""
        return self._forecast.stop.rule is not None

    @property
    def reason(self) -> str:
        """Why enough has been measured, or why not."""
        return self._forecast.stop.reason

    @property
    def end(self) -> float:
        """What the curve falls to in the end, for any number of rows."""
        return self._forecast.end

    @overload
    def predict(self, n: float) -> tuple[float, float, float]: ...

    @overload
    def predict(self, n: npt.NDArray[Any] | list[float]) -> tuple[Floats, Floats, Floats]: ...

    def predict(self, n: Any) -> Any:
        """Return the error expected with n rows, and the low and high end of its interval.

        Parameters
        ----------
        n : int or array of int
            Rows, counted as in ``sizes``.

        Returns
        -------
        (value, low, high)
            Floats for one n, arrays for several. NaN where the extrapolation is refused.
        """
        sizes = np.asarray(n, dtype=np.float64)
        if sizes.ndim > 1 or not (np.isfinite(sizes) & (sizes > 0)).all():
            raise InvalidInput(f"The 'n' parameter must be a positive number of rows, or a list of them. Got {n!r}.")
        found = self._forecast.predict(np.atleast_1d(sizes))
        return tuple(float(each[0]) for each in found) if sizes.ndim == 0 else found

    def rows_for(self, error: float) -> RowsNeeded:
        """Say how many rows it takes to reach an error.

        Parameters
        ----------
        error : float

        Returns
        -------
        RowsNeeded
            ``rows`` is None where the curve does not come down to the error; ``reading`` says so in words.
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
        """One row per family of curves: how far it is off the points, and what it expects at the horizon.

        Later points count more, as in the extrapolation itself; in paper mode all alike.
        """
        import pandas as pd

        weights = (self.sizes / self.sizes[-1]) ** (SLOWEST if self.mode == "default" else 0.0)
        rows = []
        for name, family in FAMILIES.items():
            curve = fit(family, self.sizes, self.errors[None], weights)
            expected = float(curve.predict([self.horizon])[0, 0])
            off = float(np.sqrt(curve.loss[0] / weights.sum()))
            rows.append(
                {"family": name, "formula": family.formula, "off": off, "at_horizon": expected, "end": curve.a[0]}
            )
        return pd.DataFrame(rows).set_index("family")

    @cached_property
    def table(self) -> pd.DataFrame:
        """What more rows bring; in paper mode the columns of the paper's Table 1."""
        return self._forecast.table

    def summary(self) -> str:
        """Return what more rows would bring, in a few lines."""
        count, last = len(self.sizes), self._measured.last
        lines = [
            f"{self.metric} with {last:,.0f} rows: {self.errors[-1]:.4g} ({count} sizes from {self.sizes[0]:,.0f})"
        ]
        if self.refused is not None:
            return "\n".join([*lines, f"No extrapolation: {self.refused}"])
        for n in np.unique([*(multiple * last for multiple in MULTIPLES[1:]), self.horizon]):
            value, low, high = self.predict(float(n))
            lines.append(f"  {n:>12,.0f} rows  {value:.4g}  ({self._percent} interval {low:.4g} to {high:.4g})")
        lines.append(("Enough has been measured. " if self.stopped else "") + self.reason)
        return "\n".join(lines + [f"Note: {warning}" for warning in self.warnings])

    def plot(self, ax: Axes | None = None, *, target: float | None = None) -> Axes:
        """Draw the measured points, and the curve in its band up to the horizon.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        target : float, optional
            An error to be reached, drawn as a line.
        """
        curve = self._drawn()
        return extrapolation(
            self.sizes,
            self.errors,
            self.stderr,
            curve=curve,
            target=target,
            ylabel=f"{self.metric} ({self._percent} interval)" if curve else self.metric,
            ax=ax,
        )

    def _drawn(self) -> tuple[Floats, Floats, Floats, Floats] | None:
        """Return the curve in its band up to the horizon; None where it is refused."""
        if self.refused is not None:
            return None
        sizes = np.geomspace(self.sizes[0], max(self.horizon, self._measured.last * 1.001), 121)
        return sizes, *self._forecast.predict(sizes)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        ahead = [multiple * self._measured.last for multiple in MULTIPLES]
        return {
            "kind": "extrapolation",
            "version": 1,
            "mode": self.mode,
            "metric": self.metric,
            "level": self.level,
            "sizes": self.sizes.tolist(),
            "errors": self.errors.tolist(),
            "stderr": None if self.stderr is None else self.stderr.tolist(),
            "refused": self.refused,
            "warnings": self.warnings,
            "well_behaved": self.well_behaved,
            "stopped": self.stopped,
            "reason": self.reason,
            "horizon": self.horizon,
            "end": None if self.refused is not None else self.end,
            "outlook": [
                dict(zip(("rows", "estimate", "low", "high"), (n, *self.predict(n)), strict=True))
                for n in ahead
                if self.refused is None
            ],
        }
