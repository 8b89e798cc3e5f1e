import gc
import pickle
import tracemalloc

import numpy as np
import pytest
from sklearn.model_selection import (
    GroupKFold,
    KFold,
    LeaveOneOut,
    RepeatedKFold,
    ShuffleSplit,
    StratifiedKFold,
    TimeSeriesSplit,
)

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.rows import Rows
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.pairs import HELD_BYTES
from truefit._methods.splitting.splits import Split, Splits, make_splits, shared_partition

rng = np.random.default_rng(3)
X = rng.normal(size=(53, 2))
y = np.r_[np.zeros(30), np.ones(15), np.full(8, 2)].astype(int)
data = Data(X, y, task="classification")


def test_the_shared_folds_are_stratified_balanced_and_a_partition():
    folds = shared_partition(data, 5)
    sizes = np.bincount(folds)
    assert sizes.sum() == 53
    assert sizes.max() - sizes.min() <= 1
    for label in range(3):
        per_fold = np.bincount(folds[y == label], minlength=5)
        assert per_fold.max() - per_fold.min() <= 1


def test_the_shared_folds_follow_the_rows_and_not_their_order():
    order = rng.permutation(53)
    shuffled = Data(X[order], y[order], task="classification")
    assert np.array_equal(shared_partition(shuffled, 5), shared_partition(data, 5)[order])


def test_seeds_and_repeats_give_other_folds():
    variants = [
        shared_partition(data, 5),
        shared_partition(data, 5, repeat=1),
        shared_partition(data, 5, random_state=0),
        shared_partition(data, 5, random_state=1),
    ]
    for i, one in enumerate(variants):
        for other in variants[i + 1 :]:
            assert not np.array_equal(one, other)
    assert np.array_equal(shared_partition(data, 5, random_state=0), variants[2])


