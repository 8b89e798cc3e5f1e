"""The learners that are tried when none are named: the right ones for the table, and all of them fit it."""

import numpy as np
import pandas as pd
import pytest
from scipy import sparse
from sklearn.base import clone, is_classifier, is_regressor
from sklearn.datasets import load_iris
from sklearn.naive_bayes import GaussianNB

from truefit._methods.selection.default_candidates import EncodedLabels, default_candidates

OPTIONAL = {"lightgbm", "xgboost"}
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
