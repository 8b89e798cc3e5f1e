import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn import config_context
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.ensemble import (
    BaggingClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier, ExtraTreeClassifier

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, FitTask, Job
from truefit._core.rows import Rows
from truefit._solvers.plain import PlainSolver, fit_plain, or_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

X = np.random.default_rng(0).normal(size=(30, 3))


class Answering(RegressorMixin, BaseEstimator):
    """Says the same, whatever it is asked."""

    def __init__(self, answer=0.0):
        self.answer = answer

    def fit(self, X, y):
        self.is_fitted_ = True
        return self

    def predict(self, X):
        if isinstance(self.answer, type):
            raise self.answer("on purpose")
        return np.full(len(X), self.answer) if np.ndim(self.answer) == 0 else np.asarray(self.answer)


class TestPlainSolver(SolverContract):
    def make_solver(self):
        return PlainSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        words = np.where(X[:, 0] > 0, "yes", "no").astype(object)
        responses = ("predict", "predict_proba", "decision_function")
        return [
            SolverCase("regression", [LinearRegression(), Answering(2.0)], X, X[:, 0]),
            SolverCase("words", [LogisticRegression()], X, words, task="classification", responses=responses),
            SolverCase("weights", [LinearRegression()], X, X[:, 0], weight=np.arange(30.0)),
        ]

    def failing(self):
        answers = (ValueError, SystemExit, np.nan, [1.0, 2.0])
        return [SolverCase("failing", [Answering(answer) for answer in answers], X, X[:, 0])]


def one_fit(estimator, y=X[:, 0], task="regression", rows=None, response="predict"):
    data = Data(X, y, task=task)
    asked = Rows.all(data.n) if rows is None else rows
    return Keys(data).fit(FitTask(estimator, Rows.of(range(20)), (Ask(asked, response),))), data


@pytest.mark.parametrize(
    ("answer", "kind", "message"),
    [
        (KeyError, "raised", "KeyError: 'on purpose'"),
        (SystemExit, "raised", "SystemExit: on purpose"),
        (np.nan, "wrong answer", "predict must return finite numbers. Got 30 NaN or infinite ones."),
        ([1.0, 2.0], "wrong answer", "predict must return one answer per row: 30. Got 2."),
    ],
)
def test_what_goes_wrong_is_a_failure_of_the_fit(answer, kind, message):
    outcome = fit_plain(*one_fit(Answering(answer)))
    assert (outcome.error.kind, outcome.error.message) == (kind, message)
    assert outcome.answers == ()


def test_labels_are_stored_as_small_codes():
    fit, data = one_fit(DecisionTreeClassifier(), np.arange(30) % 3 * 1000, "classification")
    [answer] = fit_plain(fit, data).answers
    assert answer.coded
    assert answer.values.dtype == np.uint8
    assert set(fit_plain(fit, data).answer(data, Rows.all(30))) <= {0, 1000, 2000}


@pytest.mark.parametrize("routed", [False, True])
def test_rows_go_through_the_first_steps_once_for_all_responses(routed):
    calls = []
    counted = FunctionTransformer(lambda rows: calls.append(len(rows)) or rows)
    inner = make_pipeline("passthrough", StandardScaler(), LogisticRegression())
    data = Data(X, np.arange(30) % 2, task="classification")
    four = Rows.of(range(4))
    asks = tuple(Ask(four, response) for response in ("predict", "predict_proba"))
    fit = Keys(data).fit(FitTask(make_pipeline(counted, inner), Rows.all(30), asks))
    with config_context(enable_metadata_routing=routed):
        outcome = fit_plain(fit, data)
    assert calls == ([30, 4, 4] if routed else [30, 4])
    expected = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, data.y)
    np.testing.assert_array_equal(outcome.answer(data, four), expected.predict(X[:4]))
    np.testing.assert_array_equal(outcome.answer(data, four, "predict_proba"), expected.predict_proba(X[:4]))


def test_no_rows_no_answer():
    assert fit_plain(*one_fit(LinearRegression(), rows=Rows.of([]))).answers == ()


def test_a_group_that_goes_wrong_is_fitted_one_by_one():
    fit, data = one_fit(LinearRegression())
    bad, _ = one_fit(Answering(ValueError))

    class Clumsy(PlainSolver):
        name = "clumsy"

        def solve(self, job, data):
            return or_plain(self.all_at_once, job, data)

        def all_at_once(self, job, data):
            raise SystemExit("all at once is too much")

    good, failed = Job(Clumsy(), (fit, bad)).run(data)
    assert (good.solver, good.error) == ("plain", None)
    assert failed.error.message == "ValueError: on purpose"


