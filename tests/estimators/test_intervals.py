"""IntervalRegressor and IntervalClassifier: intervals from the folds, saved without pickle."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge, RidgeClassifier
from sklearn.model_selection import KFold, ShuffleSplit
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from sklearn.utils.estimator_checks import parametrize_with_checks

from truefit import AgghooRegressor, Engine, IntervalClassifier, IntervalRegressor, study
from truefit._core.errors import InvalidInput
from truefit._methods import intervals
from truefit._models import load_model
from truefit._stats.conformal import conformal_sets, cv_plus

X, y = load_diabetes(return_X_y=True)
XI, yi = load_iris(return_X_y=True)


@parametrize_with_checks([IntervalRegressor(Ridge(), cv=3), IntervalClassifier(LogisticRegression(), cv=3)])
def test_scikit_learns_own_checks(estimator, check):
    check(estimator)


def test_equal_to_the_definition_on_fixed_folds():
    folds = list(KFold(4, shuffle=True, random_state=0).split(X[:300]))
    model = IntervalRegressor(Ridge(alpha=0.1), cv=folds).fit(X[:300], y[:300])
    members = [Ridge(alpha=0.1).fit(X[train], y[train]) for train, _ in folds]
    residuals = np.concatenate([abs(y[t] - m.predict(X[t])) for m, (_, t) in zip(members, folds, strict=True)])
    of_fold = np.repeat(range(4), [len(test) for _, test in folds])
    new = np.stack([member.predict(X[300:]) for member in members], axis=1)
    low, high = [], []
    for row in new:
        low.append(np.sort(row[of_fold] - residuals)[int(np.floor(0.1 * 301)) - 1])
        high.append(np.sort(row[of_fold] + residuals)[int(np.ceil(0.9 * 301)) - 1])
    np.testing.assert_allclose(model.predict_interval(X[300:], level=0.9), np.transpose([low, high]))
    np.testing.assert_allclose(model.predict(X), Ridge(alpha=0.1).fit(X[:300], y[:300]).predict(X))
    np.testing.assert_allclose(cv_plus(new, residuals, of_fold, 0.9), np.transpose([low, high]))


def test_sets_are_those_of_the_folds_and_hold_the_predicted_class():
    folds = list(KFold(5, shuffle=True, random_state=1).split(XI))
    model = IntervalClassifier(GaussianNB(), cv=folds).fit(XI, yi)
    members = [GaussianNB().fit(XI[train], yi[train]) for train, _ in folds]
    scores = [1 - m.predict_proba(XI[t])[range(len(t)), yi[t]] for m, (_, t) in zip(members, folds, strict=True)]
    of_fold = np.repeat(range(5), 30)
    wanted = conformal_sets([m.predict_proba(XI) for m in members], np.concatenate(scores), of_fold, 0.98)
    assert (model.predict_set(XI, 0.98) == wanted).all()
    assert wanted.sum() > 150
    assert model.coverage_.loc["all rows", "coverage"] >= 0.95
    assert model.coverage_.loc["all rows", "classes"] == pytest.approx(1.0, abs=0.2)


def test_coverage_by_size_of_prediction_shows_where_intervals_are_too_narrow():
    random = np.random.default_rng(0)
    wide = random.uniform(size=(1500, 1))
    target = 10 * wide[:, 0] + 3 * wide[:, 0] ** 2 * random.normal(size=1500)
    model = IntervalRegressor(LinearRegression()).fit(wide, target)
    table = model.coverage_
    assert table["rows"].tolist() == [300] * 5 + [1500]
    assert table["coverage"].iloc[0] == 1.0
    assert table["coverage"].iloc[4] < 0.87
    assert table.loc["all rows", "coverage"] == pytest.approx(0.95, abs=0.005)
    low, high = model.predict_interval(wide).T
    assert np.mean(high - low) == pytest.approx(table.loc["all rows", "width"], rel=0.05)


def test_groups_count_once_and_weights_count(monkeypatch):
    groups = np.repeat(np.arange(40), 11)[:440]
    grouped = IntervalRegressor(Ridge(alpha=0.1)).fit(X[:440], y[:440], groups=groups)
    assert np.bincount(groups, minlength=40).tolist() == [11] * 40
    assert grouped.weights_.sum() == pytest.approx(40)
    assert grouped.new_weight_ == 1.0
    with pytest.raises(InvalidInput, match=r"level 0.98 need at least 49 rows, or groups .* Got 40"):
        grouped.predict_interval(X, 0.98)
    # Where the large residuals weigh more, intervals are wider.
    plain = IntervalRegressor(DummyRegressor()).fit(X, y)
    weight = np.where(abs(y - np.median(y)) > 80, 5.0, 1.0)
    heavy = IntervalRegressor(DummyRegressor()).fit(X, y, sample_weight=weight)
    # The rows with the large residuals count five times, so that the intervals cover their share of the weight.
    assert heavy.coverage_.loc["all rows", "coverage"] == pytest.approx(0.95, abs=0.02)
    assert np.ptp(heavy.predict_interval(X[:1])) > np.ptp(plain.predict_interval(X[:1]))
    monkeypatch.setattr(intervals, "MOST_SCORES", 200)
    assert len(clone(plain).fit(X, y).scores_) == 200


def test_an_ensemble_of_members_has_intervals_too():
    agghoo = AgghooRegressor(DecisionTreeRegressor(random_state=0), {"max_depth": [2, 4]}, cv=3, path=None)
    model = IntervalRegressor(agghoo, cv=4).fit(X, y)
    low, high = model.predict_interval(X, 0.8).T
    assert 0.75 < np.mean((low <= y) & (y <= high)) <= 0.95
    assert len(model.members_[0].members_) == 3


@pytest.mark.parametrize("kind", ["regression", "classification"])
def test_a_study_has_a_model_with_intervals_with_at_most_one_refit_per_fold(kind):
    table, target, models = (X, y, {"ridge": Ridge()}) if kind == "regression" else (XI, yi, {"bayes": GaussianNB()})
    with Engine(progress=False, on_error="record") as engine:
        found = study(table, target, models, engine=engine)
        before = engine.stats.run + engine.stats.refitted
        model = found.interval_model()
        fitted = engine.stats.run + engine.stats.refitted
        assert fitted - before <= 6  # the folds and the final model
        assert found.interval_model() is model
        found.importance()
        assert found.model is model.estimator_
        assert engine.stats.run + engine.stats.refitted == fitted  # the models of the folds and of all rows are shared
        other = found.interval_model(DummyRegressor() if kind == "regression" else DecisionTreeClassifier())
        assert found.interval_coverage["model"] == type(other.estimator).__name__
        assert found.interval_model() is not other
    page = found.to_html()
    assert "on held-out rows by" in page
    assert f"95% prediction {'intervals' if kind == 'regression' else 'sets'} on held-out rows" in page
    assert found.to_dict()["intervals"]["rows"][-1][0] == "all rows"
    ends = model.predict_interval(table[:3]) if kind == "regression" else model.predict_set(table[:3])
    assert len(ends) == 3
    in_time = study(X, y, {"ridge": Ridge()}, time=np.arange(len(y))) if kind == "regression" else None
    if in_time is None:
        return
    with pytest.raises(InvalidInput, match="Prediction intervals need new rows that are like those of the table"):
        in_time.interval_model()


def test_bad_input():
    with pytest.raises(InvalidInput, match="IntervalRegressor needs one regressor"):
        IntervalRegressor(GaussianNB()).fit(XI, yi)
    with pytest.raises(InvalidInput, match=r"needs a classifier with predict_proba\. RidgeClassifier has none"):
        IntervalClassifier(RidgeClassifier()).fit(XI, yi)
    with pytest.raises(InvalidInput, match="must hold out each row once, as folds do"):
        IntervalRegressor(Ridge(), cv=ShuffleSplit(3)).fit(X, y)
    with pytest.raises(InvalidInput, match="IntervalRegressor cannot keep rows in time order: its intervals need new"):
        IntervalRegressor(Ridge()).fit(X, y, time=np.arange(len(y)))
    with pytest.raises(InvalidInput, match="'level' parameter must be a share"):
        IntervalRegressor(Ridge(), level=95).fit(X, y)
    with pytest.raises(InvalidInput, match=r"needs one target\. Got 2"):
        IntervalRegressor(Ridge()).fit(X, np.column_stack([y, y]))
    frame = pd.DataFrame(X, columns=list("abcdefghij"))
    model = IntervalRegressor(Ridge()).fit(frame, y)
    with pytest.raises(ValueError, match="Feature names seen at fit time, yet now missing:\n- c"):
        model.predict_interval(frame.drop(columns="c"))
    with pytest.raises(ValueError, match="Feature names unseen at fit time:\n- new"):
        model.predict_interval(frame.assign(new=1))
    constant = IntervalClassifier(DecisionTreeClassifier()).fit(np.zeros((150, 1)), yi)  # one column, and constant
    assert constant.predict_set([[0.0]]).sum() == 3


@pytest.mark.parametrize("model", [IntervalRegressor(Ridge()), IntervalClassifier(GaussianNB())])
def test_what_is_loaded_without_pickle_predicts_the_same(model, tmp_path):
    skops = pytest.importorskip("skops.io")
    table, target = (X, y) if isinstance(model, IntervalRegressor) else (XI, yi)
    skops.dump(model.fit(table, target), tmp_path / "m.skops")
    loaded = load_model(tmp_path / "m.skops").estimator
    assert loaded.engine is None
    assert (loaded.predict(table) == model.predict(table)).all()
    pd.testing.assert_frame_equal(loaded.coverage_, model.coverage_)
    ends = "predict_interval" if isinstance(model, IntervalRegressor) else "predict_set"
    for level in (None, 0.8):
        assert (getattr(loaded, ends)(table, level) == getattr(model, ends)(table, level)).all()
