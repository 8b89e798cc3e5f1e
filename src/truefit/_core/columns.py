"""Columns and cells: the blocks of a frame's columns, by what they hold and not by which library holds it.

A column of numbers, truth values, text, dates, times, decimals or categories has the same block in pandas (with numpy's
types, nullable ones, or Arrow) and in polars. A category counts as its value. A missing value is one thing everywhere:
NaN in numpy's floats, NaT in its dates, null or NA elsewhere. A NaN in a column that can also hold a null is another
value. The schema has what an estimator could see besides: the kind of frame, the types, the declared categories.

Single values have the same content if and only if they are of the same type and hold the same: ``1``, ``1.0`` and
``True`` differ, as do ``0.0`` and ``-0.0``, ``None``, ``nan`` and ``pandas.NA``. Types that are not listed here have no
known content: a pickle depends on which objects are shared, on the order of a set, and on the object's own code.
"""

from __future__ import annotations

import datetime
import sys
import uuid
from collections.abc import Callable, Iterable, Sequence
from decimal import Decimal
from fractions import Fraction
from hashlib import blake2b
from itertools import chain
from types import NoneType
from typing import Any
from uuid import uuid4
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from truefit._core.rows import Block, plain_numbers
from truefit._core.typing import Array, Mask, Positions

_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}


def pandas_blocks(X: Any) -> tuple[list[Block], str]:
    """Return the blocks of a pandas frame, and its schema."""
    blocks, schema = _pandas_columns(X)
    # The estimator sees the labels of rows. Numbers only say where a row stood, so they do not count.
    if X.index.dtype.kind not in "iu":
        block, kind = _pandas_index(X.index)
        blocks.append(block)
        schema += f" index {kind}"
    return blocks, schema


def _pandas_columns(X: Any) -> tuple[list[Block], str]:
    dtypes = list(X.dtypes)
    if dtypes and isinstance(dtypes[0], np.dtype) and dtypes[0].kind in "biuf" and len(set(dtypes)) == 1:
        return [plain_numbers(X.to_numpy())], _frame_schema("pandas", X.columns, dtypes)
    columns = [_pandas_column(X.iloc[:, j]) for j in range(X.shape[1])]
    return [block for block, _ in columns], _frame_schema("pandas", X.columns, [kind for _, kind in columns])


def _pandas_index(index: Any) -> tuple[Block, str]:
    import pandas as pd

    if isinstance(index, pd.MultiIndex):
        return object_block(index.tolist(), f"{[str(dtype) for dtype in index.dtypes]}")
    return _pandas_column(pd.Series(index))


def _pandas_column(column: Any) -> tuple[Block, str]:
    import pandas as pd

    dtype, array = column.dtype, column.array
    kind = dtype.str if isinstance(dtype, np.dtype) else repr(dtype)
    if isinstance(dtype, pd.CategoricalDtype):
        categories, declared = _pandas_column(pd.Series(dtype.categories))
        codes = column.cat.codes.to_numpy()
        # Encoders look at the categories that the type declares, and at their order.
        return _take_categories(categories, codes), f"category {declared} {_digest_of(categories)} {dtype.ordered}"
    if isinstance(dtype, pd.SparseDtype):
        column = pd.Series(np.asarray(array))
        dtype = column.dtype
    if isinstance(dtype, pd.DatetimeTZDtype):
        return _moment_block(column.to_numpy(dtype=f"M8[{dtype.unit}]")), kind
    if isinstance(array, pd.arrays.IntegerArray | pd.arrays.FloatingArray | pd.arrays.BooleanArray):
        missing = column.isna().to_numpy()
        return _number_block(array.to_numpy(dtype=dtype.numpy_dtype, na_value=0), missing), kind
    if isinstance(dtype, pd.ArrowDtype) or getattr(dtype, "storage", "") == "pyarrow":
        return _arrow_column(array.__arrow_array__(), kind)
    if isinstance(dtype, pd.StringDtype):
        return object_block(array.to_numpy(dtype=object, na_value=None).tolist(), kind)
    if isinstance(dtype, np.dtype) and dtype.kind in "biufc":
        return plain_numbers(column.to_numpy().reshape(-1, 1)), kind
    if isinstance(dtype, np.dtype) and dtype.kind in "mM":
        return _moment_block(column.to_numpy()), kind
    return object_block(column.astype(object).to_numpy().tolist(), kind)


