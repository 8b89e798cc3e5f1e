"""Cases of leave-one-out, and tables on which a solver for it is compared with plain fitting."""

import warnings
from dataclasses import replace

import numpy as np
from tests.solvers.label_case import numbers

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.outcome import LeftOutOutcomes
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._solvers.plain import fit_plain
from truefit.testing.solver_contract import SolverCase, assert_equal_answers

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
