"""Sampled: the rows of a learning curve in their sequence, as far as they are read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.row_source import RowSource
from truefit.methods.curves.sequence import row_sequence

Positions = npt.NDArray[np.intp]


@dataclass(frozen=True, eq=False)
class Sampled:
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


def sampled_table(data: Data, *, batches: Any = None, random_state: int | None = None) -> Sampled:
    """Return a table in memory in the sequence that follows from its rows."""
    sequence = row_sequence(data, batches=batches, random_state=random_state)
    stations = tuple(int(end) for end in batches or ())
    return Sampled(data, sequence, data.n, stations[0] if stations else data.n, stations)


def sampled_source(source: RowSource, asked: int, data: Data, *, batches: Any = None) -> Sampled:
    """Return the first rows of a source, of which so many were asked for; a source that gives fewer has no more."""
    total = data.n if data.n < asked else source.total
    stations = tuple(int(end) for end in batches or ())
    return Sampled(data, np.arange(data.n), total, stations[0] if stations else source.total, stations)
