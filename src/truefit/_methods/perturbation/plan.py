"""Plan of Perturbed Model Validation (Zhang et al. 2019): train on noise, measure how much of it is memorised."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.errors import BudgetSpent, Failure
from truefit._core.outcome import Outcome
from truefit._core.parameters import open_seeds
from truefit._core.protocols import Ask, FitTask, Plan
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.assessment.plan import assess_plan
from truefit._methods.candidates import Candidates
from truefit._methods.complexity import rademacher_plan, random_signs
from truefit._methods.perturbation.config import NoiseGrid, PerturbationConfig, boundary_plan, ranking_response
from truefit._methods.perturbation.noise import FlippedLabels, Noise, NoisyData
from truefit._methods.perturbation.result import Perturbation
from truefit._methods.perturbation.verdict import FoldErrors, NoiseResponse
from truefit._methods.result import report_failures
from truefit._methods.splitting.designs import Design
from truefit._metrics.metric import get_metric
from truefit._stats.bounds import decrease_rates
from truefit._stats.paired import PairedDifference, holm, pooled_paired_t


def varied_parameter(estimators: Mapping[str, Any]) -> tuple[str, list[Any]] | None:
    """Return the parameter in which estimators differ, and its values; None where it is not just one.

    >>> from sklearn.tree import DecisionTreeClassifier
    >>> varied_parameter({str(d): DecisionTreeClassifier(max_depth=d) for d in (1, 2, None)})
    ('max_depth', [1, 2, None])
    >>> varied_parameter({"tree": DecisionTreeClassifier()}) is None
    True
    """
    params = [estimator.get_params(deep=True) for estimator in estimators.values()]
    if len(params) < 2 or len({type(each) for each in estimators.values()}) > 1:
        return None
    names = [name for name in params[0] if not any(_holds_estimators(each.get(name)) for each in params)]
    if any(each.keys() != params[0].keys() for each in params[1:]):
        return None
    differing = [name for name in names if len({repr(each[name]) for each in params}) > 1]
    if len(differing) != 1:
        return None
    values = [each[differing[0]] for each in params]
    return (differing[0], values) if len({repr(value) for value in values}) == len(values) else None


def _holds_estimators(value: Any) -> bool:
    """Whether a parameter is an estimator or a list of named ones, whose own parameters are compared instead."""
    if isinstance(value, list | tuple):
        return any(_holds_estimators(item) for item in value)
    return hasattr(value, "get_params")


#: A repeat and a noise level.
Cell = tuple[int, float]

_NAN = float("nan")


@dataclass(frozen=True, slots=True)
class RatePair:
    """A candidate compared with the leader, repeat by repeat on the same noise."""

    candidate: str
    leader: str
    found: PairedDifference | None
    p_adjusted: float

    def significantly_different(self, level: float) -> bool:
        """Whether the candidate's rate is significantly lower than the leader's."""
        return self.found is not None and self.p_adjusted <= 1 - level


@dataclass
class AgreementTable:
    """Agreements measured so far, by candidate and cell."""

    absolute: bool = False
    shares: dict[Cell, float] = field(default_factory=dict)
    baselines: dict[Cell, float] = field(default_factory=dict)
    values: dict[str, dict[Cell, float]] = field(default_factory=lambda: defaultdict(dict))
    ideals: dict[str, dict[Cell, float]] = field(default_factory=lambda: defaultdict(dict))
    seconds: dict[str, float] = field(default_factory=lambda: defaultdict(float))
    requested: Counter[str] = field(default_factory=Counter)
    failures: dict[str, list[Failure]] = field(default_factory=lambda: defaultdict(list))

    def table(self, entries: dict[Cell, float], grid: NoiseGrid) -> Floats:
        """Entries of a grid, of shape (repeats, levels), NaN where there is none."""
        return np.array([[entries.get((b, level), _NAN) for level in grid.levels] for b in range(grid.repeats)])

    def finished(self, name: str, grid: NoiseGrid) -> npt.NDArray[np.intp]:
        """Return the repeats of a grid of which a candidate has every level."""
        return np.flatnonzero(np.isfinite(self.table(self.values[name], grid)).all(axis=1))

    def usable(self, name: str, grid: NoiseGrid) -> bool:
        """Whether a candidate has enough of a grid to be rated on it."""
        return name not in self.failures and len(self.finished(name, grid)) >= min(2, grid.repeats)

    def rates(self, name: str, grid: NoiseGrid) -> Floats:
        """Rate of a candidate in each repeat of a grid; NaN where it is not finished."""
        found = np.full(grid.repeats, _NAN)
        done = self.finished(name, grid)
        if len(done):
            shares, values = self.table(self.shares, grid)[done], self.table(self.values[name], grid)[done]
            found[done] = decrease_rates(shares, values)
        return np.abs(found) if self.absolute else found

    def leader(self, names: Iterable[str], grid: NoiseGrid) -> str:
        """Return the candidate with the largest mean rate; of equal ones the first."""
        return max(names, key=lambda name: float(np.nanmean(self.rates(name, grid))))

    def compare(self, names: Sequence[str], grid: NoiseGrid, looks: int) -> list[RatePair]:
        """Compare each candidate with the leader; p-values are adjusted by Holm, and multiplied by ``looks``."""
        leader = self.leader(names, grid)
        others = [name for name in names if name != leader]
        best = self.rates(leader, grid)
        found = [_paired(self.rates(name, grid) - best) for name in others]
        adjusted = iter(np.minimum(1.0, looks * holm([each.p for each in found if each is not None])))
        return [
            RatePair(name, leader, each, _NAN if each is None else float(next(adjusted)))
            for name, each in zip(others, found, strict=True)
        ]


def _paired(differences: Floats) -> PairedDifference | None:
    known = differences[np.isfinite(differences)]
    return pooled_paired_t([known], factor=1.0) if len(known) > 1 else None


#: Targets in memory at a time; all at once where they fit, so that solvers see them together.
_PORTION_BYTES = 64 << 20
#: Sets of random signs that a Rademacher complexity is measured by.
_SIGNS = 20


def perturb_plan(candidates: Candidates, config: PerturbationConfig) -> Plan[Perturbation]:
    """Fit every candidate on each perturbed table; after each stage, significantly worse candidates are dropped."""
    noise = config.noise
    if noise is None:
        noise = yield from _near_boundary(candidates, config)
    run = _PerturbationRun(candidates, config, noise, AgreementTable(config.mode == "paper"))
    agreements, looks = run.agreements, len(config.stages)
    contenders, dropped, late = list(candidates.names), dict[str, tuple[NoiseGrid, RatePair]](), False
    for grid in config.stages:
        late = yield from run.at(grid, contenders)
        contenders = [name for name in contenders if name not in agreements.failures]
        if late or not contenders or grid is config.stages[-1]:
            break
        for pair in agreements.compare(contenders, grid, looks):
            if pair.significantly_different(config.level):
                dropped[pair.candidate] = (grid, pair)
        contenders = [name for name in contenders if name not in dropped]
    failures = [failure for each in agreements.failures.values() for failure in each]
    report_failures(failures, sum(agreements.requested.values()))
    last = _common_grid(agreements, contenders, config.stages)
    final = [name for name in contenders if agreements.usable(name, last)]
    pairs = agreements.compare(final, last, looks) if final else []
    grids = {name: dropped[name][0] if name in dropped else last for name in candidates.names}
    errors = None if late else (yield from _test_errors(candidates, config))
    complexity = None
    if config.bounds and not late:
        signs = random_signs(config.data.X, _SIGNS, config.random_state)
        complexity = yield from rademacher_plan(candidates, config.data, signs, level=config.level, labelled=False)
    return Perturbation(
        config,
        {name: run.by_name(name, grids[name]) for name in candidates.names},
        pairs=[*pairs, *(pair for _, pair in dropped.values())],
        best=agreements.leader(final, last) if final else None,
        errors=errors,
        complexity=complexity,
        varied=varied_parameter(candidates.estimators),
        single=candidates.single,
    )


def _near_boundary(candidates: Candidates, config: PerturbationConfig) -> Plan[Noise]:
    name, estimator = next(iter(candidates))
    splits = config.splits()
    assert splits is not None
    gaps = yield from boundary_plan(estimator, ranking_response(name, estimator), config.data, splits)
    return FlippedLabels(config.data, gaps=gaps, random_state=config.random_state)


def _common_grid(agreements: AgreementTable, names: Sequence[str], stages: Sequence[NoiseGrid]) -> NoiseGrid:
    """Return the last stage at which all remaining candidates can be rated, or any of them."""
    for enough in (all, any):
        for grid in reversed(stages):
            if names and enough(agreements.usable(name, grid) for name in names):
                return grid
    return stages[-1]


def _test_errors(candidates: Candidates, config: PerturbationConfig) -> Plan[FoldErrors | None]:
    """Cross-validate the candidates on the folds that other methods share."""
    splits = config.splits()
    if splits is None:
        return None
    metric = get_metric(None, config.data.task)
    try:
        found = yield from assess_plan(
            candidates, config.data, Design("splits", splits, "auto"), metric, level=config.level
        )
    except BudgetSpent:
        return None
    estimates = {name: (each.value, *(each.interval or (_NAN, _NAN))) for name, each in found.estimates.items()}
    return FoldErrors(metric.name, found.split_scores(), estimates, splits.share, splits.description)


class _PerturbationRun:
    """Requests fits on perturbed tables, and records their agreement with the targets they were trained on."""

    def __init__(
        self, candidates: Candidates, config: PerturbationConfig, noise: Noise, agreements: AgreementTable
    ) -> None:
        self.candidates = candidates
        self.config = config
        self.noise = noise
        self.agreements = agreements
        #: A learner with random numbers of its own is refitted in each repeat; for others one fit serves all repeats.
        self._random = {name: bool(open_seeds(estimator)) for name, estimator in candidates}
        #: Fits on the original table, where the ideal rate has to be computed from their predictions.
        self._originals: dict[tuple[str, int], Outcome] = {}
        self._by_predictions = noise.ideal(1.0) is None
        self._all = Rows.all(config.data.n)

    def at(self, grid: NoiseGrid, names: Sequence[str]) -> Plan[bool]:
        """Measure the missing cells of a grid; return whether the time budget was exhausted."""
        values = self.agreements.values
        cells = [
            cell
            for cell in ((repeat, level) for repeat in range(grid.repeats) for level in grid.levels)
            if any(cell not in values[name] for name in names)
        ]
        step = max(1, _PORTION_BYTES // max(self.config.data.y.nbytes, 1))
        for start in range(0, len(cells), step):
            noisy = {cell: self.noise.at(*cell) for cell in cells[start : start + step]}
            missing = [(cell, name) for cell in noisy for name in names if cell not in values[name]]
            late = False
            try:
                outcomes: Sequence[Outcome | None] = yield [
                    self._task(name, cell, noisy[cell]) for cell, name in missing
                ]
            except BudgetSpent as spent:
                outcomes, late = spent.outcomes, True
                if not any(values.values()) and all(outcome is None for outcome in outcomes):
                    raise
            for (cell, name), outcome in zip(missing, outcomes, strict=True):
                self._record(name, cell, noisy[cell], outcome)
            if late:
                return True
        return False

    def _task(self, name: str, cell: Cell, noisy: NoisyData) -> FitTask:
        repeat, level = cell
        asks = (Ask(self._all if self._by_predictions and level == 0 else noisy.rows),)
        numbers = repeat if self._random[name] else 0
        return FitTask(self.candidates.estimators[name], noisy.rows, asks, y=noisy.y, repeat=numbers)

    def _record(self, name: str, cell: Cell, noisy: NoisyData, outcome: Outcome | None) -> None:
        agreements, data = self.agreements, self.config.data
        if cell not in agreements.shares:  # which are the same for all candidates
            agreements.shares[cell], agreements.baselines[cell] = noisy.share, noisy.baseline
        agreements.requested[name] += 1
        if outcome is None:
            return
        if outcome.error is not None:
            agreements.failures[name].append(outcome.error)
            return
        agreements.values[name][cell] = noisy.agreement(outcome.answer(data, noisy.rows))
        agreements.seconds[name] += outcome.fit_seconds
        if not self._by_predictions:
            return
        repeat, level = cell
        if level == 0:
            self._originals[name, repeat] = outcome
        original = self._originals.get((name, repeat))
        if original is not None:
            agreements.ideals[name][cell] = noisy.agreement(original.answer(data, noisy.rows))

    def by_name(self, name: str, grid: NoiseGrid) -> NoiseResponse:
        """Return the response of a candidate on a grid."""
        agreements = self.agreements
        done = agreements.finished(name, grid) if agreements.usable(name, grid) else np.empty(0, dtype=np.intp)
        shares, values, baselines = (
            agreements.table(entries, grid)[done]
            for entries in (agreements.shares, agreements.values[name], agreements.baselines)
        )
        ideal: float | None = _NAN
        if len(done):
            ideal = self.noise.ideal(float(values[:, 0].mean()))
        if ideal is None:
            ideal = float(decrease_rates(shares, agreements.table(agreements.ideals[name], grid)[done]).mean())
        failed = len(agreements.failures.get(name, ()))
        return NoiseResponse(
            grid.levels, shares, values, baselines, ideal, self.config.level,
            absolute=agreements.absolute,
            failed=failed,
            missing=agreements.requested[name] - failed - len(agreements.values[name]),
            fit_seconds=agreements.seconds[name],
        )  # fmt: skip
