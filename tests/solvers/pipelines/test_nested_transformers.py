"""Transformers that lie in steps which are not the same are fitted once, and make what they make by themselves."""

import pickle
import threading
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer, make_column_selector, make_column_transformer
from sklearn.decomposition import PCA
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler, OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.pipelines.nested_transformers import is_nested, nested_names
from truefit._solvers.pipelines.shared_prefix import PrefixSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import assert_equal_answers

rng = np.random.default_rng(0)
FRAME = pd.DataFrame(rng.normal(size=(60, 3)), columns=list("abc"))
FRAME.iloc[::7, 0] = np.nan
FRAME["word"] = rng.choice(list("xyz"), 60)
FRAME["more"] = rng.choice(list("uvw"), 60)
y = (FRAME["b"] + rng.normal(size=60) > 0).to_numpy().astype(int)
WORDS, NUMBERS = ["word", "more"], ["a", "b", "c"]
TREE = DecisionTreeClassifier(max_depth=3, random_state=0)


def solver():
    return PrefixSolver((PlainSolver(),))


def fits_of(data, pipelines, labels=None, keep=False):
    train, test = Rows.of(range(45)), Rows.of(range(40, 60))
    asks = (Ask(train), Ask(test), Ask(test, "predict_proba"))
    keys = Keys(data)
    return [keys.fit(FitTask(pipeline, train, asks, y=labels)) for pipeline in pipelines]


def compare_with_plain(data, fits):
    claimed = [fit for job in solver().claim(fits, data) for fit in job.fits]
    for job in solver().claim(fits, data):
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert_equal_answers(outcome, fit_plain(fit, data), fit, data)
    return claimed


def by_columns(strategy, **options):
    numbers = make_pipeline(SimpleImputer(strategy=strategy), StandardScaler())
    return make_column_transformer((OneHotEncoder(handle_unknown="ignore"), WORDS), (numbers, NUMBERS), **options)


class Fitted(list):
    """Names of the classes that were fitted, as they were."""

    def watch(self, monkeypatch, *classes):
        for each in classes:
            plain = each.fit

            def fit(transformer, *arguments, _plain=plain, **options):
                self.append(type(transformer).__name__)
                return _plain(transformer, *arguments, **options)

            monkeypatch.setattr(each, "fit", fit)
        return self


def test_a_branch_that_several_have_is_fitted_once(monkeypatch):
    data = Data(FRAME, y, task="classification")
    pipelines = [make_pipeline(by_columns(strategy), TREE) for strategy in ("mean", "median", "most_frequent")]
    fits = fits_of(data, pipelines)
    assert len(compare_with_plain(data, fits)) == 3
    fresh = Data(FRAME, y, task="classification")
    fitted = Fitted().watch(monkeypatch, OneHotEncoder, SimpleImputer)
    for job in solver().claim(fits_of(fresh, pipelines), fresh):
        job.run(fresh)
    assert fitted.count("OneHotEncoder") == 1
    assert fitted.count("SimpleImputer") == 3


def test_a_grid_over_a_branch_and_over_what_follows(monkeypatch):
    pipelines = {
        f"{strategy} {depth}": make_pipeline(by_columns(strategy), DecisionTreeClassifier(max_depth=depth))
        for strategy in ("mean", "median")
        for depth in (1, 2, 3)
    }
    plain = assess(pipelines, FRAME, y, engine=Engine(solvers="plain", progress=False))
    fitted = Fitted().watch(monkeypatch, OneHotEncoder, SimpleImputer)
    engine = Engine(progress=False)
    result = assess(pipelines, FRAME, y, engine=engine)
    pd.testing.assert_frame_equal(*(each.table.drop(columns="fit_seconds") for each in (result, plain)))
    assert engine.stats.run == 30
    assert fitted.count("OneHotEncoder") == 5
    assert fitted.count("SimpleImputer") == 10


def test_what_stands_in_front_in_an_inner_pipeline_is_fitted_once(monkeypatch):
    data = Data(FRAME[NUMBERS], y, task="classification")
    inner = [make_pipeline(SimpleImputer(), last) for last in (StandardScaler(), MinMaxScaler(), PCA(2))]
    fitted = Fitted().watch(monkeypatch, SimpleImputer)
    for job in solver().claim(fits_of(data, [make_pipeline(each, TREE) for each in inner]), data):
        job.run(data)
    assert fitted == ["SimpleImputer"]


def test_other_labels_reach_what_looks_at_them(monkeypatch):
    data = Data(FRAME[["b", "c"]], y, task="classification")
    unions = [make_union(PCA(1), SelectKBest(k=k)) for k in (1, 2)]
    pipelines = [make_pipeline(each, TREE) for each in unions]
    others = rng.permutation(y)
    assert len(compare_with_plain(data, fits_of(data, pipelines) + fits_of(data, pipelines, labels=others))) == 4


def test_columns_that_a_function_picks_and_those_that_are_left():
    data = Data(FRAME, y, task="classification")
    picked = make_column_selector(dtype_include="number")
    containers = [
        ColumnTransformer([("n", make_pipeline(SimpleImputer(), scaler), picked)], remainder=OneHotEncoder())
        for scaler in (StandardScaler(), MinMaxScaler())
    ]
    pipelines = [make_pipeline(each, TREE) for each in containers]
    assert nested_names(containers[0]) & nested_names(containers[1])
    assert len(compare_with_plain(data, fits_of(data, pipelines))) == 2


