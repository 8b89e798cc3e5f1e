"""TransformedData: what a pipeline's first steps make of a table, as a table for the steps behind them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.rows import Rows, add_tokens
from truefit._core.typing import Positions
from truefit._solvers.fitted_steps import FittedSteps, copied


class TransformedData(Data):
    """The training rows as they were transformed when the steps were fitted, then the rows that are asked about.

    A row that is trained on and asked about is there twice, for its values need not be the same: a transformer may do
    other things in ``fit_transform`` than in ``transform``. Rows that are asked about are transformed when they are
    taken, in the same blocks as plain fitting does it, and kept with the steps while there is room.

    ``X`` is the table of the training rows: by it solvers see what kind of table this is.

    Parameters
    ----------
    data : Data
        The table itself.
    train : ndarray
        Positions of the training rows in it.
    steps : FittedSteps
        What was fitted on them.
    asked : sequence of Rows
        The rows that will be asked about.
    """

    def __init__(self, data: Data, train: Positions, steps: FittedSteps, asked: Sequence[Rows]) -> None:
        # The rowset is of the rows as they stand there.
        self.__dict__.update({name: value for name, value in vars(data).items() if name != "rowset"})
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
        """Return where the rows that were to be asked about stand, in the same order."""
        ends = self.trained + np.cumsum([len(rows) for rows in asked])
        return [Rows.of(np.arange(end - len(rows), end)) for rows, end in zip(asked, ends, strict=True)]

    @property
    def row_bytes(self) -> int:
        """As in the table itself, so that rows are predicted on in the same blocks."""
        return self.source.row_bytes

    def take(self, index: Positions) -> Any:
        """Return transformed rows, as a copy: the training rows, or one block of those that are asked about."""
        if len(index) == self.trained and index[-1] < self.trained:
            return copied(self.X)
        return copied(self.steps.rows(self.source, self.origin[index]))
