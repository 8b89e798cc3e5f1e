import numpy as np
import pytest

from truefit._api.validation import resolve_folds, resolve_metric, resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidInput


@pytest.mark.parametrize("make", [np.random.RandomState, np.random.default_rng])
def test_a_generator_is_drawn_from_once(make):
    generator = make(0)
    first, second = resolve_seed(generator), resolve_seed(generator)
    assert first == resolve_seed(make(0))
    assert first != second


@pytest.mark.parametrize("given", ["0", 1.5, True])
def test_the_message_on_seeds_names_all_that_is_accepted(given):
    with pytest.raises(InvalidInput, match="None, an int, a numpy RandomState or a numpy Generator"):
        resolve_seed(given)


def test_folds():
    assert resolve_folds(np.int64(3), why="x") == 3
    with pytest.raises(InvalidInput, match=r"at least 2 folds: because\. Got 1 instead"):
        resolve_folds(1, why="because")


def test_pos_label_must_be_a_class():
    data = Data(np.eye(4), list("aabb"), task="classification")
    assert resolve_metric(data, "f1", "b").name == "f1"
    with pytest.raises(InvalidInput, match="the classes are 'a', 'b'"):
        resolve_metric(data, "f1", "c")
    with pytest.raises(InvalidInput, match="none: this is a regression"):
        resolve_metric(Data(np.eye(4), np.arange(4.0), task="regression"), None, 1)
