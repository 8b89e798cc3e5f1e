"""Checks of a study: the contract that all of them keep, and what each check of the table finds and does not find."""

import json
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import polars as pl
import pytest
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_breast_cancer, load_diabetes, load_digits, load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from truefit import study
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.finding import SEVERITIES
from truefit._metrics.metric import get_metric
from truefit._stats.intervals import Tail
from truefit._study.budget import TimeBudget
from truefit._study.checks import CHECKS, check_results, check_table, most_severe_first, resolve_ignored
from truefit._study.checks.base import CheckedTable, TableCheck
from truefit._study.checks.results import Miscalibrated
from truefit._study.evidence import NotRun, SkippedCandidate

DOCS = (Path(__file__).parents[2] / "docs" / "findings.md").read_text(encoding="utf-8")
N = 600
rng = np.random.default_rng(7)
Y = rng.integers(0, 3, N)
NOISE = pd.DataFrame({"a": rng.normal(size=N), "b": rng.choice(["x", "y", "z"], N)})


def table(X, y=Y, task="classification", *, metric=None, groups=None):
    return CheckedTable(Data(X, y, task=task, groups=groups), get_metric(metric, task))


def codes(X, y=Y, task="classification", **options):
    """Codes of the findings with their columns, without those about the number of rows."""
    findings = check_table(table(X, y, task, **options), ignore=("TF107", "TF108", "TF109"))
    return {(each.code, tuple(each.evidence.get("columns", [each.evidence.get("column")]))) for each in findings}


CLEAN = table(NOISE)
RARE = np.where(np.arange(N) % 8 == 0, "ill", "well")

