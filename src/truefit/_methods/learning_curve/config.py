"""Config of a learning curve: its sizes (the schedule), its budget, and when it stops."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, ClassVar

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Positions
from truefit._methods.complexity import number
from truefit._methods.learning_curve.extrapolation import Mode, check_forecast
from truefit._methods.learning_curve.samples import SampledRows
from truefit._methods.splitting.splits import is_whole
from truefit._metrics.metric import Metric
from truefit._stats.curve_paper import next_size

_PARTS = ("rows", "seconds", "money", "price_per_row")


@dataclass(frozen=True)
class Budget:
    """Limits on rows, on the seconds spent in fits, and on money at a price per row.

    Examples
    --------
    >>> Budget.of({"money": 500, "price_per_row": 0.25}).most_rows
    2000
    >>> Budget.of(1000).words(1000)
    'The budget of 1,000 rows is spent.'
    """

    rows: int | None = None
    seconds: float | None = None
    money: float | None = None
    price_per_row: float | None = None

    @classmethod
    def of(cls, given: Any) -> Budget:
        """Read what was given: None, a number of rows, or a mapping."""
        if given is None:
            return cls()
        if is_whole(given):
            given = {"rows": given}
        if not isinstance(given, Mapping) or set(given) - set(_PARTS):
            raise InvalidInput(
                f"The 'budget' parameter must be a number of rows, or a dict with some of {', '.join(_PARTS)}. "
                f"Got {given!r} instead."
            )
        if ("money" in given) != ("price_per_row" in given):
            raise InvalidInput(f"A budget in money needs both 'money' and 'price_per_row'. Got {dict(given)!r}.")
        values = {name: number(f"budget[{name!r}]", value, above=0.0) for name, value in given.items()}
        rows = values.pop("rows", None)
        return cls(None if rows is None else int(rows), **values)

    @property
    def most_rows(self) -> float:
        """Rows that may be used; infinite where they are not limited."""
        most = np.inf if self.rows is None else float(self.rows)
        if self.money is not None and self.price_per_row is not None:
            # A price such as 0.1 is no exact number: 10 rows for 1 are 10.
            most = min(most, np.floor(self.money / self.price_per_row + 1e-9))
        return most if np.isinf(most) else int(most)

    def too_long(self, seconds: float) -> bool:
        """Whether fits of so many seconds are too many."""
        return self.seconds is not None and seconds > self.seconds

    def words(self, rows: int) -> str:
        """Say that so many rows are all that may be used."""
        if self.rows is not None and rows >= self.rows:
            return f"The budget of {self.rows:,} rows is spent."
        return f"The budget of {self.money:g} is spent: {rows:,} rows at {self.price_per_row:g} each."


#: A step goes to at least and at most so many times the rows.
SHORTEST_STEP, LONGEST_STEP = 1.1, 2.0
#: Where an adaptive schedule begins if there are rows enough, and the first size of the paper.
_START, PAPER_START = 64, 80
#: Rows that are read at first.
_BEGIN = 128
#: A table is measured at about so many sizes if it is small.
_POINTS = 8
#: Where the paper's sizes end if the rows do not.
_FAR = 10_000_000


@dataclass(frozen=True)
class Adaptive:
    """Steps as long as they have to be for the error to fall by more than its noise.

    Attributes
    ----------
    start : int
    most : float
        Rows that may be used.
    step : float
        Ratio of the first sizes, before anything is known.
    stations : tuple of int
        Sizes that are not stepped over: there rows came to an end before, and a point has been measured.
    """

    start: int
    most: float
    step: float = LONGEST_STEP
    stations: tuple[int, ...] = ()
    #: Stops when enough is known.
    goes_on: ClassVar[bool] = False

    def opening(self, count: int) -> list[int]:
        """Return sizes of equal ratios."""
        sizes = [self.start]
        while len(sizes) < count:
            size = self.after(sizes[-1], self.step * sizes[-1])
            if size is None:
                break
            sizes.append(size)
        return sizes

    def after(self, last: int, wanted: float) -> int | None:
        """Return what is wanted; all rows where those left would be too few for a step of their own."""
        if last >= self.most:
            return None
        size = int(np.ceil(max(wanted, SHORTEST_STEP * last)))
        end = min((station for station in self.stations if station > last), default=np.inf)
        end = min(end, self.most)
        return int(end) if size * SHORTEST_STEP >= end else size


@dataclass(frozen=True)
class Fixed:
    """Sizes known beforehand."""

    sizes: tuple[int, ...]
    #: Whether all sizes are wanted, whatever they show.
    goes_on: bool

    def opening(self, count: int) -> list[int]:
        """Return the first ones; all of them where they are wanted anyway."""
        return list(self.sizes if self.goes_on else self.sizes[:count])

    def after(self, last: int, wanted: float) -> int | None:
        """Return the next one, whatever is wanted."""
        return next((size for size in self.sizes if size > last), None)


#: Sizes, one after the other.
Schedule = Adaptive | Fixed


def paper_schedule(most: float) -> tuple[int, ...]:
    """Return the paper's sizes: 80, 90, 100(100)1000(1000)10000(10000)..., and all rows.

    Examples
    --------
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
    given: Any, *, least: int, most: float, first: float | None, stations: tuple[int, ...], k: int
) -> Schedule:
    """Read a schedule.

    Parameters
    ----------
    given : "adaptive", "paper" or list of int
    least : int
        The smallest sample with which k folds are possible.
    most : float
        Rows that may be used; infinite where that is not known.
    first : float or None
        Rows that there were when the curve was begun, by which its first sizes are chosen: they must stay when more
        rows come. None where that was not known; then a list may ask for more rows than there turn out to be.
    stations : tuple of int
        Where rows came to an end before.
    k : int
    """
    if isinstance(given, str) and given == "adaptive":
        start = max(_START if first is None else min(_START, int(first) // 10), least)
        step = LONGEST_STEP
        if first is not None:
            step = float(np.clip((first / start) ** (1 / _POINTS), SHORTEST_STEP, LONGEST_STEP))
        return Adaptive(start, most, step, stations)
    if isinstance(given, str) and given == "paper":
        far = most if np.isfinite(most) else _FAR
        return Fixed(tuple(size for size in paper_schedule(far) if size >= least), goes_on=False)
    sizes = checked_sizes(given, least=least, most=np.inf if first is None else most, k=k)
    return Fixed(tuple(size for size in sizes if size <= most), goes_on=True)


def checked_sizes(given: Any, *, least: int, most: float, k: int) -> tuple[int, ...]:
    """Return a list of sizes as whole numbers, or say what is wrong with it."""
    listed = isinstance(given, Sequence | np.ndarray | range) and not isinstance(given, str)
    sizes = list(given) if listed else []
    if not sizes or not all(is_whole(size) for size in sizes) or not all(a < b for a, b in pairwise(sizes)):
        raise InvalidInput(
            "The 'schedule' parameter must be 'adaptive', 'paper' or a list of whole numbers that increase. "
            f"Got {given!r} instead."
        )
    if sizes[0] < least:
        raise InvalidInput(
            f"The smallest size of a schedule must be at least {least}: only then do the {k} folds have rows each, "
            f"the sample {k} rows of two classes or more, and every training set as many rows as the estimator's "
            f"n_neighbors, if it has any. Got {sizes[0]}; begin with {least}, or use fewer folds."
        )
    if sizes[-1] > most:
        raise InvalidInput(
            f"The sizes of a schedule must not exceed the {int(most):,} rows that can be used. Got {sizes[-1]:,}; "
            "leave out those that do."
        )
    return tuple(int(size) for size in sizes)


def least_size(data: Data, sequence: Positions, k: int, *, trained_on: int = 1) -> int | None:
    """Return the smallest sample of which k folds can be made; None where all rows are too few.

    That takes k rows, or groups; of a classification k rows of two classes, so that no training set lacks either; and
    in each training set the ``trained_on`` rows that a learner needs.

    Examples
    --------
    >>> data = Data([[0.0], [1.0], [2.0], [3.0], [4.0]], ["a", "a", "a", "b", "b"], task="classification")
    >>> least_size(data, np.arange(5), k=2)
    5
    """
    if k > data.n:
        return None
    least = k
    if data.groups is not None:
        first = np.sort(np.unique(data.groups[sequence], return_index=True)[1])
        if len(first) < k:
            return None
        least = int(first[k - 1]) + 1
    if data.codes is not None:
        codes = data.codes[sequence]
        places = (np.flatnonzero(codes == code) for code in np.unique(codes))
        enough = sorted(int(place[k - 1]) + 1 for place in places if len(place) >= k)
        if len(enough) < 2:
            return None
        least = max(least, enough[1])
    while least - -(-least // k) < trained_on:  # the largest fold is left out
        least += 1
    return least if least <= data.n else None


@dataclass(frozen=True, eq=False)
class LearningCurveConfig:
    """How a curve is measured, and when that is enough."""

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
    """Check the terms; None where more rows have to be read before a first sample can be made.

    The learners need training sets of at least ``trained_on`` rows.
    """
    check_forecast(mode, level, tolerance)
    if not is_whole(k) or k < 2:
        raise InvalidInput(f"The number of folds must be a whole number of at least 2. Got {k!r} instead.")
    _check_loss(metric)
    spend = Budget.of(budget)
    wanted = None if target is None else number("target", target, at_least=0.0)
    far = None if horizon is None else number("horizon", horizon, above=0.0)
    most = min(np.inf if sampled.total is None else sampled.total, spend.most_rows)
    least = least_size(sampled.data, sampled.sequence, k, trained_on=trained_on)
    if least is None and not sampled.ends:
        return None
    if least is None or least > most:
        raise InvalidInput(_too_few(sampled.data, k, most, trained_on))
    # The paper's own sizes are part of its procedure.
    if mode == "paper" and isinstance(schedule, str):
        schedule = "paper"
    first = None if sampled.first is None else min(sampled.first, spend.most_rows)
    sizes = make_schedule(schedule, least=least, most=most, first=first, stations=sampled.stations, k=k)
    if not sampled.ends and sizes.opening(1)[0] > sampled.data.n:
        return None
    return LearningCurveConfig(metric, sizes, spend, k, mode, level, tolerance, far, wanted, train, random_state)


def _too_few(data: Data, k: int, most: float, trained_on: int) -> str:
    wanted = f"A learning curve with {k} folds must have at least {k} rows"
    if data.task == "classification":
        wanted += ", and as many of each of two classes"
    if data.groups is not None:
        wanted += f", of {k} groups"
    if trained_on > 1:
        wanted += f", and {trained_on} in every training set for n_neighbors={trained_on}"
    rows = f"{data.n:,} rows" if most >= data.n else f"a budget of {int(most):,} rows"
    if data.codes is not None and data.classes is not None:
        counts = np.bincount(data.codes)
        rare = counts.argmin()
        rows += f", {counts[rare]} of them of class {data.classes[rare].item()!r}"
    return f"{wanted}. Got {rows}; use fewer folds, or get more rows."


def _check_loss(metric: Metric) -> None:
    if metric.greater_is_better or metric.bounds[0] < 0 or metric.total:
        why = "grows with the number of rows" if metric.total else "is better when it is greater, or may be negative"
        raise InvalidInput(
            f"The metric of a learning curve must be a loss, small where a model is good. {metric.name!r} {why}; "
            "choose for instance 'error', 'log_loss', 'mse' or 'mae'."
        )
