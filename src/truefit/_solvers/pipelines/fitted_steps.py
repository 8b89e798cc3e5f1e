"""First steps of a pipeline fitted on some rows, and the table that they make for the steps behind them."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Sequence
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np

from truefit._core.data import Data
from truefit._core.rows import Rows, add_tokens
from truefit._core.typing import Positions

#: Transformed rows that are kept for the next fit take at most this much.
KEPT_BYTES = 256 << 20
#: Fitted steps that are kept for the next job take at most this much with their rows; the last ones whatever it is.
HELD_BYTES = 128 << 20


class FittedSteps:
    """Fitted transformers, what they made of their training rows (``fitted``), and a cache of other rows."""

    def __init__(self, steps: Sequence[Any], fitted: Any, seconds: float = 0.0) -> None:
        self.steps, self.fitted, self.seconds = tuple(steps), fitted, seconds
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._kept_bytes = 0
        self._fitted_bytes = _size(fitted)

    @property
    def nbytes(self) -> int:
        """What all the rows take in memory."""
        return self._fitted_bytes + self._kept_bytes

    def rows(self, data: Data, index: Positions) -> Any:
        """Return what the steps make of some rows of the table; not a copy."""
        name = blake2b(index.tobytes(), digest_size=16).digest()
        table = self._kept.get(name)
        if table is None:
            table = data.take(index)
            for step in self.steps:
                table = step.transform(table)
            self._kept[name] = table
            self._kept_bytes += _size(table)
        self._kept.move_to_end(name)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= _size(self._kept.popitem(last=False)[1])
        return table


class RecentSteps(threading.local):
    """The steps last fitted on each table, per thread: pipelines that share them may come in several jobs.

    They are released with their table.
    """

    def __init__(self) -> None:
        self._tables: WeakKeyDictionary[Data, OrderedDict[Hashable, FittedSteps]] = WeakKeyDictionary()

    def of(self, data: Data, name: Hashable, fit: Callable[[], FittedSteps]) -> tuple[FittedSteps, float]:
        """Return fitted steps by a name of all that they depend on, and the seconds that fitting took now."""
        known = self._tables.setdefault(data, OrderedDict())
        steps = known.get(name)
        if steps is not None:
            known.move_to_end(name)
            return steps, 0.0
        self._make_room(known)
        steps = known[name] = fit()
        return steps, steps.seconds

    def _make_room(self, known: OrderedDict[Hashable, FittedSteps]) -> None:
        while known and sum(each.nbytes for table in self._tables.values() for each in table.values()) > HELD_BYTES:
            known.popitem(last=False)


def copied(table: Any) -> Any:
    """Return a copy of a table of any kind."""
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


class TransformedData(Data):
    """The training rows as transformed when the steps were fitted, then the rows to predict, transformed when taken.

    A row that is both is there twice: ``fit_transform`` may differ from ``transform``. Rows are transformed in the same
    blocks as in plain fitting. ``X`` is the table of the training rows, by which solvers see what kind of table this
    is.
    """

    def __init__(self, data: Data, train: Positions, steps: FittedSteps, asked: Sequence[Rows]) -> None:
        # These are of the rows as they stand there.
        own = {name: value for name, value in vars(data).items() if name not in ("rowset", "group_codes")}
        self.__dict__.update(own)
        self.source, self.steps = data, steps
        self.X = steps.fitted
        self.trained = len(train)
        #: Position of each row here in the table itself.
        self.origin = np.concatenate([train, *(rows.index for rows in asked)])
        self.n = len(self.origin)
        self.y, self.tokens = data.y[self.origin], data.tokens[self.origin]
        self.codes = None if data.codes is None else data.codes[self.origin]
        self.groups = None if data.groups is None else data.groups[self.origin]
        self.weight = None if data.weight is None else data.weight[self.origin]
        self.total, self.release = add_tokens(self.tokens), None

    @property
    def train(self) -> Rows:
        """The training rows."""
        return Rows.of(np.arange(self.trained))

    def asked(self, asked: Sequence[Rows]) -> list[Rows]:
        """Return the positions here of the rows to predict, in the same order."""
        ends = self.trained + np.cumsum([len(rows) for rows in asked])
        return [Rows.of(np.arange(end - len(rows), end)) for rows, end in zip(asked, ends, strict=True)]

    @property
    def row_bytes(self) -> int:
        """As in the table itself, so that rows are predicted on in the same blocks."""
        return self.source.row_bytes

    def take(self, index: Positions) -> Any:
        """Return transformed rows, as a copy: the training rows, or one block of those to predict."""
        if len(index) == self.trained and index[-1] < self.trained:
            return copied(self.X)
        return copied(self.steps.rows(self.source, self.origin[index]))
