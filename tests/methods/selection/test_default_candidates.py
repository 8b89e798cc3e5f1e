"""The learners that are tried when none are named: the right ones for the table, and all of them fit it."""

import os
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from truefit import assess, study
from truefit._core.errors import InvalidInput
from truefit._methods.selection.default_candidates import EncodedLabels, candidate_named, default_candidates
from truefit._methods.selection.families import default_families, family_named

OPTIONAL = {"lightgbm", "xgboost", "catboost"}
rng = np.random.default_rng(0)
N = 90
RAW = pd.DataFrame(
    {
        "size": np.where(rng.random(N) < 0.1, np.nan, rng.normal(size=N)),
        "city": rng.choice(["Ulm", "Jena", None], N),
        "born": pd.date_range("2000-01-01", periods=N),
        "remark": [f"remark {i} of many" for i in rng.integers(0, 60, N)],
        "grade": pd.Categorical(rng.choice(["a", "b"], N)),
        "member": rng.random(N) < 0.5,
    }
)


def names(rows, columns, task="classification"):
    return set(default_candidates(np.broadcast_to(0.5, (rows, columns)), task)) - OPTIONAL


def test_the_set_depends_on_the_size():
    small = {"dummy", "linear", "naive_bayes", "knn", "tree", "random_forest", "boosting", "svm", "mlp"}
    assert names(500, 20) == small
    assert names(5_000, 20) == small - {"svm"}
    assert names(500, 10_000) == small - {"boosting", "mlp"}
    assert names(500, 20, "regression") == small - {"naive_bayes"}


def test_forests_of_large_tables_grow_on_a_share_of_the_rows():
    large = np.broadcast_to(0.5, (50_000, 3))
    assert default_candidates(large, "regression")["random_forest"].max_samples == 0.2
    assert default_candidates(large[:10_000], "regression")["random_forest"].max_samples is None


@pytest.mark.parametrize("task", ["classification", "regression"])
def test_all_take_a_raw_table_and_labels_of_any_kind(task):
    y = rng.choice(["no", "yes", "<b>"], N) if task == "classification" else rng.normal(1e6, 1e5, N)
    for name, candidate in default_candidates(RAW, task).items():
        assert (is_classifier if task == "classification" else is_regressor)(candidate), name
        predicted = clone(candidate).fit(RAW, y).predict(RAW)
        assert len(predicted) == N, name
        if task == "classification":
            assert set(predicted) <= set(y), name


def test_large_numbers_are_learned_whatever_their_unit():
    X = rng.normal(size=(300, 2))
    y = 1e6 * X[:, 0]
    for name in ("svm", "mlp"):
        assert default_candidates(X, "regression")[name].fit(X, y).score(X, y) > 0.9, name


def test_sparse_tables():
    X, y = load_iris(return_X_y=True)
    candidates = default_candidates(sparse.csr_matrix(X), "classification")
    assert list(candidates) == ["dummy", "linear", "knn", "random_forest", "svm"]
    for candidate in candidates.values():
        candidate.fit(sparse.csr_matrix(X), y)


