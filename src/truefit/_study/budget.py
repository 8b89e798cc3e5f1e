"""Time budget of a study: how much of each question it can afford, and on how many of the rows.

Everything is reckoned in seconds of fitting as they are stored with the fits, never by the clock: a study that is run
again decides alike. The clock is the engine's, which ends a study that is late nevertheless.
"""

from __future__ import annotations

import math
import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.hashing import salted
from truefit._core.typing import Positions

#: Of the seconds of all workers so many go into fitting; the rest into predictions, scores and waiting.
BUSY = 0.5
#: Share of a budget that the search may take; what it leaves is for the other questions.
FOR_SEARCH = 0.6
#: What the other questions may take without a budget, or as long as the search did.
AT_LEAST = 30.0
#: Even the quickest fit takes so long, with all that is around it.
_QUICKEST = 0.005
#: A sample of fewer rows than this says little about a large table.
FEWEST_ROWS = 1000
#: The smallest sample of a learning curve in a table that has many more rows; to how many times as many rows it goes in
#: any case; and how many samples it takes beside all rows for the curve to be told.
_SMALLEST, _LEAST_SIZES, _FEWEST_SIZES = 64, 8, 5

_UNITS = {"": 1.0, "s": 1.0, "sec": 1.0, "m": 60.0, "min": 60.0, "h": 3600.0}


def seconds_of(budget: Any) -> float | None:
    """Read a budget: seconds as a number, or text such as "90s", "10m" or "1h"; None for no limit.

    Examples
    --------
    >>> seconds_of("10m"), seconds_of("1.5h"), seconds_of(90)
    (600.0, 5400.0, 90.0)
    """
    if budget is None:
        return None
    found: float | None = None
    if isinstance(budget, str):
        read = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([a-z]*)\s*", budget.lower())
        if read and read[2] in _UNITS:
            found = float(read[1]) * _UNITS[read[2]]
    elif isinstance(budget, int | float | np.number) and not isinstance(budget, bool):
        found = float(budget)
    if found is None or not math.isfinite(found) or found <= 0:
        raise InvalidInput(
            f"The budget must be a time above 0: seconds, or text such as '90s', '10m' or '1h'. Got {budget!r} instead."
        )
    return found


@dataclass(frozen=True, slots=True)
class TimeBudget:
    """Seconds of fitting that a study may take.

    Attributes
    ----------
    budget : float or None
        Seconds by the clock.
    workers : int
        Fits that run at a time.
    """

    budget: float | None = None
    workers: int = 1

    @property
    def whole(self) -> float:
        """For everything."""
        return math.inf if self.budget is None else BUSY * self.workers * self.budget

    @property
    def search(self) -> float:
        """For the search."""
        return FOR_SEARCH * self.whole

    def rest(self, spent: float) -> float:
        """For the questions after the search, which took so many seconds."""
        return max(AT_LEAST, spent) if self.budget is None else max(self.whole - spent, 0.0)


@dataclass(frozen=True, slots=True)
class Effort:
    """How thoroughly a question is looked into: with how many fits of each candidate, on how many rows."""

    levels: tuple[float, ...]
    repeats: int
    rows: int

    @property
    def fits(self) -> int:
        """Fits of each candidate."""
        return max(len(self.levels), 1) * self.repeats