def test_groups_stay_together():
    grouped = Data(X, y, task="classification", groups=np.arange(53) // 3)
    folds = shared_partition(grouped, 4)
    assert all(len(set(folds[grouped.groups == group])) == 1 for group in np.unique(grouped.groups))
    plain = Data(X, X[:, 0], task="regression", groups=np.arange(53) // 3)
    assert set(shared_partition(plain, 4)) == {0, 1, 2, 3}


@pytest.mark.parametrize(
    ("design", "splits", "repeats", "partition"),
    [
        ("kfold", 5, 1, True),
        ("holdout", 1, 1, False),
        ("loo", 53, 1, True),
        (LeaveOneOut(), 53, 1, True),
        (KFold(4), 4, 1, True),
        (RepeatedKFold(n_splits=4, n_repeats=3, random_state=0), 12, 3, True),
        (ShuffleSplit(6, random_state=0), 6, 1, False),
        (TimeSeriesSplit(4), 4, 1, False),
        ([(np.arange(20), np.arange(20, 53))], 1, 1, False),
    ],
)
def test_designs(design, splits, repeats, partition):
    made = make_splits(data, design)
    assert (len(made), made.repeats, made.partition) == (splits, repeats, partition)


def test_a_splitter_gives_the_rows_that_it_gives_in_scikit_learn():
    cv = StratifiedKFold(4, shuffle=True, random_state=5)
    for ours, (train, test) in zip(make_splits(data, cv), cv.split(X, y), strict=True):
        assert np.array_equal(ours.train.index, train)
        assert np.array_equal(ours.test.index, test)


# Subsets of the table, samples with repetitions, all rows for both, and no rows listed at all.
SPLITS = [
    Split(Rows.of([3, 900, 70_000]), Rows.of([4])),
    Split(Rows.of([0, 0, 0, 5, 5, 300]), Rows.of([1, 2, 299])),
    Split(Rows.all(300), Rows.all(300)),
    Split(Rows.without(300, [7, 299]), Rows.of([7, 299])),
    Split(Rows.without(300, [7, 299]), Rows.without(300, range(20, 290))),
    Split(Rows.of([]), Rows.of([0])),
]


def test_splits_are_made_of_any_splits_and_give_them_back():
    for splits in (Splits.of(SPLITS, "these"), Splits(((s.train, s.test) for s in SPLITS), False, 1, "these")):
        assert list(splits) == SPLITS
        assert [splits[i] for i in range(len(splits))] == SPLITS
        assert (splits[-2], splits[1:5:2]) == (SPLITS[-2], SPLITS[1:5:2])
        assert [(s.train.total, s.test.total) for s in splits] == [(s.train.total, s.test.total) for s in SPLITS]
        with pytest.raises(IndexError):
            splits[len(SPLITS)]
        assert list(pickle.loads(pickle.dumps(splits))) == SPLITS
        trained, tested = sum(len(s.train) for s in SPLITS), sum(len(s.test) for s in SPLITS)
        assert splits.share == tested / trained
        assert splits.mean_train_rows == trained / len(SPLITS)


@pytest.mark.parametrize("design", ["loo", "kfold", RepeatedKFold(n_splits=4, n_repeats=3, random_state=0)])
def test_splits_are_numbered_by_their_repeat(design):
    splits = make_splits(data, design)
    per = len(splits) // splits.repeats
    assert [split.repeat for split in splits] == [i // per for i in range(len(splits))]
    assert [splits[i].repeat for i in range(-len(splits), 0)] == [i // per for i in range(len(splits))]
    assert splits[per - 1] == list(splits)[per - 1]
    assert splits[:2] == list(splits)[:2]
    back = pickle.loads(pickle.dumps(splits))
    assert list(back) == list(splits)
    assert (back.partition, back.repeats, back.description) == (splits.partition, splits.repeats, splits.description)


def test_runs_in_other_numbers_of_parts_are_no_repeats():
    n = 12
    parts = [part for k in (2, 4) for part in np.array_split(np.arange(n), k)]
    plain = Data(X[:n], X[:n, 0], task="regression")
    splits = make_splits(plain, [(np.setdiff1d(np.arange(n), part), part) for part in parts])
    assert (len(splits), splits.partition, splits.repeats) == (6, False, 1)
    again = make_splits(plain, [(np.setdiff1d(np.arange(n), part), part) for part in parts[:2] * 3])
    assert (len(again), again.partition, again.repeats) == (6, True, 3)


def held_by_splits(rows, design, **options):
    table = np.arange(rows, dtype=float).reshape(-1, 1)
    plain = Data(table, table[:, 0], task="regression")
    gc.collect()
    tracemalloc.start()
    splits = make_splits(plain, design, **options)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    return held, len(splits)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("design", "options"),
    [
        ("kfold", {"k": 5, "repeats": 2_000}),
        (ShuffleSplit(10_000, test_size=0.5, random_state=0), {}),
        (ShuffleSplit(10_000, train_size=0.2, test_size=0.1, random_state=0), {}),
    ],
)
def test_many_splits_are_not_held_in_memory(design, options):
    held, count = held_by_splits(200, design, **options)
    assert count == 10_000
    assert held < HELD_BYTES + 20 * count


def test_leave_one_out_is_not_held_at_all():
    held, count = held_by_splits(20_000, "loo")
    assert count == 20_000
    assert held < 10_000


def test_pairs_of_folds_make_the_triangle():
    splits = make_splits(data, "kfold", k=4)
    inner = inner_splits(data, splits, 4)
    assert has_triangle(splits)
    assert [len(group) for group in inner] == [3, 3, 3, 3]
    distinct = {tuple(split.train.index) for group in inner for split in group}
    assert len(distinct) == 6
    for outer, group in zip(splits, inner, strict=True):
        for split in group:
            rest = set(outer.test.index) | set(split.test.index)
            assert set(split.train.index) == set(range(53)) - rest


@pytest.mark.parametrize("design", [2, ShuffleSplit(3, random_state=0), TimeSeriesSplit(3)])
def test_where_there_is_no_triangle_the_training_rows_are_split(design):
    plain = Data(X, X[:, 0], task="regression")
    splits = make_splits(plain, "kfold", k=2) if design == 2 else make_splits(plain, design)
    assert not has_triangle(splits)
    for outer, group in zip(splits, inner_splits(plain, splits, design), strict=True):
        for split in group:
            assert set(split.train.index) | set(split.test.index) <= set(outer.train.index)
            assert not set(split.train.index) & set(split.test.index)


BAD = {
    "unknown design": (lambda: make_splits(data, "kfolds"), "must be one of 'holdout'"),
    "no design": (lambda: make_splits(data, 3.5), "must be one of 'holdout'"),
    "k too large for n": (lambda: make_splits(Data(X, X[:, 0], task="regression"), "kfold", k=54), "number of rows"),
    "k of 1": (lambda: make_splits(data, "kfold", k=1), "at least 2"),
    "k no number": (lambda: make_splits(data, "kfold", k=2.5), "whole number"),
    "repeats of 0": (lambda: make_splits(data, "kfold", repeats=0), "at least 1"),
    "groups missing": (lambda: make_splits(data, GroupKFold(3)), "groups must be given"),
    "splitter too fine": (lambda: make_splits(data, KFold(60)), "cannot split these 53 rows"),
    "overlap": (lambda: make_splits(data, [(np.arange(20), np.arange(10, 30))]), "must not overlap"),
    "out of range": (lambda: make_splits(data, [(np.arange(20), np.array([53]))]), r"must lie in 0\.\.52"),
    "empty part": (lambda: make_splits(data, [(np.arange(20), np.array([], int))]), "non-empty"),
    "no split": (lambda: make_splits(data, []), "at least one split"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_designs_get_one_clear_sentence(case):
    make, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        make()


def test_splits_that_go_forward_in_time_are_known():
    assert make_splits(data, TimeSeriesSplit(4)).forward
    assert not make_splits(data, ShuffleSplit(4, random_state=0)).forward
    assert not make_splits(data, "kfold", k=3).forward


@pytest.mark.parametrize(
    ("counts", "warning"),
    [
        ([20, 1], "^Class 1 has 1 row, fewer than the 3 folds: some folds have no test row of it.$"),
        ([19, 2], "^Class 1 has 2 rows, fewer"),
        ([2] * 9, "^9 of the 9 classes have fewer rows than the 3 folds .class 0 has 2 rows.: .* of them.$"),
    ],
)
def test_rows_of_a_rare_class_are_spread_as_far_as_they_go(counts, warning):
    labels = np.repeat(np.arange(len(counts)), counts)
    for groups in (None, np.arange(len(labels))):
        few = Data(rng.normal(size=(len(labels), 2)), labels, task="classification", groups=groups)
        with pytest.warns(UserWarning, match=warning) as caught:
            splits = make_splits(few, "kfold", k=3)
        assert len(caught) == 1
        assert splits.partition
        folds = shared_partition(few, 3)
        assert np.bincount(folds).tolist() == [len(labels) // 3] * 3
        if groups is None:
            assert len(set(folds[labels == 1])) == counts[1]
