"""Permutation importance: equal to scikit-learn's, for original columns, with intervals, sets and ranks."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_diabetes, make_classification
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.model_selection import KFold
from sklearn.naive_bayes import GaussianNB
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from skrub import tabular_pipeline

from truefit import Engine, assess, importance
from truefit._core.errors import FitError, InvalidInput
from truefit._methods.importance.columns import correlated_sets

LOGISTIC = make_pipeline(StandardScaler(), LogisticRegression())


@pytest.mark.parametrize(
    ("metric", "scoring", "framed"),
    [("accuracy", "accuracy", True), ("auc", "roc_auc", False), ("log_loss", "neg_log_loss", False)],
)
def test_equal_to_scikit_learn(metric, scoring, framed):
    X, y = load_breast_cancer(return_X_y=True, as_frame=True)
    X = X.iloc[:, :6] if framed else X.iloc[:, :6].to_numpy()
    splits = list(KFold(4).split(X))
    found = importance(LOGISTIC, X, y, metric=metric, cv=splits, repeats=3, random_state=7)
    for fold, (train, test) in enumerate(splits):
        rows = X.iloc if framed else X
        model = clone(LOGISTIC).fit(rows[train], y[train])
        theirs = permutation_importance(
            model, rows[test], y[test], scoring=scoring, n_repeats=3, random_state=7 + fold
        ).importances
        np.testing.assert_allclose(found.values[:, fold], theirs, atol=1e-12)
    means = dict(zip(found.names, found.values.mean(axis=(1, 2)), strict=True))
    for name, line in found.table.iterrows():
        assert line["importance"] == pytest.approx(means[name], rel=0.02, abs=1e-4)  # folds of 142 and of 143 rows
        assert line["low"] <= line["importance"] <= line["high"]


def test_rmse_is_that_of_each_fold_and_its_interval_follows_from_the_rows():
    X, y = load_diabetes(return_X_y=True)
    found = importance(Ridge(alpha=0.1), X, y, metric="rmse", cv=list(KFold(5).split(X)), random_state=0)
    fold = next(iter(KFold(5).split(X)))
    model = Ridge(alpha=0.1).fit(X[fold[0]], y[fold[0]])
    theirs = permutation_importance(
        model, X[fold[1]], y[fold[1]], scoring="neg_root_mean_squared_error", random_state=0
    )
    np.testing.assert_allclose(found.values[:, 0], theirs.importances)
    assert found.interval_method == "influence of rows × 1.2"
    assert found.table.loc["column 2", "important"]
    assert found.table.index[-1] in ("column 0", "column 9", "column 4", "column 5")


def raw_table(n=160):
    random = np.random.default_rng(0)
    city = random.choice(["Berlin", "Paris", "Rome"], n)
    date = pd.Timestamp("2024-01-01") + pd.to_timedelta(random.integers(0, 300, n), unit="D")
    size = random.normal(size=n)
    X = pd.DataFrame(
        {
            "city": pd.Categorical(city),
            "country": pd.Series(city).map({"Berlin": "DE", "Paris": "FR", "Rome": "IT"}),
            "date": date,
            "size": size,
            "size in cm": 100 * size + random.normal(size=n),
            "note": [f"order {i}" for i in range(n)],
            "constant": 1.0,
        }
    )
    return X, 3 * (city == "Rome") + X["size"] + 0.3 * random.normal(size=n)


def test_the_original_columns_of_a_raw_table_and_its_sets():
    X, y = raw_table()
    found = importance(tabular_pipeline(DecisionTreeRegressor(max_depth=4, random_state=0)), X, y, cv=3, repeats=2)
    assert list(found.names) == list(X.columns)
    assert found.sets.index.tolist() in (
        ["city + country", "size + size in cm"],
        ["size + size in cm", "city + country"],
    )
    assert found.sets["importance"].min() > 0.5
    assert "constant" in found.unused
    assert "no prediction changed when" in found.summary()
    assert set(found.table.loc[["date", "note"], "important"]) == {False}
    assert found.table.loc["city", "correlated_with"] == "country"
    data = found.to_dict()
    assert {each["column"] for each in data["columns"]} == set(X.columns)
    assert found.to_html().count("<svg") == 1


class RoundedByRows(Ridge):
    """Rounds as products of matrices do: the last places depend on how many rows are predicted together."""

    def predict(self, X):
        return super().predict(X) * (1 + 1e-16 * len(X))


def test_rounding_does_not_make_a_constant_column_important():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    found = importance(RoundedByRows(), X[["bmi"]].assign(constant=1.0), y, repeats=2)
    assert found.unused == ["constant"]
    assert found.table.loc["constant", ["low", "importance", "high"]].tolist() == [0, 0, 0]
    assert found.values[0].all()


def test_frames_of_polars_and_pandas_are_the_same():
    polars = pytest.importorskip("polars")
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    one, two = (
        importance(LinearRegression(), X, y, repeats=2),
        importance(LinearRegression(), polars.from_pandas(X), y, repeats=2),
    )
    pd.testing.assert_frame_equal(one.table, two.table)
    pd.testing.assert_frame_equal(one.sets, two.sets)


def test_associations_of_numbers_and_categories():
    random = np.random.default_rng(0)
    level = random.integers(0, 3, 600)
    X = pd.DataFrame({"level": level.astype(str), "height": level + 0.1 * random.normal(size=600)})
    X["other"] = random.choice(list("abcdef"), 600)
    assert correlated_sets(X, 0.8) == [[0, 1]]
    assert correlated_sets(X[["level", "other"]], 0.2) == []


def test_one_column_that_carries_nearly_everything():
    X, y = make_classification(300, 6, n_informative=1, n_redundant=0, n_clusters_per_class=1, random_state=0)
    leaking = np.column_stack([X[:, :4], y + 0.01 * X[:, 4]])
    found = importance(DecisionTreeClassifier(random_state=0), leaking, y)
    assert found.dominant is not None
    assert found.dominant[0] == "column 4"
    assert "column 'column 4' carries 100% of what the model knows: possible target leakage" in found.summary()
    X, y = load_diabetes(return_X_y=True)
    assert importance(Ridge(), X, y).dominant is None


def test_a_constant_beside_the_only_column_and_a_model_that_knows_little_are_no_leakage():
    random = np.random.default_rng(0)
    X = np.column_stack([random.normal(size=300), np.ones(300)])
    strong, weak = X[:, 0] > 0, X[:, 0] + 3 * random.normal(size=300) > 0
    assert importance(GaussianNB(), X, strong).dominant is None
    X[:, 1] = random.normal(size=300)
    assert importance(GaussianNB(), X, strong).dominant[0] == "column 0"
    assert importance(GaussianNB(), X, weak).dominant is None


def test_ranks_cover_columns_that_are_alike():
    random = np.random.default_rng(1)
    X = random.normal(size=(500, 4))
    y = X @ np.array([3.0, 1.0, 1.0, 0.0]) + 2 * random.normal(size=500)
    table = importance(LinearRegression(), X, y).table
    assert table.loc["column 0", ["rank", "rank_low", "rank_high"]].tolist() == [1, 1, 1]
    for name in ("column 1", "column 2"):
        assert table.loc[name, ["rank_low", "rank_high"]].tolist() == [2, 3]
    assert table.loc["column 3", ["rank_low", "rank_high"]].tolist() == [4, 4]
    twice = np.column_stack([X[:, 0], -X[:, 0], X[:, 3]])  # equally important but for rounding
    table = importance(LinearRegression(), twice, y, repeats=2).table
    for name in ("column 0", "column 1"):
        assert table.loc[name, ["rank_low", "rank_high"]].tolist() == [1, 2]


def test_a_stored_study_of_the_folds_costs_at_most_one_refit_per_fold(tmp_path):
    X, y = load_diabetes(return_X_y=True)
    with Engine(store=tmp_path / "runs.db", progress=False) as engine:
        assess(Ridge(), X, y, engine=engine)
    with Engine(store=tmp_path / "runs.db", progress=False) as engine:
        first = importance(Ridge(), X, y, engine=engine)
        assert engine.stats.run == 0
        assert engine.stats.refitted <= 5
    pd.testing.assert_frame_equal(importance(Ridge(), X, y).table, first.table)


def test_groups_weights_and_time_have_their_intervals():
    X, y = load_diabetes(return_X_y=True)
    plain = importance(Ridge(), X, y, repeats=2)
    weighted = importance(Ridge(), X, y, repeats=2, sample_weight=np.where(np.arange(len(y)) % 2, 1.0, 3.0))
    assert plain.table["importance"].tolist() != weighted.table["importance"].tolist()
    least_squares, folds = LinearRegression(), list(KFold(5).split(X))
    equal = importance(least_squares, X, y, repeats=2, cv=folds, sample_weight=np.full(len(y), 2.0))
    same = importance(least_squares, X, y, repeats=2, cv=folds)
    np.testing.assert_allclose(equal.table["high"], same.table["high"])
    grouped = importance(Ridge(), X, y, repeats=2, groups=np.arange(len(y)) // 4, correlated=None)
    assert grouped.interval_method == "influence of groups × 1.2"
    assert grouped.sets.empty
    few = importance(Ridge(), X, y, repeats=2, groups=np.arange(len(y)) // 60)
    in_time = importance(Ridge(), X, y, repeats=2, time=np.arange(len(y)))
    assert {few.interval_method, in_time.interval_method} == {"corrected t over the folds"}
    assert np.isfinite(in_time.table["low"]).all()


def test_bad_input():
    X, y = load_diabetes(return_X_y=True)
    with pytest.raises(InvalidInput, match=r"one estimator\. Got 2: Ridge, LinearRegression"):
        importance([Ridge(), LinearRegression()], X, y)
    with pytest.raises(InvalidInput, match="'correlated' parameter must be an association above 0"):
        importance(Ridge(), X, y, correlated=1.5)
    with pytest.raises(InvalidInput, match="'repeats' parameter must be a whole number"):
        importance(Ridge(), X, y, repeats=0)
    with pytest.raises(InvalidInput, match=r"dense table\. Got a sparse matrix"):
        importance(Ridge(), OneHotEncoder().fit_transform(X[:, :1]), y)
    with pytest.raises(FitError, match=r"Importance needs the model of every fold\. 5 of 5"):
        importance(Ridge(), np.where(X > 0.1, np.nan, X), y, engine=Engine(on_error="record"))
    alone = importance(Ridge(), X[:, :1], y, repeats=2)
    assert "the table has one column" in alone.summary()
    assert len(alone.sets) == 0
    one_fold = importance(Ridge(), X, y, metric="r2", repeats=2, cv=[(np.arange(300), np.arange(300, 442))])
    assert one_fold.interval_method == "none: one fold"
    assert one_fold.table["low"].isna().all()
