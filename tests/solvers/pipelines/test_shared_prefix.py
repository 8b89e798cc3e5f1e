import time
from dataclasses import replace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn import config_context
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import RandomForestClassifier
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier, SGDClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline, make_union
from sklearn.preprocessing import (
    FunctionTransformer,
    OneHotEncoder,
    OrdinalEncoder,
    PolynomialFeatures,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier
from skrub import TableVectorizer, tabular_pipeline
from tests.solvers.cases import flipped, label_case, numbers, sweep_fits

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.closed_form.gaussian_nb import NaiveBayesSolver
from truefit._solvers.pipelines.shared_prefix import MOST, MOST_KEPT, PrefixSolver, _recent
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.registry import all_solvers
from truefit.testing.solver_contract import SolverCase, SolverContract, assert_equal_answers

BOTH = ("predict", "predict_proba")


class Counting(TransformerMixin, BaseEstimator):
    """Leaves a table as it is, and notes how often it was fitted and asked."""

    fitted, asked = 0, 0

    def fit(self, X, y=None):
        Counting.fitted += 1
        self.is_fitted_ = True
        return self

    def transform(self, X):
        Counting.asked += 1
        return X


class Unlike(TransformerMixin, BaseEstimator):
    """Does something else in fit_transform than in transform, and looks at the labels."""

    def fit(self, X, y=None):
        self.shift_ = float(np.sum(y == y[0]))
        return self

    def fit_transform(self, X, y=None):
        return self.fit(X, y).transform(X) + 1

    def transform(self, X):
        return X + self.shift_


def solver():
    return next(offer.solver for offer in all_solvers() if offer.name == "shared prefix")


def tree(depth=3):
    return DecisionTreeClassifier(max_depth=depth)


def words(n=60, seed=0):
    rng = np.random.default_rng(seed)
    X, y = numbers(n, seed=seed)
    frame = pd.DataFrame(X, columns=list("abcd"))
    frame["kind"] = rng.choice(["x", "y", "z"], n)
    frame["gaps"] = np.where(rng.random(n) < 0.2, np.nan, X[:, 0])
    return frame, y


def encoded():
    return ColumnTransformer(
        [("words", OneHotEncoder(handle_unknown="ignore"), ["kind"]), ("gaps", SimpleImputer(), ["gaps"])],
        remainder=StandardScaler(),
    )


class TestPrefixSolver(SolverContract):
    def make_solver(self):
        return solver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        X, y = numbers()
        frame, _ = words()
        scaled = [make_pipeline(StandardScaler(), last) for last in (tree(), LogisticRegression(), tree(1))]
        longer = [make_pipeline(StandardScaler(), PCA(k), tree()) for k in (2, 3)]
        longer += [make_pipeline(StandardScaler(), "passthrough", PCA(2), RandomForestClassifier(3)), scaled[0]]
        nested = [make_pipeline(StandardScaler(), make_pipeline(PCA(2), tree(k))) for k in (1, 2)]
        inside = [make_pipeline(make_pipeline(StandardScaler(), PCA(2)), tree(k)) for k in (1, 2)]
        looking = [make_pipeline(SelectKBest(k=2), Unlike(), tree(k)) for k in (1, 2)]
        random = [make_pipeline(PCA(2, svd_solver="randomized"), RandomForestClassifier(k)) for k in (2, 3)]
        tabular = [make_pipeline(encoded(), last) for last in (tree(), LogisticRegression(max_iter=1000))]
        union = [make_pipeline(make_union(StandardScaler(), PCA(2)), tree(k)) for k in (1, 2)]
        skrubbed = [tabular_pipeline(last) for last in (LogisticRegression(), GaussianNB())]
        ridges = [make_pipeline(StandardScaler(), PolynomialFeatures(2), Ridge(alpha)) for alpha in (0.1, 1.0)]
        usual = {"task": "classification", "responses": BOTH}
        return [
            SolverCase("candidates", scaled, X, y, **usual),
            SolverCase("more steps in common", longer, X, y, **usual),
            SolverCase("a pipeline in a pipeline", nested, X, y, **usual),
            SolverCase("a pipeline as a step", inside, X, y, **usual),
            SolverCase("steps that look at the labels", looking, X, y, **usual),
            SolverCase("steps with random numbers", random, X, y, **usual),
            SolverCase("a table of all kinds", tabular, frame, y, **usual),
            SolverCase("the same in polars", tabular, pl.from_pandas(frame), y, **usual),
            SolverCase("a union", union, X, y, **usual),
            SolverCase("skrub", skrubbed, frame, y, **usual),
            SolverCase("regression", ridges, X, X[:, 0] * X[:, 1]),
            SolverCase("weights", [scaled[0], scaled[1]], X, y, weight=np.arange(1.0, 61.0), **usual),
            SolverCase(
                "sparse", [make_pipeline(TruncatedSVD(2), tree(k)) for k in (1, 2)], sparse.csr_array(X), y, **usual
            ),
            label_case("other labels, fitted plainly", scaled[0], responses=BOTH),
            label_case("other labels, all at once", make_pipeline(StandardScaler(), GaussianNB()), responses=BOTH),
            label_case("other labels, scaled on the spot", make_pipeline(StandardScaler(copy=False), SVC())),
            label_case("other labels, all kinds", make_pipeline(encoded(), PCA(3), RidgeClassifier()), X=frame),
            label_case("other labels, skrub", tabular_pipeline(KNeighborsClassifier()), X=frame, responses=BOTH),
            label_case("other labels and a step that looks at them", make_pipeline(StandardScaler(), Unlike(), tree())),
        ]

    def not_for_it(self):
        X, y = numbers()
        usual = {"X": X, "y": y, "task": "classification"}
        loud = [Pipeline([("s", StandardScaler()), ("t", tree(k))], verbose=True) for k in (1, 2)]
        cached = [Pipeline([("s", StandardScaler()), ("t", tree(k))], memory="nowhere") for k in (1, 2)]
        unlike = [make_pipeline(PCA(k), tree()) for k in (1, 2)]
        return [
            SolverCase(
                "one of a kind", [make_pipeline(StandardScaler(), tree()), make_pipeline(PCA(2), tree())], **usual
            ),
            SolverCase("nothing in common", unlike, **usual),
            SolverCase("seeds that differ", [make_pipeline(PCA(2, random_state=k), tree()) for k in (1, 2)], **usual),
            SolverCase("no pipelines", [tree(), tree(2)], **usual),
            SolverCase("no steps before the last", [make_pipeline(tree(k)) for k in (1, 2)], **usual),
            SolverCase("steps that do nothing", [make_pipeline("passthrough", None, tree(k)) for k in (1, 2)], **usual),
            SolverCase("pipelines that talk", loud, **usual),
            SolverCase("pipelines with a cache", cached, **usual),
            label_case("other labels, looked at", make_pipeline(SelectKBest(k=2), tree())),
            label_case("other labels, encoded by them", make_pipeline(TargetEncoder(), tree()), X=np.round(X)),
            label_case("other labels, unknown steps", make_pipeline(Counting(), tree())),
        ]

    def failing(self):
        X, y = numbers()
        usual = {"X": X, "y": y, "task": "classification"}
        scaler = StandardScaler()
        return [
            SolverCase("a step that fails", [make_pipeline(PCA(99), tree(k)) for k in (1, 2)], **usual),
            SolverCase("a last step that fails", [make_pipeline(scaler, tree(k)) for k in (0, 1)], **usual),
            SolverCase("a step that is none", [make_pipeline(scaler, "oops", tree(k)) for k in (1, 2)], **usual),
            SolverCase("nothing to predict with", [make_pipeline(scaler, PCA(k)) for k in (1, 2)], **usual),
        ]


def pipeline_fits(data, pipelines, responses=("predict",), train=None, asked=None, **task):
    keys = Keys(data)
    train = Rows.of(range(0, data.n, 2)) if train is None else train
    asks = tuple(Ask(Rows.all(data.n) if asked is None else asked, response) for response in responses)
    return [keys.fit(FitTask(pipeline, train, asks, **task)) for pipeline in pipelines]


def usual_data(classes=2):
    X, y = numbers(classes=classes)
    return Data(X, y, task="classification")


def test_shared_steps_are_fitted_and_asked_once():
    data = usual_data()
    fits = pipeline_fits(data, [make_pipeline(Counting(), StandardScaler(), tree(k)) for k in (1, 2, 3)], BOTH)
    [job] = solver().claim(fits, data)
    Counting.fitted = Counting.asked = 0
    outcomes = job.run(data)
    # Once for the training rows, and once for the rows that are asked about.
    assert (Counting.fitted, Counting.asked) == (1, 2)
    assert [outcome.solver for outcome in outcomes] == ["shared prefix"] * 3
    assert job.work == 3


def test_steps_further_on_are_shared_by_those_that_have_them():
    data = usual_data()
    pipelines = [make_pipeline(StandardScaler(), PCA(k), Counting(), tree(d)) for d in (1, 2) for k in (2, 3)]
    [job] = solver().claim(pipeline_fits(data, pipelines), data)
    Counting.fitted = 0
    job.run(data)
    assert Counting.fitted == 2


def test_what_follows_is_answered_for_all_labels_at_once():
    data = usual_data()
    fits = sweep_fits(data, make_pipeline(StandardScaler(), GaussianNB()), [None, *flipped(data.y)], BOTH)
    [job] = PrefixSolver((NaiveBayesSolver(), Refusing())).claim(fits, data)
    for fit, outcome in zip(fits, job.run(data), strict=True):
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


class Refusing(PlainSolver):
    def claim(self, fits, data):
        assert not fits
        return []


@pytest.mark.parametrize(
    "last", [GaussianNB(), LinearDiscriminantAnalysis(), RidgeClassifier(), KNeighborsClassifier(), SVC()]
)
def test_all_solvers_of_other_labels_work_behind_steps(last):
    data = usual_data(classes=3)
    fits = sweep_fits(data, make_pipeline(StandardScaler(), PCA(3), last), [None, *flipped(data.y)])
    whole = solver()
    [job] = PrefixSolver((*whole.others[:-1], Refusing())).claim(fits, data)
    for fit, outcome in zip(fits, job.run(data), strict=True):
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_models_that_are_kept_are_whole_and_independent():
    data = usual_data()
    pipelines = [
        Pipeline(
            [("skip", "passthrough"), ("scale", StandardScaler()), ("pca", PCA(k)), ("none", None), ("tree", tree(k))]
        )
        for k in (1, 2)
    ]
    pipelines.append(make_pipeline(StandardScaler(), tree(1)))
    pipelines.append(make_pipeline(StandardScaler(), make_pipeline(PCA(2), tree(2))))
    fits = [replace(fit, keep_model=True) for fit in pipeline_fits(data, pipelines)]
    [job] = solver().claim(fits, data)
    models = [outcome.model for outcome in job.run(data)]
    for fit, model in zip(job.fits, models, strict=True):
        expected = fit_plain(fit, data).model
        assert [name for name, _ in model.steps] == [name for name, _ in expected.steps]
        assert model.get_params().keys() == expected.get_params().keys()
        np.testing.assert_array_equal(model.predict_proba(data.X), expected.predict_proba(data.X))
    before = models[1].predict_proba(data.X)
    models[0].fit(100 * data.X, data.y)
    np.testing.assert_array_equal(models[1].predict_proba(data.X), before)


def test_jobs_are_of_a_size_that_several_workers_can_share():
    data = usual_data()
    pipelines = [make_pipeline(StandardScaler(), tree(k)) for k in range(1, 2 * MOST + 2)]
    fits = pipeline_fits(data, pipelines)
    jobs = solver().claim(fits, data)
    assert [len(job.fits) for job in jobs] == [9, 9, 7]
    kept = solver().claim([replace(fit, keep_model=True) for fit in fits[:10]], data)
    assert max(len(job.fits) for job in kept) <= MOST_KEPT
    swept = sweep_fits(data, make_pipeline(StandardScaler(), GaussianNB()), flipped(data.y, 50))
    assert [len(job.fits) for job in solver().claim(swept, data)] == [50]


def test_each_set_of_rows_and_each_seed_is_a_job_of_its_own():
    data = usual_data()
    pipelines = [make_pipeline(PCA(2, svd_solver="randomized"), tree(k)) for k in (1, 2)]
    fits = pipeline_fits(data, pipelines) + pipeline_fits(data, pipelines, train=Rows.of(range(30)))
    fits += pipeline_fits(data, pipelines, repeat=1)
    jobs = solver().claim(fits, data)
    assert [len(job.fits) for job in jobs] == [2, 2, 2]
    for job in jobs:
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_names_do_not_matter():
    data = usual_data()
    pipelines = [Pipeline([(name, PCA(2, svd_solver="randomized", random_state=1)), ("t", tree())]) for name in "ab"]
    pipelines[1].set_params(t__max_depth=1)
    [job] = solver().claim(pipeline_fits(data, pipelines), data)
    assert len(job.fits) == 2


def test_rows_that_are_trained_on_twice():
    data = usual_data()
    pipelines = [make_pipeline(StandardScaler(), Unlike(), tree(k)) for k in (1, 2)]
    for train in (Rows.of([*range(40), *range(10), 3]), Rows.of([*range(30), *range(30)])):
        [job] = solver().claim(pipeline_fits(data, pipelines, BOTH, train=train), data)
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_fits_may_ask_for_different_things():
    data = usual_data()
    fits = pipeline_fits(data, [make_pipeline(StandardScaler(), tree(k)) for k in range(1, 5)])
    some, others = Rows.of(range(10)), Rows.of(range(5, 30))
    asks = [(), (Ask(some),), (Ask(Rows.of([])), Ask(others, "predict_proba")), (Ask(others), Ask(some))]
    fits = [replace(fit, asks=wanted) for fit, wanted in zip(fits, asks, strict=True)]
    [job] = solver().claim(fits, data)
    for fit, outcome in zip(job.fits, job.run(data), strict=True):
        assert_equal_answers(
            outcome, fit_plain(fit, data), replace(fit, asks=[a for a in fit.asks if len(a.rows)]), data
        )


def test_rows_are_transformed_in_blocks_and_kept_while_there_is_room(monkeypatch):
    for room, transformed in ((1 << 20, 3), (0, 6)):  # three blocks, for one candidate or for each of them
        data = usual_data()
        fits = pipeline_fits(data, [make_pipeline(Counting(), PCA(3), tree(k)) for k in (1, 2)], BOTH)
        monkeypatch.setattr("truefit._solvers.plain.BLOCK_BYTES", 20 * data.row_bytes)
        monkeypatch.setattr("truefit._solvers.pipelines.steps.KEPT_BYTES", room)
        [job] = solver().claim(fits, data)
        Counting.asked = 0
        outcomes = job.run(data)
        assert Counting.asked == 1 + transformed
        for fit, outcome in zip(job.fits, outcomes, strict=True):
            assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_steps_are_fitted_once_for_all_parts_of_a_group():
    data = usual_data()
    pipelines = [make_pipeline(Counting(), tree(k + 1)) for k in range(2 * MOST)]
    jobs = solver().claim(pipeline_fits(data, pipelines, BOTH), data)
    assert len(jobs) == 2
    Counting.fitted, Counting.asked = 0, 0
    outcomes = [outcome for job in jobs for outcome in job.run(data)]
    assert (Counting.fitted, Counting.asked) == (1, 2)  # asked once for the rows it was fitted on, once for the others
    fits = [fit for job in jobs for fit in job.fits]
    for fit, outcome in zip(fits, outcomes, strict=True):
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)
    assert jobs[0].run(usual_data())  # a table of its own, whose rows are nowhere yet
    assert Counting.fitted > 1


