import copy
import dataclasses
import io
import pickle
import zlib

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from truefit._core.errors import InvalidInput, StoreDamaged
from truefit._core.outcome import Predictions
from truefit._stores.codec import ArrayCache, StoredAnswer, decode, encodable, encode
from truefit.testing.store_contract import SAMPLES, assert_same_bits, some_tokens

any_dtype = st.one_of(
    hnp.boolean_dtypes(),
    hnp.integer_dtypes(endianness="?"),
    hnp.unsigned_integer_dtypes(endianness="?"),
    hnp.floating_dtypes(endianness="?"),
    hnp.complex_number_dtypes(),
    hnp.unicode_string_dtypes(max_len=5),
    hnp.byte_string_dtypes(max_len=5),
    hnp.datetime64_dtypes(),
)
any_array = hnp.arrays(any_dtype, hnp.array_shapes(min_dims=0, max_dims=3, min_side=0, max_side=6))


@given(any_array)
@settings(max_examples=60, deadline=None)
def test_arrays_come_back_bit_for_bit(array):
    assert_same_bits(decode(encode(array)), array)


@given(any_array)
@settings(max_examples=20, deadline=None)
def test_what_is_packed_is_an_npy_file(array):
    loaded = np.load(io.BytesIO(zlib.decompress(encode(array))), allow_pickle=False)
    assert_same_bits(loaded, array)


@given(st.sampled_from(sorted(SAMPLES)), st.data())
@settings(max_examples=100, deadline=None)
def test_any_wrong_byte_is_noticed(kind, data):
    packed = bytearray(encode(SAMPLES[kind]))
    place = data.draw(st.integers(0, len(packed) - 1))
    packed[place] ^= data.draw(st.integers(1, 255))
    try:
        got = decode(bytes(packed))
    except StoreDamaged:
        return
    # A bit in zlib's own header may be free; then nothing has changed.
    assert_same_bits(got, SAMPLES[kind])


@given(st.binary(max_size=200))
@settings(max_examples=50, deadline=None)
def test_bytes_that_are_no_array_are_damage(noise):
    for packed in (noise, zlib.compress(noise), zlib.compress(b"\x93NUMPY\x01\x00" + noise)):
        with pytest.raises(StoreDamaged, match="my file"):
            decode(packed, "my file")


def test_short_bytes_are_damage():
    packed = encode(np.arange(100.0))
    for length in (0, 1, 10, len(packed) - 1):
        with pytest.raises(StoreDamaged):
            decode(packed[:length])
    whole = zlib.decompress(packed)
    for changed in (whole[:-1], whole + b"x"):
        with pytest.raises(StoreDamaged, match="bytes for float64"):
            decode(zlib.compress(changed))


def test_the_layout_is_kept():
    columns = np.asfortranarray(np.random.default_rng(0).random((7, 3)))
    assert decode(encode(columns)).flags.f_contiguous
    rows = np.ascontiguousarray(columns)
    assert decode(encode(rows)).flags.c_contiguous
    assert_same_bits(decode(encode(rows[::2, 1])), rows[::2, 1])


@pytest.mark.parametrize(
    "array",
    [
        np.array([None, "a"], dtype=object),
        np.array([(1, "a")], dtype=[("a", int), ("b", object)]),
        np.array([(1, 2.0)], dtype=[("a", int), ("b", float)]),
        np.array(["a", "b"], dtype=np.dtypes.StringDType()),
    ],
    ids=["objects", "records of objects", "records", "strings of numpy 2"],
)
def test_what_needs_a_pickle_is_refused(array):
    assert not encodable(array)
    with pytest.raises(InvalidInput, match="must hold numbers"):
        encode(array)


def test_a_stored_pickle_is_never_loaded():
    stream = io.BytesIO()
    np.save(stream, np.array([print], dtype=object), allow_pickle=True)
    with pytest.raises(StoreDamaged):
        decode(zlib.compress(stream.getvalue()))


def test_noise_is_not_compressed_and_the_rest_is():
    noise = np.random.default_rng(0).random(10_000)
    assert noise.nbytes < len(encode(noise)) < noise.nbytes + 500
    few = np.round(noise, 2)
    assert len(encode(few)) < few.nbytes / 3


def test_what_is_read_is_read_only():
    array = decode(encode(np.arange(3)))
    with pytest.raises(ValueError, match="read-only"):
        array[0] = 1


def test_the_cache_removes_the_least_recently_used_first():
    cache = ArrayCache(limit_bytes=1_100)
    for name in "abc":
        cache.add(name, np.zeros(1))
    cache.get("a")
    cache.add("d", np.zeros(1))
    assert [name for name in "abcd" if cache.get(name) is not None] == ["a", "c", "d"]
    cache.add("large", np.zeros(100))
    assert [name for name in ("a", "c", "d", "large") if cache.get(name) is not None] == ["large"]
    cache.clear()
    assert cache.get("large") is None


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
