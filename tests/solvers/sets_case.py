"""Cases of one learner on many sets of the same rows, and a comparison of what a solver makes of them with plain."""

import warnings
from dataclasses import dataclass

import numpy as np
from tests.solvers.label_case import numbers

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, Fit, FitTask
from truefit._solvers.plain import fit_plain
from truefit.testing.solver_contract import SolverCase, assert_equal_answers

BOTH = ("predict", "predict_proba")


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
