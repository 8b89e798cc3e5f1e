"""Schedule: at which sizes a learning curve is measured."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.methods.splitting.splits import is_whole
from truefit.stats.paper_curve import next_size

Positions = npt.NDArray[np.intp]

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


class Schedule(Protocol):
    """Sizes, one after the other."""

    @property
    def goes_on(self) -> bool:
        """Whether all its sizes are wanted, whatever they show."""
        ...

    def opening(self, count: int) -> list[int]:
        """Return the first sizes, so many or fewer."""
        ...

    def after(self, last: int, wanted: float) -> int | None:
        """Return the size after the last one, ``wanted`` by what was seen so far; None where there is none."""
        ...


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

    @property
    def goes_on(self) -> bool:
        """Stops when enough is known."""
        return False

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
    goes_on: bool

    def opening(self, count: int) -> list[int]:
        """Return the first ones; all of them where they are wanted anyway."""
        return list(self.sizes if self.goes_on else self.sizes[:count])

    def after(self, last: int, wanted: float) -> int | None:
        """Return the next one, whatever is wanted."""
        return next((size for size in self.sizes if size > last), None)


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
