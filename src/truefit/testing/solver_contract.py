"""SolverContract: what every solver must do, as tests that are run against yours."""

from __future__ import annotations

import math
import pickle
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, Fit, FitTask, Job, Response, Solver
from truefit._core.rows import Rows
from truefit._core.validation import Task

#: How close numbers must be to those of plain fitting, relative to themselves.
RELATIVE = 1e-8
#: Absolute tolerance relative to the largest number of an answer: where sums cancel out only rounding is left.
ROUNDING = 1e-14


@dataclass(frozen=True, eq=False)
class SolverCase:
    """Candidates that are fitted on the same splits of one table, and the responses that are requested.

    ``folds`` is the number of folds, each held out in turn; 0 is leave-one-out. ``labels`` replace y in the fits, as in
    a permutation test.
    """

    name: str
    estimators: Sequence[Any]
    X: Any
    y: Any
    task: Task = "regression"
    folds: int = 3
    responses: tuple[Response, ...] = ("predict",)
    weight: Any = None
    labels: npt.NDArray[Any] | None = None

    def data(self) -> Data:
        """Return the table."""
        return Data(self.X, self.y, task=self.task, weight=self.weight)

    def fits(self, data: Data) -> list[Fit]:
        """Return the fits, those of one estimator after those of the other."""
        keys, n = Keys(data), data.n
        left_out = [[i] for i in range(n)] if self.folds == 0 else [range(k, n, self.folds) for k in range(self.folds)]
        fits = []
        for estimator in self.estimators:
            for rows in left_out:
                asked = Rows.of(rows)
                asks = tuple(Ask(asked, response) for response in self.responses)
                fits.append(keys.fit(FitTask(estimator, Rows.without(n, asked.index), asks, self.labels)))
        return fits


def assert_equal_answers(got: Outcome, expected: Outcome, fit: Fit, data: Data) -> None:
    """Check that an outcome equals that of plain fitting: labels equal, numbers within 1e-8 relative."""
    assert got.key == expected.key == fit.key
    if expected.error is not None:
        assert got.error is not None, f"plain fitting fails: {expected.error.message}"
        return
    assert got.error is None, got.error
    if expected.classes is None:
        assert got.classes is None
    else:
        assert got.classes is not None
        np.testing.assert_array_equal(got.classes, expected.classes)
    for ask in fit.asks:
        mine = got.answer(data, ask.rows, ask.response)
        theirs = expected.answer(data, ask.rows, ask.response)
        assert mine.shape == theirs.shape
        if theirs.dtype.kind == "f":
            floor = ROUNDING * np.abs(theirs).max(initial=0)
            np.testing.assert_allclose(mine, theirs, rtol=RELATIVE, atol=floor, err_msg=ask.response)
        else:
            np.testing.assert_array_equal(mine, theirs, err_msg=ask.response)


def claimed(solver: Solver, fits: Sequence[Fit], data: Data) -> list[Job]:
    """Let a solver claim fits, and check that it took only what was there, and nothing twice."""
    jobs = solver.claim(fits, data)
    taken = [id(fit) for job in jobs for fit in job.fits]
    assert len(taken) == len(set(taken)), "a fit was claimed twice"
    assert set(taken) <= {id(fit) for fit in fits}, "a fit was claimed that was not there"
    assert all(job.solver is solver and job.fits for job in jobs)
    return jobs


def _with_fits(cases: Sequence[SolverCase]) -> Iterator[tuple[SolverCase, Data, list[Fit]]]:
    for case in cases:
        data = case.data()
        yield case, data, case.fits(data)


