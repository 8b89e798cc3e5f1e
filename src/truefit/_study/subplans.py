"""Plans inside a plan: what they ask and what they are told passes through, and is changed or counted on the way."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, TypeVar

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent
from truefit._core.outcome import Outcome
from truefit._core.protocols import Plan
from truefit._core.rows import Rows
from truefit._core.task import FitTask
from truefit._core.typing import Positions

R = TypeVar("R")


def run_subplan(
    plan: Plan[R],
    *,
    asked: Callable[[FitTask], FitTask] | None = None,
    told: Callable[[Sequence[Outcome | None]], None] | None = None,
) -> Plan[R]:
    """Drive a plan as a part of another: ``asked`` changes its tasks, ``told`` looks at what it is told."""
    step: Callable[[], Sequence[FitTask]] = lambda: next(plan)  # noqa: E731
    try:
        while True:
            tasks = step()
            try:
                outcomes = yield tasks if asked is None else [asked(task) for task in tasks]
            except BudgetSpent as spent:
                if told is not None:
                    told(spent.outcomes)
                step = _thrown(plan, spent)
            except Exception as error:
                step = _thrown(plan, error)
            else:
                if told is not None:
                    told(outcomes)
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
    asked: int = 0
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
            self.asked += 1
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

    return run_subplan(plan, asked=moved)