#: From the most thorough to the least; noise levels and repeats of a perturbation.
_PERTURBATIONS = (
    ((0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 10),
    ((0.0, 0.1, 0.2, 0.3, 0.4, 0.5), 5),
    ((0.0, 0.25, 0.5), 5),
)
#: Bootstrap samples that bias and variance are told by.
_ROUNDS = (100, 50, 25)


def perturbation_effort(seconds: float, each: float, rows: int, *, sure: bool = False) -> Effort | None:
    """Return what a perturbation can be in so many seconds; None where there is time for none.

    ``each`` is what a fit of every candidate on all rows takes together. With ``sure`` the least is done in any case.

    Examples
    --------
    >>> perturbation_effort(60.0, 0.1, 1000).fits
    60
    >>> perturbation_effort(60.0, 20.0, 50_000).rows
    10000
    >>> perturbation_effort(1.0, 20.0, 50_000, sure=True)
    Effort(levels=(0.0, 0.25, 0.5), repeats=5, rows=1000)
    """
    efforts = [Effort(levels, repeats, rows) for levels, repeats in _PERTURBATIONS]
    return _affordable(efforts, seconds, each, sure=sure)


def bootstrap_effort(seconds: float, each: float, rows: int, *, sure: bool = False) -> Effort | None:
    """Return over how many bootstrap samples, of how many rows, bias and variance can be told in so many seconds."""
    return _affordable([Effort((), rounds, rows) for rounds in _ROUNDS], seconds, each, sure=sure)


def curve_sizes(rows: int, least: int, seconds: float, whole: float) -> str | list[int]:
    """Return at which sizes a learning curve can be measured in so many seconds: "adaptive" where there is time.

    The fits on all rows, which take ``whole`` seconds, are there already. So with little time the sizes double up to
    where it ends, and all rows follow.

    Examples
    --------
    >>> curve_sizes(1000, 10, seconds=9.0, whole=3.0)
    'adaptive'
    >>> curve_sizes(48_000, 10, seconds=10.0, whole=120.0)
    [64, 120, 250, 500, 1000, 2000, 48000]
    """
    if seconds >= 3 * whole:
        return "adaptive"
    first = max(min(_SMALLEST, rows // 10), least)
    # Sizes that double cost twice as much as the last of them.
    last = min(max(rows * seconds / (2 * max(whole, _QUICKEST)), _LEAST_SIZES * first), rows / 2)
    count = max(int(np.ceil(np.log2(max(last / first, 1.0)))) + 1, _FEWEST_SIZES)
    sizes = {max(round_rows(size), first) for size in np.geomspace(first, max(last, first), count)}
    return sorted({*sizes, rows})


def _affordable(efforts: list[Effort], seconds: float, each: float, *, sure: bool) -> Effort | None:
    each = max(each, _QUICKEST)
    for effort in efforts:
        if effort.fits * each <= seconds:
            return effort
    least = efforts[-1]
    rows = round_rows(least.rows * seconds / (least.fits * each))
    if rows < FEWEST_ROWS:
        if not sure:
            return None
        rows = min(FEWEST_ROWS, least.rows)
    return Effort(least.levels, least.repeats, rows)


#: Rounded to so many digits, a number of rows is still read easily.
_DIGITS = 2


def round_rows(rows: float) -> int:
    """Return a number of rows that is read easily, no larger than the one given.

    Examples
    --------
    >>> round_rows(4_871.3), round_rows(87)
    (4800, 87)
    """
    unit: int = 10 ** max(len(str(int(rows))) - _DIGITS, 0)
    return int(rows // unit) * unit


def sample_rows(data: Data, size: int, *, least: int, random_state: int | None) -> Positions:
    """Return the positions of about so many rows, drawn class by class from their content and the seed.

    A class of which there would be fewer than ``least`` is left out, if two others are left: it can be neither split
    nor disturbed.

    Examples
    --------
    >>> data = Data(np.arange(12.0).reshape(-1, 1), list("aaaaaaaabbbc"), task="classification")
    >>> data.y[sample_rows(data, 6, least=1, random_state=None)].tolist()
    ['a', 'a', 'a', 'a', 'b', 'b']
    """
    tokens = salted(data.tokens, f"study {random_state}")
    keys = (tokens[:, 1], tokens[:, 0])
    order = np.lexsort(keys if data.codes is None else (*keys, data.codes))
    rows = order[np.floor(np.arange(size) * (data.n / size)).astype(np.intp)]
    if data.codes is not None:
        enough = np.bincount(data.codes[rows])[data.codes[rows]] >= least
        rows = rows[enough] if len(np.unique(data.codes[rows[enough]])) > 1 else rows
    return np.sort(rows)