def _arrow_column(column: Any, kind: str) -> tuple[Block, str]:
    import pyarrow as pa
    import pyarrow.compute as pc

    types = pa.types
    if isinstance(column, pa.ChunkedArray):
        column = column.combine_chunks()
        if isinstance(column, pa.ChunkedArray):  # as old versions do
            column = column.chunk(0) if column.num_chunks else pa.array([], column.type)
    if isinstance(column.type, pa.BaseExtensionType):
        column = column.storage
    if types.is_dictionary(column.type):
        categories, declared = _arrow_column(column.dictionary, kind)
        codes = pc.fill_null(column.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
        return _take_categories(categories, codes), f"{declared} {_digest_of(categories)}"
    if types.is_integer(column.type) or types.is_floating(column.type) or types.is_boolean(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        filled = column.fill_null(pa.scalar(0, pa.int8()).cast(column.type)) if missing.any() else column
        return _number_block(filled.to_numpy(zero_copy_only=False), missing), kind
    if types.is_timestamp(column.type) or types.is_duration(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        counts = pc.fill_null(column.cast(pa.int64()), 0).to_numpy(zero_copy_only=False)
        return _seconds_block(counts, column.type.unit, missing), kind
    if types.is_nested(column.type) or types.is_null(column.type):
        return object_block(column.to_pylist(), kind)
    return _arrow_distinct(column), kind


def _arrow_distinct(column: Any) -> Block:
    """Return the digests of the values of a column of which each that occurs is looked at once."""
    import pyarrow as pa
    import pyarrow.compute as pc

    types, dtype = pa.types, column.type
    views = (pa.string_view(),) if hasattr(pa, "string_view") else ()
    text = types.is_string(dtype) or types.is_large_string(dtype) or dtype in views
    if text:  # as bytes, since a file may hold some that are no text
        column = column.cast(pa.large_binary())
    elif types.is_time(dtype):
        column = column.cast(pa.int32() if types.is_time32(dtype) else pa.int64()).cast(pa.int64())
    encoded = column.dictionary_encode()
    cells = encoded.dictionary.to_pylist()
    if text:
        contents = [b"s" + cell for cell in cells]
    elif types.is_time(dtype):
        contents = [time_content(cell * (10**9 // _PER_SECOND[dtype.unit])) for cell in cells]
    else:
        contents = [content_of(cell) for cell in cells]
    codes = pc.fill_null(encoded.indices.cast(pa.int64()), -1).to_numpy(zero_copy_only=False)
    return _take_categories(digests(contents), codes)


def polars_blocks(X: Any) -> tuple[list[Block], str]:
    """Return the blocks of a polars frame, and its schema."""
    columns = [_polars_column(column) for column in X.get_columns()]
    return [block for block, _ in columns], _frame_schema("polars", X.columns, [kind for _, kind in columns])


def _polars_column(column: Any) -> tuple[Block, str]:
    import polars as pl

    dtype, kind = column.dtype, str(column.dtype)
    if dtype.is_float() or kind in _SMALL_INTEGERS or dtype == pl.Boolean:
        missing = column.is_null().to_numpy() if column.null_count() else None
        filled = column.fill_null(False if dtype == pl.Boolean else 0) if missing is not None else column
        return _number_block(filled.to_numpy(), missing), kind
    if dtype == pl.Datetime or dtype == pl.Duration:
        counts, missing = column.to_physical(), column.is_null().to_numpy()
        return _seconds_block(counts.fill_null(0).to_numpy(), dtype.time_unit, missing), kind
    if dtype == pl.Time:
        times = column.to_physical().to_list()
        distinct = dict.fromkeys(times)
        contents = [content_of(None) if time is None else time_content(time) for time in distinct]
        return digests(contents)[positions_of(distinct, times)], kind
    if dtype != pl.Object:
        column = column.cast(_exact(dtype))
    return object_block(column.to_list(), kind)


_SMALL_INTEGERS = ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")


def _exact(dtype: Any) -> Any:
    """Return the type whose values Python holds in full: its own dates have no nanoseconds."""
    import polars as pl

    if isinstance(dtype, pl.List | pl.Array):
        return pl.List(_exact(dtype.inner))
    if isinstance(dtype, pl.Struct):
        return pl.Struct({field.name: _exact(field.dtype) for field in dtype.fields})
    if dtype == pl.Categorical or dtype == pl.Enum:
        return pl.String
    if dtype == pl.Datetime or dtype == pl.Duration or dtype == pl.Time:
        return pl.Int64
    return dtype


def object_block(cells: list[Any], kind: str = "object") -> tuple[Block, str]:
    """Return the digests of values of any type, and the kind.

    With values of unknown content the kind is unique, so that fits on them are shared within one call at most.
    """
    block, known = cell_digests(cells)
    return block, kind if known else f"{kind} {uuid4().hex}"


def _number_block(values: Array, missing: Mask | None) -> Block:
    values = values.reshape(-1, 1)
    if values.dtype.kind != "f":
        return values if missing is None or not missing.any() else np.ma.MaskedArray(values, missing.reshape(-1, 1))
    nan = np.isnan(values)
    if missing is None:
        missing = np.zeros(len(values), dtype=bool)
    if not nan.any() and not missing.any():
        return values
    # A missing one is the NaN that numpy has for it; one that is not missing is marked.
    return np.ma.MaskedArray(np.where(nan | missing.reshape(-1, 1), values.dtype.type(np.nan), values), nan)


def _moment_block(values: Array) -> Block:
    unit, count = np.datetime_data(values.dtype)
    return _seconds_block(values.view(np.int64) * count, unit, np.isnat(values))


def _seconds_block(counts: npt.NDArray[np.int64], unit: str, missing: Mask) -> Block:
    """Seconds and nanoseconds, which are the same whatever the unit was."""
    per_second = _PER_SECOND[unit]
    seconds, rest = np.divmod(np.where(missing, 0, counts), per_second)
    block = np.stack([seconds, rest * (10**9 // per_second)], axis=1)
    return np.ma.MaskedArray(block, np.stack([missing, missing], axis=1)) if missing.any() else block


def _take_categories(categories: Block, codes: Array) -> Block:
    """Return the rows of the categories at the codes; -1 is a missing value."""
    missing = codes < 0
    if not missing.any():
        return np.asanyarray(categories[codes])
    values, marks = np.ma.getdata(categories), np.ma.getmaskarray(categories)
    if values.dtype == np.uint8 and values.shape[1] == DIGEST:
        return np.asarray(np.concatenate([values, digests([content_of(None)])])[codes])
    none = np.full((1, values.shape[1]), np.nan if values.dtype.kind == "f" else 0, dtype=values.dtype)
    marked = np.full((1, values.shape[1]), values.dtype.kind != "f")
    return np.ma.MaskedArray(np.concatenate([values, none])[codes], np.concatenate([marks, marked])[codes])


def _digest_of(block: Block) -> str:
    values, marks = np.ma.getdata(block), np.ma.getmaskarray(block)
    return blake2b(values.tobytes() + marks.tobytes(), digest_size=16).hexdigest()


def _frame_schema(kind: str, names: Iterable[Any], dtypes: Iterable[Any]) -> str:
    return f"{kind} {[(repr(n), str(d)) for n, d in zip(names, dtypes, strict=True)]!r}"


#: Bytes of a digest.
DIGEST = 16

#: Equal values of one of these types have the same content, so that a dict finds them.
_SELF_EQUAL = frozenset({str, int, bool, bytes, datetime.date})


class UnknownContent(Exception):
    """The value is of a type whose content is not known."""


def content_of(cell: Any) -> bytes:
    """Return a value's content; raises ``UnknownContent`` if it is, or holds, a value of a type that is not known."""
    known = _CONTENT.get(type(cell))
    if known is not None:
        return known(cell)
    if isinstance(cell, np.generic):
        return _scalar_content(cell)
    if type(cell).__module__.partition(".")[0] == "pandas":
        return _pandas_content(cell)
    raise UnknownContent(f"{type(cell).__module__}.{type(cell).__qualname__}")


def cell_digests(cells: Sequence[Any]) -> tuple[npt.NDArray[np.uint8], bool]:
    """Return the digest of each value, and whether all of them are of known types.

    A value of another type counts with the name of its type alone: equal digests do not mean equal values then.
    """
    types = set(map(type, cells)) - {NoneType}
    if len(types) <= 1 and types <= _SELF_EQUAL:
        distinct = dict.fromkeys(cells)
        return digests(map(content_of, distinct)).take(positions_of(distinct, cells), axis=0), True
    contents, known = [], True
    for cell in cells:
        try:
            contents.append(content_of(cell))
        except (UnknownContent, RecursionError):
            known = False
            contents.append(f"?{type(cell).__module__}.{type(cell).__qualname__}".encode())
    distinct = dict.fromkeys(contents)
    return digests(distinct).take(positions_of(distinct, contents), axis=0), known


def digests(contents: Iterable[bytes]) -> npt.NDArray[np.uint8]:
    """Return one digest for each content."""
    joined = b"".join([blake2b(content, digest_size=DIGEST).digest() for content in contents])
    return np.frombuffer(joined, dtype=np.uint8).reshape(-1, DIGEST)


def positions_of(distinct: Iterable[Any], values: Sequence[Any]) -> Positions:
    """Return the position of each value among the distinct ones."""
    positions = {value: position for position, value in enumerate(distinct)}
    return np.fromiter(map(positions.__getitem__, values), dtype=np.intp, count=len(values))


def time_content(nanoseconds: int) -> bytes:
    """Return the content of a time of day."""
    return b"time:%d" % nanoseconds


def _joined(tag: bytes, parts: Iterable[bytes]) -> bytes:
    return tag + b"".join(b"%d:%b" % (len(part), part) for part in parts)


def _container(cell: Any, parts: Iterable[bytes]) -> bytes:
    return _joined(type(cell).__name__.encode() + b"(", parts)


def _array_content(cell: Array) -> bytes:
    head = f"array {_dtype_name(cell.dtype)} {cell.shape}".encode()
    if cell.dtype.kind in "biufcmM":
        return _joined(head, [plain_numbers(cell.reshape(-1, 1)).tobytes()])
    return _joined(head, map(content_of, cell.reshape(-1).tolist()))


def _scalar_content(cell: np.generic) -> bytes:
    head = f"numpy {_dtype_name(cell.dtype)}".encode()
    if cell.dtype.kind in "biufcmM":
        return _joined(head, [plain_numbers(np.asarray(cell).reshape(1, 1)).tobytes()])
    return _joined(head, [content_of(cell.item())])


def _dtype_name(dtype: np.dtype[Any]) -> str:
    return dtype.str if dtype.names is None else repr(dtype)


def _zone_content(zone: datetime.tzinfo | None) -> bytes:
    if zone is None:
        return b""
    if type(zone) is datetime.timezone or (type(zone) is ZoneInfo and zone.key is not None):
        return repr(zone).encode()
    if type(zone).__module__.startswith("pytz"):
        return f"pytz {zone} {getattr(zone, '_utcoffset', None)!r}".encode()
    raise UnknownContent(f"{type(zone).__module__}.{type(zone).__qualname__}")


def _datetime_content(cell: datetime.datetime) -> bytes:
    zone = _zone_content(cell.tzinfo)
    return _joined(b"datetime", [f"{cell.replace(tzinfo=None).isoformat()} {cell.fold}".encode(), zone])


def _time_content(cell: datetime.time) -> bytes:
    microseconds = ((cell.hour * 60 + cell.minute) * 60 + cell.second) * 1_000_000 + cell.microsecond
    content = time_content(1000 * microseconds)
    if cell.tzinfo is None and not cell.fold:
        return content
    return _joined(content, [b"%d" % cell.fold, _zone_content(cell.tzinfo)])


def _pandas_content(cell: Any) -> bytes:
    pd = sys.modules["pandas"]  # where a value is pandas' own, it has been imported
    if cell is pd.NA:
        return b"pandas.NA"
    if cell is pd.NaT:
        return b"pandas.NaT"
    if type(cell) is pd.Timestamp:
        content = f"{cell.asm8.view('i8')} {cell.unit} {cell.fold}".encode()
        return _joined(b"pandas.Timestamp", [content, _zone_content(cell.tzinfo)])
    if type(cell) is pd.Timedelta:
        return f"pandas.Timedelta {cell.asm8.view('i8')} {cell.unit}".encode()
    if type(cell) is pd.Period:
        return f"pandas.Period {cell.ordinal} {cell.freqstr}".encode()
    if type(cell) is pd.Interval:
        return _joined(b"pandas.Interval", [content_of(cell.left), content_of(cell.right), cell.closed.encode()])
    raise UnknownContent(f"{type(cell).__module__}.{type(cell).__qualname__}")


_CONTENT: dict[type, Callable[[Any], bytes]] = {
    NoneType: lambda _: b"None",
    str: lambda cell: b"s" + cell.encode("utf-8", "surrogatepass"),
    bytes: lambda cell: b"bytes:" + cell,
    bytearray: lambda cell: b"bytearray:" + bytes(cell),
    bool: lambda cell: b"bool:%d" % cell,
    int: lambda cell: b"int:%x" % cell,
    float: lambda cell: f"float:{cell!r}".encode(),
    complex: lambda cell: f"complex:{cell.real!r} {cell.imag!r}".encode(),
    Decimal: lambda cell: f"Decimal:{cell!s}".encode(),
    Fraction: lambda cell: f"Fraction:{cell!s}".encode(),
    uuid.UUID: lambda cell: b"UUID:" + cell.bytes,
    datetime.date: lambda cell: f"date:{cell.isoformat()}".encode(),
    datetime.datetime: _datetime_content,
    datetime.time: _time_content,
    datetime.timedelta: lambda cell: f"timedelta:{cell.days} {cell.seconds} {cell.microseconds}".encode(),
    tuple: lambda cell: _container(cell, map(content_of, cell)),
    list: lambda cell: _container(cell, map(content_of, cell)),
    set: lambda cell: _container(cell, sorted(map(content_of, cell))),
    frozenset: lambda cell: _container(cell, sorted(map(content_of, cell))),
    dict: lambda cell: _container(cell, map(content_of, chain.from_iterable(cell.items()))),
    np.ndarray: _array_content,
}
