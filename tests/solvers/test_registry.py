"""Which solver is offered which fits, estimators that provide one themselves, and what solvers of groups share."""

import subprocess
import sys

import numpy as np
import pytest
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.decomposition import PCA
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import BaggingRegressor, GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, Fit, FitTask, Job
from truefit._core.rows import Rows
from truefit._core.stages import AtStage
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.registry import (
    EstimatorFamilies,
    EstimatorSolver,
    Offer,
    all_solvers,
    are_priors,
    is_seed,
    is_size,
    is_switch,
    request_batches,
    rows_requests,
    solver_factory,
)

OFFERS = [solver for solver in all_solvers() if isinstance(solver, Offer)]


@pytest.mark.parametrize("offer", OFFERS, ids=lambda offer: offer.name)
def test_the_table_says_what_the_solver_says(offer):
    assert offer.name == offer.solver.name
    kinds = {kind.__name__ for kind in getattr(offer.solver, "kinds", ())}
    assert kinds in ({"Pipeline"} if offer.final == "*" else set(offer.final.split()), set())


@pytest.mark.parametrize(
    ("estimator", "expected"),
    [
        (make_pipeline(StandardScaler(), LogisticRegression()), {"shared prefix"}),
        (make_pipeline(PCA(2), LogisticRegression()), {"step paths", "shared prefix"}),
        (make_pipeline(StandardScaler(), Ridge()), {"linear sets", "shared prefix"}),
        (make_pipeline("passthrough", GradientBoostingRegressor()), {"boosting stages", "shared prefix"}),
        (Ridge(), {"linear loo", "linear sets", "ridge"}),
        (LogisticRegression(), set()),
    ],
)
def test_fits_are_offered_to_those_who_may_take_them(estimator, expected):
    assert {offer.name for offer in OFFERS if offer.suits(estimator)} == expected


def test_solvers_are_imported_with_the_first_fit_for_them():
    code = (
        "import sys, truefit, numpy as np; from sklearn.linear_model import LogisticRegression as L\n"
        "truefit.assess(L(), np.arange(40.0).reshape(20, 2), np.arange(20) % 2)\n"
        "print([name for name in sys.modules if name.startswith('truefit._solvers.closed_form')])"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True).strip() == "[]"


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


@pytest.mark.parametrize(
    ("check", "yes", "no"),
    [
        (is_switch, [True, np.bool_(False)], [0, 1, "yes", None]),
        (is_size, [0, 1.5, np.float32(2), np.int8(3)], [-1, np.nan, np.inf, True, "1", None, [1.0]]),
        (is_seed, [None, 0, 2**32 - 1], [-1, 2**32, "a", True, np.random.RandomState(0)]),
    ],
)
def test_values_that_can_stand(check, yes, no):
    assert all(map(check, yes))
    assert not any(map(check, no))


def test_priors():
    assert are_priors((0.5, 0.25, 0.25), 3)
    for value in (
        [0.5, 0.5],
        [0.5, 0.5, 0.0],
        [0.5, 0.6, -0.1],
        [0.3, 0.3, 0.3],
        ["a", "b", "c"],
        [[0.5, 0.25, 0.25]],
        1,
    ):
        assert not are_priors(value, 3)


class OwnRidge(Ridge):
    pass


def families_of(path, *estimators):
    keys, families = Keys(Data([[0.0], [1.0]], [0.0, 1.0], task="regression")), EstimatorFamilies(path)
    return [families.of(keys.fit(FitTask(estimator, Rows.all(2)))) for estimator in estimators]


def test_only_the_parameters_of_the_path_may_differ():
    a, b, c, d, e = families_of(("alpha",), Ridge(1), Ridge(2), Ridge(2, solver="svd"), OwnRidge(1), Ridge(1, tol=0.1))
    assert a == b
    assert len({a, c, d, e}) == 4


def test_without_a_path_the_same_estimators_are_a_family():
    a, b, c = families_of((), Ridge(1), Ridge(1), Ridge(2))
    assert a == b != c


def test_values_of_other_types_are_told_apart():
    assert len(set(families_of(("alpha",), Ridge(tol=1), Ridge(tol=1.0), Ridge(tol=True)))) == 3


def test_parameters_that_are_estimators_count():
    path = ("n_estimators",)
    a, b, c = families_of(
        path, *(BaggingRegressor(DecisionTreeRegressor(max_depth=d), n) for d, n in ((1, 5), (1, 9), (2, 5)))
    )
    assert a == b != c


def test_what_cannot_be_known_is_in_no_family():
    keys = Keys(Data(np.zeros((2, 1)), [0.0, 1.0], task="regression"))
    fit = keys.fit(FitTask(BaggingRegressor(Ridge()), Rows.all(2)))
    fit.estimator.estimator = open(__file__)  # noqa: SIM115
    try:
        assert EstimatorFamilies(("n_estimators",)).of(fit) is None
    finally:
        fit.estimator.estimator.close()


def fit(*asks):
    return Fit("a", b"", b"", None, Rows.all(9), asks)


def test_equal_rows_are_one_question():
    same, again, others = Rows.of([0, 1]), Rows.of([0, 1]), Rows.of([0, 1, 2])
    first = fit(Ask(same), Ask(same, "predict_proba"))
    second = fit(Ask(again), Ask(others), Ask(Rows.of([])))
    found = rows_requests([first, second, fit()])
    assert [(request.rows, request.wanted) for request in found] == [
        (same, {"predict": [0, 1], "predict_proba": [0]}),
        (others, {"predict": [1]}),
    ]


def test_who_asks_twice_is_answered_once():
    [request] = rows_requests([fit(Ask(Rows.of([3])), Ask(Rows.of([3])))])
    assert request.wanted == {"predict": [0]}


def test_rows_that_are_predicted_at_once():
    alone, shared = [Rows.of([0, 1]), Rows.of([2, 3]), Rows.of([4])], [Rows.of([5, 6])] * 2
    batches = list(request_batches([fit(Ask(rows)) for rows in (*alone, *shared)]))
    assert [(batch.places, len(batch.rows)) for batch in batches] == [([3, 4], 1), ([0, 1], 2), ([2], 1)]
