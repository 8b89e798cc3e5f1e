"""The plan of a study: the choice, how good it is, and then what the diagnostics show; one engine runs all of it."""

from __future__ import annotations

import math
from typing import Any

from truefit._core.errors import FitError
from truefit._core.outcome import Outcome, reasons
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import FitTask, Keep
from truefit._methods.agghoo.cross_test import CrossTestConfig, cross_test_plan
from truefit._methods.agghoo.plan import AgghooConfig, Aggregate, Candidate
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.assessment.result import Assessment
from truefit._methods.comparison.plan import CompareConfig, TestChoice, compared_by_rows
from truefit._methods.comparison.result import Comparison
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.splitting.designs import Design
from truefit._metrics.metric import Metric
from truefit._study.config import StudyConfig, is_baseline
from truefit._study.diagnostics import DiagnosticRun
from truefit._study.evidence import StudyEvidence
from truefit._study.result import Study
from truefit._study.selection import CandidateSelection, SelectionOutcome

#: How many are looked at on their own training rows, the chosen one among them.
_TRAINED = 5
#: What has at most this share of the chosen one's gap between training rows and others is called less flexible.
_LESS_FLEXIBLE = 0.5


def study_plan(config: StudyConfig) -> Plan[Study]:
    """Choose, judge the choice, and look into the chosen one as far as time allows."""
    config.check()
    run = _SelectionRun(config)
    found = yield from run.run_selection()
    yield from run.run_cross_test(found)
    yield from run.run_training_error(found)
    yield from run.run_perturbation(found)
    yield from run.run_bias_variance(found)
    yield from run.run_learning_curve(found)
    return Study(found)


def model_plan(estimator: Any, rows: int) -> Plan[Any]:
    """Fit on all rows, and return the model."""
    (outcome,) = yield [FitTask(estimator, Rows.all(rows), keep=Keep("chosen"))]
    if outcome.error is not None:
        text = f"The chosen candidate could not be fitted on all rows. {reasons([outcome.error])}"
        raise FitError(text, [outcome.error])
    return outcome.model


