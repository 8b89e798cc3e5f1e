"""Plan of Agghoo: the best candidate of each of several hold-outs, and the average of their predictions.

Algorithm 1 of Rynkiewicz, Cross-tested Aggregated Hold-out; Maillard, Arlot and Lerasle (2021), Aggregated Hold-Out.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import Failure, FitError, reasons
from truefit._core.outcome import Outcome
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Keep, Plan
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats
from truefit._core.validation import Task
from truefit._methods.candidates import params_text
from truefit._methods.splitting.splits import Split, Splits
from truefit._metrics.metric import Metric

Aggregate = Literal["mean", "soft", "vote"]


def mean_of(values: Sequence[Array], weights: Floats | None = None) -> Array:
    """Return the mean of the predictions of several models."""
    mean: Array = np.average(np.stack([np.asarray(each) for each in values]), axis=0, weights=weights)
    return mean


def aligned(probabilities: Array, own: Array, classes: Array) -> Array:
    """Return probabilities with a column for each of ``classes``, 0 for those that a model has not seen.

    >>> aligned(np.array([[0.3, 0.7]]), np.array(["a", "c"]), np.array(["a", "b", "c"]))
    array([[0.3, 0. , 0.7]])
    """
    if np.array_equal(own, classes):
        return np.asarray(probabilities)
    wide = np.zeros((len(probabilities), len(classes)), dtype=np.asarray(probabilities).dtype)
    wide[:, np.searchsorted(classes, own)] = probabilities
    return wide


def vote_of(labels: Sequence[Array], classes: Array, weights: Floats | None = None) -> Array:
    """Return the label that most models predict, or those of most weight; of equally many the smallest class.

    >>> vote_of([np.array(["b", "c"]), np.array(["a", "c"]), np.array(["b", "a"])], np.array(["a", "b", "c"]))
    array(['b', 'c'], dtype='<U1')
    >>> vote_of([np.array([2]), np.array([1])], np.array([1, 2]))
    array([1])
    """
    codes = np.stack([np.searchsorted(classes, each) for each in labels])
    shares = np.stack([np.average(codes == code, axis=0, weights=weights) for code in range(len(classes))])
    chosen: Array = classes[shares.argmax(axis=0)]
    return chosen


Scores = npt.NDArray[np.float64]


@dataclass(frozen=True, slots=True, eq=False)
class Candidate:
    """A candidate; a ``stage`` of boosting is the largest model of its ``run``, truncated by ``stopped``."""

    name: str
    params: dict[str, Any]
    estimator: Any
    stage: int | None = None
    run: Hashable = None
    stopped: Callable[[Any], Any] | None = None

    @property
    def label(self) -> str:
        """Name, parameters and stage as text."""
        params = params_text(self.params)
        return self.name + (f"({params})" if params else "") + ("" if self.stage is None else f" at {self.stage}")


@dataclass(frozen=True, slots=True, eq=False)
class AgghooConfig:
    """The candidates of Agghoo, the metric that selects among them, and how their predictions are aggregated."""

    candidates: Sequence[Candidate]
    task: Task
    metric: Metric
    aggregate: Aggregate

    def check(self, data: Data) -> None:
        """Refuse a table that the metric or the candidates cannot use."""
        self.metric.check(data)
        if data.weight is not None:
            for candidate in self.candidates:
                check_takes_weights(candidate.estimator)

    def best(self, scores: Scores) -> int:
        """Position of the best score, the first of equal ones; NaN is never best."""
        signed = scores if self.metric.greater_is_better else -scores
        return int(np.argmax(np.where(np.isnan(signed), -np.inf, signed)))


@dataclass(frozen=True, slots=True, eq=False)
class Agghoo:
    """For each split the selected candidate and its model, and all validation scores; NaN where a fit failed."""

    scores: Scores
    chosen: list[int]
    members: list[Any]
    failures: tuple[Failure, ...] = ()


class ValidationLoss:
    """The loss of a fit on the validation rows of a split, by which the engine keeps the best model."""

    def __init__(self, metric: Metric, data: Data, rows: Rows) -> None:
        self._metric = metric
        self._data = data.without_table()
        self._rows = rows

    def __call__(self, outcome: Outcome) -> float:
        """Return the loss; the smaller, the better."""
        value = self._metric.value(outcome, self._data, self._rows)
        return -value if self._metric.greater_is_better else value


def agghoo_plan(config: AgghooConfig, data: Data, splits: Splits) -> Plan[Agghoo]:
    """Train every candidate on every split; a model stays in memory only while it is the best of its split."""
    candidates, metric = config.candidates, config.metric
    largest = _largest_of_runs(candidates)
    responses = [metric.responses(candidate.estimator) for candidate in candidates]
    tasks = []
    for place, split in enumerate(splits):
        loss = ValidationLoss(metric, data, split.test)
        for candidate, needed in zip(candidates, responses, strict=True):
            keep: Keep | None = Keep(("best", place), loss)
            if candidate.run is not None:
                keep = Keep(("run", candidate.run, place)) if candidate is largest[candidate.run] else None
            asks = tuple(Ask(split.test, response) for response in needed)
            tasks.append(FitTask(candidate.estimator, split.train, asks, keep=keep))
    outcomes = yield tasks
    width = len(candidates)
    found = [outcomes[start : start + width] for start in range(0, len(tasks), width)]
    scores = np.array([scores_of(line, metric, data, split) for line, split in zip(found, splits, strict=True)])
    failures = checked_failures(found)
    chosen = [config.best(line) for line in scores]
    members = [_member(candidates, line, place) for line, place in zip(found, chosen, strict=True)]
    missing = [place for place, member in enumerate(members) if member is None]
    if missing:
        refits = [
            FitTask(candidates[chosen[place]].estimator, splits[place].train, keep=Keep(("member", place)))
            for place in missing
        ]
        for place, outcome in zip(missing, (yield refits), strict=True):
            if outcome.error is not None:
                text = f"Refitting a selected candidate failed. {reasons([outcome.error])}"
                raise FitError(text, [outcome.error])
            members[place] = outcome.model
    return Agghoo(scores, chosen, members, failures)


def _largest_of_runs(candidates: Sequence[Candidate]) -> dict[Hashable, Candidate]:
    largest: dict[Hashable, Candidate] = {}
    for candidate in candidates:
        if candidate.run is not None:
            known = largest.get(candidate.run)
            if known is None or (candidate.stage or 0) > (known.stage or 0):
                largest[candidate.run] = candidate
    return largest


def _member(candidates: Sequence[Candidate], outcomes: Sequence[Outcome], place: int) -> Any:
    """Return the model of the selected candidate, or None where it has to be refitted."""
    candidate, outcome = candidates[place], outcomes[place]
    if outcome.model is not None or candidate.run is None or candidate.stopped is None:
        return outcome.model
    if outcome.solver == "plain":  # not a stage of a larger model
        return None
    runs = (o.model for c, o in zip(candidates, outcomes, strict=True) if c.run == candidate.run)
    whole = next((model for model in runs if model is not None), None)
    return None if whole is None else candidate.stopped(whole)


def scores_of(outcomes: Sequence[Outcome], metric: Metric, data: Data, split: Split) -> list[float]:
    """Value of a metric of each candidate on the test rows of a split; NaN where the fit failed."""
    return [np.nan if o.error is not None else metric.value(o, data, split.test) for o in outcomes]


def checked_failures(found: Iterable[Sequence[Outcome]]) -> tuple[Failure, ...]:
    """Return the failures of fits; raise where all candidates of a split failed."""
    failures: list[Failure] = []
    for place, line in enumerate(found):
        failed = [outcome.error for outcome in line if outcome.error is not None]
        if len(failed) == len(line):
            raise FitError(
                f"Each split needs a candidate that can be fitted. All {len(line)} fits of split {place} failed. "
                f"{reasons(failed)}",
                failed,
            )
        failures += failed
    return tuple(failures)
