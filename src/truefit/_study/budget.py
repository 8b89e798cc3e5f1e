"""Time budget of a study: how thoroughly each part is run, and on how many of the rows; the expected cost of a fit.

Seconds are those of fits: under a budget measured ones, as stored with the fits, otherwise nominal ones, so that a
rerun gives the same result on any machine. How many of them fit in the time that the clock leaves is measured too. The
engine stops a study that exceeds its budget nevertheless.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from time import monotonic
from typing import Any, Final, NamedTuple

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.rows import salted
from truefit._core.typing import Positions

#: Share of the workers' time that goes into fitting, until it is measured, and the ends of what is believed: the rest
#: goes into predictions, scores and waiting.
BUSY, _LEAST_BUSY, _MOST_BUSY = 0.5, 0.2, 0.95
#: Share of a budget after which that is measured, and the share that is kept for what follows the last fit.
_MEASURED_FROM, _CLOSING = 0.02, 0.03
#: Share of a budget for the search, at least; the rest is for the other parts, as far as they need it.
FOR_SEARCH = 0.6
#: Seconds for the other parts without a budget, unless the search took longer.
AT_LEAST = 30.0
#: Seconds of the quickest fit, overhead included.
_QUICKEST = 0.005
#: The smallest sample of a large table.
FEWEST_ROWS = 1000
#: A learning curve of a large table: its smallest size, the least factor to its largest sample, the fewest sizes.
_SMALLEST, _LEAST_FACTOR, _FEWEST_SIZES = 64, 8, 5

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
    """Seconds of fitting that a study may take: ``budget`` is by the clock, ``workers`` fits run at a time.

    ``measured`` says whether measured fit times decide what is run. ``started`` is when the clock was, and ``kept`` are
    seconds by the clock for what comes after the study.
    """

    budget: float | None = None
    workers: int = 1
    measured: bool = True
    started: float = field(default_factory=monotonic, compare=False)
    kept: float = 0.0

    def left(self, spent: float) -> float:
        """Seconds of fitting that are left after so many, at the rate so far; infinite without a budget.

        Fits from a store count with the seconds that they took, so that a rerun decides alike.
        """
        if self.budget is None:
            return math.inf
        passed, busy = self._passed(spent), BUSY
        if passed > _MEASURED_FROM * self.budget:
            busy = min(max(spent / (passed * self.workers), _LEAST_BUSY), _MOST_BUSY)
        return self.unused(spent) * self.budget * self.workers * busy

    def unused(self, spent: float) -> float:
        """Return the share of the budget, by the clock, that is left after so many seconds of fitting; 0 without one.

        Where little of the time goes into fitting, the seconds of fitting that are left are a small share of it.
        """
        if self.budget is None:
            return 0.0
        return max(1 - _CLOSING - (self.kept + self._passed(spent)) / self.budget, 0.0)

    def _passed(self, spent: float) -> float:
        return max(monotonic() - self.started, spent / self.workers)

    def search(self, spent: float, diagnosis: float = math.inf) -> float:
        """Seconds of fitting for the whole search, of which so many are spent; the ``diagnosis`` may need the rest."""
        left = self.left(spent)
        return spent + left - min((1 - FOR_SEARCH) * (spent + left), diagnosis) if self.budget else math.inf

    def share(self, seconds: float) -> float:
        """Return how much of the budget some seconds of fitting are; 0 without a budget."""
        return 0.0 if self.budget is None else seconds / (self.budget * self.workers)

    def rest(self, spent: float) -> float:
        """Without a budget: for the questions after the search, which took so many seconds."""
        return max(AT_LEAST, spent)


@dataclass(frozen=True, slots=True)
class Effort:
    """How thoroughly a part is run: noise levels, repeats (or bootstrap samples), and rows."""

    levels: tuple[float, ...]
    repeats: int
    rows: int = 0

    @property
    def fits(self) -> int:
        """Fits of each candidate."""
        return max(len(self.levels), 1) * self.repeats


_ALL_LEVELS = (0.0, 0.1, 0.2, 0.3, 0.4, 0.5)
#: From the most thorough to the least.
PERTURBATION_EFFORTS = (Effort(_ALL_LEVELS, 10), Effort(_ALL_LEVELS, 5), Effort((0.0, 0.25, 0.5), 5))
BOOTSTRAP_EFFORTS = (Effort((), 100), Effort((), 50), Effort((), 25))
#: With a budget these are better than no answer.
COARSE_PERTURBATION, COARSE_BOOTSTRAP = Effort((0.0, 0.25, 0.5), 2), Effort((), 10)


def affordable_effort(
    efforts: Sequence[Effort], seconds: float, each: float, rows: int, *, required: bool = False
) -> Effort | None:
    """Return the most thorough effort that takes at most so many seconds, on fewer rows if need be; None for none.

    ``each`` is the time of one fit of every candidate on all rows together. A part that is required gets at least the
    least thorough effort on 1,000 rows.

    Examples
    --------
    >>> affordable_effort(PERTURBATION_EFFORTS, 60.0, 0.1, 1000).fits
    60
    >>> affordable_effort(PERTURBATION_EFFORTS, 60.0, 20.0, 50_000).rows
    10000
    >>> affordable_effort(PERTURBATION_EFFORTS, 1.0, 20.0, 50_000, required=True)
    Effort(levels=(0.0, 0.25, 0.5), repeats=5, rows=1000)
    """
    each = max(each, _QUICKEST)
    for effort in efforts:
        if effort.fits * each <= seconds:
            return replace(effort, rows=rows)
    least = efforts[-1]
    sampled = round_rows(rows * seconds / (least.fits * each))
    if sampled < FEWEST_ROWS:
        if not required:
            return None
        sampled = min(FEWEST_ROWS, rows)
    return replace(least, rows=sampled)


def curve_sizes(rows: int, least: int, seconds: float, whole: float) -> str | list[int]:
    """Return at which sizes a learning curve can be measured in so many seconds: "adaptive" where there is time.

    The fits on all rows, which take ``whole`` seconds, are there already. With little time the sizes double as far as
    time allows, and the last one is all rows.

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
    last = min(max(rows * seconds / (2 * max(whole, _QUICKEST)), _LEAST_FACTOR * first), rows / 2)
    count = max(int(np.ceil(np.log2(max(last / first, 1.0)))) + 1, _FEWEST_SIZES)
    sizes = {max(round_rows(size), first) for size in np.geomspace(first, max(last, first), count)}
    return sorted({*sizes, rows})


