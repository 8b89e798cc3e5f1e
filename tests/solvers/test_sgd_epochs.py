import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.linear_model import Perceptron, SGDClassifier, SGDRegressor
from sklearn.preprocessing import scale

from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._solvers import all_solvers
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.sgd_epochs import SgdEpochsSolver
from truefit.testing.solver_contract import SolverCase, SolverContract

XD, yd = (part[:60] for part in load_diabetes(return_X_y=True))
XD, yd = scale(XD), yd / yd.std()
XW, yw = load_wine(return_X_y=True)
XW, yw = scale(XW)[::2], yw[::2]
BOTH = ("predict", "decision_function")
WORDS = np.array(["low", "mid", "top"])[yw]
RATES = ["constant", "optimal", "invscaling", "adaptive"]


class OwnDescent(SGDRegressor):
    pass


def epochs(make, counts=(4, 1, 9), **params):
    return [make(**({"max_iter": count, "tol": None} | params)) for count in counts]


class TestSgdEpochsSolver(SolverContract):
    def make_solver(self):
        return SgdEpochsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        of_classes = {"task": "classification", "responses": BOTH}
        logistic = {"task": "classification", "responses": ("predict", "predict_proba", "decision_function")}
        weight = np.random.default_rng(0).random(len(yd))
        frame = pd.DataFrame(XD).add_prefix("column ")
        return [
            SolverCase("regression", epochs(SGDRegressor), XD, yd),
            SolverCase("no penalty", epochs(SGDRegressor, penalty=None), XD, yd),
            SolverCase("both penalties", epochs(SGDRegressor, penalty="elasticnet", alpha=0.1), XD, yd),
            SolverCase("unshuffled", epochs(SGDRegressor, shuffle=False), XD, yd),
            SolverCase("no intercept", epochs(SGDRegressor, fit_intercept=False, loss="huber"), XD, yd),
            SolverCase("three classes", epochs(SGDClassifier), XW, WORDS, **of_classes),
            SolverCase("two classes", epochs(SGDClassifier, loss="log_loss"), XW, yw == 1, **logistic),
            SolverCase("balanced", epochs(SGDClassifier, class_weight="balanced"), XW, yw, **of_classes),
            SolverCase("weights", epochs(SGDRegressor), XD, yd, weight=weight),
            SolverCase("sparse", epochs(SGDRegressor), sparse.csr_array(np.round(XD)), yd),
            SolverCase("half precision", epochs(SGDRegressor, alpha=0.01), XD.astype(np.float32), yd),
            SolverCase("a frame", epochs(SGDRegressor), frame, yd),
            SolverCase("seeded", epochs(SGDRegressor, random_state=3), XD, yd),
            SolverCase("other labels", epochs(SGDClassifier), XW, yw, labels=yw[::-1].copy(), **of_classes),
        ]

    def not_for_it(self):
        return [
            SolverCase("one number", epochs(SGDRegressor, (5,)), XD, yd),
            SolverCase("own class", epochs(OwnDescent), XD, yd),
            SolverCase("another class", epochs(Perceptron), XW, yw, task="classification"),
            SolverCase("stops by itself", epochs(SGDRegressor, tol=1e-3), XD, yd),
            SolverCase("rows set aside", epochs(SGDRegressor, early_stopping=True), XD, yd),
            SolverCase("averages", epochs(SGDRegressor, average=True) + epochs(SGDRegressor, average=10), XD, yd),
            SolverCase("warm", epochs(SGDRegressor, warm_start=True), XD, yd),
            SolverCase("passive", epochs(SGDClassifier, learning_rate="pa1"), XW, yw, task="classification"),
            SolverCase("threads", epochs(SGDClassifier, n_jobs=2), XW, yw, task="classification"),
            SolverCase("numbers that are wrong", epochs(SGDRegressor, (0, -1, True, "9", 2.5)), XD, yd),
            SolverCase("rates", [SGDRegressor(max_iter=m, eta0=m / 100, tol=None) for m in (2, 3)], XD, yd),
            SolverCase("a stream", epochs(SGDRegressor, random_state=np.random.RandomState(0)), XD, yd),
        ]

    def failing(self):
        return [
            SolverCase("missing values", epochs(SGDRegressor), np.where(XD > 1, np.nan, XD), yd),
            SolverCase(
                "no class but one", epochs(SGDClassifier), XW, np.r_[1, np.zeros(88, dtype=int)], "classification"
            ),
            SolverCase("a rate that is wrong", epochs(SGDRegressor, eta0=-1.0), XD, yd),
            SolverCase(
                "grows beyond bounds", epochs(SGDRegressor, (1, 300), learning_rate="constant", eta0=0.2), XD, yd
            ),
        ]


