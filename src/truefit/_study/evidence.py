"""Evidence of a study: every result that its answers are computed from."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Final, Literal

from truefit._core.data import Data
from truefit._methods.agghoo.cross_test import CrossTest
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.assessment.result import Assessment
from truefit._methods.bias_variance import BiasVariance
from truefit._methods.candidates import params_text
from truefit._methods.comparison.pairs import Pair
from truefit._methods.comparison.result import Comparison
from truefit._methods.importance.result import Importance
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.perturbation.result import Perturbation
from truefit._methods.result import plain
from truefit._methods.selection.ensemble import Ensemble
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.text import MetricText
from truefit._metrics.metric import Metric
from truefit._study.budget import TimeBudget
from truefit._study.external_test import ExternalTest

Cause = Literal["failed", "racing", "budget"]


@dataclass(frozen=True, slots=True)
class SkippedCandidate:
    """A candidate that was not fitted on every fold: after how many folds it was stopped, and why."""

    name: str
    after: int
    reason: str
    cause: Cause


@dataclass(frozen=True, slots=True)
class TunedSetting:
    """One setting of a family: its parameters, its score, and the folds it was fitted on."""

    family: str
    name: str
    params: Mapping[str, Any]
    #: Score over all folds; None where it was stopped early.
    estimate: float | None
    folds: int
    selected: bool = False

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with the parameters as text too."""
        return {**asdict(self), "params": plain(dict(self.params)), "text": params_text(self.params)}


Part = Literal[
    "metric", "candidates", "nested", "shuffled", "cross_test", "ensemble", "training", "perturbation",
    "bias_variance", "learning_curve",
]  # fmt: skip

_PART_NAMES: Final[Mapping[Part, str]] = {
    "metric": "Requested metric",
    "candidates": "Some candidates",
    "nested": "Nested cross-validation",
    "shuffled": "Shuffled cross-validation",
    "cross_test": "Cross-tested Agghoo",
    "ensemble": "Ensemble",
    "training": "Training error",
    "perturbation": "Perturbed validation",
    "bias_variance": "Bias and variance",
    "learning_curve": "Learning curve",
}


@dataclass(frozen=True, slots=True)
class NotRun:
    """A part of the study that was not run, or not for one candidate, and why."""

    part: Part
    why: str
    candidate: str | None = None

    @property
    def what(self) -> str:
        """The part in words."""
        return _PART_NAMES[self.part] + ("" if self.candidate is None else f" of {self.candidate}")


