"""Config of a learning curve: its rows in sequence, its sizes (the schedule), its budget, and when it stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from truefit._core.data import Data, RowSource
from truefit._core.errors import InvalidInput
from truefit._core.rows import Tokens, salted
from truefit._core.typing import Positions
from truefit._methods.complexity import number
from truefit._methods.learning_curve.extrapolation import Mode, check_forecast
from truefit._methods.splitting.splits import is_whole, whole_number
from truefit._metrics.metric import Metric
from truefit._stats.curve_paper import next_size


def row_sequence(data: Data, *, batches: Any = None, random_state: int | None = None) -> Positions:
    """Return the positions of all rows in a random order that depends on their content and the seed only.

    Rows of one group stay together within a batch, whatever the group's name. ``batches`` are the ends of the batches
    that the rows came in: each is shuffled by itself, so that earlier rows keep their positions when new ones come.

    >>> labelled = Data([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 3.0, 4.0], task="regression")
    >>> larger = Data([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], task="regression")
    >>> bool((row_sequence(larger, batches=[4, 6])[:4] == row_sequence(labelled)).all())
    True
    """
    mixed = salted(data.tokens, f"sequence {random_state}")
    ends = _batch_ends(batches, data.n)
    parts = [start + _shuffled(data, mixed, start, end) for start, end in pairwise([0, *ends])]
    return np.concatenate(parts).astype(np.intp)


def _shuffled(data: Data, mixed: Tokens, start: int, end: int) -> Positions:
    """Return the rows of one batch sorted by their tokens; with groups first by the sum of the group's tokens."""
    keys = list(mixed[start:end].T[::-1])  # the first key last
    if data.groups is not None:
        _, codes = np.unique(data.group_codes[start:end], return_inverse=True)
        for lane in keys[:2]:
            sums = np.zeros(codes.max() + 1, dtype=np.uint64)
            np.add.at(sums, codes, lane)
            keys.append(sums[codes])
    return np.lexsort(keys)


def _batch_ends(batches: Any, n: int) -> list[int]:
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
    """Rows in their sequence, of which a sample is the first so many.

    ``total`` is the number of rows available, None where unknown; ``first`` that number when the curve was started;
    ``batch_ends`` are the sizes of earlier curves.
    """

    data: Data
    sequence: Positions
    total: int | None
    first: int | None
    batch_ends: tuple[int, ...] = ()

    @property
    def complete(self) -> bool:
        """Whether all rows are read."""
        return self.total is not None and self.data.n >= self.total

    @cached_property
    def whole_sizes(self) -> Positions | None:
        """Sizes of the samples that end with a whole group, or with a batch; None without groups."""
        if self.data.groups is None:
            return None
        codes = self.data.group_codes[self.sequence]
        return np.union1d(np.flatnonzero(codes[1:] != codes[:-1]) + 1, [*self.batch_ends, self.data.n])

    def whole(self, size: float) -> float:
        """Return the largest sample of whole groups that has at most so many rows; the first one, if there is none."""
        sizes = self.whole_sizes
        if sizes is None or size >= sizes[-1]:
            return size
        return int(sizes[max(int(np.searchsorted(sizes, size, side="right")) - 1, 0)])


def sampled_table(data: Data, *, batches: Any = None, random_state: int | None = None) -> SampledRows:
    """Return a table in memory, in its sequence."""
    sequence = row_sequence(data, batches=batches, random_state=random_state)
    batch_ends = tuple(int(end) for end in batches or ())
    return SampledRows(data, sequence, data.n, batch_ends[0] if batch_ends else data.n, batch_ends)


def sampled_source(source: RowSource, requested: int, data: Data, *, batches: Any = None) -> SampledRows:
    """Return the first rows of a source; one that gives fewer than requested has no more."""
    total = data.n if data.n < requested else source.total
    batch_ends = tuple(int(end) for end in batches or ())
    return SampledRows(data, np.arange(data.n), total, batch_ends[0] if batch_ends else source.total, batch_ends)


#: Parts of a budget.
BUDGET_PARTS = ("rows", "seconds", "money", "price_per_row")


