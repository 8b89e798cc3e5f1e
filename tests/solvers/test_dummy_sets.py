import numpy as np
import pandas as pd
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.dummy import DummyClassifier, DummyRegressor
from tests.solvers.label_case import numbers
from tests.solvers.sets_case import DESIGNS, assert_sets_equal_plain, every_design, sets_case

from truefit._core.data import Data
from truefit._solvers.dummy_sets import DummySetsSolver
from truefit._solvers.plain import PlainSolver
from truefit.testing.solver_contract import SolverContract


class OwnDummy(DummyClassifier):
    pass


def regression(name, *estimators, y=None, **options):
    y = np.random.default_rng(0).normal(size=60) if y is None else y
    return sets_case(name, *estimators, y=y, task="regression", responses=("predict",), **options)


class TestDummySetsSolver(SolverContract):
    def make_solver(self):
        return DummySetsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        y = numbers(60, 3)[1]
        dummies = [DummyClassifier(strategy=strategy) for strategy in ("most_frequent", "prior")]
        both = DummyRegressor(), DummyRegressor(strategy="median")
        return [
            *every_design(*dummies),
            *every_design(*dummies, classes=4),
            sets_case("as many of each", *dummies, y=np.arange(60) % 2),
            sets_case("a class of one", *dummies, y=np.where(np.arange(60) == 3, "cat", y)),
            sets_case("words", *dummies, X=pd.DataFrame({"a": ["b"] * 60})),
            sets_case("other labels", *dummies, labels=y[::-1].copy()),
            *every_design(*both, y=np.random.default_rng(0).normal(size=60), task="regression", responses=("predict",)),
        ]

    def not_for_it(self):
        drawn = [DummyClassifier(strategy=strategy) for strategy in ("stratified", "uniform")]
        return [
            sets_case("by chance", *drawn),
            sets_case("given", DummyClassifier(strategy="constant", constant="ant"), OwnDummy()),
            regression("other numbers", DummyRegressor(strategy="quantile", quantile=0.3)),
            regression("two targets", DummyRegressor(), y=np.zeros((60, 2))),
            sets_case("weights", DummyClassifier(), weight=np.arange(1.0, 61.0)),
            sets_case("a regressor of classes", DummyRegressor(), y=np.arange(60) % 2, responses=("predict",)),
        ]


@given(
    y=st.lists(st.floats(-1e6, 1e6) | st.integers(-3, 3).map(float), min_size=12, max_size=40),
    strategy=st.sampled_from(["mean", "median"]),
    design=st.sampled_from(DESIGNS),
)
@settings(max_examples=40)
def test_equals_plain_fitting(y, strategy, design):
    data = Data(np.zeros((len(y), 1)), y, task="regression")
    splits = design(len(y), np.random.default_rng(0))
    dummy = DummyRegressor(strategy=strategy)
    assert assert_sets_equal_plain(DummySetsSolver(), data, [dummy], splits, ("predict",)) == len(splits)
