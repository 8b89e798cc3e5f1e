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

lightgbm = pytest.importorskip("lightgbm")
QUIET = {"verbose": -1, "n_jobs": 1, "min_child_samples": 3, "num_leaves": 6}


class OwnBoosting(lightgbm.LGBMRegressor):
    pass


def classifier(**params):
    return lightgbm.LGBMClassifier(**(QUIET | params))


def regressor(**params):
    return lightgbm.LGBMRegressor(**(QUIET | params))


class TestLightgbmRounds(RoundsContract):
    classifier, regressor, own = staticmethod(classifier), staticmethod(regressor), OwnBoosting
    sampling = (("subsample", 0.5), ("subsample_freq", 1), ("colsample_bytree", 0.5))

    def not_for_it(self):
        return [
            *super().not_for_it(),
            SolverCase("drops trees", rounds(regressor, boosting_type="dart"), X, SCORE),
            SolverCase("a forest", rounds(regressor, boosting_type="rf", **dict(self.sampling)), X, SCORE),
            SolverCase("another name of the same", rounds(regressor, boosting="dart"), X, SCORE),
            SolverCase("another count", rounds(regressor, num_iterations=4), X, SCORE),
            SolverCase("stops by itself", rounds(regressor, early_stopping_round=2), X, SCORE),
        ]


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4, unique=True),
    make=st.sampled_from([classifier, regressor]),
    params=st.fixed_dictionaries(
        {
            "subsample": st.sampled_from([1.0, 0.6]),
            "subsample_freq": st.sampled_from([0, 1, 3]),
            "colsample_bytree": st.sampled_from([1.0, 0.5]),
            "learning_rate": st.sampled_from([0.05, 0.9]),
            "min_child_samples": st.sampled_from([3, 25, 80]),  # with the last there is nothing to split
        }
    ),
    objective=st.sampled_from([None, "l1", "huber", "quantile"]),
)
@settings(max_examples=25, deadline=None)
def test_rounds_are_those_of_plain_fitting(counts, make, params, objective):
    if make is classifier:
        assert_bits_equal(rounds(make, counts, **params), THREE, task="classification", responses=BOTH)
    else:
        assert_bits_equal(rounds(make, counts, objective=objective, **params), SCORE)


def test_rounds_that_find_nothing_to_split_are_left_to_plain_fitting():
    params = {"subsample": 0.6, "subsample_freq": 3, "colsample_bytree": 0.5, "learning_rate": 0.9}
    run = assert_bits_equal(rounds(classifier, (5, 8), **params), THREE, task="classification")
    assert run == {"boosting stages"}
    # Here some rounds fail, and later ones do not: the 16th that is kept is not the 16th that was tried.
    run = assert_bits_equal(rounds(classifier, (16, 17, 18), **params), THREE, task="classification")
    assert run == {"plain"}


def test_parameters_that_were_set_later_are_named_ones_still():
    later = [one.set_params(n_estimators=count, max_depth=2) for count, one in enumerate(rounds(regressor), start=2)]
    assert assert_bits_equal(later, SCORE) == {"boosting stages"}


def test_one_fit_answers_all_through_the_engine():
    check_one_fit_answers_all_through_the_engine(regressor)


def test_rounds_are_candidates_of_agghoo():
    check_rounds_are_candidates_of_agghoo(classifier, regressor)


def test_a_model_that_is_cut_is_the_smaller_model():
    cut, small = cut_to(classifier(n_estimators=9).fit(X, THREE), 4), classifier(n_estimators=4).fit(X, THREE)
    assert np.array_equal(cut.predict_proba(X), small.predict_proba(X))
    assert cut.get_params() == small.get_params()
    assert cut.n_estimators_ == 4