TABLES = {
    "TF101": table(NOISE.assign(after=Y)),
    "TF102": table(NOISE.assign(row=np.arange(N))),
    "TF103": table(pd.concat([NOISE, NOISE.iloc[:30]], ignore_index=True), np.r_[Y, Y[:30]]),
    "TF104": table(NOISE.assign(unit="kg")),
    "TF105": table(NOISE.assign(empty=np.nan)),
    "TF106": table(NOISE, RARE),
    "TF107": table(NOISE, np.where(np.arange(N) < 20, 7, Y)),
    "TF108": table(NOISE.iloc[:400], Y[:400]),
    "TF109": table(rng.normal(size=(N, 61))),
    "TF110": table(NOISE.iloc[:200].assign(patient_id=np.arange(200)).loc[np.arange(N) // 3], Y[np.arange(N) // 3]),
    "TF112": replace(CLEAN, test=Data(NOISE.iloc[:50], Y[:50], task="classification")),
    "TF111": table(NOISE.assign(day=pd.date_range("2020", periods=N).astype(str)), np.arange(N) * 3 // N),
}


@pytest.fixture(scope="module")
def clean():
    """Evidence of a study in which nothing is wrong."""
    X, y = load_breast_cancer(return_X_y=True)
    models = {"dummy": DummyClassifier(), "linear": LogisticRegression(max_iter=5000), "bayes": GaussianNB()}
    return study(X / X.std(axis=0), y, models)._found


class Response:
    """How a model responds to noise, as far as a diagnosis reads it."""

    known = True

    def __init__(self, memorisation):
        self.memorisation = memorisation
        self.memorisation_ends = (memorisation - 0.05, memorisation + 0.05)
        self.memorisation_interval = self.memorisation_ends


class Noise:
    """Perturbed validation with a verdict that is given."""

    errors = None

    def __init__(self, verdict, **memorisation):
        self.verdict = {"linear": verdict}
        self.names = list(memorisation)
        self.by_name = {name: Response(share) for name, share in memorisation.items()}


class Parts:
    """Bias and variance with a share of variance that is given."""

    loss, rounds, names = "0-1", 25, ("linear",)

    def __init__(self, share):
        self.expected_loss = {"linear": 0.1}
        self.variance, self.bias = {"linear": 0.1 * share}, {"linear": 0.1 * (1 - share)}


class Curve:
    """A steep learning curve."""

    refused, metric, level = None, "error", 0.95

    def predict(self, rows):
        return 10 / rows, 5 / rows, 20 / rows


def result_cases(clean):
    """Return for each check of results evidence that it must report."""
    failed = SkippedCandidate("svm", 0, "fit failed: no such luck", "failed")
    small = {**clean.sampled, "perturbation": 300}
    return {
        "TF201": replace(clean, best="dummy"),
        "TF202": replace(clean, dropped=[failed]),
        "TF203": replace(clean, perturbation=Noise("overfitted", linear=0.9, bayes=0.1), bias_variance=Parts(0.4)),
        "TF204": replace(clean, perturbation=Noise("underfitted", linear=0.0), training={"linear": 0.36}),
        "TF205": replace(clean, perturbation=Noise("fits", linear=0.1), bias_variance=Parts(0.8)),
        "TF206": replace(clean, nested=SimpleNamespace(chosen=["linear", "bayes", "bayes", "linear", "bayes"])),
        "TF207": replace(clean, perturbation=Noise("memorises", linear=0.9)),
        "TF208": replace(clean, comparison=SimpleNamespace(pairs=(), ties=["linear", "bayes"])),
        "TF209": replace(clean, curves=SimpleNamespace(curves={"linear": Curve()})),
        "TF210": replace(clean, best="bayes"),
        "TF211": replace(clean, winner=replace(clean.winner, tail=Tail(200, 9.0, 1.1, 0.4))),
        "TF213": replace(clean, edges={"C": 0.01}),
        "TF215": replace(clean, importance=SimpleNamespace(dominant=("mean radius", 0.97))),
        "TF301": replace(clean, not_run=[NotRun("learning_curve", "time budget exhausted", "linear")]),
        "TF302": replace(clean, sampled=small),
        "TF303": replace(clean, time_budget=TimeBudget(60.0)),
    }


def test_codes_are_unique_and_in_order(clean):
    found = [check.code for check in CHECKS]
    assert found == sorted(set(found))
    assert set(found) == set(TABLES) | set(result_cases(clean))


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.code)
def test_a_check_keeps_the_contract(check, clean):
    assert check.code.startswith("TF")
    assert check.title[0].isupper()
    assert check.title[-1] != "."
    assert check.severity in SEVERITIES
    assert f"### {check.code}\n\n**{check.title}** ({check.severity})." in DOCS
    on_table = issubclass(check, TableCheck)
    case = TABLES[check.code] if on_table else result_cases(clean)[check.code]
    assert list(check().run(CLEAN if on_table else clean)) == []
    findings = list(check().run(case))
    assert findings
    for finding in findings:
        assert (finding.code, finding.title) == (check.code, check.title)
        assert finding.severity == check.severity or check.code in ("TF110", "TF111")  # by the size of a difference
        assert finding.text.endswith(".")
        assert finding.advice.endswith(".")
        assert finding.docs == f"docs/findings.md#{check.code.lower()}"
        assert json.loads(json.dumps(finding.to_dict(), allow_nan=False))["evidence"] == finding.evidence
        assert finding.evidence


def test_no_more_flexible_model_is_advised_where_one_was_not_better(clean):
    case = result_cases(clean)["TF204"]
    (finding,) = (each for each in check_results(case) if each.code == "TF204")
    assert finding.advice.startswith("Try a more flexible model")
    tried = replace(case, training={"linear": 0.36, "bayes": 0.05})
    (finding,) = (each for each in check_results(tried) if each.code == "TF204")
    assert finding.advice == (
        "Look for other features: the more flexible model bayes did no better on held-out rows."
    )  # fmt: skip
    unknown = replace(case, baselines=(), best="linear")  # without a baseline nothing shows that a model underfits
    assert "TF204" not in [each.code for each in check_results(unknown)]


@pytest.mark.parametrize(("interval", "found"), [((-2.3, 0.14), False), ((-0.9, -0.1), False), ((0.2, 0.9), True)])
def test_probabilities_without_relation_to_the_class_are_not_to_be_recalibrated(clean, monkeypatch, interval, found):
    slope = SimpleNamespace(slope=sum(interval) / 2, slope_interval=interval)
    result = SimpleNamespace(estimates={"bayes": {1: slope}})
    monkeypatch.setattr("truefit._study.checks.results.calibration_of", lambda *_, **__: result)
    assert bool(list(Miscalibrated().run(replace(clean, best="bayes")))) is found


def test_findings_come_with_the_most_severe_first_and_can_be_muted(clean):
    case = TABLES["TF101"]
    both = CheckedTable(Data(case.data.X.assign(unit=1), Y, task="classification"), case.metric)
    findings = most_severe_first(reversed(check_table(both)))
    assert [each.code for each in findings] == ["TF101", "TF104"]
    assert [each.code for each in check_table(both, ignore={"TF101"})] == ["TF104"]
    timed = result_cases(clean)["TF303"]
    assert [each.code for each in check_results(timed)] == ["TF303"]
    assert check_results(timed, ignore={"TF303"}) == []


@pytest.mark.parametrize("ignore", ["TF999", ("TF104", "nonsense"), (104,)])
def test_an_unknown_code_to_ignore_is_refused_with_the_known_ones(ignore):
    with pytest.raises(InvalidInput, match=r"A finding to ignore must be one of TF101, TF102, .* Got .* instead"):
        resolve_ignored(ignore)


def test_a_study_has_the_findings_of_its_table():
    models = {"tree": DecisionTreeClassifier(max_depth=2), "dummy": DummyClassifier()}
    found = study(NOISE[["a"]].assign(unit=1, after=Y), pd.Series(Y, name="kind"), models, ignore=("TF107",))
    assert [each.code for each in found.findings][:1] == ["TF101"]
    assert "TF104" in {each.code for each in found.findings}
    assert (found.target, found.to_dict()["target"]) == ("kind", "kind")
    assert found.next_steps[0].startswith("Check that 'after' is known before the target is.")
    assert found.summary().startswith("Check first\n  - Possible target leakage (TF101, error). Column 'after' alone")


# What each check of the table finds, and what it does not.


@pytest.mark.parametrize("load", [load_breast_cancer, load_iris, load_wine, load_digits])
def test_good_tables_have_no_leakage_and_no_ids(load):
    X, y = load(return_X_y=True, as_frame=True)
    assert not {code for code, _ in codes(X, y)} & {"TF101", "TF102"}


def test_a_good_regression_has_no_findings():
    X, y = load_diabetes(return_X_y=True, as_frame=True)
    assert codes(X, y, "regression") == set()


@pytest.mark.parametrize(
    "leak",
    [
        np.array(["ham", "egg", "oak"])[Y],
        pd.Categorical(np.array(["ham", "egg", "oak"])[Y]),
        10.0 * (2 - Y),
        Y + rng.uniform(-0.4, 0.4, N),
        pd.to_datetime("2024-01-01") + pd.to_timedelta(Y * 30 + rng.integers(0, 9, N), unit="D"),
    ],
    ids=["text", "category", "numbers", "a range each", "dates"],
)
def test_a_column_that_alone_predicts_the_class(leak):
    (finding,) = check_table(table(NOISE.assign(after=leak)))
    assert (finding.code, finding.evidence["column"]) == ("TF101", "after")
    assert (
        "'after' alone predicts the target without error on held-out rows (baseline on the same rows: 6" in finding.text
    )


def test_a_column_that_is_missing_where_the_class_is_rare():
    dose = np.where(RARE == "ill", rng.normal(size=N), np.nan)
    assert codes(NOISE.assign(dose=dose), RARE, metric="auc") == {("TF101", ("dose",))}


def test_a_column_that_a_quantity_is_a_function_of():
    cents = rng.gamma(2.0, 1000.0, N)
    X = NOISE.assign(euros=np.log(cents), tax=cents * rng.normal(0.2, 0.02, N))
    assert codes(X, cents, "regression") == {("TF101", ("euros",))}
    (finding,) = check_table(table(X, cents, "regression"))
    assert "it explains 99.9" in finding.text


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("a number", np.arange(N)),
        ("gaps", 3 * np.arange(N)[::-1] + 7.0),
        ("customer_id", rng.permutation(10**6)[:N]),
        ("code", [f"u-{i * 7919 % 99991:05d}" for i in range(N)]),
    ],
)
def test_ids_are_named(name, values):
    assert codes(NOISE.assign(**{name: values})) == {("TF102", (name,))}


