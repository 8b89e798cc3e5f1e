"""Rungs: smaller training sets, each within the next, on which a race can start."""

from __future__ import annotations

import numpy as np

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.rows import Rows
from truefit.methods.splitting.part import Part
from truefit.methods.splitting.splits import Split, shared_partition

#: Of how many parts the training rows are made, and how many of these each rung has.
_PARTS, _RUNGS = 8, (1, 2, 4)
#: With fewer rows than this a fit says nothing of the learner.
_FEWEST_ROWS = 16


def rungs_of(data: Data, split: Split) -> list[Split]:
    """An eighth, a quarter and a half of a split's training rows; each is tested on all rows that none of them has.

    The rows are drawn by their content, class by class, so whoever asks for the rungs of these training rows gets the
    same ones. Where the rows are too few for two rungs there are none.
    """
    rows = split.train.index
    try:
        parts = shared_partition(Part(data, rows, rare_classes=True), _PARTS, rare=True)
    except InvalidInput:  # fewer rows, or groups, than parts; or a single class
        return []
    trained = [rows[parts < rung] for rung in _RUNGS]
    tested = Rows.of(np.concatenate([rows[parts >= _RUNGS[-1]], split.test.index]))
    found = [Split(Rows.train_of(data.n, train), tested, split.repeat) for train in trained]
    found = [rung for rung in found if len(rung.train) >= _FEWEST_ROWS]
    return found if len(found) > 1 else []
