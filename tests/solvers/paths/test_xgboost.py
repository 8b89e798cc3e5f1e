import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from tests.solvers.paths.rounds_case import (
    BOTH,
    SCORE,
    THREE,
    RoundsContract,
    X,
    assert_bits_equal,
    check_one_fit_answers_all_through_the_engine,
    check_rounds_are_candidates_of_agghoo,
    rounds,
)

from truefit._solvers.paths.boosting import cut_to
from truefit.testing.solver_contract import SolverCase

xgboost = pytest.importorskip("xgboost")


class OwnBoosting(xgboost.XGBRegressor):
    pass


def classifier(**params):
    return xgboost.XGBClassifier(**({"n_jobs": 1, "max_depth": 3} | params))


def regressor(**params):
    return xgboost.XGBRegressor(**({"n_jobs": 1, "max_depth": 3} | params))


class TestXgboostRounds(RoundsContract):
    classifier, regressor, own = staticmethod(classifier), staticmethod(regressor), OwnBoosting
    sampling = (("subsample", 0.5), ("colsample_bytree", 0.5), ("colsample_bynode", 0.7))

    def not_for_it(self):
        return [
            *super().not_for_it(),
            SolverCase("drops trees", rounds(regressor, booster="dart"), X, SCORE),
            SolverCase("no trees", rounds(regressor, booster="gblinear"), X, SCORE),
            SolverCase("stops by itself", rounds(regressor, early_stopping_rounds=2), X, SCORE),
            SolverCase("others listen", rounds(regressor, callbacks=[]), X, SCORE),
            SolverCase("another option", rounds(regressor, rate_drop=0.1), X, SCORE),
            SolverCase("forests", rounds(xgboost.XGBRFRegressor), X, SCORE),
        ]


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4, unique=True),
    make=st.sampled_from([classifier, regressor]),
    params=st.fixed_dictionaries(
        {
            "subsample": st.sampled_from([1.0, 0.6]),
            "colsample_bylevel": st.sampled_from([1.0, 0.5]),
            "learning_rate": st.sampled_from([0.05, 0.9]),
            "tree_method": st.sampled_from(["auto", "hist", "exact", "approx"]),
            "num_parallel_tree": st.sampled_from([1, 3]),
            "gamma": st.sampled_from([0.0, 5.0]),
        }
    ),
    objective=st.sampled_from(["reg:squarederror", "reg:absoluteerror", "reg:pseudohubererror"]),
)
@settings(max_examples=25, deadline=None)
def test_rounds_are_those_of_plain_fitting(counts, make, params, objective):
    if make is classifier:
        run = assert_bits_equal(rounds(make, counts, **params), THREE, task="classification", responses=BOTH)
    else:
        run = assert_bits_equal(rounds(make, counts, objective=objective, **params), SCORE)
    assert run == {"boosting stages"}


def test_one_fit_answers_all_through_the_engine():
    check_one_fit_answers_all_through_the_engine(regressor)


def test_rounds_are_candidates_of_agghoo():
    check_rounds_are_candidates_of_agghoo(classifier, regressor)


def test_a_model_that_is_cut_is_the_smaller_model():
    cut, small = cut_to(classifier(n_estimators=9).fit(X, THREE), 4), classifier(n_estimators=4).fit(X, THREE)
    assert np.array_equal(cut.predict_proba(X), small.predict_proba(X))
    assert cut.n_estimators == small.n_estimators == cut.get_booster().num_boosted_rounds()
