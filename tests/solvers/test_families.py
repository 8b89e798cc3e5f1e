import numpy as np
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import FitTask
from truefit._solvers.families import Families


class OwnRidge(Ridge):
    pass


def families_of(path, *estimators):
    keys, families = Keys(Data([[0.0], [1.0]], [0.0, 1.0], task="regression")), Families(path)
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
        assert Families(("n_estimators",)).of(fit) is None
    finally:
        fit.estimator.estimator.close()
