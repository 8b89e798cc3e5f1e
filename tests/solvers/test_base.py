import numpy as np
import pytest
from sklearn.ensemble import BaggingRegressor
from sklearn.linear_model import Ridge
from sklearn.tree import DecisionTreeRegressor

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, Fit, FitTask
from truefit._solvers.base import EstimatorFamilies, are_priors, is_seed, is_size, is_switch, rows_requests


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