def test_labels_come_back_as_they_were():
    X, y = load_iris(return_X_y=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    encoded, plain = EncodedLabels(GaussianNB()).fit(X, words), GaussianNB().fit(X, words)
    np.testing.assert_array_equal(encoded.predict(X), plain.predict(X))
    np.testing.assert_array_equal(encoded.predict_proba(X), plain.predict_proba(X))
    assert encoded.classes_.tolist() == plain.classes_.tolist()


@pytest.mark.parametrize("package", sorted(OPTIONAL))
def test_packages_that_are_installed_are_used(package):
    pytest.importorskip(package)
    X, y = load_iris(return_X_y=True, as_frame=True)
    words = np.array(["setosa", "versicolor", "virginica"])[y]
    assert default_candidates(X, "classification")[package].fit(X, words).score(X, words) > 0.9
    assert default_candidates(X, "regression")[package].fit(X, y).score(X, y) > 0.9


def test_a_small_table_has_as_many_neighbours():
    for rows, count in ((3, 1), (30, 6), (75, 15), (1000, 15)):
        knn = default_candidates(np.zeros((rows, 2)), "classification")["knn"]
        assert knn[-1].n_neighbors == count


def assert_same_answers(X, y, task, names=None):
    pl = pytest.importorskip("polars")
    tables = (X, y), (pl.from_pandas(X), pl.from_pandas(y))
    found = []
    for table, target in tables:
        candidates = default_candidates(table, task)
        candidates = {name: candidates[name] for name in names or candidates}
        found.append(assess(candidates, table, target, cv=3, random_state=0))
    assert found[0].estimate == found[1].estimate
    assert found[0].interval == found[1].interval


def test_pandas_and_polars_give_the_same_answers():
    raw = RAW.assign(
        visits=pd.array(rng.choice([1, 2, None], N), dtype="Int64"),
        grade=pd.Categorical(rng.choice(["b", "a"], N), categories=["c", "b", "a"]),
        digits=rng.choice(["1", "2"], N),
    )
    y = pd.Series(rng.choice(["no", "yes"], N))
    assert_same_answers(raw, y, "classification", ["linear", "naive_bayes", "knn", "tree", "boosting", "svm"])
    numbers = pd.DataFrame({"a": rng.normal(size=N), "b": rng.integers(0, 9, N), "c": rng.random(N) < 0.5})
    assert_same_answers(numbers, numbers["a"] + rng.normal(size=N), "regression")


def test_a_model_of_a_polars_study_predicts_either_frame():
    pl = pytest.importorskip("polars")
    y = rng.choice(["no", "yes"], N)
    table = pl.from_pandas(RAW)
    model = default_candidates(table, "classification")["linear"].fit(table, y)
    assert model.predict(table).tolist() == model.predict(RAW).tolist()


def test_categories_that_only_test_rows_have_are_no_reason_to_warn():
    X = pd.DataFrame({"colour": ["red"] * 20 + ["blue"] * 20, "size": np.arange(40.0)})
    y = np.tile([0, 1], 20)
    model = default_candidates(X, "classification")["linear"].fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.predict(X.assign(colour="green"))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.skipif("TRUEFIT_DATA" not in os.environ, reason="the public tables are not there")
@pytest.mark.parametrize(
    ("table", "task"),
    [
        ("german_credit", "classification"),
        ("adult", "classification"),
        ("auto_mpg", "regression"),
        ("wine_quality", "regression"),
    ],
)
def test_real_tables_give_the_same_answers_from_pandas_and_polars(table, task):
    frame = pd.read_parquet(Path(os.environ["TRUEFIT_DATA"]) / f"{table}.parquet")
    if len(frame) > 1000:
        frame = frame.sample(600, random_state=0)
    assert_same_answers(frame.iloc[:, :-1], frame.iloc[:, -1], task)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::sklearn.exceptions.ConvergenceWarning")
@pytest.mark.skipif("TRUEFIT_DATA" not in os.environ, reason="the public tables are not there")
def test_a_study_of_a_real_table_is_the_same_from_pandas_and_polars():
    pl = pytest.importorskip("polars")
    frame = pd.read_parquet(Path(os.environ["TRUEFIT_DATA"]) / "auto_mpg.parquet")
    X, y = frame.iloc[:, :-1], frame.iloc[:, -1]
    tables = ((X, y), (pl.from_pandas(X), pl.from_pandas(y)))
    one, other = (study(*table, tune=False, random_state=0) for table in tables)
    assert (one.best, one.estimate, one.interval) == (other.best, other.estimate, other.interval)


def test_recalibrated_candidates_have_names_and_the_search_space_of_what_they_recalibrate():
    X, y = load_iris(return_X_y=True)
    families = default_families(X, "classification")
    known = {name: family.estimator for name, family in families.items()}
    platt, isotonic = (candidate_named(f"linear+{method}", known) for method in ("platt", "isotonic"))
    assert (platt.method, isotonic.method) == ("sigmoid", "isotonic")
    assert platt.estimator is known["linear"]
    assert candidate_named("linear", known) is known["linear"]
    settings = family_named("linear+platt", platt, families).settings()
    assert [each.params for each in settings] == [each.params for each in families["linear"].settings()]
    assert [each.estimator.estimator[-1].C for each in settings] == [each.params["C"] for each in settings]
    assert settings[0].estimator.fit(X, y).predict_proba(X).shape == (150, 3)
    with pytest.raises(InvalidInput, match=r"also with \+platt or \+isotonic. Got 'svm\+plat'"):
        study(X, y, ["svm+plat"])
    with pytest.raises(InvalidInput, match=r"Got 'linear\+platt'"):  # numbers have no probabilities
        study(X, X[:, 0], ["linear+platt"])
