"""Forward-chaining: each period is tested by a model that was trained on the rows before it."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.model_selection import TimeSeriesSplit

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Positions
from truefit._methods.text import counted

#: Rows to train on and to test on.
ForwardPair = tuple[Positions, Positions]


def forward_pairs(data: Data, periods: int) -> list[ForwardPair]:
    """Cut the rows in time order into one block more than periods: each but the first is tested by those before it.

    Blocks have about equal numbers of rows, and rows of equal time are in one block.
    """
    times, order = _in_order(data)
    starts = np.flatnonzero(times[1:] != times[:-1]) + 1
    if periods > len(starts):
        advice = f"Use cv={len(starts)}{', or fewer' if len(starts) > 2 else ''}."
        if len(starts) < 2:
            advice = "Use a finer time, or leave it out if the rows have no order."
        raise InvalidInput(
            f"{periods} periods need at least {periods + 1} different times: the rows of the first one only train. Got "
            f"{len(starts) + 1}. {advice}"
        )
    cuts, first = [], 0
    for cut in range(1, periods + 1):
        last = len(starts) - (periods - cut)  # the later periods need a start each
        place = first + int(np.abs(starts[first:last] - data.n * cut / (periods + 1)).argmin())
        cuts.append(int(starts[place]))
        first = place + 1
    return [(order[:a], order[a:b]) for a, b in zip(cuts, [*cuts[1:], data.n], strict=True)]


def _in_order(data: Data) -> tuple[Array, Positions]:
    """Return the times in order, and the positions of the rows in that order."""
    assert data.time is not None
    order = np.argsort(data.time, kind="stable")
    return data.time[order], order


def series_pairs(data: Data, splitter: TimeSeriesSplit) -> list[ForwardPair]:
    """Apply scikit-learn's splitter to the rows in time order; rows of equal time stay together."""
    times, order = _in_order(data)

    def rows(part: Positions) -> Positions:
        """Return a stretch of rows that begins and ends where a time begins."""
        ends = [int(np.searchsorted(times, times[end])) if end < data.n else data.n for end in (part[0], part[-1] + 1)]
        return order[ends[0] : ends[1]]

    try:
        pairs = [(rows(train), rows(test)) for train, test in splitter.split(order)]
    except ValueError as error:
        tested = splitter.test_size or max(data.n // (splitter.n_splits + 1), 1)
        raise InvalidInput(
            f"The first period must have training rows. Got {data.n} rows for {splitter.n_splits} periods of "
            f"{counted(tested, 'test row')} with gap={splitter.gap}, which leave none. Use fewer periods, or a "
            "smaller gap."
        ) from error
    if not all(len(part) for pair in pairs for part in pair):
        raise InvalidInput(
            "Each split must have rows to train on and to test on, and rows of equal time stay together. A split of "
            f"{splitter!r} has none; use fewer or larger splits."
        )
    return pairs


def check_forward(data: Data, train: Positions, test: Positions) -> None:
    """Refuse a split that trains on rows that are not earlier than those it tests."""
    assert data.time is not None
    trained, tested = data.time[train].max(), data.time[test].min()
    if trained >= tested:
        raise InvalidInput(
            "With time every training row must be earlier than every test row. A split of cv trains on rows up to "
            f"{trained} and tests from {tested} on. Pass a number of periods, or a TimeSeriesSplit."
        )


def refuse_splitter(given: Any) -> None:
    """Refuse what splits rows without regard to their time."""
    raise InvalidInput(
        "With time 'cv' must be a number of periods, a scikit-learn TimeSeriesSplit, or (train, test) pairs whose "
        f"training rows are earlier. Got {given!r}, which takes no account of time: later rows would train."
    )


def enough_periods(data: Data, periods: int) -> int:
    """Return the largest number of periods, of at most ``periods``, whose training rows all have two classes.

    Where there is none, ``periods`` itself.
    """
    if data.codes is None:
        return periods
    first = (forward_pairs(data, number)[0][0] for number in range(periods, 1, -1))
    found = (number for number, train in zip(range(periods, 1, -1), first, strict=True) if np.ptp(data.codes[train]))
    return next(found, periods)


def warn_of_one_class(data: Data, pairs: list[ForwardPair], *, periods: bool) -> None:
    """Warn of a training set of one class, in which few models can be fitted; for ``periods`` say how many would do."""
    codes = data.codes
    if codes is None:
        return
    for place, (train, _) in enumerate(pairs, start=1):
        if np.ptp(codes[train]) > 0:
            continue
        enough = enough_periods(data, len(pairs)) if periods else len(pairs)
        advice = "Use fewer or later test sets" if enough == len(pairs) else f"Use cv={enough}"
        warnings.warn(
            f"In time order, all {len(train)} rows before period {place} are of class {data.y[train[0]].item()!r}. "
            f"Models that need two classes cannot be fitted on them. {advice}.",
            UserWarning,
            stacklevel=4,
        )
        return


def earlier_splits(data: Data, pairs: list[ForwardPair]) -> list[list[int]]:
    """For each split, those whose test rows are known by its last training row: a selection may use their scores."""
    assert data.time is not None
    ends = [(data.time[train].max(), data.time[test].max()) for train, test in pairs]
    return [[j for j, (_, tested) in enumerate(ends) if tested <= trained] for trained, _ in ends]