def round_rows(rows: float) -> int:
    """Round a number of rows down to two digits.

    Examples
    --------
    >>> round_rows(4_871.3), round_rows(87)
    (4800, 87)
    """
    unit: int = 10 ** max(len(str(int(rows))) - 2, 0)
    return int(rows // unit) * unit


def sample_rows(data: Data, size: int, *, least: int, random_state: int | None) -> Positions:
    """Return the positions of about so many rows: a stratified sample that depends on their content and the seed.

    A class with fewer than ``least`` sampled rows is dropped if two others remain: it can be neither split nor
    perturbed.

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


class _Cost(NamedTuple):
    """Nominal seconds of any fit, and per cell of the table: roughly, so a part is run with a few fits more or less."""

    base: float
    per_cell: float


_FAST, _TREE, _FOREST = _Cost(0.005, 5e-8), _Cost(0.005, 1.5e-6), _Cost(0.2, 1e-5)
_BOOSTING, _NETWORK, _KERNEL = _Cost(0.1, 2e-6), _Cost(0.5, 3e-6), _Cost(0.01, 5e-6)
_CATBOOST = _Cost(0.5, 1e-5)
_VECTORIZER = _Cost(0.05, 2e-6)

#: By the name of the class, without "Classifier" or "Regressor".
_COSTS: Final = {
    **dict.fromkeys(("Dummy", "LogisticRegression", "Ridge", "LinearRegression", "Lasso", "ElasticNet"), _FAST),
    **dict.fromkeys(("LinearDiscriminantAnalysis", "GaussianNB", "BernoulliNB", "KNeighbors"), _FAST),
    **dict.fromkeys(("StandardScaler", "SquashingScaler", "SimpleImputer", "NumpyColumns"), _FAST),
    **dict.fromkeys(("DecisionTree", "ExtraTree"), _TREE),
    **dict.fromkeys(("RandomForest", "ExtraTrees"), _FOREST),
    **dict.fromkeys(("HistGradientBoosting", "LGBM", "XGB"), _BOOSTING),
    **dict.fromkeys(("SVC", "SVR"), _KERNEL),
    "CatBoost": _CATBOOST,
    "MLP": _NETWORK,
    "TableVectorizer": _VECTORIZER,
}
#: The cost is for this many trees, rounds or hidden units.
_USUAL_TREES, _USUAL_UNITS = 100, 64


def nominal_seconds(estimator: Any, rows: int, columns: int, classes: int = 1) -> float | None:
    """Return about how long a fit takes; None for an estimator of a family that is not known.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> nominal_seconds(Ridge(), 1000, 20)
    0.006
    >>> nominal_seconds(object(), 1000, 20) is None
    True
    """
    if isinstance(steps := getattr(estimator, "steps", None), list):
        parts = [nominal_seconds(step, rows, columns, classes) for _, step in steps if step != "passthrough"]
        known = [part for part in parts if part is not None]
        return sum(known) if len(known) == len(parts) else None
    name = type(estimator).__name__
    if name in ("TransformedTargetRegressor", "EncodedLabels"):
        inner = estimator.regressor if name == "TransformedTargetRegressor" else estimator.estimator
        return nominal_seconds(inner, rows, columns, classes)
    cost = _COSTS.get(name.removesuffix("Classifier").removesuffix("Regressor"))
    if cost is None:
        return None
    return (cost.base + cost.per_cell * rows * columns) * _factor(estimator, cost, classes)


def _factor(estimator: Any, cost: _Cost, classes: int) -> float:
    if cost is _NETWORK:
        units = getattr(estimator, "hidden_layer_sizes", _USUAL_UNITS)
        return float(sum(units) if isinstance(units, list | tuple) else units) / _USUAL_UNITS
    if cost not in (_FOREST, _BOOSTING):
        return 1.0
    trees = getattr(estimator, "n_estimators", None) or getattr(estimator, "max_iter", None) or _USUAL_TREES
    # Boosting fits one tree per class and round where there are more than two classes.
    return trees / _USUAL_TREES * (classes if cost is _BOOSTING and classes > 2 else 1)
