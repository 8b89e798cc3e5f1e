"""FrameReader: a table that is in memory, its rows known by their content."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np

from truefit._core.hashing import row_tokens, table_blocks
from truefit.sources.reader import KeyKind
from truefit.sources.sequence import Keys

if TYPE_CHECKING:
    import pandas as pd


class FrameReader:
    """Rows of a frame. They are known by their content, so that they may come back in another order.

    Parameters
    ----------
    frame : pandas DataFrame
        With the target among its columns.
    name, place : str
    notes : tuple of str

    Examples
    --------
    >>> import pandas as pd
    >>> from truefit.sources.on_demand import RowsOnDemand
    >>> frame = pd.DataFrame({"size": range(50), "kind": ["a", "b"] * 25})
    >>> rows = RowsOnDemand(FrameReader(frame, name="shells"), "kind")
    >>> rows.take(3)[0]["size"].tolist(), rows.take(5)[0]["size"].tolist()
    ([10, 12, 38], [10, 12, 38, 21, 27])
    """

    kind: KeyKind = "content"

    def __init__(self, frame: pd.DataFrame, *, name: str, place: str = "memory", notes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.place = place
        self.notes = notes
        self._frame = frame.reset_index(drop=True)
        # The first lane is enough: two rows that share it are a 2^-64 accident.
        tokens = row_tokens(table_blocks(self._frame)[0])[:, 0] if frame.shape[1] and len(frame) else np.empty(0)
        self._tokens: Keys = tokens.astype(np.uint64).view(np.int64)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self._frame)

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key."""
        yield self._tokens

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        order = np.argsort(self._tokens)
        return self._frame.iloc[order[np.searchsorted(self._tokens, keys, sorter=order)]]
