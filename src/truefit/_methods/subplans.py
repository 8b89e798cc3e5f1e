"""Plans inside a plan: their tasks and outcomes pass through, and are changed or counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent
from truefit._core.outcome import Outcome
from truefit._core.protocols import FitTask, Plan, TimedTasks
from truefit._core.rows import Rows
from truefit._core.typing import Positions

R = TypeVar("R")


def run_subplan(
    plan: Plan[R],
    *,
    change_task: Callable[[FitTask], FitTask] | None = None,
    change_outcomes: Callable[[Sequence[FitTask], Sequence[Outcome]], Sequence[Outcome]] | None = None,
    observe: Callable[[Sequence[FitTask], Sequence[Outcome | None]], None] | None = None,
    describe: Callable[[], str] | None = None,
) -> Plan[R]:
    """Drive a plan as a part of another: ``change_task`` changes its tasks, ``change_outcomes`` what came of them.

    ``observe`` sees tasks and outcomes; ``describe`` says what is being done, for the progress.
    """
    step: Callable[[Any], Sequence[FitTask]] = plan.send
    sent: Any = None
    outcomes: Sequence[Outcome | None]
    try:
        while True:
            tasks = step(sent)
            if describe is not None:
                tasks = TimedTasks(tasks, getattr(tasks, "fit_seconds", None), describe())
            try:
                outcomes = yield tasks if change_task is None else [change_task(task) for task in tasks]
            except Exception as error:
                outcomes = error.outcomes if isinstance(error, BudgetSpent) else ()
                step, sent = plan.throw, error
            else:
                step, sent = plan.send, outcomes if change_outcomes is None else change_outcomes(tasks, outcomes)
            if observe is not None and outcomes:
                observe(tasks, outcomes)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        plan.close()


@dataclass
class FitMeter:
    """Counts the fits that a study requests, and their seconds, each once.

    Stored fits count with the seconds that they took when they were run, so that a rerun with a store decides alike.
    """

    seconds_of: Callable[[FitTask, Outcome], float]
    seconds: float = 0.0
    requested: int = 0
    _known: set[str] = field(default_factory=set)

    @property
    def distinct(self) -> int:
        """Number of distinct fits requested."""
        return len(self._known)

    def count(self, tasks: Sequence[FitTask], outcomes: Sequence[Outcome | None]) -> None:
        """Count what a plan requested."""
        for task, outcome in zip(tasks, outcomes, strict=True):
            if outcome is None:
                continue
            self.requested += 1
            if outcome.key not in self._known:
                self._known.add(outcome.key)
                self.seconds += self.seconds_of(task, outcome)


def on_rows(plan: Plan[R], data: Data, rows: Positions) -> Plan[R]:
    """Drive a plan for a subset of the rows on the whole table; its fits have the same identities as on the subset."""

    def moved(task: FitTask) -> FitTask:
        asks = tuple(replace(ask, rows=Rows.of(rows[ask.rows.index])) for ask in task.asks)
        labels = task.y
        if labels is not None:
            labels = data.y.astype(np.promote_types(data.y.dtype, labels.dtype))
            labels[rows] = task.y
        return replace(task, train=Rows.of(rows[task.train.index]), asks=asks, y=labels)

    return run_subplan(plan, change_task=moved)


def with_kept_models(plan: Plan[R], kept: dict[bytes, Any]) -> Plan[R]:
    """Run a plan of one estimator with the models that earlier plans kept, and add those that it keeps.

    ``kept`` holds models by their training rows. A known model is not requested, only its predictions.
    """

    def held(task: FitTask, outcome: Outcome) -> Outcome:
        if task.keep is None or outcome.error is not None:
            return outcome
        train = task.train.index.tobytes()
        if outcome.model is not None:
            kept[train] = outcome.model
        return replace(outcome, model=kept[train])

    return run_subplan(
        plan,
        change_task=lambda task: replace(task, keep=None) if task.train.index.tobytes() in kept else task,
        change_outcomes=lambda tasks, outcomes: list(map(held, tasks, outcomes)),
    )
