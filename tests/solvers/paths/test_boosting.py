import time
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.decomposition import PCA
from sklearn.ensemble import (
    GradientBoostingClassifier,
    GradientBoostingRegressor,
    HistGradientBoostingClassifier,
    HistGradientBoostingRegressor,
)
from sklearn.linear_model import LinearRegression
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.paths.boosting import AUTO_STOPPING_ROWS, BoostingStagesSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

ALL = ("predict", "predict_proba", "decision_function")


@pytest.fixture(autouse=True, scope="module")
def one_thread():
    # Threads that wait for each other on a busy machine take a hundred times as long as one.
    with threadpool_limits(1):
        yield


class OwnBoosting(GradientBoostingRegressor):
    pass


def table(n=60, p=4, classes=0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p))
    score = X[:, 0] + X[:, 1] * X[:, -1] + 0.3 * rng.normal(size=n)
    if not classes:
        return X, score
    return X, np.array(["a", "b", "c", "d"])[
        np.searchsorted(np.quantile(score, np.arange(1, classes) / classes), score)
    ]


def trees(make, counts=(3, 1, 7), **params):
    name = "max_iter" if make.__name__.startswith("Hist") else "n_estimators"
    params = {"max_depth": 2, **params}
    return [make(**{name: count}, **params) for count in counts]


def case(name, estimators, X=None, y=None, **options):
    usual = table()
    return SolverCase(name, estimators, usual[0] if X is None else X, usual[1] if y is None else y, **options)


class TestBoostingStagesSolver(SolverContract):
    def make_solver(self):
        return BoostingStagesSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = table()
        frame = pd.DataFrame(X, columns=list("abcd")).assign(kind=pd.Categorical(np.where(X[:, 0] > 0, "x", "y")))
        two, three = table(classes=2)[1], table(classes=3)[1]
        scaled = [
            make_pipeline(StandardScaler(), PCA(2), "passthrough", one) for one in trees(GradientBoostingRegressor)
        ]
        alone = [Pipeline([("last", one)]) for one in trees(HistGradientBoostingRegressor)]
        return [
            case("regression", trees(GradientBoostingRegressor) + trees(HistGradientBoostingRegressor)),
            case("samples", trees(GradientBoostingRegressor, subsample=0.5, max_features=2)),
            case("an init", trees(GradientBoostingRegressor, init=LinearRegression())),
            case("two classes", trees(GradientBoostingClassifier), y=two, task="classification", responses=ALL),
            case("three classes", trees(GradientBoostingClassifier), y=three, task="classification", responses=ALL),
            case("histogram, two", trees(HistGradientBoostingClassifier), y=two, task="classification", responses=ALL),
            case(
                "histogram, three",
                trees(HistGradientBoostingClassifier, max_features=0.5),
                y=three,
                task="classification",
                responses=ALL,
            ),
            case("single rows", trees(GradientBoostingClassifier), X[:9], two[:9], task="classification", folds=0),
            case("pipelines", scaled + alone),
            case(
                "frames with categories", trees(HistGradientBoostingRegressor, categorical_features="from_dtype"), frame
            ),
            case("sparse", trees(GradientBoostingRegressor), X=sparse.csr_array(np.round(X))),
            case("missing values", trees(HistGradientBoostingRegressor), X=np.where(X > 1, np.nan, X)),
            case("weights", trees(GradientBoostingRegressor), weight=np.arange(1.0, 61.0)),
            case("weights through a pipeline", scaled, weight=np.arange(1.0, 61.0)),
            case("other labels", trees(HistGradientBoostingRegressor), labels=y[::-1].copy()),
            case("numpy's integers", trees(GradientBoostingRegressor, np.array([2, 5]))),
            case("no early stopping", trees(HistGradientBoostingRegressor, early_stopping=False)),
        ]

    def not_for_it(self):
        many = np.random.default_rng(0).normal(size=(2 * AUTO_STOPPING_ROWS + 2, 1))
        stopping = [GradientBoostingRegressor(n_estimators=m, n_iter_no_change=2) for m in (3, 5)]
        return [
            case(
                "one of a kind", [GradientBoostingRegressor(n_estimators=3), HistGradientBoostingRegressor(max_iter=5)]
            ),
            case("another parameter", [GradientBoostingRegressor(n_estimators=m, learning_rate=m / 9) for m in (3, 5)]),
            case("steps that differ", [make_pipeline(PCA(m), *trees(GradientBoostingRegressor, [m])) for m in (2, 3)]),
            case("early stopping", [*stopping, *trees(HistGradientBoostingRegressor, early_stopping=True)]),
            case("early stopping by size", trees(HistGradientBoostingRegressor), X=many, y=many[:, 0], folds=2),
            case("warm start", trees(GradientBoostingRegressor, warm_start=True)),
            case("other classes", trees(OwnBoosting)),
            case("counts that are wrong", trees(GradientBoostingRegressor, (0, -1, 2.5, "3", None, True))),
            case("other seeds", [GradientBoostingRegressor(n_estimators=m, random_state=m) for m in (3, 5)]),
            case("a stream", trees(GradientBoostingRegressor, random_state=np.random.RandomState(0))),
            case("what regressors do not say", trees(GradientBoostingRegressor), responses=("decision_function",)),
        ]

    def failing(self):
        return [
            case("labels that the loss does not take", trees(HistGradientBoostingRegressor, loss="gamma")),
            case("a parameter that is wrong", trees(GradientBoostingRegressor, max_depth=-1)),
        ]


