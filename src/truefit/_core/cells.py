"""Cells: the content of a single value as bytes, and digests of many.

Two values have the same content if and only if they are of the same type and hold the same: ``1``, ``1.0`` and ``True``
differ, as do ``0.0`` and ``-0.0``, ``None``, ``nan`` and ``pandas.NA``. Types that are not listed here have no known
content: a pickle depends on which objects are shared, on the order of a set, and on the object's own code.
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
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from truefit._core.rows import plain_numbers
from truefit._core.typing import Array, Positions

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
