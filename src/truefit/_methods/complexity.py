"""Complexity of a learner: Rademacher complexity, known VC dimensions, and the type of a bound."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import count, islice
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidInput, reasons
from truefit._core.protocols import Ask, FitTask, Plan
from truefit._core.rows import Rows, row_tokens, salted, table_blocks
from truefit._methods.candidates import Candidates
from truefit._methods.result import EstimatorResult, plain, plot_method
from truefit._plots.forest import fold_scores, forest
from truefit._stats.bounds import stump_dimension
from truefit._stats.intervals import t_interval

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Signs = npt.NDArray[np.int64]


def random_signs(X: Any, rounds: int, random_state: int | None) -> list[Signs]:
    """Return random signs for each row, drawn from the row's content: the same rows get the same ones in any order."""
    tokens = row_tokens(table_blocks(X)[0])
    if len(tokens) < 2:
        raise InvalidInput(f"Random signs need at least 2 rows. Got {len(tokens)}.")
    drawn = (salted(tokens, f"signs {random_state} {number}")[:, 0] & np.uint64(1) for number in count())
    both = (bits for bits in drawn if bits.any() and not bits.all())  # a classifier needs two classes
    return [2 * bits.astype(np.int64) - 1 for bits in islice(both, rounds)]


def rademacher_plan(
    candidates: Candidates, data: Data, signs: Sequence[Signs], *, level: float, labelled: bool
) -> Plan[RademacherComplexity]:
    """Fit every candidate to each set of signs, and to the true labels, and measure its training accuracy."""
    rows = Rows.all(data.n)
    targets: list[npt.NDArray[Any] | None] = [*signs, *([None] if labelled else [])]
    outcomes = yield [FitTask(estimator, rows, (Ask(rows),), y=y) for _, estimator in candidates for y in targets]
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        # Failures are not random: an estimate from the other fits would be biased.
        raise FitError(
            f"The complexity needs all fits. {len(failures)} of {len(outcomes)} fits failed. {reasons(failures)}",
            failures,
        )
    found = {}
    for place, name in enumerate(candidates.names):
        own = outcomes[place * len(targets) : (place + 1) * len(targets)]
        predicted = [outcome.answer(data, rows) for outcome in own]
        agreed = [np.mean(answer == y) for answer, y in zip(predicted, signs, strict=False)]
        wrong = float(np.mean(predicted[-1] != data.y)) if labelled else None
        found[name] = RademacherEstimate(2 * np.asarray(agreed) - 1, wrong, level)
    return RademacherComplexity(found, rows=data.n, level=level, single=candidates.single)


@dataclass(frozen=True)
class RademacherEstimate:
    """The correlations of one learner with random signs, and its error on the true labels."""

    correlations: npt.NDArray[np.float64]
    training_error: float | None
    level: float

    @property
    def value(self) -> float:
        """Mean correlation."""
        return float(self.correlations.mean())

    @cached_property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the mean over the rounds; None where all rounds are equal."""
        if len(self.correlations) < 2 or np.ptp(self.correlations) == 0:
            return None
        low, high = t_interval(self.correlations, self.level)
        return max(low, -1.0), min(high, 1.0)


class RademacherComplexity(EstimatorResult):
    """Empirical Rademacher complexity: how well learners fit random signs, from 0 (as well as chance) to 1 (all).

    With one estimator each number is a float, with several a dict by name.

    Attributes
    ----------
    value
        Mean over the rounds of 2·accuracy − 1 on the signs.
    interval
        Interval of the mean over the rounds, or None where all are equal.
    correlations
        2·accuracy − 1 of each round.
    training_error
        Error on the true labels of the learner fitted to them; None where none were given.

    Notes
    -----
    The complexity of a class of functions is a supremum over its members. A learner that does not minimise the training
    error (because it is regularised, or searches greedily) does not reach it: the measured value is a lower estimate.
    """

    title = "Rademacher complexity"

    def __init__(self, found: dict[str, RademacherEstimate], *, rows: int, level: float, single: bool) -> None:
        self.names = list(found)
        self.rows = rows
        self.level = level
        self.rounds = len(next(iter(found.values())).correlations)
        self._found = found
        self.single = single
        self.value, self.interval, self.correlations, self.training_error = (
            self._each(attribute, found) for attribute in ("value", "interval", "correlations", "training_error")
        )

    def __float__(self) -> float:
        if not self.single:
            raise TypeError("float() needs a result of one estimator. Got several; use .value[name].")
        return float(self.value)

    @property
    def reading(self) -> str:
        """The number in a sentence."""
        return " ".join(self._reading(name) for name in self.names)

    def _reading(self, name: str) -> str:
        value = self._found[name].value
        return (
            f"{name} fits {(1 + value) / 2:.0%} of random signs (chance: 50%): its empirical Rademacher complexity is "
            f"{value:.3g}, of at most 1."
        )

    def _line(self, name: str) -> dict[str, Any]:
        each = self._found[name]
        low, high = each.interval or (float("nan"), float("nan"))
        error = float("nan") if each.training_error is None else each.training_error
        return {"estimate": each.value, "low": low, "high": high, "training_error": error}

    @property
    def heading(self) -> str:
        """The number of rows and of rounds."""
        return f"Empirical Rademacher complexity on {self.rows:,} rows, {self.rounds} rounds of random signs"

    def _text(self, name: str) -> str:
        interval = self._found[name].interval
        ends = "" if interval is None else "{:.3g} to {:.3g}".format(*interval)
        text = f"{self.level:.0%} confidence interval over the rounds {ends}" if ends else "the same in all rounds"
        return f"{self._found[name].value:.4g}  ({text})"

    @property
    def notes(self) -> list[str]:
        """Caveats."""
        return ["for a learner that does not minimise its training error this is a lower estimate."]

    @plot_method()
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the rounds of one estimator, or the complexities of several with their intervals."""
        label = "correlation with random signs"
        if self.single:
            return fold_scores(self.names, [self.correlations], xlabel=label, ax=ax)
        ends = [self._found[name].interval or (np.nan, np.nan) for name in self.names]
        lows, highs = zip(*ends, strict=True)
        return forest(self.names, [self._found[name].value for name in self.names], lows, highs, xlabel=label, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "rademacher complexity",
            "version": 1,
            **self._values("rows", "rounds", "level"),
            "estimators": [
                {"name": name, "estimate": each.value, "interval": plain(each.interval)}
                | {"training_error": each.training_error, "correlations": each.correlations.tolist()}
                for name, each in self._found.items()
            ],
        }


