"""The plan of a study: selection, assessment, diagnostics; one engine runs all of it."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from typing import Any

import numpy as np

from truefit._core.errors import BudgetSpent, FitError, InvalidInput, reasons
from truefit._core.outcome import Outcome
from truefit._core.protocols import FitTask, Keep, Plan
from truefit._core.rows import Rows
from truefit._methods.agghoo.cross_test import CrossTestConfig, cross_test_plan
from truefit._methods.agghoo.plan import AgghooConfig, Aggregate, Candidate
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.assessment.plan import assess_plan
from truefit._methods.assessment.result import Assessment
from truefit._methods.comparison.pairs import Pair, compared_by_rows
from truefit._methods.comparison.plan import CompareConfig, TestChoice
from truefit._methods.comparison.result import Comparison
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.selection.simplicity import simplest_setting
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import make_splits
from truefit._methods.subplans import FitMeter
from truefit._metrics.metric import Metric
from truefit._study.budget import FOR_SEARCH
from truefit._study.config import StudyConfig
from truefit._study.diagnostics import DiagnosticRun
from truefit._study.ensemble import ensemble_plan, why_not
from truefit._study.evidence import SkippedCandidate, StudyEvidence, TunedSetting
from truefit._study.result import Study
from truefit._study.selection import CandidateSelection, SelectionOutcome, Spent

#: With a budget: how often a study is run again, and the least share of the budget that is worth it.
_RERUNS, _WORTH_RERUNNING = 6, 0.1
#: Share of the time that is left for a search that has stopped the same settings again.
_ALMOST_ALL = 0.9
#: How many candidates are scored on their own training rows, the selected one among them.
_TRAINED = 5
#: A candidate is less flexible if its gap to the training rows is at most this share of the selected model's.
_LESS_FLEXIBLE = 0.5
#: The constant prediction in its comparison with the selected model; no candidate has this name.
_CONSTANT = " constant"


def study_plan(config: StudyConfig) -> Plan[Study]:
    """Select a model, estimate how good it is, and diagnose it as far as time allows."""
    config.check()
    run = _SelectionRun(config)
    yield from run.run_all()
    share = FOR_SEARCH
    for _ in range(_RERUNS):
        if not run.can_improve:
            break
        again = run.with_more_time(share)
        try:
            yield from again.run_all()
        except BudgetSpent:
            break
        if again.late or not again.answers_as_much_as(run):
            break
        if again.same_search_as(run):
            # The other parts are there already, so little has to be left for them.
            if share == _ALMOST_ALL:
                break
            share = _ALMOST_ALL
        run = again
    return Study(run.found, config)


def model_plan(estimator: Any, rows: int) -> Plan[Any]:
    """Fit on all rows, and return the model."""
    (outcome,) = yield [FitTask(estimator, Rows.all(rows), keep=Keep("chosen"))]
    if outcome.error is not None:
        text = f"The selected model could not be fitted on all rows. {reasons([outcome.error])}"
        raise FitError(text, [outcome.error])
    return outcome.model


class _SelectionRun(DiagnosticRun):
    """A whole study: the selection and its assessment come first.

    With a budget it may be run again, with the time that is left: its fits are there already.
    """

    def __init__(self, config: StudyConfig, meter: FitMeter | None = None, earlier: Spent | None = None) -> None:
        super().__init__(config, meter)
        self._earlier = earlier

    def run_all(self) -> Plan[None]:
        """Answer the four questions, and use the time that is left to answer them better."""
        yield from self.run_selection()
        yield from self.run_shuffled()
        yield from self.run_cross_test()
        yield from self.run_training_error()
        yield from self.run_perturbation()
        yield from self.run_bias_variance()
        yield from self.run_learning_curve()
        yield from self.run_ensemble()  # it may fit settings that a race stopped, so the answers come first
        yield from self.run_refinement()

    @property
    def can_improve(self) -> bool:
        """Whether the search stopped candidates, or was not nested, for lack of time that is there after all."""
        stopped = bool(self.found.stopped.get("budget")) or self._selected.lacks_time
        return stopped and self._unused >= _WORTH_RERUNNING

    def answers_as_much_as(self, other: _SelectionRun) -> bool:
        """Whether it has every part that another run has."""
        parts = ("nested", "perturbation", "bias_variance", "curves")
        return all(getattr(self.found, each) is not None for each in parts if getattr(other.found, each) is not None)

    def same_search_as(self, other: _SelectionRun) -> bool:
        """Whether it has searched the same settings as another run."""
        return set(self._selected.searched) == set(other._selected.searched)

    def with_more_time(self, share: float) -> _SelectionRun:
        """Return a run whose search has the time of this one's and that share of what is left."""
        seconds = self._searched - self._before
        earlier = Spent(seconds, seconds / max(self._selected.expected, 1e-9), share)
        return _SelectionRun(self.config, self.meter, earlier)

    def run_selection(self) -> Plan[None]:
        """Search, and put together what is known of the selected model."""
        self._before = self.meter.seconds if self._earlier is None else self.meter.seconds - self._earlier.seconds
        search = CandidateSelection(self.config, self.meter, self._earlier)
        selected = yield from self._counted(search.plan(), lambda: search.status)
        self._searched, self.late = self.meter.seconds, selected.late
        self._selected = selected
        self.found = self._evidence(selected)
        if self.found.nested is None:
            how = "the selected model's own score, which is optimistically biased"
            if self.found.winner.interval is not None:
                how = "from the folds, with the selection repeated on bootstrap samples"
            elif self.config.splits.chronological:
                how = "the mean over the periods by which the model was selected, which is optimistically biased"
            self._skip("nested", f"{selected.without_nesting}; the estimate is {how}")

    def _evidence(self, selected: SelectionOutcome) -> StudyEvidence:
        config, names = self.config, self._compared(selected)
        # From the folds alone, so that a candidate's number is the one by which it was selected or not; the fits
        # without two folds are for the nested estimate.
        design = Design("splits", config.splits, "auto")
        outcomes = {name: selected.outcomes[name] for name in names}
        assessment = Assessment(
            config.only(names), config.data, design, config.metric, outcomes, config.level,
            best=selected.best, pos_label=config.pos_label,
        )  # fmt: skip
        nested, winner = None, None
        if selected.nested is not None:
            nested = NestedAssessment(
                selected.nested, config.data, config.metric, names=selected.searched, level=config.level
            )
            winner = Estimate(nested.estimate, nested.interval, None, nested.interval_reason)
        if len(selected.searched) == 1 and config.splits.chronological:
            winner = assessment.estimates[selected.best]  # nothing was selected, so the first period counts too
        if winner is None or math.isnan(winner.value):
            winner = _winner(assessment, config.metric)
        comparison = self._comparison(assessment, design, self._every_setting(selected)) if len(names) > 1 else None
        constant, against = self._constant(selected, names, design)
        return StudyEvidence(
            data=config.data.without_table(),
            columns=config.columns,
            metric=config.metric,
            level=config.level,
            best=selected.best,
            assessment=assessment,
            winner=winner,
            baselines=config.baselines,
            baseline_rule=config.baseline_rule,
            constant=constant,
            against_constant=against,
            n_candidates=len(config.candidates),
            n_searched=len(selected.searched),
            nested=nested,
            paired=tuple(selected.paired),
            comparison=comparison,
            seconds=selected.seconds,
            settings=self._settings(selected),
            edges=config.edges(selected.best),
            simplest=self._simplest(selected),
            stopped=Counter(each.cause for each in selected.dropped),
            dropped=_by_family(selected.dropped, config, shown=names),
            not_run=list(config.not_run),
            time_budget=config.time_budget,
        )

    def _every_setting(self, selected: SelectionOutcome) -> Assessment | None:
        """Return every setting that was fitted on all folds: the selected one is the best of these."""
        config = self.config
        if not config.tuned:
            return None
        known = {
            name: outcomes
            for name, outcomes in selected.outcomes.items()
            if all(each.error is None for each in outcomes)
        }
        return Assessment(
            config.only(known), config.data, Design("splits", config.splits, "auto"), config.metric, known,
            config.level, best=selected.best, pos_label=config.pos_label,
        )  # fmt: skip

    def _comparison(
        self,
        assessment: Assessment,
        design: Design,
        searched: Assessment | None = None,
        reference: str | None = None,
    ) -> Comparison:
        """Compare candidates with the selected one, or with a reference that does not depend on the selection."""
        config, by_rows = self.config, compared_by_rows(self.config.data, design, self.config.metric)
        # Five folds alone show only large differences. Losses of single rows, where there are any, show more.
        test: TestChoice = "pooled" if by_rows else "corrected_t"
        compared = CompareConfig(reference, test=test, level=config.level, baselines=tuple(config.baselines))
        families = {name: config.family(name) for name in ([] if searched is None else searched.names)}
        return Comparison(assessment, config.metric, compared, by_rows=by_rows, searched=searched, families=families)

    def _constant(
        self, selected: SelectionOutcome, names: Sequence[str], design: Design
    ) -> tuple[float | None, Pair | None]:
        """Return the value of a constant prediction, and the test of the selected model against it.

        All candidates are compared with the constant, and the p-values adjusted for their number: any could be better.
        None where a candidate is a baseline: that one takes this place, and is in the table.
        """
        config, best = self.config, selected.best
        if set(config.baselines) & set(selected.outcomes) or config.data.y.ndim > 1:
            return None, None
        compared = config.only(names)
        compared.estimators[_CONSTANT] = None  # no fit: what it predicts follows from the targets of the training rows
        outcomes = {name: selected.outcomes[name] for name in names}
        outcomes[_CONSTANT] = [config.constant_on(split) for split in config.splits]
        try:
            assessment = Assessment(
                compared, config.data, design, config.metric, outcomes, config.level, best=best,
                pos_label=config.pos_label,
            )  # fmt: skip
            value = assessment.estimates[_CONSTANT].value
            pairs = self._comparison(assessment, design, reference=_CONSTANT).pairs
        except InvalidInput:  # a metric of a response that a constant does not have
            return None, None
        return None if math.isnan(value) else value, next(pair for pair in pairs if pair.candidate == best)

    def _score(self, selected: SelectionOutcome, name: str) -> float:
        """Return the mean score over the folds, by which the selection was made."""
        config, pairs = self.config, zip(selected.outcomes[name], self.config.splits, strict=True)
        return float(np.mean([config.metric.value(outcome, config.data, split.test) for outcome, split in pairs]))

    def _compared(self, selected: SelectionOutcome) -> list[str]:
        """Return the candidates that are compared with the selected one: of each tuned family the best setting."""
        config, best = self.config, dict[str, str]()
        for name in selected.outcomes:
            leader = best.get(config.family(name))
            if leader is None or name == selected.best or self._is_better(selected, name, leader):
                best[config.family(name)] = name
        best[config.family(selected.best)] = selected.best
        return list(best.values())

    def _is_better(self, selected: SelectionOutcome, name: str, other: str) -> bool:
        return self.config.sign * (self._score(selected, name) - self._score(selected, other)) < 0

    def _settings(self, selected: SelectionOutcome) -> tuple[TunedSetting, ...]:
        """Return every setting of a tuned study."""
        config, after = self.config, {each.name: each.after for each in selected.dropped}
        if not config.tuned:
            return ()
        return tuple(
            TunedSetting(
                setting.family,
                name,
                setting.params,
                self._score(selected, name) if name in selected.outcomes else None,
                after.get(name, config.folds),
                name == selected.best,
            )
            for name, setting in config.settings.items()
        )

    def _simplest(self, selected: SelectionOutcome) -> str | None:
        """Return the simplest setting within one standard error of the best, in a tuned study."""
        config = self.config
        if not config.tuned or selected.scores is None:
            return None
        settings = [config.settings[name] for name in selected.searched]
        return selected.searched[simplest_setting(config.sign * selected.scores, settings, config.families)]

    def run_shuffled(self) -> Plan[None]:
        """With time: cross-validate the selected model on shuffled rows, to show what ignoring time would report."""
        config, found = self.config, self.found
        if config.data.time is None:
            return
        data = config.data.without_time()
        try:
            splits = make_splits(data, "kfold", k=config.folds, random_state=config.random_state)
        except InvalidInput as error:
            self._skip("shuffled", str(error))
            return
        design, candidates = Design("splits", splits, "auto"), config.only([found.best])
        plan = assess_plan(candidates, data, design, config.metric, level=config.level)
        result = yield from self._run_part("shuffled", plan)
        if result is not None and not math.isnan(result.estimate[found.best]):
            found.shuffled = float(result.estimate[found.best])

    def run_cross_test(self) -> Plan[None]:
        """Cross-test Agghoo over the candidates: the search has made every fit of it."""
        config, found, names = self.config, self.found, list(self.found.paired)
        if len(found.names) < 2:
            return
        if config.data.time is not None:
            self._skip("cross_test", "Agghoo would average models that were trained on the first periods only")
            return
        if len(names) < 2 or not config.triangle:
            self._skip("cross_test", "it needs the fits of nested cross-validation")
            return
        estimators = [config.candidates.estimators[name] for name in names]
        aggregate: Aggregate = "mean"
        if config.data.task == "classification":
            aggregate = "soft" if all(hasattr(each, "predict_proba") for each in estimators) else "vote"
        if aggregate == "vote" and any(config.metric.responses(each) != ("predict",) for each in estimators):
            why = f"{found.metric_text.name} needs probabilities, and not all candidates predict them"
            self._skip("cross_test", why)
            return
        members = [Candidate(name, {}, each) for name, each in zip(names, estimators, strict=True)]
        agghoo = AgghooConfig(members, config.data.task, config.metric, aggregate)
        part_config = CrossTestConfig(agghoo, config.splits, config.inner, True, config.metric, level=config.level)
        requested, distinct = self.meter.requested, self.meter.distinct
        found.cross_test = yield from self._run_part("cross_test", cross_test_plan(part_config, config.data))
        found.shared = self.meter.requested - requested, self.meter.distinct - distinct

    def run_ensemble(self) -> Plan[None]:
        """In a tuned study: cross-test a weighted average of settings, if it is better than one alone."""
        if not self.config.tuned:
            return
        why = why_not(self.config, self._selected)
        if why is not None:
            self._skip("ensemble", why)
            return
        before = len(self.found.not_run)
        self.found.ensemble = yield from self._run_part("ensemble", ensemble_plan(self.config, self._selected))
        if self.found.ensemble is None and len(self.found.not_run) == before:
            self._skip("ensemble", "on held-out rows one setting alone does better than its average with others")

    def run_training_error(self) -> Plan[None]:
        """Fit the selected model and the next best ones on all rows, and score them there."""
        config, found = self.config, self.found
        names = list(dict.fromkeys([found.best, *found.learners[:_TRAINED]]))
        cost = {name: self._whole(name) for name in names}
        while len(names) > 1 and sum(cost[name] for name in names) > self._left / 4:
            names.remove(max(names[1:], key=lambda name: cost[name]))
        tasks = [config.on_all_rows(name) for name in names]
        outcomes = yield from self._run_part("training", _outcomes_of(tasks))
        everything = Rows.all(config.data.n)
        for name, outcome in zip(names, outcomes or (), strict=False):
            if outcome.error is None:
                found.training[name] = config.metric.value(outcome, config.data, everything)
        found.simpler = _simpler(found)