def fits_of(data, estimators, asks, train=None, **task):
    keys = Keys(data)
    train = Rows.of(range(0, data.n, 2)) if train is None else train
    return [keys.fit(FitTask(estimator, train, asks, **task)) for estimator in estimators]


def assert_same_bits(job, data):
    for fit, outcome in zip(job.fits, job.run(data), strict=True):
        expected = fit_plain(fit, data)
        assert outcome.solver == "boosting stages"
        assert len(outcome.answers) == len(expected.answers)
        for theirs in expected.answers:
            [mine] = [answer for answer in outcome.answers if answer.response == theirs.response]
            assert mine.coded == theirs.coded
            assert mine.values.dtype == theirs.values.dtype
            assert mine.values.shape == theirs.values.shape
            assert mine.values.tobytes() == theirs.values.tobytes()
            assert mine.tokens.tobytes() == theirs.tokens.tobytes()


KINDS = {
    GradientBoostingRegressor: st.fixed_dictionaries(
        {
            "loss": st.sampled_from(["squared_error", "absolute_error", "huber", "quantile"]),
            "subsample": st.sampled_from([0.4, 0.9, 1.0]),
            "max_features": st.sampled_from([None, 1, 0.5, "sqrt"]),
            "max_leaf_nodes": st.sampled_from([None, 3]),
            "ccp_alpha": st.sampled_from([0.0, 0.01]),
            "init": st.sampled_from([None, "zero"]),
        }
    ),
    GradientBoostingClassifier: st.fixed_dictionaries(
        {
            "subsample": st.sampled_from([0.5, 1.0]),
            "max_features": st.sampled_from([None, 1]),
        }
    ),
    HistGradientBoostingRegressor: st.fixed_dictionaries(
        {
            "loss": st.sampled_from(["squared_error", "absolute_error", "quantile", "poisson", "gamma"]),
            "quantile": st.just(0.3),
            "max_features": st.sampled_from([1.0, 0.5]),
            "max_leaf_nodes": st.sampled_from([3, 31]),
            "min_samples_leaf": st.sampled_from([2, 20]),
            "l2_regularization": st.sampled_from([0.0, 1.0]),
        }
    ),
    HistGradientBoostingClassifier: st.fixed_dictionaries(
        {
            "max_features": st.sampled_from([1.0, 0.5]),
            "min_samples_leaf": st.sampled_from([2, 20]),
            "class_weight": st.sampled_from([None, "balanced"]),
        }
    ),
}


@st.composite
def families(draw):
    """A table, and candidates of one family that ask for other things on other rows."""
    make = draw(st.sampled_from(list(KINDS)))
    params = draw(KINDS[make]) | {"learning_rate": draw(st.sampled_from([0.05, 0.5]))}
    classes = draw(st.integers(2, 4)) if make.__name__.endswith("Classifier") else 0
    if make is GradientBoostingClassifier and classes == 2:
        params["loss"] = draw(st.sampled_from(["log_loss", "exponential"]))
    X, y = table(draw(st.integers(30, 80)), 4, classes, seed=draw(st.integers(0, 1000)))
    if not classes:
        y = np.abs(y) + 0.1
    weight = np.random.default_rng(0).random(len(y)) + 0.1 if draw(st.booleans()) else None
    data = Data(X, y, task="classification" if classes else "regression", weight=weight)
    counts = draw(st.lists(st.integers(1, 12), min_size=2, max_size=5, unique=True))
    candidates = trees(make, counts, max_depth=draw(st.sampled_from([1, 3])), **params)
    if draw(st.booleans()):
        candidates = [make_pipeline(StandardScaler(), PCA(3), candidate) for candidate in candidates]
    fits = fits_of(data, candidates, ())
    responses = st.lists(st.sampled_from(ALL if classes else ALL[:1]), min_size=1, unique=True)
    rows = st.sampled_from([Rows.all(data.n), Rows.of(range(1, data.n, 2)), Rows.of([3])])
    return data, [replace(fit, asks=tuple(Ask(draw(rows), r) for r in draw(responses))) for fit in fits]


@given(families())
@settings(max_examples=25)
def test_answers_have_the_same_bits_as_plain_fitting(family):
    data, fits = family
    [job] = BoostingStagesSolver().claim(fits, data)
    assert len(job.fits) == len(fits)
    assert_same_bits(job, data)


