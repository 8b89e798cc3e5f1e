"""Forward-chaining: which rows train and which test, whatever their order in the table."""

import numpy as np
import pytest
from sklearn.model_selection import KFold, ShuffleSplit, TimeSeriesSplit

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import make_design
from truefit._methods.splitting.forward import enough_periods
from truefit._methods.splitting.splits import cv_splits, make_splits
from truefit._metrics.metric import get_metric


def data_of(time, y=None, task="regression"):
    n = len(time)
    return Data(np.arange(n * 1.0).reshape(-1, 1), np.arange(n * 1.0) if y is None else y, task=task, time=time)


def times(data, splits):
    return [(sorted(data.time[s.train.index].tolist()), sorted(data.time[s.test.index].tolist())) for s in splits]


def test_periods_have_about_equal_numbers_of_rows_and_expand():
    splits = make_splits(data_of(np.arange(12)), "kfold", k=3)
    assert splits.chronological
    assert not splits.partition
    assert splits.description == "forward-chaining over 3 periods"
    assert times(data_of(np.arange(12)), splits) == [
        ([0, 1, 2], [3, 4, 5]),
        ([0, 1, 2, 3, 4, 5], [6, 7, 8]),
        ([0, 1, 2, 3, 4, 5, 6, 7, 8], [9, 10, 11]),
    ]


@pytest.mark.parametrize(
    ("time", "k", "sizes"),
    [
        ([0, 0, 0, 0, 0, 0, 0, 1, 2, 3], 3, [1, 1, 1]),  # one long tie, and a start is left for each period
        ([0, 1, 2, 3, 3, 3, 3, 3, 3, 3], 3, [1, 1, 7]),
        ([0, 0, 1, 1, 2, 2, 3, 3, 4, 4], 2, [2, 4]),
        ([0, 0, 0, 1, 1, 1, 1, 2, 2, 2], 2, [4, 3]),
    ],
)
def test_equal_times_stay_together_and_no_period_is_empty(time, k, sizes):
    data = data_of(np.array(time))
    splits = make_splits(data, "kfold", k=k)
    assert [len(split.test) for split in splits] == sizes
    assert sum(sizes) + len(splits[0].train) == len(time)
    for split in splits:
        assert data.time[split.train.index].max() < data.time[split.test.index].min()


@pytest.mark.parametrize("cv", [4, TimeSeriesSplit(4), TimeSeriesSplit(3, max_train_size=7, gap=2, test_size=4)])
def test_the_order_of_the_table_does_not_matter(cv):
    random = np.random.default_rng(0)
    time = random.integers(0, 20, 60)
    data, permuted = data_of(time), data_of(time[random.permutation(60)])
    assert times(data, cv_splits(data, cv)) == times(permuted, cv_splits(permuted, cv))


def test_the_splitter_of_scikit_learn_is_applied_in_time_order():
    time, cv = np.arange(30)[::-1], TimeSeriesSplit(3, max_train_size=10, gap=2)
    data = data_of(time)
    expected = [(train.tolist(), test.tolist()) for train, test in cv.split(np.zeros(30))]
    assert times(data, cv_splits(data, cv)) == expected
    pairs = [(np.flatnonzero(time < cut), np.flatnonzero(time >= cut)) for cut in (10, 20)]
    assert cv_splits(data, pairs).chronological


def test_the_selection_for_a_period_uses_the_periods_before():
    data = data_of(np.arange(24))
    splits = cv_splits(data, 5)
    inner = inner_splits(data, splits, 5)
    assert [[each.test for each in group] for group in inner] == [[s.test for s in splits[:i]] for i in range(5)]
    # Targets in the gap are not known yet when the model of a period is trained.
    gap = cv_splits(data, TimeSeriesSplit(5, gap=1))
    assert [len(group) for group in inner_splits(data, gap, None)] == [0, 0, 1, 2, 3]
    with pytest.raises(InvalidInput, match="needs a period with an earlier one"):
        inner_splits(data, cv_splits(data, [(range(10), range(10, 20))]), None)


@pytest.mark.parametrize(
    ("cv", "said"),
    [
        (KFold(3, shuffle=True), "which takes no account of time: later rows would train"),
        (ShuffleSplit(3), "which takes no account of time"),
        ([(range(5, 10), range(5))], "every training row must be earlier than every test row. A split of cv trains on"),
        (10, "10 periods need at least 11 different times: the rows of the first one only train. Got 10. Use cv=9"),
        (1, "The number of periods must be a whole number of at least 2"),
        (TimeSeriesSplit(10), "Got 10 rows for 10 periods of 1 test row with gap=0, which leave none"),
    ],
)
def test_splits_that_ignore_time_are_refused(cv, said):
    with pytest.raises(InvalidInput) as error:
        cv_splits(data_of(np.arange(10)), cv)
    assert said in str(error.value)


def test_a_splitter_must_leave_rows_where_times_are_equal():
    with pytest.raises(InvalidInput, match="rows of equal time stay together"):
        cv_splits(data_of(np.repeat([0, 1], 10)), TimeSeriesSplit(4))


def test_a_training_set_of_one_class_is_warned_of_with_the_number_that_works():
    labels = np.array([0] * 9 + [1] + [0, 1] * 10)
    data = data_of(np.arange(30), labels, "classification")
    with pytest.warns(UserWarning, match=r"all 5 rows before period 1 are of class 0\. .* Use cv=2\."):
        assert len(cv_splits(data, 5)) == 5
    assert len(cv_splits(data, 2)) == 2
    assert len(make_splits(data, "holdout", k=5)) == 1
    late = data_of(np.arange(30), np.arange(30) // 29, "classification")
    with pytest.warns(UserWarning, match=r"Use fewer or later test sets\."):
        cv_splits(late, 5)
    assert [enough_periods(each, 5) for each in (data, late, data_of(np.arange(30)))] == [2, 5, 5]


@pytest.mark.parametrize("design", ["loo", "bootstrap", ".632+", "nested", "threeway"])
def test_designs_that_train_on_later_rows_are_refused(design):
    with pytest.raises(InvalidInput, match="trains on rows that are later than its test rows"):
        make_design(data_of(np.arange(20)), get_metric("mse", "regression"), cv=4, design=design)


def test_the_hold_out_is_the_last_period_and_nothing_is_repeated():
    data, metric = data_of(np.arange(20)), get_metric("mse", "regression")
    design = make_design(data, metric, cv=4, design="holdout")
    assert times(data, design.splits) == times(data, cv_splits(data, 4))[-1:]
    with pytest.raises(InvalidInput, match="With time there is one order of the rows"):
        make_design(data, metric, cv=4, repeats=3)
    with pytest.raises(InvalidInput, match=r"computed from the spread over periods\. Got interval='pooled'"):
        make_design(data, metric, cv=4, interval="pooled")
