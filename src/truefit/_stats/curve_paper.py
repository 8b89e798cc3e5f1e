"""The learning curve of Brumen et al. (2007), as published: Procedure 1 with its Eqs. 38 to 41."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
from scipy.special import stdtrit

from truefit._core.typing import Floats, Mask
from truefit._stats.curve_fit import Fitted, fit, power_law

#: Probability, two-sided, of the paper's confidence intervals.
P = 0.001
#: The size of the paper's final error.
LARGE = 500_000
#: Points that a fit, a standard deviation and the conditions of good behaviour are made of.
LEAST_POINTS = 3
#: The exponent of a + b·l^c lies between these.
_SLOWEST, _FASTEST = 0.01, 0.5

#: Quantiles of Student's t at p = 0.001 for 2 to 24 degrees of freedom, as reconstructed from the paper's table: some
#: are rounded or misprinted.
PRINTED_T = (
    *(31.598, 12.941, 8.610, 6.859, 5.959, 5.405, 5.041, 4.781, 4.587, 4.437, 4.318, 4.221),
    *(4.140, 4.073, 4.015, 3.965, 3.922, 3.883, 3.850, 3.819, 3.792, 3.767, 3.745),
)


def r_sigma(errors: npt.ArrayLike, *, printed: bool = False) -> Floats:
    r"""Half widths of the paper's intervals: :math:`t_{0.001,\,i-1} \cdot sd(e_{i-2}, e_{i-1}, e_i)`.

    NaN for the first two points. With ``printed`` the quantiles are those of :data:`PRINTED_T`.
    """
    e = np.asarray(errors, dtype=np.float64)
    found = np.full(e.shape, np.nan)
    if e.size >= LEAST_POINTS:
        deviation = np.lib.stride_tricks.sliding_window_view(e, 3).std(axis=1, ddof=1)
        degrees = np.arange(2, e.size)
        known = np.array([*PRINTED_T, np.nan])[np.minimum(degrees - 2, len(PRINTED_T))]
        found[2:] = deviation * (known if printed else stdtrit(degrees, 1 - P / 2))
    return found


def well_behaved(sizes: npt.ArrayLike, errors: npt.ArrayLike) -> Mask:
    """Whether the last three points up to each one fall (Eq. 38) ever more slowly (Eq. 39)."""
    e = np.asarray(errors, dtype=np.float64)
    slope = np.diff(e) / np.diff(np.asarray(sizes, dtype=np.float64))
    found = np.zeros(e.shape, dtype=bool)
    found[2:] = (slope[:-1] < 0) & (slope[1:] < 0) & (slope[:-1] < slope[1:])
    return found


def disagreement(errors: npt.ArrayLike, following: npt.ArrayLike, large: npt.ArrayLike) -> Floats:
    """Largest difference between the error, the one expected next and the final one (Eq. 40)."""
    three = np.stack([np.asarray(each, dtype=np.float64) for each in (errors, following, large)])
    return np.asarray(three.max(axis=0) - three.min(axis=0))


def fit_paper(sizes: npt.ArrayLike, errors: npt.ArrayLike, weights: npt.ArrayLike | None = None) -> Fitted:
    """Fit a + b·l^c with a, b ≥ 0 and c between −0.5 and −0.01, all points alike."""
    return fit(power_law(_SLOWEST, _FASTEST), sizes, errors, weights)


def next_size(size: float) -> int:
    """Return the size after this one in the paper's schedule: 80, 90, 100, 200, ..., 1000, 2000, ...

    >>> [next_size(size) for size in (80, 90, 100, 900, 1000, 40_000, 48_842)]
    [90, 100, 200, 1000, 2000, 50000, 50000]
    """
    step = 10 ** max(int(np.floor(np.log10(size) + 1e-12)), 1)
    return int((size // step + 1) * step)


@dataclass(frozen=True, slots=True)
class Procedure:
    """The columns of the paper's Table 1; NaN where there are too few points.

    ``following`` and ``large`` are the errors expected at the next size and at :data:`LARGE`; ``low`` and ``high`` what
    was expected here one point before, ± that point's rσ; ``disagreement`` is the left side of Eq. 40.
    """

    following: Floats
    large: Floats
    low: Floats
    high: Floats
    r_sigma: Floats
    well_behaved: Mask
    disagreement: Floats

    @classmethod
    def of(cls, sizes: npt.ArrayLike, errors: npt.ArrayLike, *, printed: bool = False) -> Procedure:
        """Follow the procedure over measured points, sizes ascending."""
        n, e = np.asarray(sizes, dtype=np.float64), np.asarray(errors, dtype=np.float64)
        so_far = np.tril(np.ones((n.size, n.size)))
        curves = fit_paper(n, np.tile(e, (n.size, 1)), so_far)
        after = np.append(n[1:], next_size(n[-1]))
        expected = curves.predict(np.column_stack([after, np.full(n.size, LARGE)]))
        expected[: LEAST_POINTS - 1] = np.nan
        return cls.from_expected(n, e, expected[:, 0], expected[:, 1], printed=printed)

    @classmethod
    def from_expected(
        cls,
        sizes: npt.ArrayLike,
        errors: npt.ArrayLike,
        following: npt.ArrayLike,
        large: npt.ArrayLike,
        *,
        printed: bool = False,
    ) -> Procedure:
        """Fill the other columns around given expectations, such as the published ones."""
        expected, final = np.asarray(following, dtype=np.float64), np.asarray(large, dtype=np.float64)
        reach = r_sigma(errors, printed=printed)
        before, within = np.append(np.nan, expected[:-1]), np.append(np.nan, reach[:-1])
        behaved = well_behaved(sizes, errors)
        differences = disagreement(errors, expected, final)
        return cls(expected, final, before - within, before + within, reach, behaved, differences)

    def stops_at(self, tolerance: float) -> int | None:
        """Return the first point at which the curve is well-behaved and Eq. 40 holds, None if there is none."""
        found = np.flatnonzero(self.well_behaved & (self.disagreement < tolerance))
        return int(found[0]) if found.size else None