@pytest.mark.slow
@given(families())
@settings(max_examples=1000)
def test_answers_have_the_same_bits_as_plain_fitting_at_depth(family):
    data, fits = family
    [job] = BoostingStagesSolver().claim(fits, data)
    assert_same_bits(job, data)


def test_each_set_of_training_rows_is_a_job_of_its_own():
    X, y = table()
    data = Data(X, y, task="regression")
    candidates, ask = trees(GradientBoostingRegressor), (Ask(Rows.all(data.n)),)
    fits = fits_of(data, candidates, ask)
    fits += fits_of(data, candidates, ask, train=Rows.of(range(30)))
    fits += fits_of(data, candidates, ask, repeat=1)
    fits += fits_of(data, candidates, ask, y=y[::-1].copy())
    jobs = BoostingStagesSolver().claim(fits, data)
    assert [len(job.fits) for job in jobs] == [3, 3, 3, 3]
    assert {job.work for job in jobs} == {1}


def test_only_the_largest_is_claimed_with_its_model():
    X, y = table()
    data = Data(X, y, task="regression")
    fits = fits_of(data, trees(GradientBoostingRegressor, (3, 8, 5, 6)), (Ask(Rows.all(data.n)),))
    kept = [replace(fit, keep_model=True) for fit in fits[:2]] + fits[2:]
    [job] = BoostingStagesSolver().claim(kept, data)
    assert [fit.estimator.n_estimators for fit in job.fits] == [8, 5, 6]
    models = [outcome.model for outcome in job.run(data)]
    assert models[0].n_estimators == 8
    assert models[1:] == [None, None]
    nearly_all = [replace(fit, keep_model=fit.estimator.n_estimators != 5) for fit in fits]
    [job] = BoostingStagesSolver().claim(nearly_all, data)
    assert [fit.estimator.n_estimators for fit in job.fits] == [8, 5]


def test_fits_with_a_model_at_hand_are_left_alone():
    X, y = table()
    data = Data(X, y, task="regression")
    fits = fits_of(data, trees(GradientBoostingRegressor), (Ask(Rows.all(data.n)),))
    assert BoostingStagesSolver().claim([replace(fit, model=object()) for fit in fits], data) == []


def test_nothing_asked_nothing_answered():
    X, y = table()
    data = Data(X, y, task="regression")
    fits = fits_of(data, trees(GradientBoostingRegressor), ())
    fits[0] = replace(fits[0], asks=(Ask(Rows.of([])),))
    [job] = BoostingStagesSolver().claim(fits, data)
    assert [(outcome.answers, outcome.error) for outcome in job.run(data)] == [((), None)] * 3


def test_time_adds_up_to_what_was_spent(monkeypatch):
    X, y = table()
    data = Data(X, y, task="regression")
    [job] = BoostingStagesSolver().claim(fits_of(data, trees(GradientBoostingRegressor, (1, 2, 5)), ()), data)
    clock = iter([3.0, 11.0])
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert [outcome.fit_seconds for outcome in job.run(data)] == [1.0, 2.0, 5.0]


def test_rows_are_predicted_on_in_blocks(monkeypatch):
    X, y = table(classes=3)
    data = Data(X, y, task="classification")
    asks = (Ask(Rows.all(data.n)), Ask(Rows.all(data.n), "predict_proba"))
    [job] = BoostingStagesSolver().claim(fits_of(data, trees(GradientBoostingClassifier), asks), data)
    whole = [answer.values for outcome in job.run(data) for answer in outcome.answers]
    monkeypatch.setattr("truefit._solvers.plain.BLOCK_BYTES", 7 * data.row_bytes)
    parts = [answer.values for outcome in job.run(data) for answer in outcome.answers]
    for one, other in zip(whole, parts, strict=True):
        assert one.tobytes() == other.tobytes()


def test_a_failure_of_one_candidate_is_its_own():
    # The largest cannot be fitted in memory; the others can.
    X, y = table()
    data = Data(X, y, task="regression")
    fits = fits_of(data, trees(GradientBoostingRegressor, (3, 5, 10**15)), (Ask(Rows.all(data.n)),))
    [job] = BoostingStagesSolver().claim(fits, data)
    outcomes = job.run(data)
    assert [outcome.error is None for outcome in outcomes] == [True, True, False]
    assert [outcome.solver for outcome in outcomes[:2]] == ["plain", "plain"]


def test_too_few_stages_are_no_answer(monkeypatch):
    X, y = table()
    data = Data(X, y, task="regression")
    fits = fits_of(data, trees(GradientBoostingRegressor), (Ask(Rows.all(data.n)),))
    [job] = BoostingStagesSolver().claim(fits, data)
    staged = GradientBoostingRegressor.staged_predict
    monkeypatch.setattr(
        GradientBoostingRegressor, "staged_predict", lambda self, X: iter(list(staged(self, X))[:2]), raising=True
    )
    assert [outcome.solver for outcome in job.run(data)] == ["plain"] * 3
