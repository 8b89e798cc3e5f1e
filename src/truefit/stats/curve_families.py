"""Families of learning curves: an end value plus a falling part of one shape."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
#: The falling part: logs of the sizes in units of a reference size, log of that size, and one array per shape.
Basis = Callable[[Floats, Floats, tuple[Floats, ...]], Floats]


@dataclass(frozen=True, slots=True)
class Shape:
    """A parameter that bends the curve: where it is looked for, on a scale on which equal steps matter equally.

    Attributes
    ----------
    name : str
        What it is called in the family's formula.
    low, high : float
        Ends of the search, on the scale of the search.
    steps : int
        Places to look at first.
    """

    name: str
    low: float
    high: float
    steps: int

    @property
    def grid(self) -> Floats:
        """The places to look at first."""
        return np.linspace(self.low, self.high, self.steps)


@dataclass(frozen=True, slots=True)
class Family:
    r"""Curves :math:`a + b\,\varphi_\theta(n)` with :math:`a, b \ge 0` and :math:`\varphi` falling in n.

    Sizes are counted in units of the last size that was measured, so that one search suits curves of any length.

    Attributes
    ----------
    name, formula : str
    basis : callable
        The falling part.
    shapes : tuple of Shape
        The parameters θ.
    floor : bool
        Whether there is an end value a, or the curve falls to 0.
    """

    name: str
    formula: str
    basis: Basis = field(repr=False)
    shapes: tuple[Shape, ...] = ()
    floor: bool = True


def _power(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    falling: Floats = np.exp(-shapes[0] * u)
    return falling


def _shifted_power(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    c, log_d = shapes
    falling: Floats = np.exp(-c * (np.logaddexp(u, log_d) - np.logaddexp(0.0, log_d)))
    return falling


def _sigmoid(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    log_d, log_k = shapes
    return 1 / (1 + np.exp(np.minimum(np.exp(log_d) * (u - log_k), 700.0)))


def _exponential(u: Floats, _: Floats, shapes: tuple[Floats, ...]) -> Floats:
    falling: Floats = np.exp(-np.exp(shapes[0]) * np.exp(u))
    return falling


def _inverse_log(u: Floats, log_unit: Floats, _: tuple[Floats, ...]) -> Floats:
    # The logarithm of one row is 0, and its inverse no error: a single row counts as two.
    return 1 / np.maximum(u + log_unit, np.log(2.0))


def _none(u: Floats, _: Floats, __: tuple[Floats, ...]) -> Floats:
    return np.zeros_like(u)


def power_law(low: float = 0.01, high: float = 0.98, *, floor: bool = True) -> Family:
    r"""Return the family :math:`a + b\,n^{-c}` with c between two ends; without a if it has no floor.

    Examples
    --------
    >>> power_law(high=0.5).shapes[0].grid[-1]
    np.float64(0.5)
    """
    name, formula = ("pow3", "a + b·n^−c") if floor else ("pow2", "b·n^−c")
    return Family(name, formula, _power, (Shape("c", low, high, 25),), floor)


#: All families by name.
FAMILIES = {
    family.name: family
    for family in (
        power_law(),
        power_law(floor=False),
        Family("pow4", "a + b·(n + d)^−c", _shifted_power, (Shape("c", 0.01, 0.98, 13), Shape("ln d", -12.0, 2.0, 15))),
        Family("mmf4", "a + b/(1 + (n/k)^d)", _sigmoid, (Shape("ln d", -2.0, 1.5, 11), Shape("ln k", -9.0, 4.0, 14))),
        Family("exp3", "a + b·exp(−c·n)", _exponential, (Shape("ln c", -3.0, 8.0, 34),)),
        Family("ilog2", "a + b/ln n", _inverse_log),
        Family("constant", "a", _none),
    )
}
