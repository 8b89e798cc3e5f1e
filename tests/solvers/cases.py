"""Cases of one estimator on the same rows with several label vectors, and tables to make them of."""

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from hypothesis import strategies as st

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.outcome import LeftOutOutcomes, Outcome
from truefit._core.protocols import Ask, Fit, FitTask
from truefit._core.rows import Rows
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


BOTH = ("predict", "predict_proba")


def loo_case(name, *estimators, X=None, y=None, classes=2, task="classification", responses=BOTH, **options):
    """A case on the usual table, unless another is given."""
    usual = numbers(40, 3, classes)
    X, y = usual[0] if X is None else X, usual[1] if y is None else y
    return SolverCase(name, estimators, X, y, task=task, folds=0, responses=responses, **options)


def loo_fits(data, estimator, responses=BOTH, labels=None, rows=None):
    """Leave-one-out fits of one estimator, each asked about its own row."""
    keys, fits = Keys(data), []
    for i in range(data.n) if rows is None else rows:
        asked = Rows.of([i])
        asks = tuple(Ask(asked, response) for response in responses)
        fits.append(keys.fit(FitTask(estimator, Rows.without(data.n, i), asks, labels)))
    return fits


def all_left_out(data, estimator, responses=BOTH, labels=None):
    """The same fits as one: each row asked about is left out in turn."""
    rows = Rows.all(data.n)
    asks = tuple(Ask(rows, response) for response in responses)
    return Keys(data).fit(FitTask(estimator, rows, asks, labels, each_left_out=True))


def assert_equals_plain(solver, data, estimator, responses=BOTH, labels=None):
    """Compare all rows; return how many were answered in closed form. What is not claimed is not compared.

    Asked for as one fit they say the same as one by one, or nothing.
    """
    fits = loo_fits(data, estimator, responses, labels)
    answered = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collinear columns, of numbers beyond bounds
        jobs = solver.claim(fits, data)
        for job in jobs:
            for fit, outcome in zip(job.fits, job.run(data), strict=True):
                assert_equal_answers(outcome, fit_plain(fit, data), fit, data)
                answered += outcome.solver == solver.name
        together = solver.claim([all_left_out(data, estimator, responses, labels)], data)
        assert len(together) == len(jobs)
        for job in together:
            (outcome,) = job.run(data)
            for fit, alone in zip(fits if outcome.answers else (), LeftOutOutcomes(outcome, data), strict=False):
                assert_equal_answers(replace(alone, key=fit.key), fit_plain(fit, data), fit, data)
    return answered