@pytest.mark.parametrize(
    ("name", "values"),
    [
        ("salary", rng.permutation(10**6)[:N]),
        ("weight", np.sort(rng.normal(size=N))),
        ("remark", [f"the {i}th thing that was written about it" for i in range(N)]),
        ("when", pd.date_range("2024-01-01", periods=N)),
        ("age", rng.integers(18, 90, N)),
    ],
)
def test_measurements_texts_and_dates_are_no_ids(name, values):
    assert codes(NOISE.assign(**{name: values})) == set()


def test_few_rows_are_no_evidence():
    few = NOISE.iloc[:20].assign(number=range(20))
    assert codes(few, np.arange(20) % 2) == set()


def test_copies_of_rows_are_counted_across_groups_only():
    X = pd.concat([NOISE, NOISE.iloc[:30]], ignore_index=True)
    y = np.r_[Y, Y[:25], (Y[25:30] + 1) % 3]
    (finding,) = check_table(table(X, y))
    assert finding.text.startswith("25 of the 630 rows are copies of another row")
    together = np.r_[np.arange(N), np.arange(30)]
    assert check_table(table(X, y, groups=together)) == []
    assert check_table(table(X, y, groups=np.arange(N + 30)))[0].evidence["copies"] == 25


def test_many_constant_columns_are_one_finding():
    (finding,) = check_table(table(NOISE.assign(**{f"c{i}": 1 for i in range(7)})))
    assert finding.code == "TF104"
    assert "'c4' and 2 more have the same value in every row." in finding.text
    assert len(finding.evidence["columns"]) == 7


