"""Equal values have equal tokens whichever library holds them, and other values have others."""

import datetime as dt
import os
import pickle
import subprocess
import sys
from decimal import Decimal

import hypothesis.strategies as st
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given, settings

from truefit._core.columns import UnknownContent, cell_digests, content_of
from truefit._core.data import Data
from truefit._core.rows import row_tokens, table_blocks

DAYS = st.dates(dt.date(1900, 1, 1), dt.date(2200, 1, 1))
MOMENTS = st.datetimes(dt.datetime(1900, 1, 1), dt.datetime(2200, 1, 1))
SPANS = st.timedeltas(dt.timedelta(-10_000), dt.timedelta(10_000))
TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=5)
FLOATS = st.floats(allow_nan=False)
BYTE = st.integers(0, 255)
LONG = st.integers(-(2**63), 2**63 - 1)


def arrow(values, kind):
    return pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, kind)])))


def dictionary(values):
    return pd.Series(
        pd.arrays.ArrowExtensionArray(pa.chunked_array([pa.array(values, pa.string()).dictionary_encode()]))
    )


def nan_for_none(values):
    return [np.nan if value is None else value for value in values]


#: For each kind of values the ways to hold them; all of them hold missing values too.
HELD = {
    "integers": (
        LONG,
        [
            lambda v: pd.Series(v, dtype="Int64"),
            lambda v: arrow(v, pa.int64()),
            lambda v: pl.Series(v, dtype=pl.Int64),
            lambda v: pd.Series(pd.array(v, dtype="Int64")).astype("category"),
        ],
    ),
    "small integers": (
        BYTE,
        [
            lambda v: pd.Series(v, dtype="UInt8"),
            lambda v: arrow(v, pa.uint8()),
            lambda v: pl.Series(v, dtype=pl.UInt8),
        ],
    ),
    "floats": (
        FLOATS,
        [
            lambda v: pd.Series(nan_for_none(v), dtype="float64"),
            lambda v: pd.Series(v, dtype="Float64"),
            lambda v: arrow(v, pa.float64()),
            lambda v: pl.Series(v, dtype=pl.Float64),
        ],
    ),
    "single floats": (
        st.floats(allow_nan=False, width=32),
        [
            lambda v: pd.Series(nan_for_none(v), dtype="float32"),
            lambda v: pd.Series(v, dtype="Float32"),
            lambda v: arrow(v, pa.float32()),
            lambda v: pl.Series(v, dtype=pl.Float32),
        ],
    ),
    "truth values": (
        st.booleans(),
        [
            lambda v: pd.Series(v, dtype="boolean"),
            lambda v: arrow(v, pa.bool_()),
            lambda v: pl.Series(v, dtype=pl.Boolean),
        ],
    ),
    "text": (
        TEXT,
        [
            lambda v: pd.Series(v, dtype=object),
            lambda v: pd.Series(v, dtype="str"),
            lambda v: pd.Series(v, dtype="string"),
            lambda v: pd.Series(v, dtype="string[python]"),
            lambda v: arrow(v, pa.string()),
            lambda v: arrow(v, pa.large_string()),
            dictionary,
            lambda v: pl.Series(v, dtype=pl.String),
            lambda v: pl.Series(v, dtype=pl.Categorical),
            lambda v: pl.Series(v, dtype=pl.Enum(sorted({each for each in v if each is not None}))),
            lambda v: pd.Series(pd.Categorical(v, categories=pd.Index(sorted({*v} - {None}), dtype=object))),
        ],
    ),
    "moments": (
        MOMENTS,
        [
            lambda v: pd.Series(v, dtype="datetime64[us]"),
            lambda v: pd.Series(v, dtype="datetime64[ns]"),
            lambda v: pd.Series(v, dtype="datetime64[us]").dt.tz_localize("UTC").dt.tz_convert("Asia/Tokyo"),
            lambda v: arrow(v, pa.timestamp("us")),
            lambda v: pl.Series(v, dtype=pl.Datetime("us")),
            lambda v: pl.Series(v, dtype=pl.Datetime("ns")),
        ],
    ),
    "durations": (
        SPANS,
        [
            lambda v: pd.Series(v, dtype="timedelta64[us]"),
            lambda v: pd.Series(v, dtype="timedelta64[ns]"),
            lambda v: arrow(v, pa.duration("us")),
            lambda v: pl.Series(v, dtype=pl.Duration("us")),
        ],
    ),
    "days": (
        DAYS,
        [lambda v: pd.Series(v, dtype=object), lambda v: arrow(v, pa.date32()), lambda v: pl.Series(v, dtype=pl.Date)],
    ),
    "times": (
        st.times().map(lambda time: time.replace(fold=0)),
        [
            lambda v: pd.Series(v, dtype=object),
            lambda v: arrow(v, pa.time64("us")),
            lambda v: arrow(v, pa.time64("ns")),
            lambda v: pl.Series(v, dtype=pl.Time),
        ],
    ),
    "decimals": (
        st.decimals(-1000, 1000, places=2),
        [
            lambda v: pd.Series(v, dtype=object),
            lambda v: arrow(v, pa.decimal128(10, 2)),
            lambda v: pl.Series(v, dtype=pl.Decimal(10, 2)),
        ],
    ),
    "lists": (
        st.lists(st.integers(0, 9), max_size=3),
        [
            lambda v: pd.Series(v, dtype=object),
            lambda v: arrow(v, pa.list_(pa.int64())),
            lambda v: pl.Series(v, dtype=pl.List(pl.Int64)),
        ],
    ),
}


