"""An estimator of somebody else's that brings a solver is answered by it."""

import numpy as np
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.dummy import DummyRegressor

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Job
from truefit._core.rows import Rows
from truefit._core.stages import AtStage
from truefit._core.task import Ask, FitTask
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.registry import EstimatorSolver, solver_factory


class MeanSolver:
    """Takes all the means of a table at once."""

    name = "means"

    def claim(self, fits, data):
        assert all(solver_factory(fit.estimator) is not None for fit in fits)
        return [Job(self, tuple(fits), work=0)]

    def solve(self, job, data):
        return [fit_plain(fit, data) for fit in job.fits]


class Mean(RegressorMixin, BaseEstimator):
    @staticmethod
    def __truefit_solver__():
        return MeanSolver()

    def fit(self, X, y):
        self.mean_ = float(np.mean(y))
        return self

    def fit_stages(self, X, y):
        yield self.fit(X, y)

    def predict(self, X):
        return np.full(len(X), self.mean_)


X, Y = np.arange(40.0).reshape(20, 2), np.arange(20.0)


def fits_of(data, *estimators):
    keys, rows = Keys(data), [Rows.without(20, [i]) for i in range(3)]
    return [keys.fit(FitTask(e, train, (Ask(Rows.of([0])),))) for e in estimators for train in rows]


def test_each_kind_goes_to_its_own_solver_and_the_rest_is_left():
    data = Data(X, Y, task="regression")
    mean = Mean()
    fits = fits_of(data, mean, DummyRegressor(), AtStage(mean, 1))
    [job] = EstimatorSolver().claim(fits, data)
    assert job.solver.name == "means"
    assert list(job.fits) == fits[:3] + fits[6:]


def test_the_engine_asks_it():
    engine = Engine()
    found = assess(Mean(), X, Y, engine=engine)
    assert engine.stats.run == 0  # the solver says that it fits no models
    assert found.estimate == assess(DummyRegressor(), X, Y).estimate


def test_plain_does_without():
    assert [type(solver) for solver in Engine(solvers="plain")._solvers] == [PlainSolver]
