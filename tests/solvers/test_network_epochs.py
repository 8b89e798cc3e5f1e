import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.exceptions import ConvergenceWarning
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import Engine, assess
from truefit._solvers.network_epochs import NetworkEpochsSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

XD, yd = (part[:60] for part in load_diabetes(return_X_y=True))
yd = yd / yd.std()
XW, yw = load_wine(return_X_y=True)
XW = StandardScaler().fit_transform(XW)[::2]
yw = yw[::2]
BOTH = ("predict", "predict_proba")


class OwnNetwork(MLPRegressor):
    pass


def epochs(make, counts=(4, 1, 9), **params):
    return [make(**({"hidden_layer_sizes": 5, "max_iter": count} | params)) for count in counts]


class TestNetworkEpochsSolver(SolverContract):
    def make_solver(self):
        return NetworkEpochsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        of_classes = {"task": "classification", "responses": BOTH}
        words = np.array(["low", "mid", "top"])[yw]
        weight = np.random.default_rng(0).random(len(yd))
        return [
            SolverCase("adam", epochs(MLPRegressor), XD, yd),
            SolverCase("sgd", epochs(MLPRegressor, solver="sgd", learning_rate="adaptive", momentum=0.5), XD, yd),
            SolverCase("unshuffled", epochs(MLPRegressor, shuffle=False, batch_size=7), XD, yd),
            SolverCase("two layers", epochs(MLPRegressor, hidden_layer_sizes=(4, 3), activation="tanh"), XD, yd),
            SolverCase("classes", epochs(MLPClassifier), XW, words, **of_classes),
            SolverCase("early stopping", epochs(MLPClassifier, (2, 9, 30), early_stopping=True), XW, yw, **of_classes),
            SolverCase("stops by itself", epochs(MLPRegressor, (2, 30, 60), tol=1e3, n_iter_no_change=4), XD, yd),
            SolverCase("seeded", epochs(MLPRegressor, random_state=3), XD, yd),
            SolverCase("weights", epochs(MLPRegressor), XD, yd, weight=weight),
            SolverCase("sparse", epochs(MLPRegressor), sparse.csr_array(np.round(XD, 1)), yd),
            SolverCase("other labels", epochs(MLPClassifier), XW, yw, labels=yw[::-1].copy(), **of_classes),
        ]

    def not_for_it(self):
        return [
            SolverCase("one number", epochs(MLPRegressor, (5,)), XD, yd),
            SolverCase("own class", epochs(OwnNetwork), XD, yd),
            SolverCase("no epochs", epochs(MLPRegressor, solver="lbfgs"), XD, yd),
            SolverCase("warm", epochs(MLPRegressor, warm_start=True), XD, yd),
            SolverCase("numbers that are wrong", epochs(MLPRegressor, (0, -1, True, "9")), XD, yd),
            SolverCase("widths", [MLPRegressor(width, max_iter=5) for width in (2, 3)], XD, yd),
            SolverCase("a stream", epochs(MLPRegressor, random_state=np.random.RandomState(0)), XD, yd),
        ]

    def failing(self):
        return [SolverCase("missing values", epochs(MLPRegressor), np.where(XD > 0.1, np.nan, XD), yd)]


def job_of(case):
    data = case.data()
    [job] = NetworkEpochsSolver().claim(case.fits(data)[:: case.folds], data)
    return job, data


@given(
    counts=st.lists(st.integers(1, 40), min_size=2, max_size=4, unique=True),
    solver=st.sampled_from(["adam", "sgd"]),
    rate=st.sampled_from(["constant", "invscaling", "adaptive"]),
    stopping=st.booleans(),
    tol=st.sampled_from([1e-4, 0.1, 10.0]),
    batch=st.sampled_from(["auto", 5, 64]),
    classifier=st.booleans(),
)
@settings(max_examples=25)
def test_weights_are_those_of_plain_fitting(counts, solver, rate, stopping, tol, batch, classifier):
    params = {"solver": solver, "learning_rate": rate, "early_stopping": stopping, "tol": tol, "batch_size": batch}
    params |= {"n_iter_no_change": 3, "learning_rate_init": 0.05}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        if classifier:
            case = SolverCase(
                "", epochs(MLPClassifier, counts, **params), XW, yw, task="classification", responses=BOTH
            )
        else:
            case = SolverCase("", epochs(MLPRegressor, counts, **params), XD, yd)
        job, data = job_of(case)
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert outcome.solver == "network epochs"
            for mine, theirs in zip(outcome.answers, fit_plain(fit, data).answers, strict=True):
                assert mine.values.tobytes() == theirs.values.tobytes()


def test_each_warns_as_it_would_by_itself():
    job, data = job_of(SolverCase("", epochs(MLPRegressor, (3, 7)), XD, yd))
    with pytest.warns(ConvergenceWarning) as caught:
        job.run(data)
    assert sorted(str(one.message)[41:44] for one in caught) == ["(3)", "(7)"]


def test_where_warnings_are_errors_each_fails_by_itself():
    job, data = job_of(SolverCase("", epochs(MLPRegressor, (3, 7)), XD, yd))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert [outcome.error is None for outcome in job.run(data)] == [False, False]


def test_only_the_longest_is_a_model_to_keep():
    case = SolverCase("", epochs(MLPRegressor, (3, 7, 9)), XD, yd)
    data = case.data()
    fits = [replace(fit, keep_model=True) for fit in case.fits(data)[:: case.folds]]
    assert NetworkEpochsSolver().claim(fits, data) == []
    fits[0] = replace(fits[0], keep_model=False)
    [job] = NetworkEpochsSolver().claim(fits, data)
    assert [fit.estimator.max_iter for fit in job.fits] == [3, 9]
    first, last = job.run(data)
    assert first.model is None
    assert "_update_no_improvement_count" not in vars(last.model)
    assert last.model.n_iter_ == 9


def test_behind_a_scaler_through_the_engine():
    candidates = {
        str(m): make_pipeline(StandardScaler(), MLPClassifier(5, max_iter=m)) for m in range(1, 9)
    }  # fmt: skip
    both = []
    for solvers in ("auto", "plain"):
        engine = Engine(solvers=solvers, progress=False)
        both.append((assess(candidates, XW, yw, cv=3, engine=engine).split_scores("log_loss"), engine.stats.run))
    (ours, few), (theirs, many) = both
    assert (few, many) == (24, 24)  # a shared prefix counts the models behind it
    for name in candidates:
        np.testing.assert_array_equal(ours[name], theirs[name])
