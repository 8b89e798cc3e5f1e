"""The plan of a study: the cheapest that decides comes first, and all of it asks one engine."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, InvalidInput
from truefit._core.outcome import Outcome, reasons
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import FitTask, Keep
from truefit._methods.agghoo.cross_test import CrossTestConfig, cross_test_plan
from truefit._methods.agghoo.plan import AgghooConfig, Aggregate, Candidate
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.assessment.result import Assessment
from truefit._methods.bias_variance import bias_variance_config, bias_variance_plan
from truefit._methods.candidates import fewest_training_rows
from truefit._methods.comparison.plan import CompareConfig, TestChoice, compared_by_rows
from truefit._methods.comparison.result import Comparison
from truefit._methods.learning_curve.config import learning_curve_config, least_size
from truefit._methods.learning_curve.plan import learning_curve_plan
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.learning_curve.samples import sampled_table
from truefit._methods.perturbation.config import perturbation_config
from truefit._methods.perturbation.plan import perturb_plan
from truefit._methods.perturbation.result import Perturbation
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.splitting.designs import Design
from truefit._methods.text import seconds
from truefit._metrics.metric import Metric, get_metric
from truefit._study.budget import FEWEST_ROWS, Effort, bootstrap_effort, curve_sizes, perturbation_effort, sample_rows
from truefit._study.config import StudyConfig, looks_at_no_feature
from truefit._study.evidence import StudyEvidence
from truefit._study.result import Study
from truefit._study.selection import CandidateSelection, SelectionOutcome
from truefit._study.subplans import FitMeter, on_rows, run_subplan

R = TypeVar("R")

#: How what the search leaves is shared out: noise, bias and variance, and learning curves.
_FOR_NOISE, _FOR_BOOTSTRAP = 0.35, 0.25
#: How many are looked at on their own training rows, under noise, and as they grow; the chosen one among them.
_TRAINED, _DISTURBED, _GROWN = 5, 3, 3
#: Noise levels that tell first how long fits on noise take; every effort has them too.
_FIRST_LEVELS = (0.0, 0.5)
#: What has at most this share of the chosen one's gap between training rows and others is called less flexible.
_LESS_FLEXIBLE = 0.5
#: Where there is no budget, what takes less than this share of the time so far is not worth saving.
_LITTLE = 0.05
#: A gain of less than this share of the error does not matter for where a learning curve ends.
_MATTERS = 0.05


def study_plan(config: StudyConfig) -> Plan[Study]:
    """Choose, judge the choice, and look into the chosen one as far as time allows."""
    config.check()
    run = _StudyRun(config)
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


class _StudyRun:
    """A study on its way."""

    def __init__(self, config: StudyConfig) -> None:
        self.config = config
        self.meter = FitMeter()
        self.late = False
        self._searched = 0.0

    def _counted(self, plan: Plan[R]) -> Plan[R]:
        return run_subplan(plan, told=self.meter.note)

    def _run_part(self, found: StudyEvidence, what: str, plan: Callable[[], Plan[R]]) -> Plan[R | None]:
        """Drive the plan of a question; where it cannot be answered, say why and go on."""
        try:
            return (yield from self._counted(plan()))
        except BudgetSpent:
            self.late = True
            found.not_done.append(f"{what}: the time was spent.")
        except InvalidInput as error:
            found.not_done.append(f"{what}: {error}")
        except FitError as error:
            found.not_done.append(f"{what}: fits failed. {str(error).splitlines()[0]}")
        return None

    @property
    def _left(self) -> float:
        """Seconds of fitting that are left."""
        rest = self.config.time_budget.rest(self._searched)
        return 0.0 if self.late else max(rest - (self.meter.seconds - self._searched), 0.0)

    # Which model, and how good is it?

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
        honest, winner = None, None
        if chosen.nested is not None:
            honest = NestedAssessment(
                chosen.nested, config.data, config.splits, config.metric, names=chosen.searched, level=config.level
            )
            winner = Estimate(honest.estimate, honest.interval, None, honest.interval_reason)
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
            dummies=tuple(name for name, each in config.candidates if looks_at_no_feature(each)),
            asked=len(config.candidates),
            honest=honest,
            paired=tuple(chosen.paired),
            seconds=chosen.seconds,
            dropped=chosen.dropped,
            suspects=config.suspects,
        )
        if honest is None:
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
                f"Cross-tested Agghoo: {found.spoken.name} needs scores, and not all candidates have probabilities."
            )
            return
        members = [Candidate(name, {}, each) for name, each in zip(names, estimators, strict=True)]
        agghoo = AgghooConfig(members, config.data.task, config.metric, aggregate)
        spelled_out = CrossTestConfig(agghoo, config.splits, config.inner, True, config.metric, level=config.level)
        asked, distinct = self.meter.asked, self.meter.distinct
        found.cross_test = yield from self._run_part(
            found, "Cross-tested Agghoo", lambda: cross_test_plan(spelled_out, config.data)
        )
        found.shared = self.meter.asked - asked, self.meter.distinct - distinct

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
            lambda: _asked([config.on_all_rows(name) for name in names]),
        )
        everything = Rows.all(config.data.n)
        for name, outcome in zip(names, outcomes or (), strict=False):
            if outcome.error is None:
                found.training[name] = config.metric.value(outcome, config.data, everything)
        found.simpler = _simpler(found)

    def _whole(self, found: StudyEvidence, name: str) -> float:
        """Return what a fit on all rows takes, as told by those on the folds."""
        return found.seconds[name] * self.config.data.n / self.config.splits.mean_train_rows

    # Does it fit?

    def _others(self, found: StudyEvidence, most: int) -> list[str]:
        """Return the chosen one, the best that cannot be told apart from it, and one that is less flexible."""
        alike = [name for name in found.ties if name not in found.dummies][: most - 1]
        names = [found.best, *([found.simpler] if found.simpler else []), *alike]
        return list(dict.fromkeys(names))[:most]

    def _sampled(self, effort: Effort) -> tuple[Data, Any]:
        """Return the table that an effort reaches for, and how a plan on it is driven."""
        config = self.config
        if effort.rows >= config.data.n:
            return config.data, lambda plan: plan
        rows = sample_rows(config.data, effort.rows, least=config.folds, random_state=config.random_state)
        return config.data.subset(rows), lambda plan: on_rows(plan, config.data, rows)

    def _note_sample(self, found: StudyEvidence, what: str, rows: int) -> None:
        if rows < self.config.data.n:
            found.sampled[what] = rows

    def _afforded(
        self,
        found: StudyEvidence,
        what: str,
        takes: Mapping[str, float],
        allowed: float,
        effort: Callable[..., Effort | None],
        on: str = "all rows",
    ) -> tuple[list[str], Effort | None]:
        """Return for which candidates, by what a fit of each takes, and how thoroughly, there is time.

        Without a budget the chosen one and a less flexible one are looked at in any case.
        """
        names = list(takes)
        sure = 0 if self.config.time_budget.budget is not None else 1 if found.simpler is None else 2
        while True:
            each = sum(takes[name] for name in names)
            afforded = effort(allowed, each, self.config.data.n, sure=len(names) <= sure)
            if afforded is not None or len(names) == 1:
                break
            others = [name for name in names[1:] if name != found.simpler] or names[1:]
            names.remove(max(others, key=lambda name: takes[name]))
        if afforded is None:
            found.not_done.append(
                f"{what}: one fit of {found.best} on {on} takes some {seconds(each)}, and "
                f"{seconds(max(allowed, 0.0))} of fitting are left for it."
            )
        return names, afforded

    def run_perturbation(self, found: StudyEvidence) -> Plan[None]:
        """Put noise into the targets."""
        config, what = self.config, "Perturbed validation"
        if found.best in found.dummies:
            found.not_done.append(f"{what}: {found.best} looks at no feature.")
            return
        allowed = _FOR_NOISE * self._left
        takes = {name: self._whole(found, name) for name in self._others(found, _DISTURBED)}
        names, effort = self._afforded(found, what, takes, allowed, perturbation_effort)
        if effort is None:
            return
        before = self.meter.seconds
        on_noise = yield from self._first_looks(found, what, names, effort, allowed)
        if found.best not in on_noise:
            return
        if config.time_budget.budget is not None:
            allowed -= self.meter.seconds - before
        names, effort = self._afforded(found, what, on_noise, allowed, perturbation_effort, on="noise")
        if effort is None:
            return
        for name in takes:
            if name not in names:
                took = f"; a fit on noise takes some {seconds(on_noise[name])}" if name in on_noise else ""
                found.not_done.append(f"{what} of {name}: left out to save time{took}.")
        result = yield from self._perturbation(found, what, names, effort, folds=config.folds)
        if result is not None and not result.by_name[found.best].known:
            found.not_done.append(f"{what}: the time was spent.")
            result = None
        if result is not None:
            self._note_sample(found, "perturbation", result.rows)
        found.perturbation = result

    def _first_looks(
        self, found: StudyEvidence, what: str, names: Sequence[str], effort: Effort, allowed: float
    ) -> Plan[dict[str, float]]:
        """Return what a fit on noise takes, of those for which there is time to find out.

        Noise is hard to learn, and what is trained until it has learnt may take many times as long on it.
        """
        takes: dict[str, float] = {}
        before = self.meter.seconds
        for name in names:
            if takes and self.meter.seconds - before > allowed / 2:
                break
            first = yield from self._perturbation(
                found, what, [name], Effort(_FIRST_LEVELS, 1, min(effort.rows, FEWEST_ROWS))
            )
            if first is None:
                continue
            whole = self._whole(found, name)
            on_noise = first.by_name[name].fit_seconds * self.config.data.n / first.rows - whole
            takes[name] = max(whole, on_noise)
        return takes

    def _perturbation(
        self, found: StudyEvidence, what: str, names: Sequence[str], effort: Effort, folds: int | None = None
    ) -> Plan[Perturbation | None]:
        config = self.config
        data, driven = self._sampled(effort)
        candidates = config.only(names)

        def plan() -> Plan[Perturbation]:
            spelled_out = perturbation_config(
                candidates,
                data,
                levels=effort.levels,
                repeats=effort.repeats,
                perturbation="auto",
                mode="default",
                cv=folds,
                bounds=False,
                level=config.level,
                random_state=config.random_state,
            )
            found_there: Plan[Perturbation] = driven(perturb_plan(candidates, spelled_out))
            return found_there

        return (yield from self._run_part(found, what, plan))

    def run_bias_variance(self, found: StudyEvidence) -> Plan[None]:
        """Split the error into bias and variance."""
        config, what = self.config, "Bias and variance"
        names = [found.best, *([found.simpler] if found.simpler else [])]
        share = _FOR_BOOTSTRAP / (1 - _FOR_NOISE)
        takes = {name: self._whole(found, name) for name in names}
        names, effort = self._afforded(found, what, takes, share * self._left, bootstrap_effort)
        if effort is None:
            return
        data, driven = self._sampled(effort)
        candidates = config.only(names)

        def plan() -> Plan[Any]:
            setup = bias_variance_config(
                candidates,
                data,
                trained=data.n,
                rounds=effort.repeats,
                loss="auto",
                noise=None,
                random_state=config.random_state,
            )
            found_there: Plan[Any] = driven(bias_variance_plan(candidates, setup))
            return found_there

        result = yield from self._run_part(found, what, plan)
        if result is not None and math.isnan(result.expected_loss[found.best]):
            found.not_done.append(f"{what}: the time was spent.")
            result = None
        if result is not None:
            self._note_sample(found, "bias_variance", data.n)
        found.bias_variance = result

    # Would more data help?

    def run_learning_curve(self, found: StudyEvidence) -> Plan[None]:
        """Follow the best few as their rows grow in number."""
        config, what = self.config, "Learning curve"
        metric = config.metric if _is_loss(config.metric) else _loss_for(config.data)
        names = list(dict.fromkeys([found.best, *found.learners]))[:_GROWN]
        curves: dict[str, LearningCurve] = {}
        for place, name in enumerate(names):
            # The last point of a curve has the folds of the search, and costs nothing more.
            known = found.seconds[name] * config.folds
            allowed = self._left / (len(names) - place)
            if config.time_budget.budget is None and (place == 0 or known <= _LITTLE * self.meter.seconds):
                allowed = max(allowed, known)
            if place and allowed < known / 2:
                found.not_done.append(
                    f"{what} of {name}: left out to save time; it would take some {seconds(known)} of fitting or more."
                )
                continue
            plan = self._learning_curve(name, metric, allowed, known, found.value(found.best))
            curve = yield from self._run_part(found, f"{what} of {name}", plan)
            if curve is not None and not curve.enough and curve.sizes[-1] < config.data.n:
                # Time ended it; the fits on all rows are there nevertheless.
                sizes = [*map(int, curve.sizes), config.data.n]
                plan = self._learning_curve(name, metric, allowed, known, found.value(found.best), sizes)
                whole = yield from self._run_part(found, f"{what} of {name}", plan)
                curve = curve if whole is None else whole
            if curve is not None and curve.rule == "time" and curve.refused is not None:
                found.not_done.append(f"{what} of {name}: the time was spent.")
            elif curve is not None:
                curves[name] = curve
        found.curves = LearningCurves(curves) if found.best in curves else None

    def _learning_curve(
        self,
        name: str,
        metric: Metric,
        allowed: float,
        known: float,
        error: float,
        sizes: list[int] | None = None,
    ) -> Callable[[], Plan[LearningCurve]]:
        config = self.config

        def plan() -> Plan[LearningCurve]:
            sampled = sampled_table(config.data, random_state=config.random_state)
            needed = fewest_training_rows([config.candidates.estimators[name]])
            least = least_size(config.data, sampled.sequence, config.folds, trained_on=needed) or config.data.n
            spelled_out = learning_curve_config(
                sampled,
                metric,
                schedule=sizes or curve_sizes(config.data.n, least, allowed, known),
                k=config.folds,
                budget={"seconds": allowed + known} if sizes is None else None,
                mode="default",
                level=config.level,
                tolerance=_MATTERS * error if metric is config.metric and error > 0 else None,
                horizon=2 * config.data.n,
                target=None,
                train=False,
                random_state=config.random_state,
                trained_on=needed,
            )
            assert spelled_out is not None  # all rows are at hand
            return learning_curve_plan(name, config.candidates.estimators[name], sampled, spelled_out)

        return plan


def _asked(tasks: Any) -> Plan[list[Outcome]]:
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


def _is_loss(metric: Metric) -> bool:
    return not (metric.greater_is_better or metric.bounds[0] < 0 or metric.total)


def _loss_for(data: Data) -> Metric:
    return get_metric("error" if data.task == "classification" else "rmse", data.task)