def test_steps_that_look_at_labels_are_fitted_for_each_of_them():
    data = usual_data()
    pipelines = [make_pipeline(Unlike(), tree(k)) for k in (1, 2)]
    for y in (data.y, np.roll(data.y, 7)):
        [job] = solver().claim(pipeline_fits(data, pipelines, y=y), data)
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


def test_steps_are_let_go_with_their_table_and_where_there_is_no_room(monkeypatch):
    data, others = usual_data(), usual_data()
    pipelines = [make_pipeline(Counting(), tree(k + 1)) for k in range(2)]
    trains = [Rows.of(range(30)), Rows.of(range(35))]
    jobs = [job for rows in trains for job in solver().claim(pipeline_fits(data, pipelines, train=rows), data)]
    for room, fitted in ((1 << 20, 2), (0, 4)):
        monkeypatch.setattr("truefit._solvers.pipelines.steps.HELD_BYTES", room)
        _recent._tables.clear()
        Counting.fitted = 0
        for job in (*jobs, *jobs):
            job.run(data)
        assert Counting.fitted == fitted
    jobs[0].run(others)
    before = len(_recent._tables)
    del others
    assert len(_recent._tables) == before - 1


def test_time_adds_up_to_what_was_spent(monkeypatch):
    data = usual_data()
    [job] = solver().claim(pipeline_fits(data, [make_pipeline(StandardScaler(), tree(k)) for k in (1, 2)]), data)
    clock = iter([0.0, 4.0, 10.0, 11.0, 20.0, 25.0])  # the scaler, and the trees
    monkeypatch.setattr(time, "perf_counter", lambda: next(clock))
    assert [outcome.fit_seconds for outcome in job.run(data)] == [3.0, 7.0]