@dataclass(slots=True)
class StudyEvidence:
    """What a study found; None where a part was not run."""

    data: Data
    columns: int
    metric: Metric
    level: float
    best: str
    assessment: Assessment
    winner: Estimate
    baselines: tuple[str, ...] = ()
    baseline_rule: str = ""
    #: Where no candidate is a baseline: the value of a constant prediction, and its paired test against the best.
    constant: float | None = None
    against_constant: Pair | None = None
    n_candidates: int = 1
    n_searched: int = 1
    #: Every setting of the families of a tuned study, in the order of the search; empty without tuning.
    settings: tuple[TunedSetting, ...] = ()
    #: Parameters of the selected setting that have the least or the greatest of the values tried.
    edges: Mapping[str, Any] = field(default_factory=dict)
    #: The simplest setting within one standard error of the best; None without tuning.
    simplest: str | None = None
    #: How many candidates were not fitted on every fold, by cause.
    stopped: Mapping[Cause, int] = field(default_factory=dict)
    nested: NestedAssessment | None = None
    #: With time: the selected model's value in shuffled cross-validation, which ignores it.
    shuffled: float | None = None
    #: Candidates that were fitted without every pair of folds too.
    paired: tuple[str, ...] = ()
    comparison: Comparison | None = None
    cross_test: CrossTest | None = None
    #: Of a tuned study: a weighted average of settings.
    ensemble: Ensemble | None = None
    perturbation: Perturbation | None = None
    bias_variance: BiasVariance | None = None
    curves: LearningCurves | None = None
    #: Measured on request.
    importance: Importance | None = None
    #: Value of the metric on the training rows, by candidate, of models trained on all rows.
    training: dict[str, float] = field(default_factory=dict)
    #: Mean seconds of a fit, by candidate.
    seconds: dict[str, float] = field(default_factory=dict)
    #: The best candidate that is clearly less flexible than the selected one.
    simpler: str | None = None
    dropped: list[SkippedCandidate] = field(default_factory=list)
    not_run: list[NotRun] = field(default_factory=list)
    #: Number of rows of each part that used a sample of them.
    sampled: dict[str, int] = field(default_factory=dict)
    #: How many fits the cross-test requested, and how many of these were new.
    shared: tuple[int, int] | None = None
    #: The selected model on a separate test set.
    test: ExternalTest | None = None
    time_budget: TimeBudget = field(default_factory=TimeBudget)

    @property
    def metric_text(self) -> MetricText:
        """How values of the metric are written."""
        return MetricText.of(self.metric)

    @property
    def n_families(self) -> int:
        """How many families the settings of a tuned study belong to; 0 without tuning."""
        return len({each.family for each in self.settings})

    def family(self, name: str) -> str:
        """Return the family of a candidate; its own name without tuning."""
        return next((each.family for each in self.settings if each.name == name), name)

    @property
    def folds_name(self) -> str:
        """What the test sets are called."""
        return "folds" if self.data.time is None else "periods"

    @property
    def names(self) -> list[str]:
        """Candidates that were fitted on every fold."""
        return self.assessment.names

    @property
    def sign(self) -> int:
        """1 where a smaller value of the metric is better, -1 where a greater one is."""
        return -1 if self.metric.greater_is_better else 1

    def value(self, name: str) -> float:
        """Cross-validated value of a candidate, by which the selection is made."""
        return self.assessment.estimates[name].value

    def behind(self, name: str, other: str) -> float:
        """By how much a candidate is worse than another in cross-validation; below 0 where it is better."""
        return self.sign * (self.value(name) - self.value(other))

    def gap(self, name: str) -> float | None:
        """By how much a candidate is worse on held-out rows than on its training rows; None if unknown."""
        if name not in self.training:
            return None
        return self.sign * (self.value(name) - self.training[name])

    @property
    def ranked(self) -> list[str]:
        """Candidates from the best to the worst, the selected one first."""
        return sorted(self.names, key=lambda name: (name != self.best, self.sign * self.value(name)))

    @property
    def learners(self) -> list[str]:
        """Candidates that are no baselines, from the best to the worst."""
        return [name for name in self.ranked if name not in self.baselines]

    @property
    def nothing_fitted(self) -> bool:
        """Whether the time budget left nothing but baselines."""
        return not self.learners and bool(self.stopped.get("budget"))

    @property
    def pairs(self) -> Mapping[str, Pair]:
        """Each other candidate against the selected one."""
        if self.comparison is None:
            return {}
        return {pair.candidate: pair for pair in self.comparison.pairs if pair.reference == self.best}

    @property
    def ties(self) -> list[str]:
        """Other candidates that are not significantly different from the selected one, the best first."""
        alike = [] if self.comparison is None else self.comparison.ties
        return [name for name in self.ranked if name in alike and name != self.best]

    @property
    def baseline(self) -> float | None:
        """Value of the baseline: a dummy among the candidates, else the majority class or the mean."""
        known = [self.value(name) for name in self.baselines if name in self.names]
        return min(known, key=lambda value: self.sign * value) if known else self.constant

    @property
    def baseline_reason(self) -> Literal["best", "tie", "interval"] | None:
        """Why no candidate counts as better than the baseline; None where one does.

        "best": the baseline has the best score. "tie": the paired test shows no significant difference. "interval":
        there is no such test, and the interval of the estimate reaches the baseline.
        """
        if self.best in self.baselines:
            return "best"
        baseline, interval, pair = self.baseline, self.interval, self.against_constant
        if self.constant is not None and self.sign * (self.value(self.best) - self.constant) > 0:
            return "best"
        if any(name in self.ties for name in self.baselines):
            return "tie"
        if pair is not None and pair.found is not None:
            return "tie" if pair.p_adjusted > 1 - self.level else None
        if baseline is None or (self.baselines and interval is None):
            return None
        if any(name in self.pairs for name in self.baselines):
            return None
        worst = self.estimate if interval is None else interval[1 if self.sign > 0 else 0]
        return "interval" if self.sign * (worst - baseline) >= 0 else None

    @property
    def estimate(self) -> float:
        """The value to expect of the selected model on new rows."""
        return self.winner.value

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the estimate."""
        return self.winner.interval

    @property
    def curve(self) -> LearningCurve | None:
        """Learning curve of the selected model."""
        return None if self.curves is None else self.curves.curves.get(self.best)