def tokens(column):
    frame = pl.DataFrame({"a": column}) if isinstance(column, pl.Series) else pd.DataFrame({"a": column})
    return row_tokens(table_blocks(frame)[0])


def schema(column):
    frame = pl.DataFrame({"a": column}) if isinstance(column, pl.Series) else pd.DataFrame({"a": column})
    return table_blocks(frame)[1]


@pytest.mark.parametrize("kind", HELD)
@settings(max_examples=25, deadline=None)
@given(draw=st.data())
def test_equal_values_have_equal_tokens_in_every_library(kind, draw):
    values, held = HELD[kind]
    column = draw.draw(st.lists(st.none() | values, min_size=1, max_size=6))
    expected = tokens(held[0](column))
    for hold in held[1:]:
        assert np.array_equal(tokens(hold(column)), expected)


@pytest.mark.parametrize("kind", HELD)
@settings(max_examples=15, deadline=None)
@given(draw=st.data())
def test_a_changed_value_has_another_token_and_leaves_the_others(kind, draw):
    values, held = HELD[kind]
    column = draw.draw(st.lists(st.none() | values, min_size=2, max_size=6, unique_by=repr))
    place = draw.draw(st.integers(0, len(column) - 1))
    other = draw.draw((st.none() | values).filter(lambda value: all(repr(value) != repr(each) for each in column)))
    changed = [*column[:place], other, *column[place + 1 :]]
    for hold in held:
        same = (tokens(hold(column)) == tokens(hold(changed))).all(axis=1)
        assert not same[place]
        assert np.delete(same, place).all()


@pytest.mark.parametrize("kind", HELD)
def test_ways_to_hold_values_have_schemas_of_their_own(kind):
    held = [hold([None, None]) for hold in HELD[kind][1]]
    kinds = {(type(column), repr(column.dtype)) for column in held}  # before pandas 3 "str" is object
    assert len({schema(column) for column in held}) == len(kinds)


@pytest.mark.parametrize(
    ("plain", "nullable"),
    [
        (pd.Series([1, 2**53 + 1]), "Int64"),
        (pd.Series([True, False]), "boolean"),
        (pd.Series([0.5, -0.0]), "Float64"),
        (pd.Series(["a", "b\0"], dtype=object), "string"),
    ],
)
def test_a_column_without_missing_values_has_the_tokens_of_its_numpy_type(plain, nullable):
    assert np.array_equal(tokens(plain), tokens(plain.astype(nullable)))
    assert np.array_equal(tokens(plain), tokens(pl.Series(plain.tolist())))


def test_the_smallest_integer_is_no_missing_value():
    least = -(2**63)
    for hold in HELD["integers"][1]:
        assert len(np.unique(tokens(hold([None, least, 0])), axis=0)) == 3


def test_a_nan_is_another_value_than_a_missing_one_where_a_column_has_both():
    nan, missing = float("nan"), None
    masked = pd.arrays.FloatingArray(np.array([np.nan, 1.0]), np.array([False, True]))
    for column in (pl.Series([nan, missing]), arrow([nan, missing], pa.float64()), pd.Series(masked)):
        first, second = tokens(column)
        assert first.tolist() != second.tolist()
        assert second.tolist() == tokens(pd.Series([np.nan]))[0].tolist()


def test_declared_categories_and_their_order_are_in_the_schema():
    values = ["a", "b", None]
    kinds = [
        pd.CategoricalDtype(["a", "b"]),
        pd.CategoricalDtype(["b", "a"]),
        pd.CategoricalDtype(["a", "b", "c"]),
        pd.CategoricalDtype(["a", "b"], ordered=True),
        pd.CategoricalDtype(pd.Index(["a", "b"], dtype="string")),
    ]
    columns = [pd.Series(pd.Categorical(values, dtype=kind)) for kind in kinds]
    columns += [pl.Series(values, dtype=pl.Enum(names)) for names in (["a", "b"], ["b", "a"])]
    assert len({schema(column) for column in columns}) == len(columns)
    assert len({tokens(column).tobytes() for column in columns}) == 1