def run_and_plain(case):
    data = case.data()
    fits = case.fits(data)[:: case.folds]
    [job] = SgdEpochsSolver().claim(fits, data)
    return list(zip(job.run(data), [fit_plain(fit, data) for fit in job.fits], strict=True))


def test_it_is_not_used_unless_asked_for():
    assert "sgd epochs" not in [solver.name for solver in all_solvers()]


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4, unique=True),
    make=st.sampled_from([SGDClassifier, SGDRegressor]),
    classes=st.integers(2, 3),
    penalty=st.sampled_from([None, "l1", "l2", "elasticnet"]),
    rate=st.sampled_from(RATES),
    # so large that scikit-learn has to start its scale again, or sets all weights to zero
    alpha=st.sampled_from([1e-5, 1e-2, 1.0, 60.0, 300.0]),
    ratio=st.sampled_from([0.0, 0.15, 1.0]),
    options=st.fixed_dictionaries({"shuffle": st.booleans(), "fit_intercept": st.booleans()}),
)
@settings(max_examples=50)
def test_weights_are_those_of_plain_fitting(counts, make, classes, penalty, rate, alpha, ratio, options):
    params = {"penalty": penalty, "learning_rate": rate, "alpha": alpha, "l1_ratio": ratio, "eta0": 0.02, **options}
    if make is SGDClassifier:
        y = np.minimum(yw, classes - 1)
        case = SolverCase("", epochs(make, counts, **params), XW, y, task="classification", responses=BOTH)
    else:
        case = SolverCase("", epochs(make, counts, **params), XD, yd)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mine, theirs in run_and_plain(case):
            assert mine.solver == "sgd epochs"
            for name in ("coef_", "intercept_"):
                ours, others = getattr(mine.model, name), getattr(theirs.model, name)
                if penalty in (None, "l1"):
                    assert ours.tobytes() == others.tobytes()
                np.testing.assert_allclose(ours, others, rtol=1e-11, atol=1e-14)


def test_a_model_is_complete_and_can_be_trained_further():
    for mine, theirs in run_and_plain(SolverCase("", epochs(SGDClassifier), XW, WORDS, task="classification")):
        assert set(vars(mine.model)) == set(vars(theirs.model))
        assert mine.model.get_params() == theirs.model.get_params()
        assert (mine.model.t_, mine.model.n_iter_) == (theirs.model.t_, theirs.model.n_iter_)
        for model in (mine.model, theirs.model):
            model.partial_fit(XW, WORDS)
        np.testing.assert_allclose(mine.model.coef_, theirs.model.coef_)


def test_weights_that_are_all_zero_are_refused_as_ever():
    case = SolverCase("", epochs(SGDClassifier), XW, yw, task="classification", weight=np.r_[np.zeros(88), 1.0])
    data = case.data()
    keys, asks = Keys(data), (Ask(Rows.all(data.n)),)
    fits = [keys.fit(FitTask(descent, Rows.of(range(80)), asks)) for descent in case.estimators]
    [job] = SgdEpochsSolver().claim(fits, data)
    assert all(outcome.error is not None for outcome in job.run(data))


@pytest.mark.parametrize("make", [SGDClassifier, SGDRegressor])
def test_partial_fit_goes_through_the_rows_in_another_order(make):
    # The reason why the run is made by fit: were this to change, there would be a simpler way.
    whole = make(max_iter=5, tol=None, penalty=None, random_state=0).fit(XW, yw)
    parts = make(penalty=None, random_state=0)
    for _ in range(5):
        parts.partial_fit(XW, yw, **({"classes": [0, 1, 2]} if make is SGDClassifier else {}))
    assert not np.allclose(whole.coef_, parts.coef_, rtol=1e-6)
