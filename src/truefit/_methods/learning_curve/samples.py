"""Samples of a learning curve: the sequence of rows, the rows read so far, and the points measured on them."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data, RowSource
from truefit._core.errors import InvalidInput
from truefit._core.hashing import Tokens, salted, value_tokens
from truefit._core.typing import Floats, Positions
from truefit._methods.splitting.splits import is_whole
from truefit._stats.curve_points import Points


def row_sequence(data: Data, *, batches: Any = None, random_state: int | None = None) -> Positions:
    """Return the positions of all rows in random order, which follows from their content and the seed.

    Parameters
    ----------
    data : Data
        Rows of one group stay together.
    batches : list of int, optional
        Ends of the batches that the rows came in. Each is shuffled in itself, so that rows that were there before keep
        their places when new ones come.
    random_state : int or None

    Examples
    --------
    >>> labelled = Data([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 3.0, 4.0], task="regression")
    >>> grown = Data([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], task="regression")
    >>> bool((row_sequence(grown, batches=[4, 6])[:4] == row_sequence(labelled)).all())
    True
    """
    keys = [*_salted(data.tokens, random_state)]
    if data.groups is not None:
        keys += _salted(value_tokens(data.groups), random_state)
    ends = _checked(batches, data.n)
    parts = [start + np.lexsort([key[start:end] for key in keys]) for start, end in pairwise([0, *ends])]
    return np.concatenate(parts).astype(np.intp)


def _salted(tokens: Tokens, random_state: int | None) -> list[npt.NDArray[np.uint64]]:
    """Return the two lanes of tokens, the second last, which a sort looks at first."""
    mixed = salted(tokens, f"sequence {random_state}")
    return [mixed[:, 1], mixed[:, 0]]


def _checked(batches: Any, n: int) -> list[int]:
    if batches is None:
        return [n]
    ends: list[Any] = list(batches) if isinstance(batches, list | tuple | np.ndarray) else [None]
    rising = all(is_whole(end) for end in ends) and all(a < b for a, b in pairwise([0, *ends]))
    if not ends or not rising or ends[-1] > n:
        raise InvalidInput(
            "The 'batches' parameter must be the number of rows after each batch, increasing and no more than the "
            f"{n:,} rows there are. Got {batches!r} instead."
        )
    return [int(end) for end in ends] + ([n] if ends[-1] < n else [])


@dataclass(frozen=True, eq=False)
class SampledRows:
    """Rows in their sequence, and what is known of those that are not read yet.

    Attributes
    ----------
    data : Data
    sequence : array of int
        Positions of the rows of the data; a sample is the first of them.
    total : int or None
        How many rows can be had; None where that is not known.
    first : int or None
        How many there were said to be when the curve was begun.
    stations : tuple of int
        Where rows came to an end before.
    """

    data: Data
    sequence: Positions
    total: int | None
    first: int | None
    stations: tuple[int, ...] = ()

    @property
    def ends(self) -> bool:
        """Whether all rows are read."""
        return self.total is not None and self.data.n >= self.total


def sampled_table(data: Data, *, batches: Any = None, random_state: int | None = None) -> SampledRows:
    """Return a table in memory in the sequence that follows from its rows."""
    sequence = row_sequence(data, batches=batches, random_state=random_state)
    stations = tuple(int(end) for end in batches or ())
    return SampledRows(data, sequence, data.n, stations[0] if stations else data.n, stations)


def sampled_source(source: RowSource, requested: int, data: Data, *, batches: Any = None) -> SampledRows:
    """Return the first rows of a source, of which so many were asked for; a source that gives fewer has no more."""
    total = data.n if data.n < requested else source.total
    stations = tuple(int(end) for end in batches or ())
    return SampledRows(data, np.arange(data.n), total, stations[0] if stations else source.total, stations)


@dataclass(frozen=True)
class MeasuredCurve:
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
    def of(cls, sizes: Any, errors: Any, stderr: Any = None, *, largest: float | None = None) -> MeasuredCurve:
        """Check the points, put them in order, and average those of one size.

        Examples
        --------
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
