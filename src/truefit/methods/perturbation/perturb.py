"""Perturbed Model Validation: train on noise, and see how much of it a learner follows (Zhang et al. 2019)."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np

from truefit.core.data import Data
from truefit.core.errors import BudgetSpent, FitError
from truefit.core.job import Plan
from truefit.core.outcome import Outcome, grouped_failures, reasons
from truefit.core.rows import Rows
from truefit.core.seeds import open_seeds
from truefit.core.task import Ask, FitTask
from truefit.methods.assessment.assess import assess_plan
from truefit.methods.candidates import Candidates
from truefit.methods.capacity.rademacher import rademacher_plan, random_signs
from truefit.methods.perturbation.boundary import boundary_plan, ranking_response
from truefit.methods.perturbation.ledger import Cell, Ledger, RatePair
from truefit.methods.perturbation.noise import Disturbed, FlippedLabels, Noise
from truefit.methods.perturbation.perturbation import Perturbation
from truefit.methods.perturbation.rated import Rated
from truefit.methods.perturbation.terms import Grid, PerturbTerms
from truefit.methods.perturbation.varied import varied_parameter
from truefit.methods.perturbation.verdict import FoldErrors
from truefit.methods.splitting.designs import Design
from truefit.metrics.metric import get_metric
from truefit.stats.decrease_rate import decrease_rates

#: Targets that are held at a time; all at once where they fit, so that solvers see them together.
_PORTION_BYTES = 64 << 20
#: Sets of random signs that a Rademacher complexity is measured by.
_SIGNS = 20


def perturb_plan(candidates: Candidates, terms: PerturbTerms) -> Plan[Perturbation]:
    """Fit every candidate on the table with each noise, stage by stage; those that were told apart stay behind."""
    noise = terms.noise
    if noise is None:
        noise = yield from _near_boundary(candidates, terms)
    measuring = _Measuring(candidates, terms, noise, Ledger(candidates.names, absolute=terms.mode == "paper"))
    ledger, looks = measuring.ledger, len(terms.stages)
    contenders, apart, late = list(candidates.names), dict[str, tuple[Grid, RatePair]](), False
    for grid in terms.stages:
        late = yield from measuring.at(grid, contenders)
        contenders = [name for name in contenders if name not in ledger.failures]
        if late or not contenders or grid is terms.stages[-1]:
            break
        for pair in ledger.compare(contenders, grid, looks):
            if pair.told_apart(terms.level):
                apart[pair.candidate] = (grid, pair)
        contenders = [name for name in contenders if name not in apart]
    measuring.report_failures()
    last = _common_grid(ledger, contenders, terms.stages)
    final = [name for name in contenders if ledger.usable(name, last)]
    pairs = ledger.compare(final, last, looks) if final else []
    grids = {name: apart[name][0] if name in apart else last for name in candidates.names}
    errors = None if late else (yield from _test_errors(candidates, terms))
    complexity = None
    if terms.bounds and not late:
        signs = random_signs(terms.data.X, _SIGNS, terms.random_state)
        complexity = yield from rademacher_plan(candidates, terms.data, signs, level=terms.level, labelled=False)
    return Perturbation(
        terms,
        {name: measuring.rated(name, grids[name]) for name in candidates.names},
        pairs=[*pairs, *(pair for _, pair in apart.values())],
        best=ledger.leader(final, last) if final else None,
        errors=errors,
        complexity=complexity,
        varied=varied_parameter(candidates.estimators),
        single=candidates.single,
    )


def _near_boundary(candidates: Candidates, terms: PerturbTerms) -> Plan[Noise]:
    name, estimator = next(iter(candidates))
    splits = terms.splits()
    assert splits is not None
    gaps = yield from boundary_plan(estimator, ranking_response(name, estimator), terms.data, splits)
    return FlippedLabels(terms.data, gaps=gaps, random_state=terms.random_state)


def _common_grid(ledger: Ledger, names: Sequence[str], stages: Sequence[Grid]) -> Grid:
    """Return the last stage at which all that are still in the race can be rated, or any of them."""
    for enough in (all, any):
        for grid in reversed(stages):
            if names and enough(ledger.usable(name, grid) for name in names):
                return grid
    return stages[-1]


def _test_errors(candidates: Candidates, terms: PerturbTerms) -> Plan[FoldErrors | None]:
    """Cross-validate the candidates on the folds that other methods share."""
    splits = terms.splits()
    if splits is None:
        return None
    metric = get_metric(None, terms.data.task)
    try:
        found = yield from assess_plan(
            candidates, terms.data, Design("splits", splits, "auto"), metric, level=terms.level
        )
    except BudgetSpent:
        return None
    nan = float("nan")
    estimates = {name: (each.value, *(each.interval or (nan, nan))) for name, each in found.estimates.items()}
    return FoldErrors(metric.name, found.split_scores(), estimates, splits.share, splits.description)


class _Measuring:
    """Asks for fits on the disturbed table, and writes down how far they agree with what they were trained on."""

    def __init__(self, candidates: Candidates, terms: PerturbTerms, noise: Noise, ledger: Ledger) -> None:
        self.candidates = candidates
        self.terms = terms
        self.noise = noise
        self.ledger = ledger
        #: With random numbers of its own a learner draws them anew in each repeat; without, one fit serves them all.
        self._random = {name: bool(open_seeds(estimator)) for name, estimator in candidates}
        #: Fits on the undisturbed table, where only their predictions can tell what not to memorise would be.
        self._undisturbed: dict[tuple[str, int], Outcome] = {}
        self._by_predictions = noise.ideal(1.0) is None
        self._all = Rows.all(terms.data.n)

    def at(self, grid: Grid, names: Sequence[str]) -> Plan[bool]:
        """Measure the cells of a grid that are not known yet; say whether time ran out."""
        cells = [
            cell
            for cell in ((repeat, level) for repeat in range(grid.repeats) for level in grid.levels)
            if any(cell not in self.ledger.values[name] for name in names)
        ]
        for portion in self._portions(cells):
            disturbed = {cell: self.noise.at(*cell) for cell in portion}
            seats = [(cell, name) for cell in portion for name in names if cell not in self.ledger.values[name]]
            late = False
            try:
                outcomes: Sequence[Outcome | None] = yield [
                    self._task(name, cell, disturbed[cell]) for cell, name in seats
                ]
            except BudgetSpent as spent:
                outcomes, late = spent.outcomes, True
                if not any(self.ledger.values.values()) and all(outcome is None for outcome in outcomes):
                    raise
            for (cell, name), outcome in zip(seats, outcomes, strict=True):
                self._take(name, cell, disturbed[cell], outcome)
            if late:
                return True
        return False

    def _portions(self, cells: Sequence[Cell]) -> Iterator[Sequence[Cell]]:
        step = max(1, _PORTION_BYTES // max(self.terms.data.y.nbytes, 1))
        for start in range(0, len(cells), step):
            yield cells[start : start + step]

    def _task(self, name: str, cell: Cell, disturbed: Disturbed) -> FitTask:
        repeat, level = cell
        asked = self._all if self._by_predictions and level == 0 else disturbed.rows
        numbers = repeat if self._random[name] else 0
        return FitTask(self.candidates.estimators[name], disturbed.rows, (Ask(asked),), y=disturbed.y, repeat=numbers)

    def _take(self, name: str, cell: Cell, disturbed: Disturbed, outcome: Outcome | None) -> None:
        ledger, data = self.ledger, self.terms.data
        ledger.note(cell, disturbed)
        ledger.asked[name] += 1
        if outcome is None:
            return
        if outcome.error is not None:
            ledger.failures[name].append(outcome.error)
            return
        ledger.values[name][cell] = disturbed.agreement(_predicted(outcome, data, disturbed.rows))
        ledger.seconds[name] += outcome.fit_seconds
        if not self._by_predictions:
            return
        repeat, level = cell
        if level == 0:
            self._undisturbed[name, repeat] = outcome
        before = self._undisturbed.get((name, repeat))
        if before is not None:
            ledger.ideals[name][cell] = disturbed.agreement(_predicted(before, data, disturbed.rows))

    def report_failures(self) -> None:
        """Say which fits failed; all of them is an error."""
        failures = [failure for each in self.ledger.failures.values() for failure in each]
        total = sum(self.ledger.asked.values())
        if not failures:
            return
        if len(failures) == total:
            raise FitError(f"All {total} fits failed. {reasons(failures)}", failures)
        warnings.warn(f"{len(failures)} of {total} fits failed.\n\n{grouped_failures(failures)}", stacklevel=2)

    def rated(self, name: str, grid: Grid) -> Rated:
        """Return what was found for a candidate on a grid."""
        ledger = self.ledger
        done = ledger.finished(name, grid) if ledger.usable(name, grid) else np.empty(0, dtype=np.intp)
        shares, values, dummies = (
            ledger.table(entries, grid)[done] for entries in (ledger.shares, ledger.values[name], ledger.dummies)
        )
        ideal = float("nan")
        if len(done):
            told = self.noise.ideal(float(values[:, 0].mean()))
            if told is None:
                told = float(decrease_rates(shares, ledger.table(ledger.ideals[name], grid)[done]).mean())
            ideal = told
        failed = len(ledger.failures.get(name, ()))
        return Rated(
            grid.levels, shares, values, dummies, ideal, self.terms.level,
            absolute=ledger.absolute,
            failed=failed,
            missing=ledger.asked[name] - failed - len(ledger.values[name]),
            fit_seconds=ledger.seconds[name],
        )  # fmt: skip


def _predicted(outcome: Outcome, data: Data, rows: Rows) -> Any:
    return outcome.answer(data, rows)
