"""Plan of an assessment: the fits of any design, requested in portions of bounded size."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent
from truefit._core.outcome import LeftOutOutcomes, Outcome, Outcomes
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Plan, Response
from truefit._core.rows import Rows
from truefit._methods.assessment.result import Assessment
from truefit._methods.candidates import Candidates, default_responses
from truefit._methods.splitting.designs import Design
from truefit._metrics.metric import Metric


def assess_plan(
    candidates: Candidates,
    data: Data,
    design: Design,
    metric: Metric,
    *,
    level: float,
    pos_label: Any = None,
) -> Plan[Assessment]:
    """Fit every candidate on every training set and predict the test set."""
    responses = {}
    for name, estimator in candidates:
        if data.weight is not None:
            check_takes_weights(estimator)
        wanted = (*default_responses(estimator, data.task), *metric.responses(estimator))
        responses[name] = tuple(dict.fromkeys(wanted))
    together = yield from _left_out_together(candidates, responses, data, design)
    others = [(name, estimator) for name, estimator in candidates if name not in together]
    tasks = (
        FitTask(estimator, split.train, tuple(Ask(split.test, response) for response in responses[name]))
        for split in (chain(design.splits, design.extra) if others else ())
        for name, estimator in others
    )
    outcomes = Outcomes()
    for portion in portions(tasks):
        try:
            outcomes.extend((yield portion))
        except BudgetSpent as spent:
            outcomes.extend(spent.outcomes)
            if outcomes.ready == 0 and not together:
                raise
            break
        del portion  # or it would be held while the next is made
    width = len(others)
    outcomes.extend([None] * ((len(design.splits) + len(design.extra)) * width - len(outcomes)))
    one_by_one = {name: outcomes[place::width] for place, (name, _) in enumerate(others)}
    by_name = {name: together[name] if name in together else one_by_one[name] for name in candidates.names}
    return Assessment(candidates, data, design, metric, by_name, level, pos_label=pos_label)


def _left_out_together(
    candidates: Candidates, responses: Mapping[str, Sequence[Response]], data: Data, design: Design
) -> Plan[dict[str, LeftOutOutcomes]]:
    """Request all fits of leave-one-out at once; return the outcomes of the candidates that have a closed form."""
    if not design.splits.leave_one_out or design.extra:
        return {}
    found: dict[str, Outcome] = {}
    for start in range(0, data.n, _ONE_ROW_TASKS):
        rows = Rows.of(np.arange(start, min(start + _ONE_ROW_TASKS, data.n)))
        tasks = {
            name: FitTask(estimator, Rows.all(data.n), tuple(Ask(rows, r) for r in responses[name]), each_left_out=True)
            for name, estimator in candidates
            if name in found or start == 0
        }
        try:
            outcomes = yield list(tasks.values())
        except BudgetSpent:
            return {}
        answered = {
            name: each for name, each in zip(tasks, outcomes, strict=True) if each.error is None and each.answers
        }
        for name, each in answered.items():
            if start and each.key != found[name].key:
                # Without an identity each portion has a key of its own, under which no other portion is stored.
                answered[name] = replace(each, answers=(*found[name].answers, *each.answers))
        found = answered
        if not found:
            break
    rest = data.without_table()
    return {name: LeftOutOutcomes(outcome, rest) for name, outcome in found.items()}


#: What fills a portion: so many tasks, or so many bytes in their lists of rows.
_TASKS = 2_000
_ROW_BYTES = 8 << 20
#: Leave-one-out may have larger ones: closed forms answer a portion with one factorisation.
_ONE_ROW_TASKS = 21_000


def portions(tasks: Iterable[FitTask]) -> Iterator[list[FitTask]]:
    """Tasks in portions of bounded size."""
    portion: list[FitTask] = []
    filled = 0.0
    for task in tasks:
        portion.append(task)
        one_row, row_bytes = True, task.train.nbytes
        for ask in task.asks:
            one_row &= len(ask.rows) == 1
            row_bytes += ask.rows.nbytes
        filled += 1 / (_ONE_ROW_TASKS if one_row else _TASKS) + row_bytes / _ROW_BYTES
        if filled >= 1:
            yield portion
            portion, filled = [], 0.0
    if portion:
        yield portion
