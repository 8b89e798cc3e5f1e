"""Leave-one-out through ``assess``: closed forms answer all rows as one fit, and everything else sees single fits."""

import pickle

import numpy as np
import pandas as pd
import pytest
import sklearn.linear_model
from sklearn.datasets import load_diabetes, make_classification
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeRegressor

from truefit import Engine, assess
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._sklearn import is_tested

pytestmark = pytest.mark.skipif(not is_tested(), reason="with this version of scikit-learn all fits are run one by one")

X, y = (part[:80] for part in load_diabetes(return_X_y=True))
XC, yc = make_classification(60, 4, n_informative=3, n_redundant=0, random_state=0)


def by_hand(model, X, y):
    return cross_val_predict(model, X, y, cv=LeaveOneOut())


def test_closed_and_plain_candidates_stand_side_by_side():
    with Engine() as engine:
        both = assess(
            {"tree": DecisionTreeRegressor(random_state=0), "ridge": Ridge()}, X, y, design="loo", engine=engine
        )
        assert (engine.stats.asked, engine.stats.run, engine.stats.shared) == (160, 81, 79)
    assert list(both.table.index) == ["tree", "ridge"]
    for name, model in (("tree", DecisionTreeRegressor(random_state=0)), ("ridge", Ridge())):
        expected = by_hand(model, X, y)
        np.testing.assert_allclose(both.predictions[name]["prediction"], expected, rtol=1e-8)
        assert both.estimate[name] == pytest.approx(np.mean((expected - y) ** 2), rel=1e-10)
        np.testing.assert_allclose(both.split_scores()[name], (expected - y) ** 2, rtol=1e-7)


@pytest.mark.parametrize("metric", ["mse", "mae", "r2", "rmse", "neg_median_absolute_error"])
def test_every_metric_reads_the_same_from_one_fit_as_from_many(metric):
    together, alone = (
        assess(Ridge(), X, y, design="loo", metric=metric, engine=Engine(solvers=solvers))
        for solvers in ("auto", "plain")
    )
    assert together.estimate == pytest.approx(alone.estimate, rel=1e-8)
    assert together.interval_reason == alone.interval_reason


@pytest.mark.parametrize("metric", ["error", "log_loss", "f1", "roc_auc", "balanced_accuracy"])
def test_every_metric_of_classes_too(metric):
    together, alone = (
        assess(GaussianNB(), XC, yc, design="loo", metric=metric, engine=Engine(solvers=solvers))
        for solvers in ("auto", "plain")
    )
    assert together.estimate == pytest.approx(alone.estimate, rel=1e-8)
    pd.testing.assert_frame_equal(together.predictions, alone.predictions, rtol=1e-8)


def test_a_store_gives_them_back_without_fitting(tmp_path):
    for run, stored in ((1, 0), (0, 80)):
        with Engine(store=tmp_path / "runs.db") as engine:
            result = assess(Ridge(), X, y, design="loo", engine=engine)
            estimate, (asked, *rest) = result.estimate, (engine.stats.asked, engine.stats.run, engine.stats.stored)
        assert (asked, *rest) == (80, run, stored)
    assert estimate == pytest.approx(np.mean((by_hand(Ridge(), X, y) - y) ** 2), rel=1e-10)


def test_workers_answer_them_alike():
    with Engine(workers=2) as engine:
        there = assess([Ridge(), LinearRegression()], X, y, design="loo", engine=engine)
        assert engine.stats.run == 2
    here = assess([Ridge(), LinearRegression()], X, y, design="loo")
    assert there.estimate == here.estimate


def test_a_row_that_cannot_be_trusted_is_fitted():
    far = X.copy()
    far[3] *= 1e3  # its leverage is nearly 1
    with Engine() as engine:
        result = assess(LinearRegression(), far, y, design="loo", engine=engine)
        assert engine.stats.run == 1
    expected = by_hand(LinearRegression(), far, y)
    np.testing.assert_allclose(result.predictions["prediction"], expected, rtol=1e-8)


@pytest.mark.slow
def test_many_rows_go_in_portions_and_come_back_in_order():
    rng = np.random.default_rng(0)
    many = rng.normal(size=(45_000, 2))
    label = many[:, 0] + rng.normal(size=len(many)) > 0
    with Engine() as engine:
        result = assess(GaussianNB(), many, label, design="loo", engine=engine)
        assert (engine.stats.asked, engine.stats.run, engine.stats.refitted) == (45_000, 1, 2)
    full = GaussianNB().fit(many, label).predict(many)
    said = np.array(result.predictions["prediction"], dtype=bool)
    assert (said != full).mean() < 1e-3  # one row of so many hardly moves the model
    assert result.estimate == pytest.approx((said != label).mean())


def test_a_result_can_be_pickled_away_from_its_store():
    result = assess(Ridge(), X, y, design="loo")
    again = pickle.loads(pickle.dumps(result))
    assert again.estimate == result.estimate
    assert again.predictions.equals(result.predictions)


def test_a_class_that_goes_with_its_only_row_leaves_all_rows_to_single_fits():
    label = yc.copy()
    label[7] = 2
    with Engine() as engine:
        result = assess(GaussianNB(), XC, label, design="loo", engine=engine)
        assert engine.stats.asked == 60
    assert np.array_equal(result.predictions["prediction"], by_hand(GaussianNB(), XC, label))


def test_all_rows_left_out_are_not_mistaken_for_a_fit_on_all_rows():
    data = Data(X, y, task="regression")
    rows = Rows.all(80)
    apart, whole = (
        Keys(data).fit(FitTask(Ridge(), rows, (Ask(rows),), each_left_out=each)).key for each in (True, False)
    )
    assert apart != whole


def test_leave_one_out_in_several_portions_of_a_model_that_cannot_be_identified(monkeypatch):
    # What a replaced library function holds cannot be compared, so its fits have no identity and are not stored.
    unnamed = np.frompyfunc(abs, 1, 1)
    monkeypatch.setattr(sklearn.linear_model, "replaced", lambda: unnamed, raising=False)
    monkeypatch.setattr("truefit._methods.assessment.plan._ONE_ROW_TASKS", 50)
    with pytest.warns(UserWarning, match="cannot be identified"):
        found = assess(Ridge(), X[:120], y[:120], design="loo", engine=Engine())
    assert found.estimate == pytest.approx(
        assess(Ridge(), X[:120], y[:120], cv=LeaveOneOut(), metric=found.metric).estimate
    )
