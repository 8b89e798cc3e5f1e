"""Reader: a table whose rows can be fetched by their keys."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Literal, Protocol

import numpy as np

from truefit.sources.sequence import Keys

if TYPE_CHECKING:
    import pandas as pd

#: What a key is: a row's own content, where it stands in its file, or its key in a database.
KeyKind = Literal["content", "position", "key"]

_POSITIONS_AT_ONCE = 1 << 18


class Reader(Protocol):
    """A table whose rows are told apart by keys; the types of its columns do not depend on which rows are read."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def place(self) -> str:
        """Where it is: the same for the same table on every call."""
        ...

    @property
    def kind(self) -> KeyKind:
        """What its keys are."""
        ...

    @property
    def total(self) -> int:
        """How many rows there are."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table on the way in, in words; usually nothing."""
        ...

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key, in stretches."""
        ...

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        ...


def positions(total: int) -> Iterator[Keys]:
    """Keys of rows that are known by where they stand.

    Examples
    --------
    >>> [keys.tolist() for keys in positions(3)]
    [[0, 1, 2]]
    """
    for start in range(0, total, _POSITIONS_AT_ONCE):
        yield np.arange(start, min(start + _POSITIONS_AT_ONCE, total), dtype=np.int64)