def test_a_group_that_goes_well_is_left_as_it_is():
    fit, data = one_fit(LinearRegression())
    answered = [Outcome(fit.key, solver="together")]
    assert or_plain(lambda job, data: answered, Job(PlainSolver(), (fit,)), data) is answered


def test_text_is_named_where_numbers_are_needed():
    words = pd.DataFrame({"age": [1.0, 2.0, 3.0, 4.0], "sex": list("mfmf"), "stage": ["I", "II", "I", None]})
    expected = "X has text in column {}, and SVC takes numbers: put an encoder before it, as in make_pipeline("
    for given, column in (
        (words, "'sex'"),
        (words.astype({"sex": "category"}), "'sex'"),
        (words.to_numpy(), "1"),
        (pl.from_pandas(words), "'sex'"),
    ):
        data, rows = Data(given, [0, 1, 0, 1], task="classification"), Rows.all(4)
        failure = fit_plain(Keys(data).fit(FitTask(SVC(), rows, (Ask(rows),))), data).error
        assert failure.message.startswith(expected.format(column))


def test_training_rows_of_one_class_are_named():
    fit, data = one_fit(LogisticRegression(), y=np.array(["ok"] * 29 + ["sick"]), task="classification")
    message = fit_plain(fit, data).error.message
    assert message.startswith("All its training rows are of class 'ok', and it needs two classes. The table has 1 row")
    assert "np." not in message


def test_missing_values_are_named_where_they_are_the_reason():
    frame = pd.DataFrame({"age": [30.0, np.nan, 50.0, 60.0], "size": [1.0, 2.0, 3.0, 4.0]})
    data = Data(frame, [0, 1, 0, 1], task="classification")
    rows = Rows.all(4)

    def failure(estimator):
        return fit_plain(Keys(data).fit(FitTask(estimator, rows, (Ask(rows),))), data).error

    assert failure(LogisticRegression()).message.startswith(
        "X has missing values in column 'age', and LogisticRegression does not take them: put an imputer before it"
    )
    assert "X has" not in failure(LogisticRegression(C=-1)).message
    assert failure(HistGradientBoostingClassifier()) is None
    assert "X has" not in failure(HistGradientBoostingClassifier(max_iter=-1)).message


@pytest.mark.parametrize(
    "learner",
    [
        DecisionTreeClassifier(max_depth=3, random_state=0),
        ExtraTreeClassifier(max_depth=3, random_state=0),
        RandomForestClassifier(7, random_state=0),
        ExtraTreesClassifier(7, random_state=0),
        BaggingClassifier(n_estimators=7, random_state=0),
        BaggingClassifier(LogisticRegression(), n_estimators=3, random_state=0),
    ],
    ids=lambda learner: type(learner).__name__,
)
@pytest.mark.parametrize("labels", [("b", "a"), ("b", "a", "c")], ids=len)
def test_labels_that_follow_from_probabilities_are_those_of_predict(learner, labels, monkeypatch):
    rng = np.random.default_rng(1)
    table = rng.integers(0, 3, size=(120, 3)).astype(float)  # many rows alike: probabilities that tie
    y = np.asarray(labels)[rng.integers(0, len(labels), 120)]
    data = Data(table, y, task="classification")
    train, test = Rows.of(np.arange(80)), Rows.of(np.arange(80, 120))
    task = FitTask(learner, train, asks=(Ask(test, "predict"), Ask(test, "predict_proba")))
    expected = clone(learner).fit(table[:80], y[:80])
    labels_of, shares_of = expected.predict(table[80:]), expected.predict_proba(table[80:])
    asked = []
    monkeypatch.setattr(type(learner), "predict", lambda self, X: asked.append(X))
    outcome = fit_plain(Keys(data).fit(task), data)
    assert outcome.error is None
    assert not asked
    np.testing.assert_array_equal(outcome.answer(data, test), labels_of)
    np.testing.assert_array_equal(outcome.answer(data, test, "predict_proba"), shares_of)


class Contrary(DecisionTreeClassifier):
    """Its labels do not follow from its probabilities."""

    def predict(self, X):
        return self.classes_[1 - super().predict_proba(X).argmax(axis=1)]


def test_a_class_of_ones_own_is_asked_for_its_labels():
    y = (X[:, 0] > 0).astype(int)
    data = Data(X, y, task="classification")
    rows = Rows.all(30)
    task = FitTask(Contrary(), rows, (Ask(rows, "predict"), Ask(rows, "predict_proba")))
    np.testing.assert_array_equal(fit_plain(Keys(data).fit(task), data).answer(data, rows), 1 - y)