class Bound(float):
    """A number with its meaning in a sentence, and the equation it comes from.

    Examples
    --------
    >>> bound = Bound(0.07, reading="The true error is at most 0.07.", equation="Eq. 6")
    >>> bound < 0.1, bound.value, bound
    (True, 0.07, <Bound 0.07: The true error is at most 0.07.>)
    """

    reading: str
    equation: str

    def __new__(cls, value: float, *, reading: str, equation: str) -> Bound:
        """Make a number that carries its meaning."""
        bound = super().__new__(cls, value)
        bound.reading = reading
        bound.equation = equation
        return bound

    @property
    def value(self) -> float:
        """The number alone."""
        return float(self)

    @property
    def known(self) -> bool:
        """Whether there is a number."""
        return not math.isnan(self)

    def __repr__(self) -> str:
        return f"<Bound {float(self):.6g}: {self.reading}>"

    def __getnewargs_ex__(self) -> tuple[tuple[float], dict[str, str]]:
        return (float(self),), {"reading": self.reading, "equation": self.equation}


def number(
    name: str,
    value: Any,
    *,
    above: float = -math.inf,
    at_least: float = -math.inf,
    at_most: float = math.inf,
    finite: bool = True,
) -> float:
    """Return a value as a number within its limits, or raise."""
    try:
        checked = math.nan if isinstance(value, bool | str) else float(value)
    except (TypeError, ValueError, OverflowError):
        checked = math.nan
    inside = above < checked and at_least <= checked <= at_most
    if math.isnan(checked) or not inside or (finite and math.isinf(checked)):
        ends = [f"above {above:g}"] if above > -math.inf else []
        ends += [f"of at least {at_least:g}"] if at_least > -math.inf else []
        ends += [f"of at most {at_most:g}"] if at_most < math.inf else []
        got = value.reading if isinstance(value, Bound) and not value.known else f"Got {value!r} instead."
        raise InvalidInput(f"The {name!r} parameter must be a number {' and '.join(ends)}".rstrip() + f". {got}")
    return checked


def share(name: str, value: Any) -> float:
    """Return a value as a share strictly between 0 and 1."""
    checked = number(name, value, above=0.0)
    if checked >= 1:
        raise InvalidInput(f"The {name!r} parameter must be a share between 0 and 1. Got {value!r} instead.")
    return checked


def whole(name: str, value: Any) -> int:
    """Return a value as a positive whole number."""
    checked = number(name, value, above=0.0)
    if checked != int(checked):
        raise InvalidInput(f"The {name!r} parameter must be a whole number. Got {value!r} instead.")
    return int(checked)


#: A dimension and why it is that; None where it is not known.
Known = tuple[float, str] | None


_LINEAR = (
    *("LogisticRegression", "LinearSVC", "Perceptron", "SGDClassifier", "RidgeClassifier"),
    *("PassiveAggressiveClassifier", "LinearDiscriminantAnalysis"),
)


def known_dimension(estimator: Any, features: int) -> Known:
    """Return the VC dimension of a classifier for two classes on real features, and why; None where it is not known.

    It is that of all functions that the learner can fit to any rows, so a penalty does not reduce it.
    """
    if not type(estimator).__module__.startswith("sklearn."):  # a subclass may fit other functions
        return None
    name, params = type(estimator).__name__, estimator.get_params(deep=False)
    if name in _LINEAR or (name == "SVC" and params["kernel"] == "linear"):
        if params.get("fit_intercept", True):
            return features + 1, "half-spaces, p + 1"
        return features, "half-spaces through the origin, p"
    if name == "SVC" and params["kernel"] == "rbf":
        return math.inf, "a Gaussian kernel fits any labels of distinct rows"
    if name == "KNeighborsClassifier" and params["n_neighbors"] == 1:
        return math.inf, "one neighbour fits any labels of distinct rows"
    if name == "DummyClassifier" and params["strategy"] in ("most_frequent", "prior"):
        return 1, "one class for all rows"
    return _tree(params, features) if name == "DecisionTreeClassifier" else None


def _tree(params: dict[str, Any], features: int) -> Known:
    if params["max_features"] is not None or params["monotonic_cst"] is not None:
        return None
    limits = {"min_samples_split": 2, "min_samples_leaf": 1, "min_weight_fraction_leaf": 0.0}
    limits |= {"min_impurity_decrease": 0.0, "ccp_alpha": 0.0}
    if any(params[name] != value for name, value in limits.items()):
        return None
    if params["max_depth"] == 1:
        return stump_dimension(features), "decision stumps, the largest d with binomial(d, d // 2) ≤ 2p"
    if params["max_depth"] is None and params["max_leaf_nodes"] is None:
        return math.inf, "a tree without limits fits any labels of distinct rows"
    return None
