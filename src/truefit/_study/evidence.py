"""Evidence of a study: every result that its answers are computed from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from truefit._core.data import Data
from truefit._methods.agghoo.cross_test_result import CrossTest
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.assessment.result import Assessment
from truefit._methods.bias_variance import BiasVariance
from truefit._methods.comparison.result import Comparison, Pair
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.perturbation.result import Perturbation
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.text import MetricText
from truefit._metrics.metric import Metric
from truefit._study.checks import Suspect

if TYPE_CHECKING:
    from truefit._core.data import Task


@dataclass(frozen=True, slots=True)
class SkippedCandidate:
    """A candidate that did not take part to the end: after how many folds it was dropped, and why."""

    name: str
    after: int
    reason: str


@dataclass(slots=True)
class StudyEvidence:
    """What a study found; None where a question was not looked into.

    Attributes
    ----------
    paired : tuple of str
        Candidates that were fitted without every pair of folds too.
    training : dict
        Value of the metric on its own training rows, by candidate, of models trained on all rows.
    seconds : dict
        What one fit took on average, by candidate.
    simpler : str or None
        The best of the candidates that are clearly less flexible than the chosen one.
    sampled : dict
        How many rows a question was looked into with, where that was not all of them.
    shared : tuple of int or None
        How many fits the cross-test asked for, and how many of these were new.
    """

    data: Data
    columns: int
    metric: Metric
    level: float
    best: str
    assessment: Assessment
    winner: Estimate
    baselines: tuple[str, ...] = ()
    n_candidates: int = 1
    nested: NestedAssessment | None = None
    paired: tuple[str, ...] = ()
    comparison: Comparison | None = None
    cross_test: CrossTest | None = None
    perturbation: Perturbation | None = None
    bias_variance: BiasVariance | None = None
    curves: LearningCurves | None = None
    training: dict[str, float] = field(default_factory=dict)
    seconds: dict[str, float] = field(default_factory=dict)
    simpler: str | None = None
    dropped: list[SkippedCandidate] = field(default_factory=list)
    not_done: list[str] = field(default_factory=list)
    sampled: dict[str, int] = field(default_factory=dict)
    shared: tuple[int, int] | None = None
    suspects: Sequence[Suspect] = ()

    @property
    def metric_text(self) -> MetricText:
        """How values of the metric are said."""
        return MetricText.of(self.metric)

    @property
    def task(self) -> Task:
        """Whether this is a classification or a regression."""
        return self.data.task

    @property
    def names(self) -> list[str]:
        """Candidates that took part to the end."""
        return self.assessment.names

    @property
    def sign(self) -> int:
        """1 where a smaller value of the metric is better, -1 where a greater one is."""
        return -1 if self.metric.greater_is_better else 1

    def value(self, name: str) -> float:
        """Cross-validated value of a candidate, by which the choice is made."""
        return self.assessment.estimates[name].value

    def behind(self, name: str, other: str) -> float:
        """By how much a candidate is worse than another in cross-validation; below 0 where it is better."""
        return self.sign * (self.value(name) - self.value(other))

    def gap(self, name: str) -> float | None:
        """By how much a candidate is worse on rows left out than on its training rows; None where that is not known."""
        if name not in self.training:
            return None
        return self.sign * (self.value(name) - self.training[name])

    @property
    def ranked(self) -> list[str]:
        """Candidates, the chosen one first, and then from the best on."""
        return sorted(self.names, key=lambda name: (name != self.best, self.sign * self.value(name)))

    @property
    def learners(self) -> list[str]:
        """Candidates that look at the features, from the best on."""
        return [name for name in self.ranked if name not in self.baselines]

    @property
    def pairs(self) -> Mapping[str, Pair]:
        """Each other candidate against the chosen one."""
        if self.comparison is None:
            return {}
        return {pair.candidate: pair for pair in self.comparison.pairs if pair.reference == self.best}

    @property
    def ties(self) -> list[str]:
        """Other candidates that cannot be told apart from the chosen one, the best first."""
        alike = [] if self.comparison is None else self.comparison.ties
        return [name for name in self.ranked if name in alike and name != self.best]

    @property
    def baseline(self) -> float | None:
        """Value of the metric without any model: that of a dummy among the candidates, or for an error of its own."""
        known = [self.value(name) for name in self.baselines if name in self.names]
        if known:
            return min(known, key=lambda value: self.sign * value)
        if self.metric.name == "error" and self.data.codes is not None and self.data.weight is None:
            return 1 - float(np.bincount(self.data.codes).max()) / self.data.n
        if self.metric.name == "rmse" and self.data.weight is None and self.data.y.ndim == 1:
            return float(np.std(self.data.y))
        return None

    @property
    def no_better_than_baseline(self) -> bool:
        """Whether no candidate can be told apart from the one that looks at no feature."""
        if self.best in self.baselines:
            return True
        alike = [name for name in self.baselines if name in self.ties]
        if alike:
            return True
        baseline, interval = self.baseline, self.interval
        if baseline is None or (self.baselines and interval is None):
            return False
        if any(name in self.pairs for name in self.baselines):
            return False  # they were compared, and told apart
        worst = self.estimate if interval is None else interval[1 if self.sign > 0 else 0]
        return self.sign * (worst - baseline) >= 0

    @property
    def estimate(self) -> float:
        """The value to expect of the choice."""
        return self.winner.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Its interval."""
        return self.winner.interval

    @property
    def curve(self) -> LearningCurve | None:
        """Learning curve of the chosen one."""
        return None if self.curves is None else self.curves.curves.get(self.best)
