"""Plans inside a plan: what they ask and what they are told passes through, and is changed or counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import FitTask
from truefit._core.typing import Positions
from truefit._study.config import StudyConfig
from truefit._study.evidence import StudyEvidence

R = TypeVar("R")


def run_subplan(
    plan: Plan[R],
    *,
    change_task: Callable[[FitTask], FitTask] | None = None,
    observe: Callable[[Sequence[Outcome | None]], None] | None = None,
) -> Plan[R]:
    """Drive a plan as a part of another: ``change_task`` changes its tasks, ``observe`` looks at what it is told."""
    step: Callable[[], Sequence[FitTask]] = lambda: next(plan)  # noqa: E731
    try:
        while True:
            tasks = step()
            try:
                outcomes = yield tasks if change_task is None else [change_task(task) for task in tasks]
            except BudgetSpent as spent:
                if observe is not None:
                    observe(spent.outcomes)
                step = _thrown(plan, spent)
            except Exception as error:
                step = _thrown(plan, error)
            else:
                if observe is not None:
                    observe(outcomes)
                step = _sent(plan, outcomes)
    except StopIteration as stop:
        result: R = stop.value
        return result
    finally:
        plan.close()


def _sent(plan: Plan[Any], outcomes: Sequence[Outcome]) -> Callable[[], Sequence[FitTask]]:
    return lambda: plan.send(outcomes)


def _thrown(plan: Plan[Any], error: Exception) -> Callable[[], Sequence[FitTask]]:
    return lambda: plan.throw(error)


@dataclass
class FitMeter:
    """Counts the fits that a study asks for, and the seconds that they took, each once.

    Stored fits count with the seconds that they took when they were run, so that a study that is run again comes to
    the same decisions.
    """

    seconds: float = 0.0
    requested: int = 0
    _known: set[str] = field(default_factory=set)

    @property
    def distinct(self) -> int:
        """How many different fits were asked for."""
        return len(self._known)

    def note(self, outcomes: Sequence[Outcome | None]) -> None:
        """Take down what a plan was told."""
        for outcome in outcomes:
            if outcome is None:
                continue
            self.requested += 1
            if outcome.key not in self._known:
                self._known.add(outcome.key)
                self.seconds += outcome.fit_seconds


def on_rows(plan: Plan[R], data: Data, rows: Positions) -> Plan[R]:
    """Drive a plan that was made for some rows of a table, as a table of their own, on the whole table.

    Rows are known by their tokens, so its fits are those that it would have asked for by itself.
    """

    def moved(task: FitTask) -> FitTask:
        asks = tuple(replace(ask, rows=Rows.of(rows[ask.rows.index])) for ask in task.asks)
        labels = task.y
        if labels is not None:
            labels = data.y.astype(np.promote_types(data.y.dtype, labels.dtype))
            labels[rows] = task.y
        return replace(task, train=Rows.of(rows[task.train.index]), asks=asks, y=labels)

    return run_subplan(plan, change_task=moved)


class StudyRun:
    """Runs the parts of a study one after the other, and keeps account of their fits and their time."""

    def __init__(self, config: StudyConfig) -> None:
        self.config = config
        self.meter = FitMeter()
        self.late = False
        self._searched = 0.0

    def _counted(self, plan: Plan[R]) -> Plan[R]:
        return run_subplan(plan, observe=self.meter.note)

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

    def _whole(self, found: StudyEvidence, name: str) -> float:
        """Return what a fit on all rows takes, as told by those on the folds."""
        return found.seconds[name] * self.config.data.n / self.config.splits.mean_train_rows