def test_imbalance_matters_for_metrics_that_count_rows():
    assert ("TF106", (None,)) in codes(NOISE, RARE)
    assert codes(NOISE, RARE, metric="auc") == codes(NOISE, RARE, metric="balanced_accuracy") == set()
    (finding,) = check_table(table(NOISE, RARE), ignore=("TF107",))
    assert finding.advice == "If the rare rows matter, use balanced accuracy or AUC as the metric."
    single = np.where(np.arange(N) == 0, "ill", "well")
    for case in (table(NOISE, single), replace(table(NOISE, RARE), replaced=True)):  # AUC has no value on the folds
        (finding,) = (each for each in check_table(case) if each.code == "TF106")
        assert finding.advice == "If the rare rows matter, use balanced accuracy as the metric."


def test_arrays_polars_frames_and_sparse_matrices():
    X = np.column_stack([rng.normal(size=N), Y])
    assert codes(X) == {("TF101", ("column 1",))}
    assert codes(pl.DataFrame({"a": X[:, 0], "leak": X[:, 1]})) == {("TF101", ("leak",))}
    assert codes(sparse.csr_matrix(X)) == set()


def test_thousands_of_columns_and_equal_names():
    wide = pd.DataFrame(rng.normal(size=(300, 3000)), columns=["same"] * 3000)
    wide.insert(17, "leak", Y[:300])
    assert codes(wide, Y[:300]) == {("TF101", ("leak",))}


@pytest.mark.parametrize("cells", [["\ud800", "x", None], [[1], [2], None], [{"a": 1}, "x", 2]])
def test_cells_that_pandas_cannot_hash(cells):
    odd = pd.Series([cells[i % 3] for i in range(N)], dtype=object)
    assert codes(NOISE.assign(odd=odd)) == set()


def test_long_doubles():
    assert codes(rng.normal(size=(N, 2)).astype(np.longdouble)) == set()


class Broken(ClassifierMixin, BaseEstimator):
    def fit(self, X, y):
        raise ValueError("no such luck")

    def predict(self, X):
        return np.zeros(len(X))


def test_a_candidate_of_an_unknown_family_is_timed_and_one_that_fails_is_reported():
    X, y = load_iris(return_X_y=True)
    found = study(X, y, {"knn": KNeighborsClassifier(), "broken": Broken()})
    reported = {each.code: each for each in found.findings}
    assert reported["TF202"].text.startswith("broken: fit failed: ValueError: no such luck")
    assert reported["TF303"].evidence == {"budget_seconds": None}
