"""PrefixSolver: pipelines that begin with the same steps on the same rows; these are fitted once for all of them."""

from __future__ import annotations

import time
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

from sklearn import get_config
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Job, Solver
from truefit._core.side_effects import forks_end_here
from truefit._core.task import Ask, Fit
from truefit._solvers.base import rows_key, rows_requests
from truefit._solvers.pipelines.fitted_steps import FittedSteps, RecentSteps, TransformedData
from truefit._solvers.pipelines.nested_transformers import Name, NestedTransformers, is_nested, nested_names
from truefit._solvers.pipelines.steps import Chain, chain_of, last_of, put_together, rest_of, seeds_of
from truefit._solvers.plain import or_plain

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

    With the same labels any steps can be shared, with other labels those that are known to ignore them
    (:mod:`truefit._solvers.pipelines.steps`). The rest is fitted on the transformed rows by other solvers, so that
    naive Bayes behind a scaler is still computed for all labels at once, or plainly. Steps get the same seeds as in
    plain fitting, and rows are transformed in the same blocks.

    A group that is too large for one job finds the steps fitted where an earlier part of it was answered by the same
    worker. The time that they take is charged to the fits of the job that had them fitted, in equal parts.

    Steps that are not the same may have parts that are: columns that are encoded alike, beside others that are not.
    Such parts are fitted once per worker as well (:mod:`truefit._solvers.pipelines.nested_transformers`).

    Parameters
    ----------
    others : sequence of Solver
        Who answers what follows the shared steps, in this order; the last takes all that is left.
    before : sequence of Solver
        Who is asked before this solver looks for more steps that are shared.
    apart : bool, default=False
        Whether steps are fitted part by part.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import FitTask
    >>> from truefit._solvers.plain import PlainSolver
    >>> data = Data(np.arange(20.0).reshape(10, 2), np.arange(10.0), task="regression")
    >>> keys, rows = Keys(data), Rows.all(10)
    >>> pipelines = [make_pipeline(StandardScaler(), DecisionTreeRegressor(max_depth=depth)) for depth in (1, 2)]
    >>> fits = [keys.fit(FitTask(pipeline, rows, (Ask(rows),))) for pipeline in pipelines]
    >>> [job] = PrefixSolver((PlainSolver(),)).claim(fits, data)
    >>> [outcome.answer(data, rows)[0] for outcome in job.run(data)]
    [np.float64(2.0), np.float64(0.5)]
    """

    name = "shared prefix"
    kinds = (Pipeline,)

    def __init__(self, others: Sequence[Solver], before: Sequence[Solver] = (), *, apart: bool = False) -> None:
        self.others, self.before, self.apart = tuple(others), tuple(before), apart

    @cached_property
    def by_parts(self) -> PrefixSolver:
        """The same, which looks for parts of steps that are known."""
        return self if self.apart else PrefixSolver(self.others, self.before, apart=True)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs for the pipelines whose first steps, training rows and, unless ignored, labels are the same."""
        if get_config()["enable_metadata_routing"]:
            return []
        by_rows: dict[tuple[tuple[int, int], int], list[Fit]] = defaultdict(list)
        for fit in fits:
            if hasattr(fit.estimator, "steps") and fit.model is None:
                by_rows[data.digest(fit.train), len(fit.train)].append(fit)
        chains: dict[bytes, Chain | None] = {}
        jobs: list[Job] = []
        for same_rows in by_rows.values():
            groups: dict[Any, list[Fit]] = defaultdict(list)
            for fit in same_rows if len(same_rows) > 1 else ():
                if fit.estimator_key not in chains:
                    chains[fit.estimator_key] = chain_of(fit.estimator, fit.estimator_key)
                chain = chains[fit.estimator_key]
                if chain is not None:
                    groups[fit.keep_model, *_identity(fit, chain, 0)].append(fit)
            kin = _with_parts_in_common([group[0] for group in groups.values()], chains)
            for group in groups.values():
                # Those that have more than the first step in common go into the same job.
                group.sort(key=lambda fit: [link.key for link in chains[fit.estimator_key].links])  # type: ignore[union-attr]
                related = group[0].key in kin
                lots = [part for part in self._parts(group) if len(part) > 1 or related]
                jobs.extend(Job(self.by_parts if related else self, tuple(lot), work=len(lot)) for lot in lots)
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
            # What is answered all at once may go together as its own solver has it.
            sweeping = [solver.most for solver in self.others if type(last) in getattr(solver, "kinds", ())]  # type: ignore[attr-defined]
            lots[max([MOST, *sweeping])].append(fit)
        return [part for most, lot in lots.items() for part in _cut(lot, most)]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit the shared steps, and hand what follows to the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        shared = _shared(job.fits)
        steps, seconds = _recent.of(
            data, _name(shared, data, shared.depth), lambda: _fitted(shared, data, apart=self.apart)
        )
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


def _with_parts_in_common(fits: Sequence[Fit], chains: Mapping[bytes, Chain | None]) -> set[str]:
    """Return the keys of the fits whose first step has a part that the first step of another has too."""
    names: dict[str, frozenset[Name]] = {}
    for fit in fits if len(fits) > 1 else ():
        chain = chains[fit.estimator_key]
        assert chain is not None
        step = fit.estimator.steps[chain.links[0].place][1]
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
    known: dict[bytes, Chain] = {}
    for fit in fits:
        if fit.estimator_key not in known:
            chain = chain_of(fit.estimator, fit.estimator_key)
            assert chain is not None  # or it would not have been claimed
            known[fit.estimator_key] = chain
    chains = [known[fit.estimator_key] for fit in fits]
    depth = 0
    while all(depth < len(chain.links) for chain in known.values()):
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


def _fitted(shared: SharedSteps, data: Data, *, apart: bool) -> FittedSteps:
    """Fit the shared steps."""
    first, links = shared.fits[0], shared.chains[0].links[: shared.depth]
    index = first.train.index
    X, y = data.take(index), (data.y if first.y is None else first.y)[index]
    parts = NestedTransformers(lambda name, fit: _recent.of(data, name, fit)[0], first.train_key)
    steps = []
    start = time.perf_counter()
    for i, link in enumerate(links):
        name, step = first.estimator.steps[link.place]
        step = seeded(step, seeds_of(name, first.seeds))
        with forks_end_here():
            if apart and is_nested(step):
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