@dataclass(frozen=True)
class Budget:
    """Limits on rows, on the seconds spent in fits, and on money at a price per row.

    >>> Budget.of({"money": 500, "price_per_row": 0.25}).most_rows
    2000
    """

    rows: int | None = None
    seconds: float | None = None
    money: float | None = None
    price_per_row: float | None = None

    @classmethod
    def of(cls, given: Any) -> Budget:
        """Make a budget from None, a number of rows, or a mapping."""
        if given is None:
            return cls()
        if is_whole(given):
            given = {"rows": given}
        if not isinstance(given, Mapping) or set(given) - set(BUDGET_PARTS):
            raise InvalidInput(
                f"The 'budget' parameter must be a number of rows, or a dict with some of {', '.join(BUDGET_PARTS)}. "
                f"Got {given!r} instead."
            )
        if ("money" in given) != ("price_per_row" in given):
            raise InvalidInput(f"A budget in money needs both 'money' and 'price_per_row'. Got {dict(given)!r}.")
        values = {name: number(f"budget[{name!r}]", value, above=0.0) for name, value in given.items()}
        rows = values.pop("rows", None)
        return cls(None if rows is None else int(rows), **values)

    @property
    def most_rows(self) -> float:
        """Rows that may be used; infinite without a limit."""
        most = np.inf if self.rows is None else float(self.rows)
        if self.money is not None and self.price_per_row is not None:
            # A price such as 0.1 is not exact in binary.
            most = min(most, np.floor(self.money / self.price_per_row + 1e-9))
        return most if np.isinf(most) else int(most)

    def exhausted(self, rows: int) -> str:
        """Return the sentence for a budget that so many rows exhaust."""
        if self.rows is not None and self.most_rows == self.rows:
            return f"Budget of {self.rows:,} rows exhausted."
        return f"Budget of {self.money:g} exhausted: {rows:,} rows at {self.price_per_row:g} each."


#: Smallest and largest ratio of a size to the one before.
SHORTEST_STEP, LONGEST_STEP = 1.1, 2.0
#: First size of an adaptive schedule, if there are rows enough, and of the paper.
_START, PAPER_START = 64, 80
#: Rows that are read first.
_BEGIN = 128
#: Sizes of a small table, about.
_POINTS = 8
#: Largest of the paper's sizes, where the number of rows is unknown.
_FAR = 10_000_000


@dataclass(frozen=True)
class Adaptive:
    """Steps just long enough for the error to fall by more than its noise.

    ``most`` is the largest size, ``step`` the ratio of the first sizes. ``batch_ends`` are never skipped: points have
    been measured there before.
    """

    start: int
    most: float
    step: float = LONGEST_STEP
    batch_ends: tuple[int, ...] = ()
    exhaustive: ClassVar[bool] = False

    def first_sizes(self, count: int) -> list[int]:
        """Return sizes with equal ratios."""
        sizes = [self.start]
        while len(sizes) < count:
            size = self.after(sizes[-1], self.step * sizes[-1])
            if size is None:
                break
            sizes.append(size)
        return sizes

    def after(self, last: int, wanted: float) -> int | None:
        """Return the wanted size, or all rows where those left would be too few for another step."""
        if last >= self.most:
            return None
        size = int(np.ceil(max(wanted, SHORTEST_STEP * last)))
        end = min((size for size in self.batch_ends if size > last), default=np.inf)
        end = min(end, self.most)
        return int(end) if size * SHORTEST_STEP >= end else size


@dataclass(frozen=True)
class Fixed:
    """Given sizes; all of them are measured if ``exhaustive``, otherwise until a stopping rule holds."""

    sizes: tuple[int, ...]
    exhaustive: bool

    def first_sizes(self, count: int) -> list[int]:
        """Return the first sizes; all of them if exhaustive."""
        return list(self.sizes if self.exhaustive else self.sizes[:count])

    def after(self, last: int, wanted: float) -> int | None:
        """Return the next size."""
        return next((size for size in self.sizes if size > last), None)


@dataclass(frozen=True, eq=False)
class WholeGroups:
    """Sizes of another schedule, less the rows of a group that would be cut."""

    schedule: Adaptive | Fixed
    sampled: SampledRows

    @property
    def exhaustive(self) -> bool:
        """Whether all sizes are measured."""
        return self.schedule.exhaustive

    def first_sizes(self, count: int) -> list[int]:
        """Return the first sizes, each once."""
        return list(dict.fromkeys(int(self.sampled.whole(size)) for size in self.schedule.first_sizes(count)))

    def after(self, last: int, wanted: float) -> int | None:
        """Return the next size that holds another group."""
        size = self.schedule.after(last, wanted)
        while size is not None and self.sampled.whole(size) <= last:
            size = self.schedule.after(size, wanted)
        return None if size is None else int(self.sampled.whole(size))