def test_frames_keep_their_column_names():
    data = Data(FRAME, y, task="classification")
    pipelines = [make_pipeline(by_columns(strategy, sparse_threshold=0), TREE) for strategy in ("mean", "median")]
    for each in pipelines:
        each.named_steps["columntransformer"].set_params(onehotencoder__sparse_output=False)
    with config_context(transform_output="pandas"):
        assert len(compare_with_plain(data, fits_of(data, pipelines))) == 2


def test_a_kept_model_is_the_one_that_plain_fitting_makes():
    models = {strategy: make_pipeline(by_columns(strategy), TREE) for strategy in ("mean", "median")}
    data = Data(FRAME, y, task="classification")
    keys, rows = Keys(data), Rows.all(60)
    fits = [keys.fit(FitTask(each, rows, (Ask(rows),))) for each in models.values()]
    for job in solver().claim([replace(fit, keep_model=True) for fit in fits], data):
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            found = pickle.loads(pickle.dumps(outcome.model))
            alone = fit.estimator.fit(FRAME, y)
            np.testing.assert_array_equal(found.predict_proba(FRAME), alone.predict_proba(FRAME))
            assert found[0].get_feature_names_out().tolist() == alone[0].get_feature_names_out().tolist()
            assert found[0].get_params().keys() == alone[0].get_params().keys()
            assert [type(part) for _, part, _ in found[0].transformers_] == [OneHotEncoder, Pipeline]
            found.fit(FRAME, y)


class Rounded(TransformerMixin, BaseEstimator):
    """A user's own, which changes the table that it is given."""

    def fit(self, X, y=None):
        return self

    def transform(self, X):
        X[:] = np.round(X)
        return X


@pytest.mark.parametrize(
    "step",
    [
        FeatureUnion([("a", StandardScaler(copy=False)), ("b", PCA(2))]),
        FeatureUnion([("a", Rounded()), ("b", PCA(2))]),
        FeatureUnion([("a", FunctionTransformer(np.nan_to_num)), ("b", PCA(2))]),
        FeatureUnion([("a", StandardScaler()), ("b", PCA(2))], n_jobs=2),
        FeatureUnion([("a", StandardScaler()), ("b", PCA(2))]).set_output(transform="pandas"),
        Pipeline([("a", StandardScaler()), ("b", PCA(2))], memory="somewhere"),
        make_union(make_pipeline(StandardScaler(), Rounded()), PCA(2)),
        StandardScaler(),
        "passthrough",
    ],
    ids=["in place", "one's own", "function", "processes", "frames", "cached", "one's own inside", "one", "none"],
)
def test_steps_that_are_fitted_as_one(step):
    assert not is_nested(step)


class Picked:
    """Picks columns, and holds what cannot be known by its content."""

    def __init__(self, *names):
        self.names, self.lock = names, threading.Lock()

    def __deepcopy__(self, memo):
        return self

    def __call__(self, X):
        return list(self.names)


@pytest.mark.filterwarnings("ignore:Pipeline cannot be identified by its content")
def test_what_cannot_be_known_is_left_to_plain_fitting():
    steps = [ColumnTransformer([("a", StandardScaler(), Picked(name)), ("b", PCA(1), ["b", "c"])]) for name in "bc"]
    data = Data(FRAME[["b", "c"]], y, task="classification")
    assert compare_with_plain(data, fits_of(data, [make_pipeline(step, TREE) for step in steps])) == []


PARTS = st.sampled_from(
    [
        StandardScaler(), MinMaxScaler(), PCA(1, svd_solver="covariance_eigh"), SelectKBest(k=1), "passthrough",
        make_pipeline(StandardScaler(), MinMaxScaler()), make_union(StandardScaler(), SelectKBest(k=1)),
        make_pipeline(SelectKBest(k=2), StandardScaler()),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
    ]
)  # fmt: skip
COLUMNS = st.sampled_from([["b", "c"], ["c", "b"], slice(1, 3), make_column_selector("b|c"), [True, False, True]])
LASTS = st.sampled_from([TREE, RandomForestClassifier(3)])


@st.composite
def containers(draw):
    kind = draw(st.sampled_from(["columns", "union", "pipeline"]))
    parts = [draw(PARTS) for _ in range(draw(st.integers(1, 3)))]
    if kind == "union":
        return make_union(*parts)
    if kind == "pipeline":
        return make_pipeline(*parts)
    rest = draw(st.sampled_from(["drop", "passthrough", StandardScaler()]))
    return ColumnTransformer([(str(i), part, draw(COLUMNS)) for i, part in enumerate(parts)], remainder=rest)


def check(steps, lasts, frame):
    table = FRAME[NUMBERS].fillna(0)
    data = Data(table if frame else table.round(1), y, task="classification")
    pipelines = [make_pipeline(step, last) for step, last in zip(steps, lasts, strict=True)]
    fits = {fit.key: fit for labels in (None, 1 - y) for fit in fits_of(data, pipelines, labels=labels)}
    compare_with_plain(data, list(fits.values()))


DRAWN = st.integers(2, 5).flatmap(
    lambda n: st.tuples(
        st.lists(containers(), min_size=n, max_size=n), st.lists(LASTS, min_size=n, max_size=n), st.booleans()
    )
)


@given(DRAWN)
@settings(max_examples=15, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_containers_equal_plain_fitting(drawn):
    check(*drawn)


@pytest.mark.slow
@given(DRAWN)
@settings(max_examples=300, deadline=None)
@pytest.mark.filterwarnings("ignore")
def test_containers_equal_plain_fitting_at_depth(drawn):
    check(*drawn)