class SolverContract:
    """Subclass this in your tests, define the solver and its cases, and pytest checks the contract of ``Solver``.

    ``make_solver`` returns it, ``make_reference`` the plain solver that it is compared with. The solver must claim all
    fits of ``cases``, none of ``not_for_it``, and those of ``failing`` although some of them fail.
    """

    def make_solver(self) -> Solver:
        """Return the solver under test."""
        raise NotImplementedError

    def make_reference(self) -> Solver:
        """Return the solver that fits one by one."""
        raise NotImplementedError

    def cases(self) -> Sequence[SolverCase]:
        """Return what the solver must claim all of."""
        raise NotImplementedError

    def not_for_it(self) -> Sequence[SolverCase]:
        """Return what the solver must leave to others."""
        return ()

    def failing(self) -> Sequence[SolverCase]:
        """Return cases that the solver claims and whose fits fail, some or all."""
        return ()

    @pytest.fixture
    def solver(self) -> Solver:
        """The solver under test."""
        return self.make_solver()

    def reference(self, fits: Sequence[Fit], data: Data) -> dict[str, Outcome]:
        """Outcomes of fitting one by one."""
        jobs = self.make_reference().claim(fits, data)
        return {outcome.key: outcome for job in jobs for outcome in job.run(data)}

    def test_is_a_solver(self, solver: Solver) -> None:
        """It has the methods of one, and a name; no fits give no jobs."""
        assert isinstance(solver, Solver)
        assert solver.name
        assert isinstance(solver.name, str)
        assert solver.claim([], self.cases()[0].data()) == []

    def test_claims_its_cases(self, solver: Solver) -> None:
        """Each fit of a case is in one job, and fewer models are to be fitted than there are fits."""
        for case, data, fits in _with_fits(self.cases()):
            jobs = claimed(solver, fits, data)
            assert sum(len(job.fits) for job in jobs) == len(fits), case.name
            assert all(0 <= job.work <= len(job.fits) for job in jobs), case.name

    def test_leaves_the_rest_alone(self, solver: Solver) -> None:
        """What is not for it is not claimed."""
        for case, data, fits in _with_fits(self.not_for_it()):
            assert claimed(solver, fits, data) == [], case.name

    def test_claims_only_what_is_there(self, solver: Solver) -> None:
        """For some fits of a case, claimed or not, none of the others is in a job."""
        for _, data, fits in _with_fits(self.cases()):
            for some in (fits[:1], fits[::2], fits[::-1]):
                claimed(solver, some, data)

    def test_claiming_fits_nothing(self, solver: Solver) -> None:
        """Estimators come out as they went in."""
        for case, data, fits in _with_fits(self.cases()):
            before = [sorted(vars(estimator)) for estimator in case.estimators]
            solver.claim(fits, data)
            assert [sorted(vars(estimator)) for estimator in case.estimators] == before, case.name

    def test_equals_plain_fitting(self, solver: Solver) -> None:
        """Answers are those of plain fitting, one outcome per fit in order, with the name of the solver."""
        plain = self.make_reference().name
        cases, failing = list(self.cases()), list(self.failing())
        for case, data, fits in _with_fits(cases + failing):
            expected, makers = self.reference(fits, data), set()
            for job in claimed(solver, fits, data):
                outcomes = job.run(data)
                assert [outcome.key for outcome in outcomes] == [fit.key for fit in job.fits], case.name
                for fit, outcome in zip(job.fits, outcomes, strict=True):
                    assert_equal_answers(outcome, expected[fit.key], fit, data)
                    assert outcome.solver in (solver.name, plain), case.name
                    assert math.isfinite(outcome.fit_seconds), case.name
                    assert outcome.fit_seconds >= 0, case.name
                    makers.add(outcome.solver)
            assert solver.name in makers or case in failing, f"{case.name}: all was left to {plain} fitting"

    def test_runs_in_a_worker(self, solver: Solver) -> None:
        """A job can be pickled, and answers there as it does here."""
        for case, data, fits in _with_fits(self.cases()):
            for job in solver.claim(fits, data)[:1]:
                there = pickle.loads(pickle.dumps(job)).run(pickle.loads(pickle.dumps(data)))
                assert all(outcome.error is None for outcome in there), case.name
                for fit, mine, theirs in zip(job.fits, job.run(data), there, strict=True):
                    assert_equal_answers(replace(theirs, model=None), mine, fit, data)

    def test_failures_are_outcomes(self, solver: Solver) -> None:
        """Errors are recorded in outcomes, never raised; here the table itself is missing."""
        for case, data, fits in _with_fits(self.cases()):
            for job in solver.claim(fits, data)[:1]:
                outcomes = job.run(data.without_table())
                assert [outcome.key for outcome in outcomes] == [fit.key for fit in job.fits], case.name
                assert all(outcome.error is not None for outcome in outcomes), case.name

    def test_requested_models_are_returned(self, solver: Solver) -> None:
        """A fit whose model is to be kept is left alone, or answered with its model."""
        for case, data, fits in _with_fits(self.cases()):
            for job in claimed(solver, [replace(fit, keep_model=True) for fit in fits], data):
                assert all(outcome.model is not None for outcome in job.run(data)), case.name
