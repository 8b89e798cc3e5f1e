import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.model_selection import ShuffleSplit

from truefit._core.data import Data
from truefit._methods.selection.plan import inner_splits
from truefit._methods.selection.race_run import MOST_ROUNDS, inner_rounds, one_round, round_robin, rounds_of
from truefit._methods.splitting.splits import make_splits

X, y = make_classification(120, random_state=0)
DATA = Data(X, y, task="classification")


@pytest.mark.parametrize("players", range(2, 13))
def test_everybody_meets_everybody_once(players):
    rounds = round_robin(players)
    assert len(rounds) == players - 1 + players % 2
    met = []
    for partners in rounds:
        assert len(partners) == players
        for player, partner in enumerate(partners):
            if partner is None:
                assert players % 2
                continue
            assert partners[partner] == player != partner
            met.append((player, partner))
    assert len(met) == len(set(met)) == players * (players - 1)


@pytest.mark.parametrize(("k", "repeats"), [(5, 1), (4, 1), (3, 2), (13, 1)])
def test_every_inner_split_has_its_round_and_pairs_meet_in_it(k, repeats):
    splits = make_splits(DATA, "kfold", k=k, repeats=repeats)
    inner = inner_splits(DATA, splits, k)
    orders = inner_rounds(splits, inner)
    for order, group in zip(orders, inner, strict=True):
        assert sorted(place for places in order for place in places) == list(range(len(group)))
        assert len(order) <= MOST_ROUNDS
    for turn in range(len(orders[0])):
        trained = [id(inner[fold][place].train) for fold, order in enumerate(orders) for place in order[turn]]
        assert all(trained.count(each) == 2 for each in trained)  # one fit, asked for from both sides


def test_many_splits_make_few_rounds():
    loo = make_splits(DATA, "loo")
    rounds = rounds_of(loo)
    assert [len(places) for places in rounds] == [12] * 10
    assert np.concatenate(rounds).tolist() == list(range(120))
    assert one_round(loo) == [list(range(120))]


def test_splits_that_are_no_partition_are_raced_in_their_order():
    design = ShuffleSplit(3, random_state=0)
    splits = make_splits(DATA, design)
    assert inner_rounds(splits, inner_splits(DATA, splits, design)) == [[[0], [1], [2]]] * 3
