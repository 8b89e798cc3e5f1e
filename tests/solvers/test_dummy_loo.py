import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from tests.solvers.label_case import numbers
from tests.solvers.left_out_case import assert_equals_plain, loo_case

from truefit._core.data import Data
from truefit._solvers.dummy_loo import DummyLooSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract


class OwnDummy(DummyClassifier):
    pass


def regression(name, *estimators, **options):
    usual = {"y": np.random.default_rng(0).normal(size=40), "task": "regression", "responses": ("predict",)}
    return loo_case(name, *estimators, **(usual | options))


class TestDummyLooSolver(SolverContract):
    def make_solver(self):
        return DummyLooSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        y = numbers(40, 3)[1]
        dummies = [DummyClassifier(strategy=strategy) for strategy in ("most_frequent", "prior")]
        return [
            loo_case("two classes", *dummies),
            loo_case("four classes", *dummies, classes=4),
            loo_case("as many of each", *dummies, y=np.arange(40) % 2),
            loo_case("a class of one", *dummies, y=np.where(np.arange(40) == 3, "cat", y)),
            loo_case("words", *dummies, X=pd.DataFrame({"a": ["b"] * 40})),
            loo_case("other labels", *dummies, labels=y[::-1].copy()),
            regression("regression", DummyRegressor(), DummyRegressor(strategy="median")),
            regression("an odd number", DummyRegressor(strategy="median"), y=np.arange(39.0) % 7, X=np.zeros((39, 1))),
        ]

    def not_for_it(self):
        drawn = [DummyClassifier(strategy=strategy) for strategy in ("stratified", "uniform")]
        return [
            loo_case("by chance", *drawn),
            loo_case("given", DummyClassifier(strategy="constant", constant="ant"), OwnDummy()),
            regression("other numbers", DummyRegressor(strategy="quantile", quantile=0.3)),
            regression("two targets", DummyRegressor(), y=np.zeros((40, 2))),
            loo_case("weights", DummyClassifier(), weight=np.arange(1.0, 41.0)),
            loo_case("a regressor of classes", DummyRegressor(), y=np.arange(40) % 2, responses=("predict",)),
        ]


@given(
    y=st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float), min_size=8, max_size=40),
    strategy=st.sampled_from(["mean", "median"]),
)
@settings(max_examples=60)
def test_equals_plain_fitting(y, strategy):
    data = Data(np.zeros((len(y), 1)), y, task="regression")
    assert_equals_plain(DummyLooSolver(), data, DummyRegressor(strategy=strategy), ("predict",))
