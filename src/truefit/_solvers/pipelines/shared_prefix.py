"""PrefixSolver: pipelines that begin with the same steps on the same rows; these are fitted once for all of them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.hidden_inputs import forks_end_here
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Ask, Fit, Job, Solver
from truefit._solvers.pipelines.nested_transformers import Name, NestedTransformers, is_nested, nested_names
from truefit._solvers.pipelines.steps import (
    Chain,
    FittedSteps,
    RecentSteps,
    TransformedData,
    chain_of,
    claimed_chain,
    is_shareable,
    last_of,
    put_together,
    rest_of,
    seeds_of,
)
from truefit._solvers.plain import or_plain, training_data
from truefit._solvers.registry import Offer, rows_key, rows_requests

#: Fits in one job. More would share more, but leave less for other workers to do, and longer until outcomes are kept.
MOST = 12
#: The same where each model is wanted, and held until the job is done.
MOST_KEPT = 4


@dataclass(frozen=True, slots=True, eq=False)
class SharedSteps:
    """The fits of a job, each with the number of steps that it has in common with the others."""

    fits: Sequence[Fit]
    chains: Sequence[Chain]
    depth: int

    def used(self, i: int) -> int:
        """How many steps of fit ``i`` the shared ones and those before them are."""
        return self.chains[i].links[self.depth - 1].place + 1


class PrefixSolver:
    """Pipelines that begin alike, on the same rows: the steps that they share are fitted once.

    With the same labels any steps can be shared, with other labels those that ignore them. The rest is fitted on the
    transformed rows by other solvers. Steps get the same seeds as in plain fitting, and rows are transformed in the
    same blocks. Time is charged to the fits of the job that had the steps fitted, in equal parts.

    The solvers ``before`` are offered what follows the shared steps first, then this one, then ``others``, of which the
    last takes the rest. With ``by_part``, parts of steps (columns encoded alike) are fitted once too, per worker.
    """

    name = "shared prefix"
    kinds = (Pipeline,)

    def __init__(self, others: Sequence[Solver], before: Sequence[Solver] = (), *, by_part: bool = False) -> None:
        self.others, self.before, self.by_part = tuple(others), tuple(before), by_part

    @cached_property
    def part_solver(self) -> PrefixSolver:
        """The same, which looks for parts of steps that are known."""
        return self if self.by_part else PrefixSolver(self.others, self.before, by_part=True)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs for the pipelines whose first steps, training rows and, unless ignored, labels are the same."""
        if get_config()["enable_metadata_routing"]:
            return []
        by_rows: dict[tuple[tuple[int, int], int], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is None and is_shareable(fit.estimator):
                by_rows[data.digest(fit.train), len(fit.train)].append(fit)
        jobs: list[Job] = []
        for same_rows in by_rows.values():
            groups: dict[Any, list[Fit]] = defaultdict(list)
            for fit in same_rows if len(same_rows) > 1 else ():
                chain = chain_of(fit)
                if chain is not None:
                    groups[fit.keep_model, *_identity(fit, chain, 0)].append(fit)
            related = _with_parts_in_common([group[0] for group in groups.values()])
            for group in groups.values():
                # Those that have more than the first step in common go into the same job.
                group.sort(key=lambda fit: [link.key for link in claimed_chain(fit).links])
                by_parts = group[0].key in related
                solver = self.part_solver if by_parts else self
                parts = [part for part in self._parts(group) if len(part) > 1 or by_parts]
                jobs.extend(Job(solver, tuple(part), work=len(part)) for part in parts)
        return jobs

    def _parts(self, group: Sequence[Fit]) -> list[Sequence[Fit]]:
        """Cut a group into jobs."""
        if group[0].keep_model:
            return _cut(group, MOST_KEPT)
        if len(group) <= MOST:
            return [group]
        lots: dict[int, list[Fit]] = defaultdict(list)
        for fit in group:
            last = last_of(fit.estimator)
            # What another solver answers all at once goes together as it has it.
            together = [solver.most_for(last) for solver in self.others if isinstance(solver, Offer)]
            lots[max([MOST, *together])].append(fit)
        return [part for most, lot in lots.items() for part in _cut(lot, most)]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the shared steps, and hand what follows to the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        shared = _shared(job.fits)
        name = _name(shared, data, shared.depth)
        steps, seconds = _recent.of(data, name, lambda: _fitted(shared, data, by_part=self.by_part))
        table, rests = followed(shared, data, steps)
        answered = {outcome.key: outcome for outcome in self.answer(rests, table)}
        outcomes = []
        for i, fit in enumerate(job.fits):
            outcome = answered[fit.key]
            if outcome.error is None:
                model = None
                if fit.keep_model:
                    places = [link.place for link in shared.chains[i].links[: shared.depth]]
                    # A copy: whoever fits one of the models again must not change the others.
                    fitted = list(zip(places, deepcopy(steps.steps), strict=True))
                    model = put_together(seeded(fit.estimator, fit.seeds), fitted, shared.used(i), outcome.model)
                spent = outcome.fit_seconds + seconds / len(job.fits)
                outcome = replace(outcome, solver=self.name, fit_seconds=spent, model=model)
            outcomes.append(outcome)
        return outcomes

    def answer(self, fits: Sequence[Fit], table: TransformedData) -> list[Outcome]:
        """Let the others answer, and this one too: pipelines may have more in common, or lie in one another."""
        outcomes: list[Outcome] = []
        left = list(fits)
        for solver in (*self.before, self, *self.others):
            for job in solver.claim(left, table):
                for fit, outcome in zip(job.fits, job.run(table), strict=True):
                    outcomes.append(outcome if fit.keep_model else replace(outcome, model=None))
            done = {outcome.key for outcome in outcomes}
            left = [fit for fit in fits if fit.key not in done]
        assert not left, "the last solver takes all"
        return outcomes


def _identity(fit: Fit, chain: Chain, i: int) -> tuple[Any, ...]:
    """Return what a step has to have in common with another, on the same rows, to be fitted once for both."""
    link = chain.links[i]
    name = fit.estimator.steps[link.place][0]
    return link.key, seeds_of(name, fit.seeds), None if link.label_free else fit.train_key


def _with_parts_in_common(fits: Sequence[Fit]) -> set[str]:
    """Return the keys of the fits whose first step has a part that the first step of another has too."""
    names: dict[str, frozenset[Name]] = {}
    for fit in fits if len(fits) > 1 else ():
        step = fit.estimator.steps[claimed_chain(fit).links[0].place][1]
        if is_nested(step):
            names[fit.key] = nested_names(step)
    counts = Counter(name for several in names.values() for name in several)
    return {key for key, several in names.items() if any(counts[name] > 1 for name in several)}


def _cut(group: Sequence[Fit], most: int) -> list[Sequence[Fit]]:
    """Cut a group into parts of about the same size."""
    number = -(-len(group) // most)
    size = -(-len(group) // number)
    return [group[i : i + size] for i in range(0, len(group), size)]


def _shared(fits: Sequence[Fit]) -> SharedSteps:
    """Find how many steps the fits of a job have in common."""
    chains = [claimed_chain(fit) for fit in fits]
    depth = 0
    while all(depth < len(chain.links) for chain in chains):
        if len({_identity(fit, chain, depth) for fit, chain in zip(fits, chains, strict=True)}) > 1:
            break
        depth += 1
    return SharedSteps(fits, chains, depth)


_recent = RecentSteps()


def _name(shared: SharedSteps, data: Data, depth: int) -> Name:
    """Return all that the first of the shared steps depend on, the table aside."""
    first, chain = shared.fits[0], shared.chains[0]
    steps = tuple(_identity(first, chain, i) for i in range(depth))
    return data.digest(first.train), len(first.train), get_config()["transform_output"], steps


def _fitted(shared: SharedSteps, data: Data, *, by_part: bool) -> FittedSteps:
    """Fit the shared steps."""
    first, links = shared.fits[0], shared.chains[0].links[: shared.depth]
    X, y = training_data(first, data)
    parts = NestedTransformers(lambda name, fit: _recent.of(data, name, fit)[0], first.train_key)
    steps = []
    start = time.perf_counter()
    for i, link in enumerate(links):
        name, step = first.estimator.steps[link.place]
        step = seeded(step, seeds_of(name, first.seeds))
        with forks_end_here():
            if by_part and is_nested(step):
                step, X = parts.fit_transform(step, X, y, _name(shared, data, i))
            else:
                X = step.fit_transform(X, y) if hasattr(step, "fit_transform") else step.fit(X, y).transform(X)
        steps.append(step)
    return FittedSteps(steps, X, time.perf_counter() - start)


def followed(shared: SharedSteps, data: Data, steps: FittedSteps) -> tuple[TransformedData, list[Fit]]:
    """Return what the steps make of the table, and the fits that follow on it."""
    index = shared.fits[0].train.index
    asked = [request.rows for request in rows_requests(shared.fits)]
    table = TransformedData(data, index, steps, asked)
    places = dict(zip(map(rows_key, asked), table.asked(asked), strict=True))
    train = table.train
    rests = []
    for i, fit in enumerate(shared.fits):
        estimator, seeds = rest_of(fit.estimator, fit.seeds, shared.used(i))
        asks = tuple(Ask(places[rows_key(ask.rows)], ask.response) for ask in fit.asks if len(ask.rows))
        rests.append(
            replace(
                fit,
                estimator=estimator,
                estimator_key=_rest_key(fit, shared.chains[i], shared.depth),
                train=train,
                asks=asks,
                seeds=seeds,
                # Of the training rows only: labels of other rows take no part in a fit.
                y=None if fit.y is None else fit.y[index],
            )
        )
    return table, rests


def _rest_key(fit: Fit, chain: Chain, depth: int) -> bytes:
    """Return the identity of what follows on the shared steps."""
    if chain.last is None:
        return fit.key.encode()  # like no other
    return b"|".join([link.key for link in chain.links[depth:]] + [chain.last])
