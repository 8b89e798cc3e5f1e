"""Rows that belong together: no method trains on some rows of a group and evaluates others, whatever the splitter."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GroupKFold,
    GroupShuffleSplit,
    KFold,
    LeaveOneGroupOut,
    LeaveOneOut,
    LeavePGroupsOut,
    ShuffleSplit,
    StratifiedGroupKFold,
)
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

import truefit
from truefit import (
    AgghooClassifier,
    AgghooRegressor,
    Engine,
    HonestSearchCV,
    PerturbedSearch,
    assess,
    bias_variance,
    compare,
    complexity_curve,
    cross_test,
    learning_curve,
    perturb,
)
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.protocols import FitTask
from truefit._methods.subplans import run_subplan
from truefit._stats.clustered import clustered_paired_t
from truefit._stats.paired import pooled_paired_t

rng = np.random.default_rng(0)
SIZES = rng.integers(1, 9, 28)
SIZES[0] = 14
GROUPS = rng.permutation(np.repeat(np.arange(28), SIZES))
N = len(GROUPS)
OFFSETS = rng.normal(size=(28, 3))
X = rng.normal(size=(N, 3)) + OFFSETS[GROUPS]
Y = (X[:, 0] + OFFSETS[GROUPS, 1] + rng.normal(size=N) > 0).astype(int)
TARGET = X @ [1.0, 2.0, 0.0] + OFFSETS[GROUPS, 2] + rng.normal(size=N)
BAYES, TREE = GaussianNB(), DecisionTreeClassifier(max_depth=3, random_state=0)
DEPTHS = {"max_depth": [1, 3]}
THIRDS = GROUPS % 3


class Recorder(Engine):
    """An engine that keeps every task with its table."""

    def __init__(self) -> None:
        super().__init__(progress=False)
        self.tasks: list[tuple[FitTask, Data]] = []

    def run_all(self, plans: Any, **options: Any) -> list[Any]:
        return super().run_all([(self._noted(plan, data), data) for plan, data in plans], **options)

    def _noted(self, plan: Any, data: Data) -> Any:
        return run_subplan(plan, change_task=lambda task: self.tasks.append((task, data)) or task)


def splits_a_group(task: FitTask, data: Data) -> bool:
    """Whether a fit is evaluated on rows of a group that it was trained on, or its rows hold a part of a group."""
    assert data.groups is not None
    train, original = np.unique(task.train.index), data.n == N  # else perturbed copies of the rows stand below
    for asked in {ask.rows for ask in task.asks}:
        test = np.unique(asked.index)
        if np.array_equal(np.unique(train % N), np.unique(test % N)):  # the training rows, or their perturbed copies
            continue
        if np.intersect1d(data.groups[train], data.groups[test]).size or (original and not whole(test, data)):
            return True
    return original and not whole(train, data)


def whole(rows: Any, data: Data) -> bool:
    return np.isin(data.groups, data.groups[rows]).sum() == len(rows)


def fit_perturbed(engine: Engine) -> Any:
    return PerturbedSearch(TREE, DEPTHS, repeats=2, levels=[0.25, 0.5], engine=engine).fit(X, Y, groups=GROUPS)


def agghoo_test(engine: Engine, **options: Any) -> Any:
    return cross_test(AgghooClassifier(TREE, DEPTHS), X, Y, groups=GROUPS, engine=engine, **options)


def search(engine: Engine, **options: Any) -> Any:
    return HonestSearchCV(TREE, DEPTHS, engine=engine, **options).fit(X, Y, groups=GROUPS)


METHODS: dict[str, Any] = {
    **{
        f"assess {design}": lambda engine, design=design: assess(
            [BAYES, TREE], X, Y, groups=GROUPS, design=design, repeats=repeats_of(design), engine=engine
        )
        for design in ("kfold", "nested", "holdout", "threeway", "loo", "bootstrap", ".632", ".632+")
    },
    "assess repeats": lambda engine: assess(BAYES, X, Y, groups=GROUPS, repeats=3, cv=7, engine=engine),
    "assess regression": lambda engine: assess(Ridge(), X, TARGET, groups=GROUPS, design="nested", engine=engine),
    "assess conservative z": lambda engine: assess(
        BAYES, X, Y, groups=GROUPS, design="holdout", repeats=3, interval="conservative_z", engine=engine
    ),
    "compare": lambda engine: compare([BAYES, TREE], X, Y, groups=GROUPS, repeats=2, engine=engine),
    "cross_test": agghoo_test,
    "cross_test inner folds": lambda engine: agghoo_test(engine, inner_cv=3),
    "cross_test inner splitter": lambda engine: agghoo_test(engine, cv=GroupShuffleSplit(2), inner_cv=GroupKFold(3)),
    "learning_curve": lambda engine: learning_curve(TREE, X, Y, groups=GROUPS, cv=3, train=True, engine=engine),
    "learning_curve sizes": lambda engine: learning_curve(
        Ridge(), X, TARGET, groups=GROUPS, cv=4, schedule=[40, 41, 60, 61, 80, N], engine=engine
    ),
    "learning_curve budget": lambda engine: learning_curve(BAYES, X, Y, groups=GROUPS, cv=3, budget=77, engine=engine),
    "perturb": lambda engine: perturb([BAYES, TREE], X, Y, groups=GROUPS, repeats=2, engine=engine),
    "perturb feature": lambda engine: perturb(
        BAYES, X, Y, groups=GROUPS, repeats=2, perturbation="feature", engine=engine
    ),
    "perturb boundary": lambda engine: perturb(
        BAYES, X, Y, groups=GROUPS, repeats=2, perturbation="boundary", engine=engine
    ),
    "bias_variance": lambda engine: bias_variance(TREE, X, Y, groups=GROUPS, rounds=10, engine=engine),
    "complexity_curve": lambda engine: complexity_curve(
        TREE, X, Y, parameter="max_depth", values=[1, 3], groups=GROUPS, engine=engine
    ),
    "HonestSearchCV": lambda engine: search(engine, return_train_score=True),
    "HonestSearchCV race": lambda engine: search(engine, race="folds"),
    "HonestSearchCV race over sizes": lambda engine: search(engine, race="sizes"),
    "HonestSearchCV splitter": lambda engine: search(engine, cv=GroupShuffleSplit(3, random_state=0)),
    "PerturbedSearch": fit_perturbed,
    "AgghooClassifier": lambda engine: AgghooClassifier(TREE, DEPTHS, engine=engine).fit(X, Y, groups=GROUPS),
    "AgghooRegressor": lambda engine: AgghooRegressor(
        DecisionTreeRegressor(random_state=0), DEPTHS, cv=7, engine=engine
    ).fit(X, TARGET, groups=GROUPS),
    "study": lambda engine: truefit.study(X, Y, {"bayes": BAYES, "tree": TREE}, groups=GROUPS, engine=engine),
    **{
        f"cv {name}": lambda engine, cv=cv: assess(BAYES, X, Y, groups=GROUPS, cv=cv, engine=engine)
        for name, cv in {
            "GroupKFold": GroupKFold(4),
            "StratifiedGroupKFold": StratifiedGroupKFold(4),
            "GroupShuffleSplit": GroupShuffleSplit(3, random_state=0),
            "LeaveOneGroupOut": LeaveOneGroupOut(),
            "LeaveOneOut": LeaveOneOut(),
            "LeavePGroupsOut": LeavePGroupsOut(2),
            "pairs": [(np.flatnonzero(~third), np.flatnonzero(third)) for third in np.eye(3, dtype=bool)[:, THIRDS]],
        }.items()
    },
}


def repeats_of(design: str) -> int | None:
    return 5 if design in ("bootstrap", ".632", ".632+") else None


@pytest.mark.parametrize("method", METHODS)
def test_no_fit_is_evaluated_on_a_group_it_was_trained_on(method: str) -> None:
    engine = Recorder()
    METHODS[method](engine)
    assert engine.tasks
    assert [task for task, data in engine.tasks if splits_a_group(task, data)] == []


def test_the_recorder_sees_a_split_group() -> None:
    engine = Recorder()
    assess(BAYES, X, Y, engine=engine)
    data = Data(X, Y, task="classification", groups=GROUPS)
    assert any(splits_a_group(task, data) for task, _ in engine.tasks)


@pytest.mark.parametrize("cv", [KFold(5), ShuffleSplit(2), [(np.arange(0, 60), np.arange(60, N))]])
def test_a_splitter_that_splits_groups_is_refused(cv: Any) -> None:
    for run in (lambda: assess(BAYES, X, Y, groups=GROUPS, cv=cv), lambda: search(Engine(), cv=cv)):
        with pytest.raises(InvalidInput, match=r"not in both.* rows of group \d+ in both\. Use a number of folds"):
            run()


@pytest.mark.parametrize("groups", [None, GROUPS], ids=["rows", "groups"])
def test_a_search_takes_as_many_fits_with_groups(groups: Any) -> None:
    engine = Engine(progress=False)
    HonestSearchCV(TREE, {"max_depth": [1, 2, 3, 4]}, engine=engine).fit(X, Y, groups=groups)
    assert engine.stats.run == 15 * 4 + 1


def test_leave_one_out_leaves_out_groups() -> None:
    result = assess(BAYES, X, Y, groups=GROUPS, design="loo")
    assert len(result.splits) == 28
    assert result.splits.description == "leave-one-group-out cross-validation"
    assert result.estimate == pytest.approx(assess(BAYES, X, Y, groups=GROUPS, cv=LeaveOneGroupOut()).estimate)
    # All rows count alike, as in the interval; the test sets do not, unlike in nested cross_val_score.
    assert result.estimate == pytest.approx(np.mean(np.concatenate(result.row_losses("GaussianNB") or [])))
    nested = search(Engine(), cv=LeaveOneGroupOut()).assessment_
    assert nested.estimate == pytest.approx(nested.fold_scores.mean())
    assert "corrected t" in nested.summary()
    assert len(assess(BAYES, X, Y, groups=np.arange(N), design="loo").splits) == N


#: What names groups: the same ones under other names and types.
NAMES = [f"patient {group}" for group in GROUPS]
SPELLINGS: dict[str, Any] = {
    "strings": NAMES,
    "object": np.array(NAMES, dtype=object),
    "category": pd.Series(NAMES, dtype="category"),
    "string": pd.Series(NAMES, dtype="string"),
    "nullable": pd.Series(GROUPS, dtype="Int64"),
    "arrow": pd.Series(GROUPS, dtype="int64[pyarrow]"),
    "arrow strings": pd.Series(NAMES, dtype="string[pyarrow]"),
    "polars": pl.Series(GROUPS),
    "polars strings": pl.Series(NAMES),
    "polars category": pl.Series(NAMES, dtype=pl.Categorical),
    "pyarrow": pa.array(NAMES),
    "floats": GROUPS + 0.5,
    "dates": pd.Timestamp("2024-01-01") + pd.to_timedelta(GROUPS, unit="D"),
    "a column": GROUPS.reshape(-1, 1),
    "a frame": pd.DataFrame({"patient": NAMES}),
    "other order": 27 - GROUPS,
}


def numbers(groups: Any) -> list[Any]:
    result = assess(BAYES, X, Y, groups=groups, repeats=2)
    samples = assess(BAYES, X, Y, groups=groups, design="bootstrap", repeats=5)
    curve = learning_curve(BAYES, X, Y, groups=groups, cv=3, schedule=[50, N])
    return [result.estimate, *result.interval, samples.estimate, *curve.sizes, *curve.errors, *curve.stderr]


@pytest.mark.parametrize("spelling", SPELLINGS)
def test_the_names_of_groups_do_not_matter(spelling: str) -> None:
    assert numbers(SPELLINGS[spelling]) == pytest.approx(numbers(GROUPS))


BAD: dict[str, tuple[Any, str]] = {
    "None": ([None, *NAMES[1:]], f"a value for every row. Got 1 missing of {N}. Give these rows groups of their own"),
    "NaN": (np.where(GROUPS == 3, np.nan, GROUPS), f"Got {SIZES[3]} missing of {N}"),
    "NA": (pd.Series([pd.NA, *GROUPS[1:]], dtype="Int64"), f"Got 1 missing of {N}"),
    "NA string": (pd.Series([pd.NA, *NAMES[1:]], dtype="string"), f"Got 1 missing of {N}"),
    "missing category": (pd.Series([None, *NAMES[1:]], dtype="category"), f"Got 1 missing of {N}"),
    "NaT": (pd.Series([pd.NaT, *pd.to_datetime(GROUPS[1:], unit="D")]), f"Got 1 missing of {N}"),
    "polars null": (pl.Series([None, *NAMES[1:]]), f"Got 1 missing of {N}"),
    "polars null number": (pl.Series([None, *GROUPS[1:].tolist()]), f"Got 1 missing of {N}"),
    "short": (GROUPS[:-1], f"X has {N} rows, so groups must have {N} values. Got {N - 1}"),
    "one value": (3, f"groups must have {N} values. Got a single value"),
    "constant": (["a"] * N, f"at least 2 groups. Got 'a' for all {N} rows"),
    "two columns": (np.column_stack([GROUPS, GROUPS]), "one value per row. Got a table of 2 columns"),
    "mixed": (["a", *GROUPS[1:].tolist()], "The values of groups must be of one type"),
    "few": (THIRDS, "Got 5 folds and 3 groups. Use at most 3 folds"),
}


@pytest.mark.parametrize("name", BAD)
def test_groups_that_cannot_be_used_are_refused_in_a_sentence(name: str) -> None:
    groups, text = BAD[name]
    runs = [
        lambda: assess(BAYES, X, Y, groups=groups),
        lambda: HonestSearchCV(TREE, DEPTHS).fit(X, Y, groups=groups),
        lambda: truefit.study(X, Y, {"bayes": BAYES, "tree": TREE}, groups=groups),
    ]
    for run in runs:
        with pytest.raises(InvalidInput, match=re.escape(text)):
            run()


def test_groups_of_one_row_are_rows() -> None:
    grouped, plain = assess(BAYES, X, Y, groups=np.arange(N)), assess(BAYES, X, Y)
    assert grouped.estimate == pytest.approx(plain.estimate, abs=0.05)
    # Student's quantile is slightly wider than the normal one.
    width, usual = (np.diff(result.interval)[0] for result in (grouped, plain))
    assert usual < width < 1.1 * usual
    study = truefit.study(X, Y, [BAYES, TREE], groups=np.arange(N))
    assert f"none of the {N} groups is in two folds" in study.answers[1].sentences[-1]


def test_the_estimand_and_the_answers_name_groups() -> None:
    one, several = assess(BAYES, X, Y, groups=GROUPS), compare([BAYES, TREE], X, Y, groups=GROUPS)
    nested, crossed = search(Engine()).assessment_, agghoo_test(Engine())
    curve = learning_curve(BAYES, X, Y, groups=GROUPS, cv=3)
    for result in (one, nested, crossed, curve):
        assert result.to_dict()["estimand"].startswith(f"{result.metric} on rows of new groups of ")
        assert "on rows of new groups" in result.summary()
    assert "Estimated: error on rows of new groups of the learner" in several.summary()
    assert "new groups" not in assess(BAYES, X, Y).estimand + learning_curve(BAYES, X, Y, cv=3).estimand
    study = truefit.study(X, Y, {"bayes": BAYES, "tree": TREE}, groups=GROUPS)
    assert study.answers[1].headline.endswith(" on rows of new groups.")
    assert (
        "All numbers are for rows of new groups: none of the 28 groups is in two folds."
        in (study.answers[1].sentences[-1])
    )
    assert "(paired t-test clustered by group" in " ".join(study.answers[0].sentences)
    assert study.to_dict()["groups"] == 28
    page = study.to_html()
    assert "Error on rows of new groups" in page
    assert "28 groups" in page


@pytest.mark.parametrize(
    ("options", "test"),
    [
        ({}, "pooled losses × 1.2, clustered by group"),
        ({"repeats": 2}, "averaged repeats × 1.1, clustered by group"),
        ({"cv": LeaveOneGroupOut()}, "pooled losses × 1.2, clustered by group"),
        ({"test": "corrected_t"}, "corrected t"),
        ({"metric": "brier"}, "corrected t"),
        ({"groups": GROUPS % 19}, "corrected t"),
        ({"sample_weight": np.arange(1.0, N + 1)}, "corrected t"),
        ({"cv": GroupShuffleSplit(3, random_state=0)}, "corrected t"),
    ],
    ids=["folds", "repeats", "one group", "corrected t", "squared loss", "few groups", "weights", "shuffled"],
)
def test_a_comparison_with_enough_groups_is_clustered(options: dict[str, Any], test: str) -> None:
    result = compare([BAYES, TREE], X, Y, **({"groups": GROUPS} | options))
    assert result.pairs[0].test == test
    assert result.notes[0].startswith("paired test: ")
    assert ("clustered by group" in result.notes[0]) == ("clustered" in test)


def test_the_clustered_difference_is_that_of_the_rows() -> None:
    result = compare({"bayes": BAYES, "dummy": DummyClassifier()}, X, Y, groups=GROUPS, reference="bayes")
    tested = np.concatenate([split.test.index for split in result.assessment.splits])
    dummy, bayes = (np.concatenate(result.assessment.row_losses(name) or []) for name in ("dummy", "bayes"))
    found = clustered_paired_t([dummy - bayes], [GROUPS[tested]], factor=1.2)
    assert result.pairs[0].found == found
    assert found.df < 27
    assert found.se > 1.05 * pooled_paired_t([dummy - bayes], factor=1.2).se
    one_split = compare([BAYES, TREE], X, Y, groups=np.arange(N) // 2, design="holdout", cv=2)
    assert one_split.pairs[0].test == "paired t on the held-out rows, clustered by group"
    assert one_split.simplest_within_one_se() in one_split.names


def test_the_winner_is_selected_on_samples_of_groups() -> None:
    trees = {str(depth): DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (1, 2, 4, 8)}
    engine = Engine(progress=False)
    winner = assess(trees, X, Y, groups=GROUPS, engine=engine).winner
    assert winner.method == "selection repeated on bootstrap samples of groups × 1.1"
    assert winner.interval is not None
    few = assess(trees, X, Y, groups=GROUPS % 19, engine=engine).winner
    assert 0 < few.value < 1
    assert few.interval is None
    assert "20 or more groups" in str(few.reason)
    assert assess(trees, X, Y, groups=THIRDS, cv=3, design="holdout", engine=engine).winner.reason == (
        "all test rows are of one group; use k-fold"
    )


WEIGHT = np.where(np.arange(N) % 7 == 0, 0.0, 1.0 + np.arange(N) % 3)


def test_weights_with_groups_fall_back_to_the_corrected_t() -> None:
    engine = Engine(progress=False)
    both: dict[str, Any] = {"groups": GROUPS, "sample_weight": WEIGHT, "engine": engine}
    assert assess(BAYES, X, Y, **both).interval_method == "corrected t"
    assert compare([BAYES, TREE], X, Y, **both).pairs[0].test == "corrected t"
    assert cross_test(AgghooClassifier(TREE, DEPTHS), X, Y, **both).interval_method == "corrected t"
    curve = learning_curve(BAYES, X, Y, cv=3, **both)
    assert np.isfinite(curve.stderr).all()
    study = truefit.study(X, Y, {"bayes": BAYES, "tree": TREE}, **both)
    assert study.interval is not None
    assert study.comparison.pairs[0].test == "corrected t"
    fitted = HonestSearchCV(TREE, DEPTHS).fit(X, Y, groups=GROUPS, sample_weight=WEIGHT)
    assert "corrected t" in fitted.assessment_.summary()
    trees = [DecisionTreeClassifier(max_depth=depth) for depth in (1, 2)]
    assert "equal weight" in str(assess(trees, X, Y, **both).winner.reason)


@pytest.mark.parametrize(
    ("weight", "text"),
    [(-WEIGHT, "finite and not negative"), (0 * WEIGHT, "must leave some weight. Got 0 for every row")],
    ids=["negative", "zero"],
)
def test_weights_that_cannot_be_used_are_refused(weight: Any, text: str) -> None:
    runs = [
        lambda: compare([BAYES, TREE], X, Y, groups=GROUPS, sample_weight=weight),
        lambda: cross_test(AgghooClassifier(TREE, DEPTHS), X, Y, groups=GROUPS, sample_weight=weight),
        lambda: learning_curve(BAYES, X, Y, groups=GROUPS, sample_weight=weight),
        lambda: truefit.study(X, Y, [BAYES, TREE], groups=GROUPS, sample_weight=weight),
    ]
    for run in runs:
        with pytest.raises(InvalidInput, match=text):
            run()