@pytest.mark.parametrize("kind", [pl.Datetime("ns"), pl.Duration("ns"), pl.Time])
def test_nanoseconds_count_also_within_lists(kind):
    plain = pl.Series([1, 2]).cast(kind)
    for column in (plain, pl.Series([plain[:1], plain[1:]]), pl.DataFrame({"t": plain}).to_struct("a")):
        assert len(np.unique(tokens(column), axis=0)) == 2


CELLS = [
    None, np.nan, pd.NA, pd.NaT, 0, 0.0, -0.0, False, "", "0", b"0", bytearray(b"0"), 1, 1.0, True, "1", 1 + 0j,
    Decimal(1), Decimal("1.0"), Decimal("NaN"), np.int64(1), np.int32(1), np.float64(1), np.float32(1),
    np.longdouble(1), np.bool_(True), np.datetime64(1, "s"), np.datetime64(1, "ms"), np.timedelta64(1, "s"),
    (1,), (1.0,), (True,), [1], {1}, frozenset({1}), {"a": 1}, {"a": 1.0}, (np.nan,), ((1,), 2), ((1, 2),), ("1:a",),
    np.array([1]), np.array([1.0]), np.array([[1]]), np.array([1, "a"], dtype=object), np.array(["a", "b"]),
    dt.date(2020, 1, 1), dt.datetime(2020, 1, 1), dt.datetime(2020, 1, 1, fold=1), dt.time(1), dt.timedelta(1),
    dt.datetime(2020, 1, 1, tzinfo=dt.UTC), dt.time(1, tzinfo=dt.UTC), pd.Timestamp("2020-01-01"),
    pd.Timestamp("2020-01-01", tz="UTC"), pd.Timestamp("2020-01-01").as_unit("ms"), pd.Timedelta(1, "D"),
    pd.Period("2020", "Y"), pd.Period("2020-01", "M"), pd.Interval(0, 1), pd.Interval(0, 1, closed="left"), 10**30,
    "a", "a\0",
]  # fmt: skip


def test_cells_of_other_content_or_type_have_other_digests():
    digests, known = cell_digests(CELLS)
    assert known
    assert len(np.unique(digests, axis=0)) == len(CELLS)
    again, _ = cell_digests([*reversed(pickle.loads(pickle.dumps(CELLS)))])
    assert np.array_equal(again[::-1], digests)


def test_a_digest_does_not_depend_on_what_came_before():
    for one, other in ((0.0, -0.0), (Decimal("1.0"), Decimal("1.00")), ((1,), (True,)), (1, True)):
        for cells in ([one, other], [other, one]):
            digests, _ = cell_digests(cells)
            assert np.array_equal(digests[0], cell_digests(cells[:1])[0][0])
            assert np.array_equal(digests[1], cell_digests(cells[1:])[0][0])


def test_sets_have_the_same_content_in_every_process():
    code = "from truefit._core.columns import content_of; print(content_of(frozenset('abcdefgh')).hex())"
    found = subprocess.run(
        [sys.executable, "-c", code],
        env={**os.environ, "PYTHONHASHSEED": "7"},
        capture_output=True,
        text=True,
        check=True,
    )
    assert found.stdout.strip() == content_of(frozenset("abcdefgh")).hex()


class Opaque:
    def __init__(self, value):
        self.value = value

    def __eq__(self, other):
        return True

    def __hash__(self):
        return 0

    def __reduce__(self):
        raise AssertionError("code of a cell must not be run")


def test_a_table_with_cells_of_unknown_content_is_never_taken_for_another():
    with pytest.raises(UnknownContent):
        content_of([Opaque(1)])
    y = np.array([0, 1, 0, 1])
    tables = [pd.DataFrame({"a": [Opaque(i + shift) for i in range(4)]}, dtype=object) for shift in (0, 0, 1)]
    data = [Data(table, y, task="classification") for table in tables]
    assert len({each.schema for each in data}) == 3
    assert len(np.unique(data[0].tokens, axis=0)) == 4
    cycle: list = []
    cycle.append(cycle)
    assert cell_digests([cycle])[1] is False


@pytest.mark.parametrize("dtype", [np.longdouble, np.clongdouble])
def test_padding_of_long_doubles_does_not_count(dtype):
    values = np.array([1, -2.5, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-320], dtype=dtype).reshape(-1, 1)
    values[0] += np.finfo(dtype).eps
    found = []
    for garbage in (0, 255):
        copy = np.empty_like(values)
        copy.view(np.uint8)[:] = garbage
        np.add(values, 0, out=copy)
        copy[3] = values[3]
        found.append(row_tokens(table_blocks(copy)[0]))
    assert np.array_equal(*found)
    assert len(np.unique(found[0], axis=0)) == len(values)


def test_text_in_a_list_keeps_its_end_and_numbers_beside_it():
    X = [["a", 1], ["a\0", 1], ["a", "1"]]
    data = Data(X, [0.5, 0.5, 0.5], task="regression")
    assert len(np.unique(data.tokens, axis=0)) == 3
    assert data.X.tolist() == X