def _by_family(
    dropped: Sequence[SkippedCandidate], config: StudyConfig, shown: Sequence[str]
) -> list[SkippedCandidate]:
    """Return what was stopped, once for each tuned family, and without those of which another setting is compared."""
    if not config.tuned:
        return list(dropped)
    families, found = {config.family(name) for name in shown}, dict[str, SkippedCandidate]()
    for each in dropped:
        family = config.family(each.name)
        if family not in families and (family not in found or each.after > found[family].after):
            found[family] = each
    return list(found.values())


def _outcomes_of(tasks: Any) -> Plan[list[Outcome]]:
    outcomes = yield tasks
    return list(outcomes)


def _winner(assessment: Assessment, metric: Metric) -> Estimate:
    """Return the estimate of the selected model from the folds alone."""
    if assessment.splits.chronological:
        why = "the estimate is the selected model's own score, which is optimistically biased"
        return Estimate(assessment.estimates[assessment.best].value, None, None, why)
    if metric.name != "rmse":
        winner = assessment.winner
        if not math.isnan(winner.value):
            return winner
        why = (
            f"{metric.name} is not a per-sample metric, so the selection cannot be repeated on bootstrap samples; the "
            "estimate is the selected model's own CV score, which is optimistically biased"
        )
        return Estimate(assessment.estimates[assessment.best].value, None, None, why)
    # RMSE is not a per-sample metric, but its square is.
    squared = assessment.under("mse").winner
    interval = None if squared.interval is None else (math.sqrt(squared.interval[0]), math.sqrt(squared.interval[1]))
    return Estimate(math.sqrt(squared.value), interval, squared.method, squared.reason)


def _simpler(found: StudyEvidence) -> str | None:
    """Return the best candidate with a much smaller gap between training and held-out rows than the selected one."""
    gap = found.gap(found.best)
    if gap is None or gap <= 0:
        return None
    for name in found.learners:
        other = found.gap(name)
        if name != found.best and other is not None and other <= _LESS_FLEXIBLE * gap:
            return name
    return None
