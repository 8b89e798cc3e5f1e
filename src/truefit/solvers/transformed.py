"""TransformedData: what a pipeline's first steps make of a table, as a table for the steps behind them."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.rows import Rows, add_tokens

#: Transformed rows that are kept for the next fit take at most this much.
KEPT_BYTES = 256 << 20

Index = npt.NDArray[np.intp]


class TransformedData(Data):
    """The training rows as they were transformed when the steps were fitted, then the rows that are asked about.

    A row that is trained on and asked about is there twice, for its values need not be the same: a transformer may do
    other things in ``fit_transform`` than in ``transform``. Rows that are asked about are transformed when they are
    taken, in the same blocks as plain fitting does it, and kept while there is room.

    ``X`` is the table of the training rows: by it solvers see what kind of table this is.

    Parameters
    ----------
    data : Data
        The table itself.
    train : ndarray
        Positions of the training rows in it.
    fitted : table
        What became of them.
    steps : sequence
        The fitted transformers.
    asked : sequence of Rows
        The rows that will be asked about.
    """

    def __init__(self, data: Data, train: Index, fitted: Any, steps: Sequence[Any], asked: Sequence[Rows]) -> None:
        worked_out = ("_by_token", "rowset")  # of the rows as they stand there
        self.__dict__.update({name: value for name, value in vars(data).items() if name not in worked_out})
        self.source, self.steps = data, tuple(steps)
        self.X = fitted
        self.trained = len(train)
        #: Position of each row here in the table itself.
        self.origin = np.concatenate([train, *(rows.index for rows in asked)])
        self.n = len(self.origin)
        self.y, self.tokens = data.y[self.origin], data.tokens[self.origin]
        self.codes = None if data.codes is None else data.codes[self.origin]
        self.groups = None if data.groups is None else data.groups[self.origin]
        self.weight = None if data.weight is None else data.weight[self.origin]
        self.total, self.release = add_tokens(self.tokens), None
        self._kept: OrderedDict[tuple[int, int], Any] = OrderedDict()
        self._kept_bytes = 0

    @property
    def train(self) -> Rows:
        """The training rows."""
        return Rows.of(np.arange(self.trained))

    def asked(self, asked: Sequence[Rows]) -> list[Rows]:
        """Return where the rows that were to be asked about stand, in the same order."""
        ends = self.trained + np.cumsum([len(rows) for rows in asked])
        return [Rows.of(np.arange(end - len(rows), end)) for rows, end in zip(asked, ends, strict=True)]

    @property
    def row_bytes(self) -> int:
        """As in the table itself, so that rows are predicted on in the same blocks."""
        return self.source.row_bytes

    def take(self, index: Index) -> Any:
        """Return transformed rows, as a copy: the training rows, or one block of those that are asked about."""
        if len(index) == self.trained and index[-1] < self.trained:
            return _copy(self.X)
        place = int(index[0]), int(index[-1])
        table = self._kept.get(place)
        if table is None:
            table = self.source.take(self.origin[index])
            for step in self.steps:
                table = step.transform(table)
            self._keep(place, table)
        return _copy(table)

    def _keep(self, place: tuple[int, int], table: Any) -> None:
        self._kept[place] = table
        self._kept_bytes += _size(table)
        while self._kept_bytes > KEPT_BYTES:
            _, oldest = self._kept.popitem(last=False)
            self._kept_bytes -= _size(oldest)


def _copy(table: Any) -> Any:
    if isinstance(table, np.ndarray):
        return table.copy(order="K")  # the last bits of what is made of it may go with the layout
    return table.copy() if hasattr(table, "copy") else table.clone()


def _size(table: Any) -> int:
    """Return about how much memory a table takes."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False).sum())
    parts: list[Any] = [getattr(table, name, None) for name in ("data", "indices", "indptr")]
    sizes = [int(part.nbytes) for part in parts if hasattr(part, "nbytes")]
    return sum(sizes) or int(table.shape[0] * table.shape[1] * 8)
