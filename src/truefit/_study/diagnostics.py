"""Parts of a study about the selected model: noise, bias and variance, and learning curves, as far as time allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, InvalidInput
from truefit._core.protocols import Plan
from truefit._methods.bias_variance import BiasVariance, bias_variance_config, bias_variance_plan
from truefit._methods.candidates import fewest_training_rows
from truefit._methods.learning_curve.config import learning_curve_config, least_size, sampled_table
from truefit._methods.learning_curve.plan import learning_curve_plan
from truefit._methods.learning_curve.result import LearningCurve, LearningCurves
from truefit._methods.perturbation.config import perturbation_config
from truefit._methods.perturbation.plan import perturb_plan
from truefit._methods.perturbation.result import Perturbation
from truefit._methods.subplans import FitMeter, R, on_rows, run_subplan
from truefit._methods.text import seconds
from truefit._metrics.metric import get_metric
from truefit._study.budget import (
    BOOTSTRAP_EFFORTS,
    COARSE_BOOTSTRAP,
    COARSE_PERTURBATION,
    FEWEST_ROWS,
    PERTURBATION_EFFORTS,
    Effort,
    affordable_effort,
    curve_sizes,
    sample_rows,
)
from truefit._study.config import StudyConfig
from truefit._study.evidence import NotRun, Part, StudyEvidence

#: Shares of the time after the search: noise, bias and variance; learning curves get the rest.
_FOR_NOISE, _FOR_BOOTSTRAP = 0.35, 0.25
#: How many candidates are perturbed, and how many have a learning curve, the selected one among them.
_PERTURBED, _WITH_CURVE = 3, 3
#: Noise levels that are fitted first, to measure how long fits on noise take; every effort includes them.
_FIRST_LEVELS = (0.0, 0.5)
#: With a budget: how often parts are refined, and the least share of it that is worth it.
_REFINEMENTS, _WORTH_REFINING = 3, 0.03
#: Without a budget, a curve that takes less than this share of the time so far is always run.
_LITTLE = 0.05
#: A learning curve ends where further rows would gain less than this share of the error.
_TOLERANCE = 0.05


#: The question that a part is for, as the progress has it.
_QUESTIONS: Final[Mapping[Part, str]] = {
    **dict.fromkeys(("nested", "shuffled", "cross_test", "ensemble"), "how good?"),
    **dict.fromkeys(("training", "perturbation", "bias_variance"), "does it fit?"),
    "learning_curve": "more data?",
}


class DiagnosticRun:
    """Runs the parts about the selected model one after the other, and counts their fits and their time."""

    #: Set by the selection, the first part.
    found: StudyEvidence

    def __init__(self, config: StudyConfig, meter: FitMeter | None = None) -> None:
        self.config = config
        self.meter = FitMeter(config.fit_seconds) if meter is None else meter
        self.late = False
        self._searched = 0.0
        #: Shares of the time that is left, by part; learning curves get the rest.
        self._share = {"perturbation": _FOR_NOISE, "bias_variance": _FOR_BOOTSTRAP / (1 - _FOR_NOISE)}
        #: Parts that more time would not improve.
        self._complete: set[str] = set()

    def _counted(self, plan: Plan[R], describe: Callable[[], str]) -> Plan[R]:
        return run_subplan(plan, observe=self.meter.count, describe=describe)

    def _skip(self, part: Part, why: str, candidate: str | None = None) -> None:
        self.found.not_run.append(NotRun(part, why.rstrip("."), candidate))

    def _run_part(self, part: Part, plan: Plan[R], candidate: str | None = None) -> Plan[R | None]:
        """Drive the plan of one part; where it fails, note why and go on."""
        try:
            text = f"study, {_QUESTIONS[part]} · {candidate or self.found.best}"
            return (yield from self._counted(plan, lambda: text))
        except BudgetSpent:
            self.late = True
            self._skip(part, "time budget exhausted", candidate)
        except InvalidInput as error:
            self._skip(part, str(error), candidate)
        except FitError as error:
            self._skip(part, f"fits failed. {str(error).splitlines()[0]}", candidate)
        return None

    @property
    def _left(self) -> float:
        """Seconds of fitting that are left."""
        time_budget = self.config.time_budget
        if self.late:
            return 0.0
        if time_budget.budget is not None:
            return time_budget.left(self.meter.seconds)
        return max(time_budget.rest(self._searched) - (self.meter.seconds - self._searched), 0.0)

    @property
    def _unused(self) -> float:
        """Share of the budget that is left."""
        return 0.0 if self.late else self.config.time_budget.unused(self.meter.seconds)

    def _whole(self, name: str) -> float:
        """Return the seconds of a fit on all rows."""
        return self.config.whole_fit_seconds(name, self.found.seconds[name])

    def _sampled(self, effort: Effort) -> tuple[Data, Callable[[Plan[Any]], Plan[Any]]]:
        """Return the rows that an effort uses as a table, and how a plan on it is driven."""
        config = self.config
        if effort.rows >= config.data.n:
            return config.data, lambda plan: plan
        rows = sample_rows(config.data, effort.rows, least=config.folds, random_state=config.random_state)
        return config.data.subset(rows), lambda plan: on_rows(plan, config.data, rows)

    def _note_effort(self, part: str, effort: Effort, rows: int, efforts: Sequence[Effort], *, all_of: bool) -> None:
        """Note a sample of the rows, and whether more time would improve the part."""
        self.found.sampled.pop(part, None)
        if rows < self.config.data.n:
            self.found.sampled[part] = rows
        elif all_of and effort.fits == efforts[0].fits:
            self._complete.add(part)

    def run_refinement(self) -> Plan[None]:
        """With a budget: use the time that is left, once all questions have an answer."""
        if self.config.time_budget.budget is None:
            return
        parts: dict[Part, Callable[[], Plan[None]]] = {
            "perturbation": self.run_perturbation,
            "bias_variance": self.run_bias_variance,
            "learning_curve": self.run_learning_curve,
        }
        for _ in range(_REFINEMENTS):
            for place, (part, run) in enumerate(parts.items()):
                if part not in self._complete and self._unused >= _WORTH_REFINING:
                    open_parts = sum(each not in self._complete for each in list(parts)[place:])
                    self._share[part] = 1.0 if self._lacks(part) else 1 / open_parts
                    yield from self._refined(part, run)

    def _lacks(self, part: Part) -> bool:
        """Whether a part has no result."""
        return getattr(self.found, "curves" if part == "learning_curve" else part) is None

    def _refined(self, part: Part, run: Callable[[], Plan[None]]) -> Plan[None]:
        """Run a part again with more time, and keep the better of the two."""
        found, name = self.found, "curves" if part == "learning_curve" else part
        before, notes = getattr(found, name), list(found.not_run)
        sampled = dict(found.sampled)
        found.not_run = [each for each in notes if each.part != part]
        setattr(found, name, None)
        yield from run()
        if getattr(found, name) is None:
            setattr(found, name, before)
            found.not_run, found.sampled = notes, sampled

    def _afforded(
        self, part: Part, takes: Mapping[str, float], allowed: float, efforts: Sequence[Effort], on: str = "all rows"
    ) -> tuple[list[str], Effort | None]:
        """Return for which candidates, given the seconds of a fit of each, and how thoroughly a part can be run.

        Without a budget the selected model and a less flexible one are always included.
        """
        simpler, names = self.found.simpler, list(takes)
        coarse = [COARSE_PERTURBATION if part == "perturbation" else COARSE_BOOTSTRAP]
        required = 0 if self.config.time_budget.budget is not None else 1 if simpler is None else 2
        while True:
            each = sum(takes[name] for name in names)
            effort = affordable_effort(efforts, allowed, each, self.config.data.n, required=len(names) <= required)
            if effort is None and self.config.time_budget.budget is not None:
                effort = affordable_effort(coarse, allowed, each, self.config.data.n)
            if effort is not None or len(names) == 1:
                break
            others = [name for name in names[1:] if name != simpler] or names[1:]
            names.remove(max(others, key=lambda name: takes[name]))
        if effort is None:
            left = seconds(max(allowed, 0.0))
            fit = f"one fit of {self.found.best} on {on} takes about {seconds(each)}"
            self._skip(part, f"{fit}, and {left} of fitting time are left")
        return names, effort

    def run_perturbation(self) -> Plan[None]:
        """Add noise to the targets of the selected model, of a less flexible one and of the best ties."""
        config, found = self.config, self.found
        if found.best in found.baselines:
            self._skip("perturbation", f"{found.best} is a baseline")
            return
        ties = [name for name in found.ties if name not in found.baselines]
        compared = dict.fromkeys([found.best, *([found.simpler] if found.simpler else []), *ties[: _PERTURBED - 1]])
        takes = {name: self._whole(name) for name in list(compared)[:_PERTURBED]}
        allowed = self._share["perturbation"] * self._left
        names, effort = self._afforded("perturbation", takes, allowed, PERTURBATION_EFFORTS)
        on_noise: dict[str, float] = {}
        if effort is not None and config.time_budget.measured:
            before = self.meter.seconds
            on_noise = yield from self._fit_seconds_on_noise(names, effort, allowed)
            if found.best not in on_noise:
                return
            if config.time_budget.budget is not None:
                allowed -= self.meter.seconds - before
            names, effort = self._afforded("perturbation", on_noise, allowed, PERTURBATION_EFFORTS, on="noisy labels")
        if effort is None:
            return
        for name in takes:
            if name not in names:
                took = f"; a fit on noisy labels takes about {seconds(on_noise[name])}" if name in on_noise else ""
                self._skip("perturbation", f"skipped to save time{took}", name)
        result = yield from self._run_part("perturbation", self._perturbation(names, effort, folds=config.folds))
        if result is None:
            return
        if not result.by_name[found.best].known:
            self._skip("perturbation", "time budget exhausted")
            return
        self._note_effort("perturbation", effort, result.rows, PERTURBATION_EFFORTS, all_of=names == list(takes))
        found.perturbation = result

    def _fit_seconds_on_noise(self, names: Sequence[str], effort: Effort, allowed: float) -> Plan[dict[str, float]]:
        """Return the seconds of a fit on noise, which may take many times as long; of as many as there is time for."""
        takes: dict[str, float] = {}
        before = self.meter.seconds
        for name in names:
            if takes and self.meter.seconds - before > allowed / 2:
                break
            plan = self._perturbation([name], Effort(_FIRST_LEVELS, 1, min(effort.rows, FEWEST_ROWS)))
            first = yield from self._run_part("perturbation", plan)
            if first is not None:
                whole = self._whole(name)
                on_noise = first.by_name[name].fit_seconds * self.config.data.n / first.rows - whole
                takes[name] = max(whole, on_noise)
        return takes

    def _perturbation(self, names: Sequence[str], effort: Effort, folds: int | None = None) -> Plan[Perturbation]:
        candidates, (data, driven) = self.config.only(names), self._sampled(effort)
        config = perturbation_config(
            candidates,
            data,
            levels=effort.levels,
            repeats=effort.repeats,
            perturbation="auto",
            mode="default",
            cv=folds,
            bounds=False,
            level=self.config.level,
            random_state=self.config.random_state,
        )
        result: Perturbation = yield from driven(perturb_plan(candidates, config))
        return result

    def run_bias_variance(self) -> Plan[None]:
        """Split the error of the selected model, and of a less flexible one, into bias and variance."""
        found = self.found
        if self.config.data.time is not None:
            self._skip("bias_variance", "bootstrap samples mix rows of all times")
            return
        takes = {name: self._whole(name) for name in (found.best, found.simpler) if name is not None}
        allowed = self._share["bias_variance"] * self._left
        names, effort = self._afforded("bias_variance", takes, allowed, BOOTSTRAP_EFFORTS)
        if effort is None:
            return
        result = yield from self._run_part("bias_variance", self._bias_variance(names, effort))
        if result is None:
            return
        if math.isnan(result.expected_loss[found.best]):
            self._skip("bias_variance", "time budget exhausted")
            return
        self._note_effort("bias_variance", effort, result.rows, BOOTSTRAP_EFFORTS, all_of=names == list(takes))
        found.bias_variance = result

    def _bias_variance(self, names: Sequence[str], effort: Effort) -> Plan[BiasVariance]:
        candidates, (data, driven) = self.config.only(names), self._sampled(effort)
        seed, rounds = self.config.random_state, effort.repeats
        config = bias_variance_config(
            candidates, data, trained=data.n, rounds=rounds, loss="auto", noise=None, random_state=seed
        )
        result: BiasVariance = yield from driven(bias_variance_plan(candidates, config))
        return result

    def run_learning_curve(self) -> Plan[None]:
        """Measure learning curves of the best few candidates."""
        config, found = self.config, self.found
        if config.data.time is not None:
            why = (
                "its samples are drawn at random, and in time order more rows are older rows. To see whether these "
                "help, compare training windows of several lengths"
            )
            self._skip("learning_curve", why, found.best)
            return
        names = list(dict.fromkeys([found.best, *found.learners]))[:_WITH_CURVE]
        if config.time_budget.budget is not None and (self._lacks("perturbation") or self._lacks("bias_variance")):
            names = names[:1]  # first an answer to every question; the others follow where time is left
        curves: dict[str, LearningCurve] = {}
        for place, name in enumerate(names):
            # The last point of a curve has the folds of the search, and costs nothing more.
            known = self._whole(name) * config.folds * config.splits.mean_train_rows / config.data.n
            allowed = self._left / (len(names) - place)
            if config.time_budget.budget is None and (place == 0 or known <= _LITTLE * self.meter.seconds):
                allowed = max(allowed, known)
            if place and allowed < known / 2:
                why = f"skipped to save time; it would take {seconds(known)} of fitting or more"
                self._skip("learning_curve", why, name)
                continue
            curve = yield from self._run_part("learning_curve", self._learning_curve(name, allowed, known), name)
            if curve is not None and not curve.enough and curve.sizes[-1] < config.data.n:
                # Time ended it, but the fits on all rows are there.
                plan = self._learning_curve(name, allowed, known, [*map(int, curve.sizes), config.data.n])
                curve = (yield from self._run_part("learning_curve", plan, name)) or curve
            if curve is not None and curve.rule == "time" and curve.refused is not None:
                self._skip("learning_curve", "time budget exhausted", name)
            elif curve is not None:
                curves[name] = curve
        found.curves = LearningCurves(curves) if found.best in curves else None
        if len(curves) == len(names) > 1 and all(
            each.sizes[-1] == config.data.n or each.enough for each in curves.values()
        ):
            self._complete.add("learning_curve")

    def _learning_curve(
        self, name: str, allowed: float, known: float, sizes: list[int] | None = None
    ) -> Plan[LearningCurve]:
        study, error = self.config, self.found.value(self.found.best)
        metric, task = study.metric, study.data.task
        is_loss = not (metric.greater_is_better or metric.bounds[0] < 0 or metric.total)
        limited = sizes is None and study.time_budget.measured
        sampled = sampled_table(study.data, random_state=study.random_state)
        needed = fewest_training_rows([study.candidates.estimators[name]])
        least = least_size(study.data, sampled.sequence, study.folds, trained_on=needed) or study.data.n
        config = learning_curve_config(
            sampled,
            metric if is_loss else get_metric("error" if task == "classification" else "rmse", task),
            schedule=sizes or curve_sizes(study.data.n, least, allowed, known),
            k=study.folds,
            budget={"seconds": allowed + known} if limited else None,
            mode="default",
            level=study.level,
            tolerance=_TOLERANCE * error if is_loss and error > 0 else None,
            horizon=2 * study.data.n,
            target=None,
            train=False,
            random_state=study.random_state,
            trained_on=needed,
        )
        assert config is not None  # it is only for a source of rows that there may be none
        return (yield from learning_curve_plan(name, study.candidates.estimators[name], sampled, config))
