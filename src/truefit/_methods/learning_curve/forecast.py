"""Forecasts of one learning curve: calibrated on reference curves, or as the paper has it."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np

from truefit._core.typing import Floats
from truefit._methods.learning_curve.samples import MeasuredCurve
from truefit._stats.curve_forecast import LEAST_POINTS, LEAST_SPAN, Outlook, shipped, shipped_gain
from truefit._stats.curve_paper import LARGE, P, Procedure, fit_paper
from truefit._stats.curve_paper import LEAST_POINTS as PAPER_POINTS

if TYPE_CHECKING:
    import pandas as pd

Triple = tuple[Floats, Floats, Floats]

#: Multiples of the rows measured that people ask about.
MULTIPLES = (1, 2, 5, 10)


#: Why enough is known: more rows bring too little, what they bring is known well enough, or the paper's rule holds.
Rule = Literal["gain", "width", "paper"]


class Stop(NamedTuple):
    """Whether enough has been measured: by which rule, None where not; and the reason in words."""

    rule: Rule | None
    reason: str


@dataclass(frozen=True)
class CalibratedForecast:
    """A power law, averaged over its exponents; intervals by how far such forecasts were off on reference curves.

    With ``single_runs`` each point is known to be one cross-validation: what is to be gained at most then comes from
    how much such curves still fell.
    """

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
                f"Only {len(sizes)} sizes were measured; where a curve goes is seen from {LEAST_POINTS} or more. "
                "Measure at more sizes, each some 1.2 to 2 times the one before."
            )
        if sizes[-1] < LEAST_SPAN * sizes[0]:
            return (
                f"The largest size, {sizes[-1]:,.0f}, is only {sizes[-1] / sizes[0]:.2g} times the smallest; where a "
                f"curve goes is seen over a factor of {LEAST_SPAN:g} or more. Measure smaller or larger sizes too."
            )
        return None

    @cached_property
    def refused(self) -> str | None:
        """Why there is no forecast; None where there is one."""
        if self._outlook is None:
            return self._too_little
        now = self._outlook.level[0] * self.measured.unit
        if self._outlook.nothing_learned[0]:
            return (
                f"Nothing has been learned yet: with up to {self.measured.last:,.0f} rows the error has hardly moved "
                f"from {now:.3g}, and when it will begin to fall cannot be seen. Measure with more rows."
            )
        if self._outlook.rising[0]:
            lowest = np.nanmin(self._outlook.points.smoothed()) * self.measured.unit
            return (
                f"The curve rises: its error is {now:.3g} at the end and was {lowest:.3g} before. Where a curve goes "
                "that rises or has a peak cannot be foretold. Look at what the learner does there, or measure further."
            )
        return None

    @cached_property
    def warnings(self) -> list[str]:
        """What to know about the forecast."""
        if self._outlook is None or self.refused is not None:
            return []
        found = []
        if self._outlook.accelerating[0]:
            found.append("The error has lately been falling faster than before, so it may fall further than expected.")
        if self._outlook.surprised[0]:
            off = self._outlook.worst_backtest[0] * self.measured.unit
            found.append(
                f"From its earlier points this curve's last ones would have been predicted {off:.2g} wrong: expect "
                "such surprises again."
            )
        return found

    @property
    def end(self) -> float:
        """What the curve falls to in the end."""
        return float("nan") if self._outlook is None else float(self._outlook.curve.end[0]) * self.measured.unit

    def predict(self, sizes: Floats) -> Triple:
        """Value, low and high end at sizes; NaN where the forecast is refused."""
        return self._predict(sizes, self.level)

    def _predict(self, sizes: Floats, level: float) -> Triple:
        if self._outlook is None or self.refused is not None:
            nothing = np.full(sizes.shape, np.nan)
            return nothing, nothing, nothing
        unit, largest = self.measured.unit, self.measured.largest
        value, low, high = self._outlook.predict(sizes[None], level, largest=largest / unit)
        return value[0] * unit, low[0] * unit, high[0] * unit

    @cached_property
    def stop(self) -> Stop:
        """Stop where the rows up to the horizon cannot bring what matters, or it is well known what they bring."""
        if self.refused is not None:
            return Stop(None, self.refused)
        at = np.array([self.measured.last, self.horizon])
        value, low, high = self.predict(at)
        gain, most, width = value[0] - value[1], self.most_gain(at[:1])[0], high[1] - low[1]
        more = f"More rows, up to {self.horizon:,.0f}, would lower the error"
        if most <= self.tolerance:
            return Stop("gain", f"{more} by at most {most:.2g}, and less than {self.tolerance:.3g} does not matter.")
        if width <= self.tolerance:
            return Stop("width", f"{more} by {gain:.2g}; what they bring is known to within {width:.2g}.")
        return Stop(None, f"{more} by about {gain:.2g}, and perhaps by {most:.2g}.")

    def most_gain(self, start: Floats) -> Floats:
        """Return what the error falls by at most from sizes on up to the horizon."""
        if self._outlook is None or self.refused is not None:
            return np.full(start.shape, np.inf)
        if self.single_runs:
            most = shipped_gain().most(self._outlook, start[None], self.horizon, self.level)[0]
            return np.asarray(most * self.measured.unit)
        # The most that is to be gained is one end alone: an interval with both tails at that end is enough.
        least = self._predict(np.array([self.horizon]), max(2 * self.level - 1, shipped().levels[0]))[1]
        return self.predict(start)[0] - least

    def enough_at(self, sizes: Floats) -> float | None:
        """Return the first of some sizes at which enough will be known if all goes as expected; None if at none."""
        enough = np.flatnonzero(self.most_gain(sizes) <= self.tolerance)
        return float(sizes[enough[0]]) if enough.size else None

    @property
    def table(self) -> pd.DataFrame:
        """What once, twice, 5 and 10 times the rows bring, and those at the horizon."""
        import pandas as pd

        sizes = np.unique([*(multiple * self.measured.last for multiple in MULTIPLES), self.horizon])
        value, low, high = self.predict(sizes)
        now = self.predict(np.array([self.measured.last]))[0]
        columns = {"estimate": value, "low": low, "high": high, "gain": now - value}
        columns |= {"gain_low": now - high, "gain_high": now - low}
        return pd.DataFrame(columns, index=pd.Index(sizes.astype(np.int64), name="rows"))


@dataclass(frozen=True)
class PaperForecast:
    """Procedure 1 of Brumen et al. (2007): a + b·l^c through all points alike, ± rσ."""

    measured: MeasuredCurve
    tolerance: float

    @property
    def level(self) -> float:
        """The paper's, whatever was asked for."""
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
        return f"Only {count} sizes were measured; the paper's fit takes {PAPER_POINTS} or more."

    @property
    def warnings(self) -> list[str]:
        """What is known of such intervals."""
        if self.refused is not None:
            return []
        return [
            "The paper's rσ is the scatter of three points, not how far off a forecast is: it covers far too seldom."
        ]

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
        """What the curve falls to in the end."""
        return self.parameters["a"] if self.refused is None else float("nan")

    def predict(self, sizes: Floats) -> Triple:
        """Value plus and minus the last rσ."""
        if self.procedure is None:
            nothing = np.full(sizes.shape, np.nan)
            return nothing, nothing, nothing
        value, reach = self._fitted.predict(sizes)[0], self.procedure.r_sigma[-1]
        return value, value - reach, value + reach

    def enough_at(self, sizes: Floats) -> float | None:
        """Return None: the paper has sizes of its own."""
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
            return Stop(
                None,
                "The curve is nowhere well-behaved: never three points that fall ever more slowly (Eqs. 38, 39).",
            )
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
