"""A measured learning curve, and its forecast: calibrated on reference curves, or as the paper has it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._methods.complexity import number as finite_number
from truefit._methods.text import counted, number, percent
from truefit._stats.curve_forecast import LEAST_POINTS, LEAST_SPAN, Outlook, shipped, shipped_gain
from truefit._stats.curve_paper import LARGE, P, Procedure, fit_paper
from truefit._stats.curve_paper import LEAST_POINTS as PAPER_POINTS
from truefit._stats.curve_points import Points
from truefit._stats.curve_single_runs import Ends, SingleRuns, shipped_single_runs

if TYPE_CHECKING:
    import pandas as pd


@dataclass(frozen=True)
class MeasuredCurve:
    """Errors at sizes, ascending, each size once.

    ``largest`` is the largest possible error, infinite for a loss. Errors are in ``unit``: 1 for shares, for a loss the
    largest measured error. ``covariance`` is that of the errors, where samples share rows, ``baseline`` the error of
    a model that uses no feature.
    """

    sizes: Floats
    errors: Floats
    stderr: Floats | None
    largest: float
    unit: float
    covariance: Floats | None = None
    baseline: float | None = None

    @classmethod
    def of(
        cls, sizes: Any, errors: Any, stderr: Any = None, *, largest: float | None = None, baseline: Any = None
    ) -> MeasuredCurve:
        """Check the points, sort them, and average those of one size.

        >>> points = MeasuredCurve.of([200, 100, 200], [0.2, 0.4, 0.3])
        >>> points.sizes.tolist(), points.errors.tolist(), points.largest
        ([100.0, 200.0], [0.4, 0.25], 1.0)
        """
        n, y = _column("sizes", sizes, above=0.0), _column("errors", errors)
        se = None if stderr is None else _column("stderr", stderr)
        for name, column in (("errors", y), ("stderr", se)):
            if column is not None and len(column) != len(n):
                raise InvalidInput(
                    f"The {name!r} parameter must have one number per size. Got {len(column)} for {len(n)} sizes."
                )
        top = _largest(y, largest)
        y = np.minimum(y, top)
        found, place, count = np.unique(n, return_inverse=True, return_counts=True)
        y = np.bincount(place, y) / count
        if se is not None:
            se = np.sqrt(np.bincount(place, se**2)) / count
        unit = 1.0 if np.isfinite(top) else float(y.max()) or 1.0
        if baseline is not None:
            baseline = finite_number("baseline", baseline, at_least=0.0)
        return cls(found, y, se, top, unit, baseline=baseline)

    @property
    def last(self) -> float:
        """The largest size."""
        return float(self.sizes[-1])

    @property
    def points(self) -> Points:
        """The points in their unit, as the only curve."""
        stderr = None if self.stderr is None else self.stderr[None] / self.unit
        covariance = None if self.covariance is None else self.covariance[None] / self.unit**2
        baseline = None if self.baseline is None else np.array([self.baseline / self.unit])
        return Points(self.sizes[None], self.errors[None] / self.unit, stderr, covariance, baseline)


def _column(name: str, values: Any, *, above: float | None = None) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.full(1, np.nan)
    inside = (column > above) if above is not None else (column >= 0)
    if column.ndim != 1 or not column.size or not (np.isfinite(column) & inside).all():
        wanted = "positive" if above is not None else "no less than 0"
        raise InvalidInput(
            f"The {name!r} parameter must be a list of finite numbers, {wanted}. Got {values!r}; drop missing points, "
            "and pass losses instead of scores (1 − accuracy)."
        )
    return column


#: Errors that exceed the largest possible one by less than this share of it are off by rounding.
_ROUNDING = 1e-9


def _largest(errors: Floats, largest: float | None) -> float:
    if largest is None:
        return 1.0 if errors.max() <= 1 + _ROUNDING else np.inf
    if isinstance(largest, bool) or not isinstance(largest, int | float | np.number) or not largest > 0:
        raise InvalidInput(f"The 'largest' parameter must be a positive number or infinite. Got {largest!r} instead.")
    if errors.max() > largest * (1 + _ROUNDING):
        raise InvalidInput(
            f"The errors must not exceed largest={largest:g}. Got {errors.max():g}; pass shares, such as 0.139 for "
            "13.9%."
        )
    return float(largest)


Triple = tuple[Floats, Floats, Floats]

#: Multiples of the measured rows in tables and summaries.
MULTIPLES = (1, 2, 5, 10)

#: Stopping rules: more rows gain too little, their gain is known well enough, or the paper's rule holds.
Rule = Literal["gain", "width", "paper"]


class Stop(NamedTuple):
    """The stopping rule that holds, None where none does; and the reason as a sentence."""

    rule: Rule | None
    reason: str


@dataclass(frozen=True)
class CalibratedForecast:
    """A power law averaged over exponents, calibrated on reference curves, with ``single_runs`` on single CV runs."""

    measured: MeasuredCurve
    level: float
    tolerance: float
    horizon: float
    single_runs: bool = False

    @cached_property
    def _outlook(self) -> Outlook | None:
        return None if self._too_little else Outlook.of(self.measured.points)

    @property
    def _too_little(self) -> str | None:
        sizes = self.measured.sizes
        if len(sizes) < LEAST_POINTS:
            return (
                f"Only {counted(len(sizes), 'size')} measured; a forecast needs {LEAST_POINTS} or more. Measure more "
                "sizes, each 1.2 to 2 times the one before."
            )
        if sizes[-1] < LEAST_SPAN * sizes[0]:
            return (
                f"The largest size, {sizes[-1]:,.0f}, is only {sizes[-1] / sizes[0]:.2g} times the smallest; a "
                f"forecast needs a factor of {LEAST_SPAN:g} or more. Measure smaller or larger sizes too."
            )
        return None

    @cached_property
    def refused(self) -> str | None:
        """Why there is no forecast; None where there is one."""
        if self._outlook is None:
            return self._too_little
        now, text = self._outlook.level[0] * self.measured.unit, self._text
        if self._outlook.nothing_learned[0]:
            baseline = self.measured.baseline
            like = "" if baseline is None else f", no better than the baseline ({text(baseline)})"
            return (
                f"Nothing has been learned yet: with up to {self.measured.last:,.0f} rows the error stays near "
                f"{text(now)}{like}. Measure with more rows, or try other models."
            )
        if self._outlook.rising[0]:
            lowest = np.nanmin(self._outlook.points.smoothed()) * self.measured.unit
            return (
                f"The curve rises: its error is {text(now)} at the largest sizes and was {text(lowest)} before. Curves "
                "that rise or have a peak are not extrapolated. Check the learner, or measure larger sizes."
            )
        return None

    @property
    def plateau(self) -> bool:
        """Whether the curve is level at its end, below the error of the baseline."""
        return self._outlook is not None and self.refused is None and bool(self._outlook.plateau[0])

    @property
    def beats_baseline(self) -> bool | None:
        """Whether the last error is below that of the baseline by its standard error; None where that is unknown."""
        baseline = self.measured.baseline
        if baseline is None or self._outlook is None:
            return None
        return bool(self.measured.errors[-1] + self._outlook.last_noise[0] * self.measured.unit < baseline)

    @cached_property
    def warnings(self) -> list[str]:
        """Warnings about the forecast."""
        if self._outlook is None or self.refused is not None:
            return []
        found = []
        if self.beats_baseline is False:
            found.append(
                f"The error with {self.measured.last:,.0f} rows is not clearly below that of the baseline "
                f"({self._text(self.measured.baseline or 0.0)}); the model may have learned nothing."
            )
        if self._outlook.accelerating[0]:
            found.append("The error fell faster at the last sizes than before; it may fall further than forecast.")
        if self._outlook.surprised[0]:
            off, now = self._outlook.worst_backtest[0], self._outlook.level[0]
            share = f"{off / now:.0%} of the error" if now > 0 else self._text(off * self.measured.unit)
            found.append(
                f"A forecast of the last sizes from the earlier ones is off by {share}; this forecast may be off by as "
                "much."
            )
        return found

    @property
    def _text(self) -> Callable[[float], str]:
        return percent if self.measured.largest <= 1 else number

    @property
    def end(self) -> float:
        """The asymptotic error."""
        if self._outlook is None:
            return float("nan")
        end = self._constants.end(self._outlook) if self.single_runs else self._outlook.curve.end
        return float(end[0]) * self.measured.unit

    def predict(self, sizes: Floats) -> Triple:
        """Value, low and high end at sizes; NaN where the forecast is refused."""
        return self._predict(sizes, self.level)

    def _predict(self, sizes: Floats, level: float) -> Triple:
        if self._outlook is None or self.refused is not None:
            nothing = np.full(sizes.shape, np.nan)
            return nothing, nothing, nothing
        unit, largest = self.measured.unit, self.measured.largest / self.measured.unit
        if self.single_runs:
            found = self._constants.errors(self._outlook, sizes[None], level, largest=largest)
        else:
            found = Ends(*self._outlook.predict(sizes[None], level, largest=largest))
        return found.value[0] * unit, found.low[0] * unit, found.high[0] * unit

    @property
    def _constants(self) -> SingleRuns:
        return shipped_single_runs("share" if np.isfinite(self.measured.largest) else "loss")

    def gain(self, sizes: Floats) -> Triple:
        """Fall of the error from the last size to others, low and high end; NaN where the forecast is refused."""
        if self._outlook is None or self.refused is not None or not self.single_runs:
            value, low, high = self.predict(sizes)
            now = self.predict(np.array([self.measured.last]))[0]
            return now - value, now - high, now - low
        found = self._constants.gains(self._outlook, sizes[None], self.level)
        value, low, high = (each[0] * self.measured.unit for each in found)
        return value, low, high

    @cached_property
    def stop(self) -> Stop:
        """Stop where the gain up to the horizon is below the tolerance, or known to within it."""
        if self.refused is not None:
            return Stop(None, self.refused)
        at = np.array([self.measured.last, self.horizon])
        _, low, high = self.predict(at)
        gain, most, width = self.gain(at)[0][1], self.most_gain(at[:1])[0], high[1] - low[1]
        more = f"More rows, up to {self.horizon:,.0f}, would lower the error"
        if most <= self.tolerance:
            return Stop("gain", f"{more} by at most {most:.2g}, less than the tolerance of {self.tolerance:.3g}.")
        if width <= self.tolerance:
            return Stop("width", f"{more} by about {gain:.2g} (interval {width:.2g} wide, within the tolerance).")
        return Stop(None, f"{more} by about {gain:.2g} (upper bound {most:.2g}).")

    def most_gain(self, start: Floats) -> Floats:
        """Return the largest plausible fall of the error from sizes up to the horizon: no more than the error there."""
        if self._outlook is None or self.refused is not None:
            return np.full(start.shape, np.inf)
        if self.single_runs and np.isfinite(self.measured.largest):
            most = shipped_gain().most(self._outlook, start[None], self.horizon, self.level)[0]
            return np.asarray(np.minimum(most * self.measured.unit, self.predict(start)[0]))
        if self.single_runs:
            # The bound of shares was learnt from their distance to 1, which losses do not have.
            most = self.gain(np.array([self.horizon]))[2] - self.gain(start)[0]
            return np.where(start < self.horizon, np.maximum(most, 0.0), 0.0)
        # A one-sided bound: the low end of an interval whose two tails add up to 1 − level.
        least = self._predict(np.array([self.horizon]), max(2 * self.level - 1, shipped().levels[0]))[1]
        return self.predict(start)[0] - least

    def enough_at(self, sizes: Floats) -> float | None:
        """Return the first size at which the gain is expected to be below the tolerance; None if at none."""
        enough = np.flatnonzero(self.most_gain(sizes) <= self.tolerance)
        return float(sizes[enough[0]]) if enough.size else None

    @property
    def table(self) -> pd.DataFrame:
        """The forecast at 1, 2, 5 and 10 times the rows and at the horizon, with the gain over the last size."""
        import pandas as pd

        sizes = np.unique([*(multiple * self.measured.last for multiple in MULTIPLES), self.horizon])
        value, low, high = self.predict(sizes)
        columns = {"estimate": value, "low": low, "high": high}
        columns |= dict(zip(("gain", "gain_low", "gain_high"), self.gain(sizes), strict=True))
        return pd.DataFrame(columns, index=pd.Index(sizes.astype(np.int64), name="rows"))


@dataclass(frozen=True)
class PaperForecast:
    """Procedure 1 of Brumen et al. (2007): a + b·l^c fitted to all points with equal weight, ± rσ."""

    measured: MeasuredCurve
    tolerance: float

    #: The paper does not compare curves with a baseline.
    plateau, beats_baseline = False, None

    @property
    def level(self) -> float:
        """The paper's level."""
        return 1 - P

    @cached_property
    def procedure(self) -> Procedure | None:
        """The columns of the paper's table; None where there are too few points."""
        return Procedure.of(self.measured.sizes, self.measured.errors) if self.refused is None else None

    @property
    def refused(self) -> str | None:
        """Why there is no forecast; None where there is one."""
        count = len(self.measured.sizes)
        if count >= PAPER_POINTS:
            return None
        return f"Only {counted(count, 'size')} measured; the paper's fit needs {PAPER_POINTS} or more."

    @property
    def warnings(self) -> list[str]:
        """A warning about the paper's intervals."""
        if self.refused is not None:
            return []
        return ["The paper's rσ is the scatter of three points, not a forecast error; its coverage is far too low."]

    @cached_property
    def _fitted(self) -> Any:
        return fit_paper(self.measured.sizes, self.measured.errors[None])

    @property
    def parameters(self) -> dict[str, float]:
        """The fitted a, b and c of Eq. 41."""
        exponent = float(self._fitted.shapes[0, 0])
        return {
            "a": float(self._fitted.a[0]),
            "b": float(self._fitted.b[0] * self._fitted.unit[0] ** exponent),
            "c": -exponent,
        }

    @property
    def end(self) -> float:
        """The asymptotic error."""
        return self.parameters["a"] if self.refused is None else float("nan")

    def predict(self, sizes: Floats) -> Triple:
        """Value plus and minus the last rσ."""
        if self.procedure is None:
            nothing = np.full(sizes.shape, np.nan)
            return nothing, nothing, nothing
        value, reach = self._fitted.predict(sizes)[0], self.procedure.r_sigma[-1]
        return value, value - reach, value + reach

    def gain(self, sizes: Floats) -> Triple:
        """Fall of the fitted curve from the last size to others, plus and minus the last rσ."""
        value, low, high = self.predict(sizes)
        now = self.predict(np.array([self.measured.last]))[0]
        return now - value, now - high, now - low

    def enough_at(self, sizes: Floats) -> float | None:
        """Return None: the paper has its own sizes."""
        return None

    @cached_property
    def stop(self) -> Stop:
        """The paper's rule: well-behaved (Eqs. 38 and 39), and the three errors agree (Eq. 40)."""
        if self.procedure is None:
            return Stop(None, str(self.refused))
        at = self.procedure.stops_at(self.tolerance)
        if at is not None:
            return Stop(
                "paper",
                f"At {self.measured.sizes[at]:,.0f} rows the curve is well-behaved, and the error, the next one and "
                f"that at {LARGE:,} rows differ by {self.procedure.disagreement[at]:.4g}, less than "
                f"{self.tolerance:g} (Eq. 40).",
            )
        if not self.procedure.well_behaved.any():
            reason = "The curve is nowhere well-behaved: no three points fall, each more slowly (Eqs. 38, 39)."
            return Stop(None, reason)
        least = float(self.procedure.disagreement[self.procedure.well_behaved].min())
        return Stop(
            None,
            f"Where the curve is well-behaved, the error, the next one and that at {LARGE:,} rows still differ by "
            f"{least:.4g} or more, not less than {self.tolerance:g} (Eq. 40).",
        )

    @property
    def table(self) -> pd.DataFrame:
        """The columns of the paper's Table 1, and the left side of Eq. 40."""
        import pandas as pd

        index = pd.Index(self.measured.sizes, name="rows")
        if self.procedure is None:
            return pd.DataFrame({"error": self.measured.errors}, index=index)
        found = self.procedure
        columns = {"error": self.measured.errors, "next": found.following, "large": found.large}
        columns |= {"low": found.low, "high": found.high, "r_sigma": found.r_sigma}
        return pd.DataFrame(
            columns | {"well_behaved": found.well_behaved, "disagreement": found.disagreement}, index=index
        )


#: What an extrapolation is made from.
Forecast = CalibratedForecast | PaperForecast
