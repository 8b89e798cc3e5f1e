"""Parts of a study about the chosen model: noise, bias and variance, and learning curves, as far as time allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from truefit._core.data import Data
from truefit._core.protocols import Plan
from truefit._methods.bias_variance import bias_variance_config, bias_variance_plan
from truefit._methods.candidates import fewest_training_rows
from truefit._methods.learning_curve.config import learning_curve_config, least_size
from truefit._methods.learning_curve.plan import learning_curve_plan
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.learning_curve.samples import sampled_table
from truefit._methods.perturbation.config import perturbation_config
from truefit._methods.perturbation.plan import perturb_plan
from truefit._methods.perturbation.result import Perturbation
from truefit._methods.text import seconds
from truefit._metrics.metric import Metric, get_metric
from truefit._study.budget import FEWEST_ROWS, Effort, bootstrap_effort, curve_sizes, perturbation_effort, sample_rows
from truefit._study.evidence import StudyEvidence
from truefit._study.subplans import StudyRun, on_rows

#: How what the search leaves is shared out: noise, bias and variance, and learning curves.
_FOR_NOISE, _FOR_BOOTSTRAP = 0.35, 0.25
#: How many candidates are perturbed, and how many have a learning curve; the chosen one among them.
_PERTURBED, _WITH_CURVE = 3, 3
#: Noise levels that tell first how long fits on noise take; every effort has them too.
_FIRST_LEVELS = (0.0, 0.5)
#: Where there is no budget, what takes less than this share of the time so far is not worth saving.
_LITTLE = 0.05
#: A gain of less than this share of the error does not matter for where a learning curve ends.
_MATTERS = 0.05


class DiagnosticRun(StudyRun):
    """The parts that look into the chosen model."""

    # Does it fit?

    def _others(self, found: StudyEvidence, most: int) -> list[str]:
        """Return the chosen one, the best that cannot be told apart from it, and one that is less flexible."""
        alike = [name for name in found.ties if name not in found.baselines][: most - 1]
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
        if found.best in found.baselines:
            found.not_done.append(f"{what}: {found.best} looks at no feature.")
            return
        allowed = _FOR_NOISE * self._left
        takes = {name: self._whole(found, name) for name in self._others(found, _PERTURBED)}
        names, effort = self._afforded(found, what, takes, allowed, perturbation_effort)
        if effort is None:
            return
        before = self.meter.seconds
        on_noise = yield from self._fit_seconds_on_noise(found, what, names, effort, allowed)
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

    def _fit_seconds_on_noise(
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
            part_config = perturbation_config(
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
            found_there: Plan[Perturbation] = driven(perturb_plan(candidates, part_config))
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
        names = list(dict.fromkeys([found.best, *found.learners]))[:_WITH_CURVE]
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
            part_config = learning_curve_config(
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
            assert part_config is not None  # all rows are at hand
            return learning_curve_plan(name, config.candidates.estimators[name], sampled, part_config)

        return plan


def _is_loss(metric: Metric) -> bool:
    return not (metric.greater_is_better or metric.bounds[0] < 0 or metric.total)


def _loss_for(data: Data) -> Metric:
    return get_metric("error" if data.task == "classification" else "rmse", data.task)
