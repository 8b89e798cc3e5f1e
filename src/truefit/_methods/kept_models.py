"""Models of folds that one plan kept and another one needs: they are not fitted again."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, TypeVar

from truefit._core.protocols import Plan

T = TypeVar("T")


def with_kept_models(plan: Plan[T], kept: dict[bytes, Any]) -> Plan[T]:
    """Run a plan of one estimator with the models that earlier plans kept, and add those that it keeps.

    ``kept`` holds models by their training rows. A known model is not requested, only its predictions.
    """
    try:
        tasks = next(plan)
        while True:
            rows = [task.train.index.tobytes() for task in tasks]
            wanted = [
                replace(task, keep=None) if train in kept else task for task, train in zip(tasks, rows, strict=True)
            ]
            try:
                outcomes = yield wanted
            except Exception as error:
                tasks = plan.throw(error)
                continue
            found = []
            for task, train, outcome in zip(tasks, rows, outcomes, strict=True):
                if task.keep is None or outcome.error is not None:
                    found.append(outcome)
                    continue
                if outcome.model is not None:
                    kept[train] = outcome.model
                found.append(replace(outcome, model=kept[train]))
            tasks = plan.send(found)
    except StopIteration as stop:
        result: T = stop.value
        return result
