"""Measured points of one learning curve, checked."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.stats.curve_points import Points

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Measured:
    """Errors at sizes, ascending, each size once.

    Attributes
    ----------
    sizes, errors : array of shape (points,)
    stderr : array of shape (points,) or None
    largest : float
        The largest value that an error can have; infinite for a loss.
    unit : float
        What errors are counted in where scales matter: 1 for shares, for a loss the largest error measured.
    covariance : array of shape (points, points) or None
        Of the errors, where samples share rows and that is known.
    """

    sizes: Floats
    errors: Floats
    stderr: Floats | None
    largest: float
    unit: float
    covariance: Floats | None = None

    @classmethod
    def of(cls, sizes: Any, errors: Any, stderr: Any = None, *, largest: float | None = None) -> Measured:
        """Check the points, put them in order, and average those of one size.

        Examples
        --------
        >>> points = Measured.of([200, 100, 200], [0.2, 0.4, 0.3])
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
        found, place, count = np.unique(n, return_inverse=True, return_counts=True)
        y = np.bincount(place, y) / count
        if se is not None:
            se = np.sqrt(np.bincount(place, se**2)) / count
        return cls(found, y, se, top, 1.0 if np.isfinite(top) else float(y.max()) or 1.0)

    @property
    def last(self) -> float:
        """The largest size."""
        return float(self.sizes[-1])

    @property
    def points(self) -> Points:
        """The points in units of the scale, as a row of their own."""
        stderr = None if self.stderr is None else self.stderr[None] / self.unit
        covariance = None if self.covariance is None else self.covariance[None] / self.unit**2
        return Points(self.sizes[None], self.errors[None] / self.unit, stderr, covariance)


def _column(name: str, values: Any, *, above: float | None = None) -> Floats:
    try:
        column = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        column = np.full(1, np.nan)
    inside = (column > above) if above is not None else (column >= 0)
    if column.ndim != 1 or not column.size or not (np.isfinite(column) & inside).all():
        wanted = "positive" if above is not None else "no less than 0"
        raise InvalidInput(
            f"The {name!r} parameter must be a list of finite numbers, {wanted}. Got {values!r}; leave out points that "
            "were not measured, and give losses, not scores (1 − accuracy)."
        )
    return column


def _largest(errors: Floats, largest: float | None) -> float:
    if largest is None:
        return 1.0 if errors.max() <= 1 else np.inf
    if isinstance(largest, bool) or not isinstance(largest, int | float | np.number) or not largest > 0:
        raise InvalidInput(f"The 'largest' parameter must be a positive number or infinite. Got {largest!r} instead.")
    if errors.max() > largest:
        raise InvalidInput(
            f"No error may exceed the largest there can be, {largest:g}. Got {errors.max():g}; give shares, such as "
            "0.139 for 13.9%."
        )
    return float(largest)
