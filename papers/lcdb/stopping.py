"""Reference curves followed step by step: how often, and where, the bound of the gain ends them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from papers.lcdb.constants import level_at
from papers.lcdb.curves import Curve, nested_correlation
from truefit._stats.curve_forecast import LEAST_POINTS, GainBound, Outlook
from truefit._stats.curve_points import Points

Floats = npt.NDArray[np.float64]
Marks = npt.NDArray[np.bool_]

#: Curves that reach so many rows are followed, from this size on, up to this share of their largest.
_LEAST_ROWS, _START, _UP_TO = 2000, 60, 0.75


@dataclass(frozen=True)
class Followed:
    """Where curves ended: the share of rows that was used, and the gain that was given up; NaN where they did not."""

    curves: npt.NDArray[Any]
    share: Floats
    gain: Floats

    @property
    def stopped(self) -> Marks:
        """Which curves ended before all rows were used."""
        return np.isfinite(self.share)

    def wrong(self, tolerance: float) -> Marks:
        """Whether more than the tolerance was given up."""
        return self.stopped & (self.gain > tolerance)


def follow(
    curves: Sequence[Curve], bounds: Mapping[bool, GainBound], *, every: int, tolerance: float, level: float = 0.95
) -> Followed:
    """Follow curves as a cross-validation at every so many sizes would; ``bounds`` by whether a curve is judged."""
    random = np.random.default_rng(every)
    chosen = [curve for curve in curves if curve.sizes[-1] >= _LEAST_ROWS]
    seen = [_measured(curve, every, random) for curve in chosen]
    far = np.array([curve.sizes[-3:].mean() for curve in chosen])
    share, gain = np.full(len(chosen), np.nan), np.full(len(chosen), np.nan)
    for count in range(LEAST_POINTS, max(len(sizes) for sizes, *_ in seen) + 1):
        going = [
            i
            for i, (sizes, *_) in enumerate(seen)
            if np.isnan(share[i]) and len(sizes) >= count and sizes[count - 1] <= _UP_TO * far[i]
        ]
        if not going:
            continue
        sizes, errors, stderr = (np.array([seen[i][part][:count] for i in going]) for part in range(3))
        covariance = np.array([seen[i][3][:count, :count] for i in going])
        outlook = Outlook.of(Points(sizes, errors, stderr, covariance))
        last = sizes[:, -1:]
        most = {judged: bound.most(outlook, last, far[going, None], level)[:, 0] for judged, bound in bounds.items()}
        refused = outlook.rising | outlook.nothing_learned
        for place, i in enumerate(going):
            if not refused[place] and most[chosen[i].judged][place] <= tolerance:
                share[i] = last[place, 0] / far[i]
                gain[i] = level_at(chosen[i], last[place, 0]) - chosen[i].errors[-3:].mean()
    kept = np.empty(len(chosen), dtype=object)
    kept[:] = chosen
    return Followed(kept, share, gain)


def _measured(curve: Curve, every: int, random: np.random.Generator) -> tuple[Floats, Floats, Floats, Floats]:
    """Return sizes, errors, standard errors and covariances: a cross-validation in each of nested samples."""
    at = np.flatnonzero(curve.sizes >= _START)[::every]
    sizes, errors = curve.sizes[at], curve.errors[at]
    stderr = np.sqrt(np.maximum(errors * (1 - errors), 0.001) / sizes)
    alike = nested_correlation(sizes, random)
    drawn = stderr * (np.linalg.cholesky(alike) @ random.standard_normal(len(at)))
    return sizes, np.clip(errors + drawn, 0, 1), stderr, alike * np.outer(stderr, stderr)
