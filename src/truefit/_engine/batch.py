"""FitBatch: the open tasks of all plans on one table, each distinct fit once, and PlanRun: one plan with its tasks."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field, replace
from math import inf, isnan
from typing import Any, cast

from truefit._core.data import Data
from truefit._core.errors import FitError
from truefit._core.identity import Keys, RowUnions
from truefit._core.outcome import Failure, Outcome, reasons
from truefit._core.protocols import Plan
from truefit._core.stored_outcomes import Outcomes
from truefit._core.task import Ask, Fit, FitTask, Keep, TimedTasks


@dataclass(slots=True)
class BestModel:
    """The best fit of a group, with its model where that is at hand."""

    loss: float
    order: int
    fit: Fit
    model: Any = None


class BestModels:
    """Holds a model only while it is the best of its group, so memory is bounded by the number of groups."""

    def __init__(self) -> None:
        self._by_group: dict[Hashable, BestModel] = {}
        self._count = 0

    def next_order(self) -> int:
        """Return a place in the order of asking, by which ties are decided whatever finishes first."""
        self._count += 1
        return self._count

    def offer(self, keep: Keep, order: int, fit: Fit, outcome: Outcome, model: Any) -> None:
        """Let a finished fit compete for its group."""
        loss = 0.0 if keep.metric is None else float(keep.metric(outcome))
        if isnan(loss):
            loss = inf
        best = self._by_group.get(keep.group)
        if best is None or (loss, order) < (best.loss, best.order):
            self._by_group[keep.group] = BestModel(loss, order, fit, model)
        elif best.fit.key == fit.key and best.model is None:
            best.model = model

    def without_model(self) -> list[BestModel]:
        """Those that were found in the store: their model has to be fitted again, once."""
        return [best for best in self._by_group.values() if best.model is None]

    def model(self, keep: Keep, order: int) -> Any:
        """Return the model of the fit asked for at this place if it is the best, else None."""
        best = self._by_group.get(keep.group)
        return best.model if best is not None and best.order == order else None


@dataclass(slots=True, eq=False)
class PlanRun:
    """A plan with the tasks it waits for."""

    plan: Plan[Any]
    data: Data
    tasks: Sequence[FitTask] = ()
    orders: list[int] = field(default_factory=list)
    outcomes: Outcomes = field(default_factory=Outcomes)
    best_models: BestModels = field(default_factory=BestModels)
    result: Any = None
    error: BaseException | None = None
    fit_seconds: float | None = None
    failure: Failure | None = None
    finished: bool = False

    def start(self) -> None:
        """Bring the plan to its first tasks."""
        self._advance(lambda: next(self.plan))

    def send(self) -> None:
        """Hand the plan the outcomes of its tasks; it asks for more, or returns."""
        outcomes = cast(Sequence[Outcome], self.outcomes)
        for i, task in enumerate(self.tasks):
            if task.keep is not None:
                self.outcomes[i] = replace(outcomes[i], model=self.best_models.model(task.keep, self.orders[i]))
        self._advance(lambda: self.plan.send(outcomes))

    def throw(self, error: BaseException) -> None:
        """Throw an error into the plan; it may still return what it has."""
        self._advance(lambda: self.plan.throw(error))

    def throw_failure(self) -> None:
        """Throw the failure of a fit that the plan cannot do without."""
        assert self.failure is not None
        text = f"A fit failed, and on_error is 'raise'. {reasons([self.failure])}"
        self.throw(FitError(text, [self.failure]))

    def _advance(self, step: Callable[[], Sequence[FitTask]]) -> None:
        self.failure, self.tasks = None, ()  # so that they are not held while the plan makes others
        try:
            asked = step()
            self.tasks = list(asked)
            self.fit_seconds = asked.fit_seconds if isinstance(asked, TimedTasks) else None
        except StopIteration as stop:
            self.result, self.finished = stop.value, True
        except Exception as error:
            self.error, self.finished = error, True
        self.outcomes = Outcomes([None] * len(self.tasks))
        self.orders = [self.best_models.next_order() if task.keep else 0 for task in self.tasks]


@dataclass(slots=True, eq=False)
class WantedFit:
    """A distinct fit, and the positions in plans that wait for it."""

    fit: Fit
    positions: list[tuple[PlanRun, int]]
    known: bool = False  # the store has it, but not all that is asked

    @property
    def count(self) -> int:
        """How many fits are waited for, each as often as it was asked for."""
        return len(self.positions) * self.fit.count

    def needs_model(self) -> bool:
        """Whether somebody may keep the model."""
        return any(run.tasks[i].keep is not None for run, i in self.positions)

    def deliver(self, outcome: Outcome, model: Any = None) -> None:
        """Put the outcome at every position, and let it compete where models are kept."""
        for run, i in self.positions:
            run.outcomes[i] = outcome
            keep = run.tasks[i].keep
            if keep is not None and outcome.error is None:
                run.best_models.offer(keep, run.orders[i], self.fit, outcome, model)

    def fail(self, failure: Failure) -> None:
        """Tell the plans that wait that they will not get their answer."""
        for run, _ in self.positions:
            run.failure = run.failure or failure

    def wanted(self) -> bool:
        """Whether a plan that can still go on waits for it."""
        return any(run.failure is None for run, _ in self.positions)


class FitBatch:
    """The open tasks of the plans on one table, by key."""

    def __init__(self, keys: Keys, runs: Sequence[PlanRun]) -> None:
        self.data = keys.data
        self.runs = runs
        self.wants: dict[str, WantedFit] = {}
        self.asked = 0
        asks: dict[str, list[Ask]] = {}
        for run in runs:
            for i, task in enumerate(run.tasks):
                fit = keys.fit(task)
                want = self.wants.get(fit.key)
                if want is None:
                    self.wants[fit.key] = WantedFit(fit, [(run, i)])
                else:
                    want.positions.append((run, i))
                    asks.setdefault(fit.key, list(want.fit.asks)).extend(fit.asks)
                self.asked += fit.count
        unions = RowUnions()
        for key, together in asks.items():
            want = self.wants[key]
            want.fit = replace(want.fit, asks=unions.of(together), keep_model=want.needs_model())

    @property
    def fit_seconds(self) -> float | None:
        """Seconds that a fit may take, where all plans have a limit."""
        limits = [run.fit_seconds for run in self.runs if run.fit_seconds is not None]
        return max(limits) if len(limits) == len(self.runs) else None

    def missing_asks(self, want: WantedFit, outcome: Outcome) -> tuple[Ask, ...]:
        """Asks that a stored outcome cannot answer."""
        return tuple(
            ask for ask in want.fit.asks if len(ask.rows) and not outcome.has(self.data, ask.rows, ask.response)
        )
