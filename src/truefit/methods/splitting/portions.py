"""Portions: the tasks of a plan a part at a time, so that those under way do not grow with the number of fits."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from truefit.core.rows import Rows
from truefit.core.task import FitTask

#: What fills a portion: so many tasks, or so many bytes in their lists of rows.
_TASKS = 2_000
_ROW_BYTES = 8 << 20
#: Leave-one-out may have larger ones: closed forms answer a portion with one factorisation.
_ONE_ROW_TASKS = 21_000


def one_row_portions(n: int) -> Iterator[Rows]:
    """Rows of a table in portions that closed forms of leave-one-out answer at once."""
    for start in range(0, n, _ONE_ROW_TASKS):
        yield Rows.of(np.arange(start, min(start + _ONE_ROW_TASKS, n)))


def portions(tasks: Iterable[FitTask]) -> Iterator[list[FitTask]]:
    """Tasks in portions of bounded size."""
    portion: list[FitTask] = []
    filled = 0.0
    for task in tasks:
        portion.append(task)
        one_row, row_bytes = True, task.train.nbytes
        for ask in task.asks:
            one_row &= len(ask.rows) == 1
            row_bytes += ask.rows.nbytes
        filled += 1 / (_ONE_ROW_TASKS if one_row else _TASKS) + row_bytes / _ROW_BYTES
        if filled >= 1:
            yield portion
            portion, filled = [], 0.0
    if portion:
        yield portion
