""""""

import copy
import pickle

import numpy as np
import pytest
from sklearn.datasets import make_classification

from truefit import Race
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.rows import Rows
from truefit._methods.selection.racing import rungs_of
from truefit._methods.splitting.splits import Split, make_splits
from truefit._stats.paired import PairedDifference


def test_far_behind_goes_and_ties_go_on():
    race = Race()
    assert race.drops(PairedDifference(0.02, 0.01, 10_000))  # z = 2, p = 0.023
    assert not race.drops(PairedDifference(0.0164, 0.01, 10_000))  # z = 1.64, p = 0.0505
    assert race.drops(PairedDifference(0.0165, 0.01, 10_000))  # z = 1.65, p = 0.0495
    assert not race.drops(PairedDifference(0.0, 0.0, 100))
    assert not race.drops(PairedDifference(-0.5, 0.01, 100))
    assert race.drops(PairedDifference(0.1, 0.0, 100))
    assert not Race(chance=0.001).drops(PairedDifference(0.02, 0.01, 10_000))


def test_options():
    assert Race.of(None) is None
    assert Race.of("sizes") == Race(over="sizes")
    race = Race(chance=0.01, first=2)
    assert Race.of(race) is race
    assert pickle.loads(pickle.dumps(race)) == copy.deepcopy(race) == race


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Race(over="rows"), "over 'folds' or 'sizes'"),
        (lambda: Race(chance=0.6), "'chance' of a race"),
        (lambda: Race(chance="high"), "'chance' of a race"),
        (lambda: Race(first=0), "'first' folds"),
        (lambda: Race(first=1.5), "'first' folds"),
        (lambda: Race.of("fast"), "'race' parameter"),
        (lambda: Race.of(True), "'race' parameter"),
    ],
)
def test_bad_options_get_one_clear_sentence(make, message):
    with pytest.raises(InvalidInput, match=message):
        make()


X, y = make_classification(400, weights=[0.8], random_state=0)
DATA = Data(X, y, task="classification")


def test_rungs_grow_within_each_other_and_are_tested_on_what_none_has():
    split = make_splits(DATA, "kfold", k=5)[0]
    rungs = rungs_of(DATA, split)
    assert [len(rung.train) for rung in rungs] == [40, 80, 160]
    sets = [set(rung.train.index) for rung in rungs]
    assert sets[0] < sets[1] < sets[2] < set(split.train.index)
    for rung in rungs:
        assert set(rung.test.index) == (set(split.train.index) - sets[2]) | set(split.test.index)
        assert abs(y[rung.train.index].mean() - y.mean()) < 0.03  # class by class


def test_the_same_rows_have_the_same_rungs_whatever_is_tested():
    train = Rows.of(np.arange(300))
    one, other = (rungs_of(DATA, Split(train, Rows.of(test))) for test in (range(300, 350), range(350, 400)))
    assert [rung.train for rung in one] == [rung.train for rung in other]
    assert not set(one[0].test.index) & set(range(350, 400))


def test_rows_too_few_have_none():
    assert rungs_of(DATA, Split(Rows.of(np.arange(40)), Rows.of(np.arange(60, 100)))) == []
    assert [len(rung.train) for rung in rungs_of(DATA, Split(Rows.of(np.arange(80)), Rows.of([90])))] == [20, 40]
    assert rungs_of(DATA, Split(Rows.of(np.flatnonzero(y == 0)), Rows.of(np.flatnonzero(y == 1)))) == []
