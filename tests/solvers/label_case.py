"""Cases of one estimator on the same rows with several label vectors, and tables to make them of."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome
from truefit._core.rows import Rows
from truefit._core.task import Ask, Fit, FitTask
from truefit._solvers.plain import fit_plain
from truefit.testing.solver_contract import SolverCase, assert_equal_answers


@dataclass(frozen=True, eq=False)
class LabelCase(SolverCase):
    """Candidates that are fitted on the same splits with the labels of the table and with others."""

    others: Sequence[Any] = field(default=())

    def fits(self, data: Data) -> list[Fit]:
        keys, fits = Keys(data), []
        for estimator in self.estimators:
            for k in range(self.folds):
                left_out = Rows.of(range(k, data.n, self.folds))
                asks = tuple(Ask(left_out, response) for response in self.responses)
                train = Rows.without(data.n, left_out.index)
                fits += [keys.fit(FitTask(estimator, train, asks, y)) for y in (None, *self.others)]
        return fits


def numbers(n=60, p=4, classes=2, seed=0):
    """A table with classes that overlap, named by words."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, -1] + 0.5 * rng.normal(size=n)
    codes = np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    return X, np.array(["ant", "bee", "cat", "dog", "elk"])[codes]


def flipped(y, vectors=3, seed=0):
    """Label vectors with a share of the labels drawn anew."""
    rng = np.random.default_rng(seed)
    classes = np.unique(y)
    shares = np.linspace(0.1, 0.5, vectors)
    return [np.where(rng.random(len(y)) < share, rng.choice(classes, len(y)), y) for share in shares]


def label_case(name, *estimators, X=None, y=None, classes=2, folds=2, task="classification", others=None, **options):
    """A case on the usual table, unless another is given."""
    usual = numbers(classes=classes)
    X, y = usual[0] if X is None else X, usual[1] if y is None else y
    others = flipped(np.asarray(y)) if others is None else others
    return LabelCase(name, estimators, X, y, task=task, folds=folds, others=others, **options)


def sweep_fits(data, estimator, vectors, responses=("predict",), train=None, asked=None):
    """Fits of one estimator on the same rows with several label vectors."""
    keys = Keys(data)
    train = Rows.all(data.n) if train is None else train
    asks = tuple(Ask(train if asked is None else asked, response) for response in responses)
    return [keys.fit(FitTask(estimator, train, asks, y)) for y in vectors]


def assert_sweep_equals_plain(solver, fits, data):
    """Let a solver answer all fits in one job; return who made the outcomes."""
    [job] = solver.claim(fits, data)
    assert job.fits == tuple(fits)
    outcomes: list[Outcome] = job.run(data)
    for fit, outcome in zip(fits, outcomes, strict=True):
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)
    return [outcome.solver for outcome in outcomes]


def assert_same_bits(solver, fits, data):
    """The same, where every answer has to be that of plain fitting bit for bit."""
    [job] = solver.claim(fits, data)
    for fit, outcome in zip(fits, job.run(data), strict=True):
        expected = fit_plain(fit, data)
        assert outcome.solver == solver.name
        assert len(outcome.answers) == len(expected.answers)
        for theirs in expected.answers:
            [mine] = [answer for answer in outcome.answers if answer.response == theirs.response]
            assert (mine.coded, mine.values.dtype, mine.values.shape) == (
                theirs.coded, theirs.values.dtype, theirs.values.shape,
            )  # fmt: skip
            assert mine.values.tobytes() == theirs.values.tobytes()
            assert mine.tokens.tobytes() == theirs.tokens.tobytes()
