"""A trial: curves in one view, extrapolated by several methods, beside what came of them."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache, cached_property

import numpy as np

from truefit._core.typing import Floats, Mask
from truefit._stats.curve_fit import FAMILIES, Family, fit, power_law
from truefit._stats.curve_forecast import Calibration
from truefit.reproduce.lcdb.observed import Observed

OURS, YARDSTICK = "truefit", "pow3, least squares"


@dataclass(frozen=True, eq=False)
class Trial:
    """Curves in one view.

    Attributes
    ----------
    observed : Observed
    for_judged, for_others : Calibration
        The constants for the half that is judged, learnt on the other, and the other way round.
    """

    observed: Observed
    for_judged: Calibration
    for_others: Calibration

    @cached_property
    def guesses(self) -> dict[str, Floats]:
        """What each method expects, by its name."""
        points, at = self.observed.points, self.observed.at[:, None]
        equal = points.used.astype(np.float64)

        def fitted(family: Family) -> Floats:
            return fit(family, points.sizes, points.errors, equal).predict(at)[:, 0]

        return {
            "last value": points.errors[:, -1],
            "the paper's fit (0.01 ≤ c ≤ 0.5)": fitted(power_law(0.01, 0.5)),
            YARDSTICK: fitted(FAMILIES["pow3"]),
            OURS: self.observed.outlook.curve.predict(at)[:, 0],
        }

    @cache  # noqa: B019 (a trial lives as long as the page is made)
    def ends(self, level: float = 0.95) -> tuple[Floats, Floats]:
        """Low and high ends of the intervals, each curve's with constants that its half had no part in."""
        at, outlook = self.observed.at[:, None], self.observed.outlook
        calibrations = (self.for_judged, self.for_others)
        (_, *judged), (_, *others) = (outlook.predict(at, level, calibration=each) for each in calibrations)
        low, high = (
            np.where(self.observed.judged, mine[:, 0], theirs[:, 0])
            for mine, theirs in zip(judged, others, strict=True)
        )
        return low, high

    def holds(self, level: float = 0.95) -> Mask:
        """Whether the intervals hold."""
        low, high = self.ends(level)
        return (low - 1e-9 <= self.observed.truth) & (self.observed.truth <= high + 1e-9)

    @property
    def widths(self) -> Floats:
        """Widths of the 95% intervals, in points."""
        low, high = self.ends()
        return np.asarray(100 * (high - low))

    @property
    def given(self) -> Mask:
        """Curves that are extrapolated."""
        return ~self.observed.refused

    def off(self, name: str, which: Mask) -> tuple[float, float]:
        """Median and 90th percentile of a method's distance from the truth, in points."""
        distance = 100 * np.abs(self.guesses[name] - self.observed.truth)[which]
        return float(np.median(distance)), float(np.percentile(distance, 90))
