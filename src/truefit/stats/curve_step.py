"""The next size of a learning curve: where its error will have fallen by more than the points scatter."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def lemma_4_size(
    last: float, value: Callable[[Floats], Floats], noise: float, *, shortest: float, longest: float
) -> float:
    r"""Return the smallest m with :math:`f(l) - ν(l) \ge f(m) + ν(m)`, between two multiples of l (the paper's Eq. 25).

    Parameters
    ----------
    last : float
        The size l that was measured last.
    value : callable
        The curve f at sizes.
    noise : float
        Standard error ν(l) of the last point; that of another size is taken to fall with the square root of the size.
    shortest, longest : float
        Least and largest ratio of the two sizes. Where no size is large enough it is the largest.

    Examples
    --------
    >>> def falling(n):
    ...     return 10 * n**-0.5
    >>> steps = {"shortest": 1.1, "longest": 2.0}
    >>> [round(lemma_4_size(100, falling, noise, **steps)) for noise in (0.01, 0.1, 0.3)]
    [110, 150, 200]
    """
    sizes = np.geomspace(shortest, longest, 61) * last
    fall = value(np.array([last]))[0] - value(sizes)
    enough = np.flatnonzero(fall >= noise * (1 + np.sqrt(last / sizes)))
    return float(sizes[enough[0]] if enough.size else sizes[-1])