class _SelectionRun(DiagnosticRun):
    """A whole study: the choice and how good it is come first."""

    def run_selection(self) -> Plan[StudyEvidence]:
        """Search, and put together what is known of the choice."""
        chosen = yield from self._counted(CandidateSelection(self.config).plan())
        self._searched, self.late = self.meter.seconds, chosen.late
        return self._evidence(chosen)

    def _evidence(self, chosen: SelectionOutcome) -> StudyEvidence:
        config = self.config
        names = list(chosen.outcomes)
        # By the folds alone, so that a candidate's number is the one that it was chosen or passed over by; the fits
        # without two folds tell how good the choice is.
        design = Design("splits", config.splits, "auto")
        candidates = config.only(names)
        assessment = Assessment(
            candidates, config.data, design, config.metric, chosen.outcomes, config.level, best=chosen.best
        )
        nested, winner = None, None
        if chosen.nested is not None:
            nested = NestedAssessment(
                chosen.nested, config.data, config.splits, config.metric, names=chosen.searched, level=config.level
            )
            winner = Estimate(nested.estimate, nested.interval, None, nested.interval_reason)
        if winner is None or math.isnan(winner.value):
            winner = _winner(assessment, config.metric)
        found = StudyEvidence(
            data=config.data.without_table(),
            columns=int(config.data.X.shape[1]) if len(config.data.X.shape) > 1 else 1,
            metric=config.metric,
            level=config.level,
            best=chosen.best,
            assessment=assessment,
            winner=winner,
            baselines=tuple(name for name, each in config.candidates if is_baseline(each)),
            n_candidates=len(config.candidates),
            nested=nested,
            paired=tuple(chosen.paired),
            seconds=chosen.seconds,
            dropped=chosen.dropped,
            suspects=config.suspects,
        )
        if nested is None:
            found.not_done.append(
                f"Nested cross-validation: {chosen.without_nesting}. The estimate comes from the folds of the search, "
                "with the choice made anew on bootstrap samples of the rows."
            )
        if len(names) > 1:
            by_rows = compared_by_rows(config.data, design, config.metric)
            # Five folds alone show large differences only; where the rows' own losses can be set side by side they
            # show more, and two learners that are equally good are still taken for different in 3 to 5% of tables.
            test: TestChoice = "pooled" if by_rows else "corrected_t"
            found.comparison = Comparison(
                assessment, config.metric, CompareConfig(test=test, level=config.level), by_rows=by_rows
            )
        return found

    def run_cross_test(self, found: StudyEvidence) -> Plan[None]:
        """Judge the aggregate of what is chosen on each fold: every fit of it was made by the search."""
        config, names = self.config, list(found.paired)
        if len(found.names) < 2:
            return
        if len(names) < 2 or not config.triangle:
            found.not_done.append("Cross-tested Agghoo: it needs the fits of nested cross-validation.")
            return
        estimators = [config.candidates.estimators[name] for name in names]
        aggregate: Aggregate = "mean"
        if config.data.task == "classification":
            aggregate = "soft" if all(hasattr(each, "predict_proba") for each in estimators) else "vote"
        if aggregate == "vote" and any(config.metric.responses(each) != ("predict",) for each in estimators):
            found.not_done.append(
                f"Cross-tested Agghoo: {found.metric_text.name} needs scores, and not all candidates have "
                "probabilities."
            )
            return
        members = [Candidate(name, {}, each) for name, each in zip(names, estimators, strict=True)]
        agghoo = AgghooConfig(members, config.data.task, config.metric, aggregate)
        part_config = CrossTestConfig(agghoo, config.splits, config.inner, True, config.metric, level=config.level)
        requested, distinct = self.meter.requested, self.meter.distinct
        found.cross_test = yield from self._run_part(
            found, "Cross-tested Agghoo", lambda: cross_test_plan(part_config, config.data)
        )
        found.shared = self.meter.requested - requested, self.meter.distinct - distinct

    def run_training_error(self, found: StudyEvidence) -> Plan[None]:
        """Fit the chosen one and the next best ones on all rows, and look at them there."""
        config = self.config
        names = list(dict.fromkeys([found.best, *found.learners[:_TRAINED]]))
        cost = {name: self._whole(found, name) for name in names}
        # The chosen one is what the study is for; the others only where there is time.
        while len(names) > 1 and sum(cost[name] for name in names) > self._left / 4:
            names.remove(max(names[1:], key=lambda name: cost[name]))
        outcomes: Any = yield from self._run_part(
            found,
            "The gap to the training rows",
            lambda: _outcomes_of([config.on_all_rows(name) for name in names]),
        )
        everything = Rows.all(config.data.n)
        for name, outcome in zip(names, outcomes or (), strict=False):
            if outcome.error is None:
                found.training[name] = config.metric.value(outcome, config.data, everything)
        found.simpler = _simpler(found)


def _outcomes_of(tasks: Any) -> Plan[list[Outcome]]:
    outcomes = yield tasks
    return list(outcomes)


def _winner(assessment: Assessment, metric: Metric) -> Estimate:
    """Return how good the best of several is, from the folds alone."""
    if metric.name != "rmse":
        winner = assessment.winner
        if not math.isnan(winner.value):
            return winner
        why = (
            f"{metric.name} is no mean over rows, so that the choice could not be made anew on samples of them; the "
            "value is that by which the choice was made, which tends to flatter"
        )
        return Estimate(assessment.estimates[assessment.best].value, None, None, why)
    # The root of the mean squared error is no mean over rows, but what it is the root of is one.
    squared = assessment.under("mse").winner
    interval = None if squared.interval is None else (math.sqrt(squared.interval[0]), math.sqrt(squared.interval[1]))
    return Estimate(math.sqrt(squared.value), interval, squared.method, squared.reason)


def _simpler(found: StudyEvidence) -> str | None:
    """Return the best candidate of which training rows and others are much less apart than of the chosen one."""
    gap = found.gap(found.best)
    if gap is None or gap <= 0:
        return None
    for name in found.learners:
        other = found.gap(name)
        if name != found.best and other is not None and other <= _LESS_FLEXIBLE * gap:
            return name
    return None