Schedule = Adaptive | Fixed | WholeGroups


def paper_schedule(most: float) -> tuple[int, ...]:
    """Return the paper's sizes: 80, 90, 100(100)1000(1000)10000(10000)..., and all rows.

    >>> paper_schedule(48_842)[-6:]
    (9000, 10000, 20000, 30000, 40000, 48842)
    >>> len(paper_schedule(48_842)), paper_schedule(60)
    (25, (60,))
    """
    sizes, size = [], PAPER_START
    while size < most:
        sizes.append(size)
        size = next_size(size)
    return (*sizes, int(most))


def rows_to_begin(given: Any) -> int:
    """Return how many rows a schedule needs at first."""
    listed = isinstance(given, Sequence | np.ndarray | range) and not isinstance(given, str)
    return max((int(size) for size in given if is_whole(size)), default=1) if listed else _BEGIN


def make_schedule(
    given: Any, *, least: int, most: float, first: float | None, batch_ends: tuple[int, ...], k: int
) -> Adaptive | Fixed:
    """Make a schedule from "adaptive", "paper" or a list of sizes.

    ``least`` is the smallest sample with which k folds are possible, ``most`` the largest, infinite where unknown.
    ``first`` is the number of rows when the curve was started: it determines the first sizes, which must not change
    when rows are added. None where that was unknown; then a list may exceed the rows.
    """
    if isinstance(given, str) and given == "adaptive":
        start = max(_START if first is None else min(_START, int(first) // 10), least)
        step = LONGEST_STEP
        if first is not None:
            step = float(np.clip((first / start) ** (1 / _POINTS), SHORTEST_STEP, LONGEST_STEP))
        return Adaptive(start, most, step, batch_ends)
    if isinstance(given, str) and given == "paper":
        far = most if np.isfinite(most) else _FAR
        return Fixed(tuple(size for size in paper_schedule(far) if size >= least), exhaustive=False)
    sizes = checked_sizes(given, least=least, most=np.inf if first is None else most, k=k)
    return Fixed(tuple(size for size in sizes if size <= most), exhaustive=True)


def checked_sizes(given: Any, *, least: int, most: float, k: int) -> tuple[int, ...]:
    """Return a list of sizes as whole numbers, or raise InvalidInput."""
    listed = isinstance(given, Sequence | np.ndarray | range) and not isinstance(given, str)
    sizes = list(given) if listed else []
    if not sizes or not all(is_whole(size) for size in sizes) or not all(a < b for a, b in pairwise(sizes)):
        raise InvalidInput(
            "The 'schedule' parameter must be 'adaptive', 'paper' or a list of whole numbers that increase. "
            f"Got {given!r} instead."
        )
    if sizes[0] < least:
        raise InvalidInput(
            f"The smallest size of a schedule must be at least {least}, so that {k}-fold cross-validation is possible "
            f"({k} rows of two classes, n_neighbors rows in each training set). Got {sizes[0]}; begin with {least}, or "
            "use fewer folds."
        )
    if sizes[-1] > most:
        raise InvalidInput(
            f"The sizes of a schedule must not exceed the {int(most):,} rows available. Got {sizes[-1]:,}; remove "
            "larger sizes."
        )
    return tuple(int(size) for size in sizes)


def least_size(data: Data, sequence: Positions, k: int, *, trained_on: int = 1) -> int | None:
    """Return the smallest sample for k folds; None where all rows are too few.

    That takes k rows or groups; for a classification k rows of two classes, or as many as the second largest has but
    at least 2, and in two groups, so that no training set lacks either; and ``trained_on`` rows in each training set.

    >>> data = Data([[0.0], [1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b", "b"], task="classification")
    >>> least_size(data, np.arange(5), k=2)
    5
    """
    if k > data.n:
        return None
    least = k
    groups = np.arange(data.n) if data.groups is None else data.group_codes[sequence]
    if data.groups is not None:
        first = np.sort(np.unique(groups, return_index=True)[1])
        if len(first) < k:
            return None
        least = int(first[k - 1]) + 1
    if data.codes is not None:
        codes = data.codes[sequence]
        # In two groups at least, of which one is in each training set.
        places = [np.flatnonzero(codes == code) for code in np.unique(codes)]
        places = [place for place in places if (groups[place] != groups[place[0]]).any()]
        wanted = min(k, sorted(map(len, places))[-2]) if len(places) > 1 else 0
        if wanted < 2:
            return None
        other = [int((groups[place] != groups[place[0]]).argmax()) for place in places]
        ends = (
            int(place[max(wanted - 1, far)]) for place, far in zip(places, other, strict=True) if len(place) >= wanted
        )
        least = max(least, sorted(ends)[1] + 1)
    while least - -(-least // k) < trained_on:  # without the largest fold
        least += 1
    while data.groups is not None and least < data.n and groups[least] == groups[least - 1]:
        least += 1
    return least if least <= data.n else None


@dataclass(frozen=True, eq=False)
class LearningCurveConfig:
    """How a curve is measured, and when it stops."""

    metric: Metric
    schedule: Schedule
    budget: Budget
    k: int
    mode: Mode
    level: float
    tolerance: float | None
    horizon: float | None
    target: float | None
    train: bool
    random_state: int | None


def learning_curve_config(
    sampled: SampledRows,
    metric: Metric,
    *,
    schedule: Any,
    k: int,
    budget: Any,
    mode: Mode,
    level: float,
    tolerance: float | None,
    horizon: float | None,
    target: float | None,
    train: bool,
    random_state: int | None,
    trained_on: int = 1,
) -> LearningCurveConfig | None:
    """Check the options; return None where more rows have to be read before a first sample can be made."""
    check_forecast(mode, level, tolerance)
    whole_number(k, "The number of folds", 2)
    _check_loss(metric)
    spend = Budget.of(budget)
    target = None if target is None else number("target", target, at_least=0.0)
    horizon = None if horizon is None else number("horizon", horizon, above=0.0)
    most = sampled.whole(min(np.inf if sampled.total is None else sampled.total, spend.most_rows))
    least = least_size(sampled.data, sampled.sequence, k, trained_on=trained_on)
    if least is None and not sampled.complete:
        return None
    if least is None:
        raise InvalidInput(_too_few(sampled.data, k, trained_on))
    if least > most:
        classes = "" if sampled.data.codes is None else ", for enough of two classes"
        raise InvalidInput(
            f"A learning curve with {k} folds needs at least {least:,} of these rows{classes}. Got a budget of "
            f"{spend.most_rows:,} rows; use fewer folds, or allow more rows."
        )
    if horizon is not None and sampled.total is not None and horizon < min(sampled.total, spend.most_rows):
        raise InvalidInput(
            f"The 'horizon' parameter is the largest number of rows that could be collected, and there are "
            f"{sampled.total:,}. Got {horizon:g}; pass fewer rows, or a larger horizon."
        )
    # The paper's own sizes are part of its procedure.
    if mode == "paper" and isinstance(schedule, str):
        schedule = "paper"
    first = None if sampled.first is None else min(sampled.first, spend.most_rows)
    sizes = make_schedule(schedule, least=least, most=most, first=first, batch_ends=sampled.batch_ends, k=k)
    if not sampled.complete and sizes.first_sizes(1)[0] > sampled.data.n:
        return None
    within = sizes if sampled.whole_sizes is None else WholeGroups(sizes, sampled)
    return LearningCurveConfig(metric, within, spend, k, mode, level, tolerance, horizon, target, train, random_state)


def _too_few(data: Data, k: int, trained_on: int) -> str:
    wanted = f"A learning curve with {k} folds needs at least {k} rows"
    if data.task == "classification":
        wanted += ", 2 of each of two classes"
    if data.groups is not None:
        wanted += f", of {k} groups"
    if trained_on > 1:
        wanted += f", and {trained_on} in every training set for n_neighbors={trained_on}"
    rows = f"{data.n:,} rows"
    if data.groups is not None:
        rows += f" of {data.n_groups:,} groups"
    if data.codes is not None and data.classes is not None:
        counts = np.bincount(data.codes)
        rare = counts.argmin()
        rows += f", {counts[rare]} of them of class {data.classes[rare].item()!r}"
    return f"{wanted}. Got {rows}; use fewer folds, or get more rows."


def _check_loss(metric: Metric) -> None:
    if metric.greater_is_better or metric.bounds[0] < 0 or metric.total:
        why = "grows with the number of rows" if metric.total else "is a score, or may be negative"
        raise InvalidInput(
            f"The metric of a learning curve must be a loss. {metric.name!r} {why}; use 'error', 'log_loss', 'mse' or "
            "'mae'."
        )
