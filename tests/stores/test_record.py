import copy
import dataclasses
import pickle

import numpy as np
import pytest

from truefit._core.outcome import Predictions
from truefit._stores.record import StoredAnswer
from truefit.testing.store_contract import assert_same_bits, some_tokens

TOKENS, VALUES = some_tokens(3), np.array([1.0, 2.0, 3.0])


class Source:
    def __init__(self):
        self.reads = []

    def read_tokens(self, rowset):
        self.reads.append(rowset)
        return TOKENS

    def read_values(self, key, response, rowset):
        self.reads.append((key, response, rowset))
        return VALUES


@pytest.fixture
def source():
    return Source()


def test_nothing_is_read_before_it_is_looked_at(source):
    answer = StoredAnswer.of(source, "a fit", "predict", b"rows", True)
    assert isinstance(answer, Predictions)
    assert (answer.response, answer.rowset, answer.coded) == ("predict", b"rows", True)
    assert source.reads == []
    assert answer.values is VALUES
    assert answer.tokens is TOKENS
    assert source.reads == [("a fit", "predict", b"rows"), b"rows"]


def test_a_handle_holds_nothing(source):
    answer = StoredAnswer.of(source, "a fit", "predict", b"rows", True)
    for _ in range(2):
        answer.values
    assert len(source.reads) == 2


def test_there_are_no_other_attributes(source):
    answer = StoredAnswer.of(source, "a fit", "predict", b"rows", True)
    with pytest.raises(AttributeError, match="nonsense"):
        answer.nonsense


@pytest.mark.parametrize("away", [lambda a: pickle.loads(pickle.dumps(a)), copy.copy, copy.deepcopy])
def test_away_from_its_store_it_brings_its_values(source, away):
    answer = away(StoredAnswer.of(source, "a fit", "predict", b"rows", True))
    assert type(answer) is Predictions
    assert_same_bits(answer.values, VALUES)
    assert_same_bits(answer.tokens, TOKENS)
    assert answer.coded


def test_it_can_be_replaced_in_part(source):
    answer = dataclasses.replace(StoredAnswer.of(source, "a fit", "predict", b"rows", True), values=VALUES * 2)
    assert_same_bits(answer.values, VALUES * 2)
    assert_same_bits(answer.tokens, TOKENS)