def test_with_metadata_routing_all_is_left_to_plain_fitting():
    data = usual_data()
    fits = pipeline_fits(data, [make_pipeline(StandardScaler(), tree(k)) for k in (1, 2)])
    with config_context(enable_metadata_routing=True):
        assert solver().claim(fits, data) == []


def test_tables_of_pandas_stay_tables_of_pandas():
    frame, y = words()
    data = Data(frame, y, task="classification")
    with config_context(transform_output="pandas"):
        pipelines = [
            make_pipeline(StandardScaler(), SGDClassifier(loss=loss)).set_output(transform="pandas")
            for loss in ("hinge", "log_loss")
        ]
        numeric = Data(frame[list("abcd")], y, task="classification")
        [job] = solver().claim(pipeline_fits(numeric, pipelines), numeric)
        for fit, outcome in zip(job.fits, job.run(numeric), strict=True):
            assert outcome.solver == "shared prefix"
            assert_equal_answers(outcome, fit_plain(fit, numeric), fit, numeric)
    assert data.n == 60


# By default sparse rows go to ARPACK, and where they have no few directions in front it finds others each time.
EXACT, WHITE = (PCA(2, whiten=white, svd_solver="covariance_eigh") for white in (False, True))
STEPS = st.sampled_from(
    [
        StandardScaler(), StandardScaler(copy=False), EXACT, WHITE, PolynomialFeatures(2),
        QuantileTransformer(n_quantiles=5), OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1),
        OneHotEncoder(handle_unknown="ignore"), FunctionTransformer(np.abs), "passthrough", SelectKBest(k=1), Unlike(),
        make_pipeline(StandardScaler(), PolynomialFeatures(2)), FeatureUnion([("a", EXACT), ("b", StandardScaler())]),
        TableVectorizer(),
    ]
)  # fmt: skip
LASTS = st.sampled_from(
    [tree(2), GaussianNB(), RidgeClassifier(), KNeighborsClassifier(3), SVC(), RandomForestClassifier(2), tree(1)]
)


