import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes, load_wine
from sklearn.ensemble import (
    BaggingClassifier,
    BaggingRegressor,
    ExtraTreesClassifier,
    ExtraTreesRegressor,
    RandomForestClassifier,
    RandomForestRegressor,
)
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._solvers.paths.sizes import ForestSizesSolver, NetworkEpochsSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

XD, yd = (part[:90] for part in load_diabetes(return_X_y=True))
XW, yw = load_wine(return_X_y=True)
BOTH = ("predict", "predict_proba")


class OwnForest(RandomForestRegressor):
    pass


def sizes(make, counts=(4, 1, 9), **params):
    return [make(n_estimators=count, **params) for count in counts]


class TestForestSizesSolver(SolverContract):
    def make_solver(self):
        return ForestSizesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        words = np.array(["low", "mid", "top"])[yw]
        of_classes = {"task": "classification", "responses": BOTH}
        labels = np.random.default_rng(0).permutation(yw)
        return [
            SolverCase("forest", sizes(RandomForestRegressor), XD, yd),
            SolverCase("extra trees", sizes(ExtraTreesRegressor, max_features=0.5), XD, yd),
            SolverCase("classes", sizes(RandomForestClassifier, class_weight="balanced"), XW, words, **of_classes),
            SolverCase("extra classes", sizes(ExtraTreesClassifier, bootstrap=True), XW, yw, **of_classes),
            SolverCase("other labels", sizes(RandomForestClassifier), XW, yw, labels=labels, **of_classes),
            SolverCase("seeded", sizes(RandomForestRegressor, random_state=3), XD, yd),
            SolverCase("bags", sizes(BaggingRegressor, max_features=0.5), XD, yd),
            SolverCase(
                "bags of others", sizes(BaggingRegressor, estimator=Ridge(), bootstrap=False, max_samples=9), XD, yd
            ),
            SolverCase("bags of classes", sizes(BaggingClassifier), XW, words, **of_classes),
            SolverCase("votes", sizes(BaggingClassifier, estimator=KNeighborsClassifier(2)), XW, yw, **of_classes),
            SolverCase("part of the rows", sizes(RandomForestRegressor, max_samples=0.6), XD, yd),
        ]

    def not_for_it(self):
        return [
            SolverCase("one size", sizes(RandomForestRegressor, (5,)), XD, yd),
            SolverCase("own class", sizes(OwnForest), XD, yd),
            SolverCase("rows left out are judged", sizes(RandomForestRegressor, (30, 40), oob_score=True), XD, yd),
            SolverCase("warm", sizes(RandomForestRegressor, warm_start=True), XD, yd),
            SolverCase("depths", [RandomForestRegressor(5, max_depth=depth) for depth in (1, 2)], XD, yd),
            SolverCase("a stream", sizes(RandomForestRegressor, random_state=np.random.RandomState(0)), XD, yd),
        ]


def test_answers_are_those_of_plain_fitting_bit_for_bit_and_so_are_models():
    data = Data(XW, yw, task="classification")
    case = SolverCase("classes", sizes(RandomForestClassifier), XW, yw, "classification", responses=BOTH)
    fits = [replace(fit, keep_model=True) for fit in case.fits(data)]
    for job in ForestSizesSolver().claim(fits, data):
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            plain = fit_plain(fit, data)
            assert outcome.solver == "forest sizes"
            for mine, theirs in zip(outcome.answers, plain.answers, strict=True):
                assert np.array_equal(mine.values, theirs.values)
            assert len(outcome.model.estimators_) == outcome.model.n_estimators == fit.estimator.n_estimators
            assert np.array_equal(outcome.model.feature_importances_, plain.model.feature_importances_)


@pytest.mark.parametrize("piped", [False, True])
def test_a_grid_of_sizes_takes_one_fit_per_fold(piped):
    forests = {str(m): RandomForestClassifier(m) for m in (2, 4, 8)}
    if piped:
        forests = {name: make_pipeline(StandardScaler(), forest) for name, forest in forests.items()}
    engine, plain = Engine(), Engine(solvers="plain")
    one = assess(forests, XW, yw, cv=3, engine=engine)
    other = assess(forests, XW, yw, cv=3, engine=plain)
    assert one.estimate == other.estimate
    assert plain.stats.run == 9
    assert engine.stats.run == (9 if piped else 3)  # behind shared steps each fit is counted


pytestmark = pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")

XD, yd = (part[:60] for part in load_diabetes(return_X_y=True))
yd = yd / yd.std()
XW, yw = load_wine(return_X_y=True)
XW = StandardScaler().fit_transform(XW)[::2]
yw = yw[::2]


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
