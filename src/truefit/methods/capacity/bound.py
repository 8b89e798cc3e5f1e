"""Bound: a number of learning theory with what it says in words, and the checks of the numbers it is made of."""

from __future__ import annotations

import math
from typing import Any

from truefit.core.errors import InvalidInput


class Bound(float):
    """A number with what it says in words, and the equation it comes from.

    Examples
    --------
    >>> bound = Bound(0.07, reading="The true error is at most 0.07.", equation="Eq. 6")
    >>> bound < 0.1, bound.value, bound
    (True, 0.07, <Bound 0.07: The true error is at most 0.07.>)
    """

    reading: str
    equation: str

    def __new__(cls, value: float, *, reading: str, equation: str) -> Bound:
        """Make a number that carries its meaning."""
        bound = super().__new__(cls, value)
        bound.reading = reading
        bound.equation = equation
        return bound

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self)

    def __repr__(self) -> str:
        return f"<Bound {float(self):.6g}: {self.reading}>"

    def __reduce__(self) -> tuple[Any, ...]:
        return _bound_of, (float(self), self.reading, self.equation)


def _bound_of(value: float, reading: str, equation: str) -> Bound:
    return Bound(value, reading=reading, equation=equation)


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    finite: bool = True,
) -> float:
    """Return a value as a number within its ends, or say what is wrong with it."""
    try:
        checked = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        checked = math.nan
    inside = above < checked and at_least <= checked <= at_most
    if math.isnan(checked) or not inside or (finite and math.isinf(checked)):
        ends = [f"above {above:g}"] if above > -math.inf else []
        ends += [f"of at least {at_least:g}"] if at_least > -math.inf else []
        ends += [f"of at most {at_most:g}"] if at_most < math.inf else []
        got = value.reading if isinstance(value, Bound) and not value.known else f"Got {value!r} instead."
        raise InvalidInput(f"The {name!r} parameter must be a number {' and '.join(ends)}".rstrip() + f". {got}")
    return checked


def share(name: str, value: Any) -> float:
    """Return a value as a share strictly between 0 and 1."""
    checked = number(name, value, above=0.0)
    if checked >= 1:
        raise InvalidInput(f"The {name!r} parameter must be a share between 0 and 1. Got {value!r} instead.")
    return checked


def whole(name: str, value: Any) -> int:
    """Return a value as a positive whole number."""
    checked = number(name, value, above=0.0)
    if checked != int(checked):
        raise InvalidInput(f"The {name!r} parameter must be a whole number. Got {value!r} instead.")
    return int(checked)