@st.composite
def candidates(draw):
    """Pipelines whose first steps may be the same, on a table that some of them cannot be fitted on."""
    first = draw(STEPS)
    pipelines = [
        make_pipeline(first, *draw(st.lists(STEPS, max_size=2)), draw(LASTS)) for _ in range(draw(st.integers(2, 4)))
    ]
    X, y = numbers(n=draw(st.integers(12, 40)), p=draw(st.integers(2, 4)), seed=draw(st.integers(0, 99)))
    X = np.round(X, draw(st.sampled_from([0, 3])))
    vectors = [None, *flipped(y, 2)] if draw(st.booleans()) else [None]
    return X, y, pipelines, vectors


def check(X, y, pipelines, vectors):
    data = Data(X, y, task="classification")
    distinct = {fit.key: fit for labels in vectors for fit in pipeline_fits(data, pipelines, y=labels)}
    fits = list(distinct.values())
    for job in solver().claim(fits, data):
        for fit, outcome in zip(job.fits, job.run(data), strict=True):
            assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


@given(candidates())
@settings(max_examples=15)
@pytest.mark.filterwarnings("ignore")
def test_pipelines_equal_plain_fitting(drawn):
    check(*drawn)


@pytest.mark.slow
@given(candidates())
@settings(max_examples=600)
@pytest.mark.filterwarnings("ignore")
def test_pipelines_equal_plain_fitting_at_depth(drawn):
    check(*drawn)
