import copy
import pickle

import pytest

from truefit import Race
from truefit._core.errors import InvalidInput
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
