"""Rows that belong together or depend on their order: what is measured and reported, and what is not."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier

from truefit import study
from truefit._core.data import Data
from truefit._metrics.metric import get_metric
from truefit._study.checks import check_table
from truefit._study.checks.base import CheckedTable
from truefit._study.checks.dependence import OrderedRows, RelatedRows


def found(X, y, task="classification", groups=None):
    table = CheckedTable(Data(X, y, task=task, groups=groups), get_metric(None, task))
    return {each.code: each for each in check_table(table) if each.code in ("TF102", "TF110", "TF111")}


def patients(name=None, *, text=False, seed=0):
    """200 patients with 3 visits that hardly differ; the label is the patient's, and has nothing to do with them."""
    rng = np.random.default_rng(seed)
    ids = np.repeat(rng.permutation(200), 3)
    X = pd.DataFrame(rng.normal(size=(200, 6))[ids] + 0.05 * rng.normal(size=(600, 6))).add_prefix("x")
    if name is not None:
        X[name] = [f"P{each:03}" for each in ids] if text else ids
    order = rng.permutation(600)
    return X.iloc[order].reset_index(drop=True), rng.integers(0, 2, 200)[ids][order], ids[order]


@pytest.mark.parametrize(("name", "text"), [("patient_id", False), ("patient_id", True), ("code", True), (None, False)])
def test_visits_of_patients_are_found_with_and_without_their_id(name, text):
    X, y, ids = patients(name, text=text)
    findings = found(X, y)
    assert list(findings) == ["TF110"]
    finding = findings["TF110"]
    evidence = finding.evidence
    assert finding.severity == "error"
    assert evidence["shuffled"] < 0.1
    assert evidence["structured"] > 0.35
    assert evidence.get("column") == name
    for value in (evidence["shuffled"], evidence["structured"]):
        assert f"{value:.1%}" in finding.text
    assert f"--groups {name or 'COLUMN'}" in finding.advice
    assert found(X, y, groups=ids) == {}


def test_a_study_of_patients_reports_it_and_with_groups_the_honest_error():
    X, y, ids = patients()
    models = {"knn": KNeighborsClassifier(1), "bayes": GaussianNB()}
    plain, grouped = study(X, y, models), study(X, y, models, groups=ids)
    assert plain.findings[0].code == "TF110"
    assert "near-duplicates" in plain.summary()
    assert "TF110" not in {each.code for each in grouped.findings}
    assert plain.estimate < 0.1
    assert grouped.estimate > 0.35


def test_mixtures_that_differ_in_one_column_are_found():
    rng = np.random.default_rng(0)
    mixture = rng.permutation(np.r_[np.arange(428), rng.integers(0, 428, 602)])
    parts = rng.gamma(2, size=(428, 7)).round(1)
    strength = parts @ rng.normal(size=7) + 4 * np.sin(3 * parts[:, 0]) * parts[:, 1] + 3 * rng.normal(size=428)
    age = rng.choice([1, 3, 7, 14, 28, 56, 90, 180, 365], 1030)
    y = strength[mixture] + 3 * np.log(age) + 0.5 * rng.normal(size=1030)
    finding = found(pd.DataFrame(np.c_[parts[mixture], age]), y, "regression")["TF110"]
    assert finding.evidence["loss"] == "rmse"
    assert finding.evidence["structured"] > 1.15 * finding.evidence["shuffled"]
    repeated = np.bincount(mixture) > 1
    assert finding.evidence["groups"] == pytest.approx(repeated.sum(), rel=0.05)


@pytest.mark.parametrize("kind", ["%Y-%m-%d", "%d/%m/%Y", "%d %B %Y", None])
def test_drift_over_dates_is_found_and_the_date_is_no_id(kind):
    rng = np.random.default_rng(0)
    when, X = np.arange(800), rng.normal(size=(800, 3))
    y = X[:, 0] + 8 * (when / 800) ** 2 + 0.3 * rng.normal(size=800)
    dates = pd.Series(pd.date_range("2020-01-01", periods=800))
    table = pd.DataFrame(X).add_prefix("x").assign(day=dates if kind is None else dates.dt.strftime(kind))
    order = rng.permutation(800)
    finding = found(table.iloc[order].reset_index(drop=True), y[order], "regression")
    assert list(finding) == ["TF111"]
    assert finding["TF111"].evidence["column"] == "day"
    assert "--time day" in finding["TF111"].advice
    # Without the drift there is nothing to report.
    assert found(table, X[:, 0] + 0.3 * rng.normal(size=800), "regression") == {}


def test_neighbours_that_are_alike_are_a_warning_and_a_sorted_table_is_not():
    rng = np.random.default_rng(0)
    state = np.repeat(rng.normal(size=(60, 4)), 10, axis=0)
    X = state + 0.1 * rng.normal(size=(600, 4))
    y = np.repeat(rng.integers(0, 2, 60), 10)
    finding = found(X, y)["TF111"]
    assert finding.severity == "warning"
    assert finding.evidence["correlation"] > 0.5
    assert "rerun with time= (--time COLUMN). If neighbours" in finding.advice
    dated = pd.DataFrame(X).add_prefix("x").assign(day=pd.date_range("2024-01-01", periods=600))
    assert "time='day' (--time day)" in found(dated, y)["TF111"].advice
    X = rng.normal(size=(600, 4))
    labels = (X[:, 0] + rng.normal(size=600) > 0).astype(int)
    order = np.argsort(labels, kind="stable")
    assert found(X[order], labels[order]) == {}
    amounts = X[:, 0] + rng.normal(size=600)
    order = np.argsort(amounts)
    assert found(X[order], amounts[order], "regression") == {}


@pytest.mark.parametrize("load", [load_iris, load_breast_cancer, load_diabetes, load_digits])
def test_ordinary_tables_have_no_finding(load):
    bunch = load()
    assert found(bunch.data, bunch.target, "regression" if load is load_diabetes else "classification") == {}


def test_a_random_id_or_many_equal_cells_are_no_finding():
    reported = 0
    for seed in range(6):
        rng = np.random.default_rng(seed)
        cells = pd.DataFrame(rng.integers(0, 4, (500, 6))).add_prefix("x")
        y = (cells["x0"] + cells["x1"] * cells["x2"] + rng.normal(size=500) > 3).to_numpy().astype(int)
        reported += bool(found(cells.assign(site_id=rng.integers(0, 120, 500)), y))
    assert reported <= 1


def test_odd_columns_are_no_obstacle():
    rng = np.random.default_rng(0)
    table = pd.DataFrame(
        {
            "a": rng.normal(size=200),
            "infinite": np.r_[np.inf, -np.inf, 1e300, np.nan, rng.normal(size=196)],
            "nullable": pd.array([None, 1] * 100, dtype="Int64"),
            "lists": [[1, 2]] * 200,
            "mixed": [1, "a"] * 100,
            "empty": np.nan,
            "zoned": pd.date_range("2020", periods=200, tz="Europe/Berlin"),
            "period": pd.period_range("2000", periods=200, freq="D"),
            "span": pd.to_timedelta(np.arange(200), unit="h"),
        }
    )
    for task, y in (("classification", rng.integers(0, 2, 200)), ("regression", rng.normal(size=200))):
        checked = CheckedTable(Data(table, y, task=task), get_metric(None, task))
        assert list(RelatedRows().run(checked)) == list(OrderedRows().run(checked)) == []