def classed(X, classes, seed, signal=1.0):
    """Classes for a table, drawn by chance, or more or less by its first column."""
    rng, n = np.random.default_rng(seed), len(X)
    ranks = np.argsort(np.argsort(X[:, 0] * signal / (np.abs(X[:, 0]).max() or 1) + 0.1 * rng.normal(size=n)))
    return Data(X, ranks * classes // n, task="classification")


def folds(n, rng, k=5):
    """Each fold is asked about, and left out."""
    fold = rng.permutation(np.arange(n) % k)
    return [(Rows.without(n, np.flatnonzero(fold == i)), Rows.of(np.flatnonzero(fold == i))) for i in range(k)]


def repeated(n, rng):
    """Three times."""
    return [split for _ in range(3) for split in folds(n, rng, 4)]


def triangle(n, rng, k=4):
    """All rows but two folds, and both are asked about."""
    fold = rng.permutation(np.arange(n) % k)
    splits = []
    for i in range(k):
        for j in range(i, k):
            out = np.flatnonzero((fold == i) | (fold == j))
            splits.append((Rows.without(n, out), Rows.of(out)))
    return splits


def curve(n, rng):
    """Samples that grow, asked about the rows that none has."""
    order = rng.permutation(n)
    rest = Rows.of(order[3 * n // 4 :])
    return [(Rows.of(order[:m]), rest) for m in np.linspace(n // 3, 3 * n // 4, 5).astype(int)]


def bootstrap(n, rng, draws=6):
    """Samples with rows that come again, asked about all rows and about those that were not drawn."""
    samples = [rng.integers(n, size=n) for _ in range(draws)]
    everything = Rows.all(n)
    asked = [everything if i % 2 else Rows.of(np.setdiff1d(np.arange(n), one)) for i, one in enumerate(samples)]
    return [(Rows.of(sample), rows) for sample, rows in zip(samples, asked, strict=True)]


DESIGNS = folds, repeated, triangle, curve, bootstrap


def sets_fits(data, estimators, splits, responses=BOTH, labels=None):
    """Fits of estimators on all splits."""
    keys, fits = Keys(data), []
    for estimator in estimators:
        for train, asked in splits:
            asks = tuple(Ask(asked, response) for response in responses)
            fits.append(keys.fit(FitTask(estimator, train, asks, labels)))
    return fits


@dataclass(frozen=True, eq=False)
class SetsCase(SolverCase):
    """Candidates that are fitted on the sets of a design."""

    design: object = folds

    def fits(self, data: Data) -> list[Fit]:
        splits = self.design(data.n, np.random.default_rng(0))
        return sets_fits(data, self.estimators, splits, self.responses, self.labels)


def sets_case(name, *estimators, X=None, y=None, classes=2, task="classification", responses=BOTH, **options):
    """A case on the usual table, unless another is given."""
    usual = numbers(60, 3, classes)
    X, y = usual[0] if X is None else X, usual[1] if y is None else y
    return SetsCase(name, estimators, X, y, task=task, responses=responses, **options)


def every_design(*estimators, **options):
    """A case for each design."""
    return [sets_case(design.__name__, *estimators, design=design, **options) for design in DESIGNS]


def assert_sets_equal_plain(solver, data, estimators, splits, responses=BOTH, labels=None):
    """Compare all fits; return how many were answered together. What is not claimed is not compared."""
    fits = sets_fits(data, estimators, splits, responses, labels)
    answered = 0
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of collinear columns, of numbers beyond bounds
        for job in solver.claim(fits, data):
            for fit, outcome in zip(job.fits, job.run(data), strict=True):
                assert_equal_answers(outcome, fit_plain(fit, data), fit, data)
                answered += outcome.solver == solver.name
    return answered


def offsets(X, rng):
    return X + 10 ** rng.uniform(0, 6) * rng.choice([-1, 0, 1], X.shape[1])


def scales(X, rng):
    return X * 10 ** rng.uniform(-5, 5, X.shape[1])


def tiny(X, rng):
    return X * 10 ** rng.uniform(-25, -5)


def huge(X, rng):
    return X * 10 ** rng.uniform(5, 120)


def collinear(X, rng):
    near = 10 ** rng.uniform(-16, 0) * np.abs(X).max() * rng.normal(size=len(X))
    return np.c_[X, X @ rng.normal(size=X.shape[1]) + rng.choice([0, 1]) * near]


def constant(X, rng):
    return np.c_[X, np.full(len(X), rng.choice([0, 1, 0.1, 1e6 / 3]))]


def outlier(X, rng):
    X[rng.integers(len(X))] *= 10 ** rng.uniform(0, 6)
    return X


def indicators(X, rng):
    X[:, : (X.shape[1] + 1) // 2] = X[:, : (X.shape[1] + 1) // 2] > rng.uniform(-1, 2)
    return X


def duplicates(X, rng):
    return X[rng.integers(len(X) // 2 + 1, size=len(X))]


def whole_numbers(X, rng):
    return np.round(X)


TROUBLES = [
    offsets, scales, tiny, huge, collinear, constant, outlier, indicators, duplicates, whole_numbers,
]  # fmt: skip


@st.composite
def troubled_tables(draw, most_rows=70, most_columns=12):
    """Draw a table."""
    n, p = draw(st.integers(12, most_rows)), draw(st.integers(1, most_columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, p))
    for trouble in draw(st.lists(st.sampled_from(TROUBLES), max_size=3, unique=True)):
        X = trouble(X, rng)
    return X


@dataclass(frozen=True)
class Sweep:
    """What is done with a table: label vectors drawn by chance, or more or less by its first column."""

    classes: int
    seed: int
    signal: float
    part: float
    smoothing: float

    def check(self, solver: Any, X: Any, estimator: Any, responses: Any) -> list[str]:
        rng = np.random.default_rng(self.seed)
        n = len(X)
        ranks = np.argsort(np.argsort(X[:, 0] * self.signal / (np.abs(X[:, 0]).max() or 1) + 0.1 * rng.normal(size=n)))
        y = ranks * self.classes // n
        data = Data(X, y, task="classification")
        other = np.where(rng.random(n) < 0.3, rng.integers(0, self.classes, n), y)
        train = Rows.of(rng.permutation(n)[: max(8, int(self.part * n))])
        fits = sweep_fits(data, estimator, [None, other, rng.permutation(y)], responses, train, Rows.all(n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of collinear columns, of numbers beyond bounds
            return assert_sweep_equals_plain(solver, fits, data) if solver.claim(fits, data) else []


def sweeps():
    """Draw what is done with a table."""
    return st.builds(
        Sweep,
        classes=st.integers(2, 4),
        seed=st.integers(0, 2**32),
        signal=st.sampled_from([0.0, 1.0, 1e3]),
        part=st.sampled_from([0.5, 1.0]),
        smoothing=st.sampled_from([1e-9, 0.0, 0.1]),
    )
