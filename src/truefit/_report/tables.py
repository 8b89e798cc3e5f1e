"""Tables: values as text with as many digits as a reader needs, and intervals drawn to one scale."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

from truefit._core.errors import InvalidInput

#: Room at both ends of the scale, in percent.
MARGIN = 4.0
#: An interval that starts this many widths of all others beyond them is shown as an arrow.
FAR = 2.0


@dataclass(frozen=True, slots=True)
class Bar:
    """Where an interval and its estimate stand, in percent of the width; None for what cannot be drawn."""

    low: float | None = None
    high: float | None = None
    value: float | None = None
    beyond: bool = False


def bars(values: Sequence[Any], intervals: Sequence[Any], ends: Sequence[float] | None = None) -> list[Bar]:
    """Place intervals on one scale, which fits them all by default; one far above all others is shown as an arrow.

    Examples
    --------
    >>> drawn = bars([0.1, 0.2], [[0.0, 0.2], [0.1, 0.3]])
    >>> [round(bar.low) for bar in drawn], [round(bar.value) for bar in drawn]
    ([4, 35], [35, 65])
    """
    known = [_known(value, interval) for value, interval in zip(values, intervals, strict=True)]
    scale = (ends[0], ends[1]) if ends is not None else _scale([each for each in known if each is not None])
    # A missing interval takes the same room, so that the numbers beside it line up.
    return [Bar() if each is None or scale is None else _bar(each, *scale) for each in known]


def _known(value: Any, interval: Any) -> tuple[float, float, float] | None:
    if interval is None or value is None:
        return None
    numbers = (float(interval[0]), float(value), float(interval[1]))
    return numbers if all(map(math.isfinite, numbers)) else None


def _scale(known: Sequence[tuple[float, float, float]]) -> tuple[float, float] | None:
    """Ends of the scale: all intervals, except those so far above that the others would become too short."""
    ordered = sorted(known)
    while len(ordered) > 2:
        near = max(high for _, _, high in ordered[:-1])
        if ordered[-1][0] <= near + FAR * (near - ordered[0][0]):
            break
        ordered.pop()
    if not ordered:
        return None
    low, high = ordered[0][0], max(high for _, _, high in ordered)
    return (low, high) if high > low else None


def _bar(each: tuple[float, float, float], low: float, high: float) -> Bar:
    width = (100 - 2 * MARGIN) / (high - low)
    places = [max(MARGIN + (number - low) * width, 0.0) for number in each]
    if places[0] > 100:
        return Bar(beyond=True)
    return Bar(places[0], min(places[2], 100), places[1] if places[1] <= 100 else None)


Number = int | float

MISSING = "–"

#: Significant digits of the largest number of a column, and decimal places of a share.
DIGITS = 4
#: Numbers further from 1 than this are written with a power of ten.
SMALLEST, LARGEST = 1e-5, 1e15


@dataclass(frozen=True, slots=True)
class Cell:
    """One value: its text, the number to sort by if it has one, whether it is missing, and its interval's bar."""

    text: str
    sort: float | None = None
    missing: bool = False
    bar: Bar | None = None


@dataclass(frozen=True, slots=True)
class TableCells:
    """A table ready for the template: column names, which are numeric, rows of cells, and meanings of columns."""

    columns: tuple[str, ...]
    numeric: tuple[bool, ...]
    rows: tuple[tuple[Cell, ...], ...]
    caption: str = ""
    highlight: frozenset[int] = frozenset()
    meanings: tuple[tuple[str, str], ...] = ()
    #: Whether only its caption is shown until a reader opens it.
    folded: bool = False

    @classmethod
    def of(cls, table: Mapping[str, Any]) -> TableCells:
        """Lay out ``{"columns": [...], "rows": [[...]], "caption": ..., "highlight": [row numbers]}``.

        Values are text, numbers, pairs of numbers (intervals), booleans, or None. Optional keys:
        ``"texts": {column: [text, ...]}`` replaces the texts of numbers, in the unit of a metric for example;
        ``"drawn": {"value": column, "interval": column, "ends": [from, to]}`` draws intervals beside their numbers, on
        a scale that fits them all where it is not given; ``"meanings": {column: text}`` explains columns;
        ``"places": {column: count}`` limits the decimal places; ``"folded": True`` shows the caption only, until it is
        opened.

        Examples
        --------
        >>> grid = TableCells.of({"columns": ["model", "error"], "rows": [["ridge", 0.12345], ["forest", None]]})
        >>> [[cell.text for cell in row] for row in grid.rows], grid.numeric
        ([['ridge', '0.1235'], ['forest', '–']], (False, True))
        """
        names = tuple(str(name) for name in table["columns"])
        rows = [list(row) for row in table["rows"]]
        for number, row in enumerate(rows):
            if len(row) != len(names):
                raise InvalidInput(
                    f"Every row of a table must have {len(names)} values, one per column. "
                    f"Got {len(row)} in row {number}."
                )
        most = table.get("places") or {}
        columns = [column([row[i] for row in rows], most.get(name)) for i, name in enumerate(names)]
        for name, texts in (table.get("texts") or {}).items():
            cells = zip(columns[names.index(name)], texts, strict=True)
            columns[names.index(name)] = [cell if cell.missing else replace(cell, text=text) for cell, text in cells]
        drawn = table.get("drawn")
        if drawn is not None:
            place, of = names.index(str(drawn["interval"])), names.index(str(drawn["value"]))
            places = bars([row[of] for row in rows], [row[place] for row in rows], drawn.get("ends"))
            columns[place] = [replace(cell, bar=bar) for cell, bar in zip(columns[place], places, strict=True)]
        return cls(
            names,
            tuple(_numeric([row[i] for row in rows]) for i in range(len(names))),
            tuple(zip(*columns, strict=True)) if names else (),
            str(table.get("caption") or ""),
            frozenset(int(number) for number in table.get("highlight") or ()),
            tuple((str(name), str(words)) for name, words in (table.get("meanings") or {}).items()),
            bool(table.get("folded", False)),
        )


def column(values: Sequence[Any], most: int | None = None) -> list[Cell]:
    """Return the cells of one column: its numbers share their decimal places.

    Integers stay integers, a pair of numbers is an interval, None and NaN are missing. At most ``most`` decimal
    places, if given; a smaller number is written as a bound, such as "< 0.0001".

    Examples
    --------
    >>> [cell.text for cell in column([0.12345, 0.04, 1e-9, None])]
    ['0.1235', '0.0400', '< 0.0001', '–']
    >>> [cell.text for cell in column([[0.031, 0.0574], None])]
    ['0.0310 to 0.0574', '–']
    >>> [cell.text for cell in column([1200, 7])], [cell.text for cell in column([True, "<b>"])]
    (['1,200', '7'], ['yes', '<b>'])
    """
    places = _places([number for value in values for number in _numbers(value)])
    if most is not None and (places is None or places > most):
        places = most
    return [_cell(value, places) for value in values]


def _numeric(values: Sequence[Any]) -> bool:
    kinds = [bool(_numbers(value)) for value in values if not _missing(value)]
    return bool(kinds) and all(kinds)


def _cell(value: Any, places: int | None) -> Cell:
    if _missing(value):
        return Cell(MISSING, missing=True)
    if isinstance(value, bool):
        return Cell("yes" if value else "no")
    numbers = _numbers(value)
    if not numbers:
        return Cell(str(value))
    return Cell(" to ".join(_numeral(number, places) for number in numbers), sort=float(numbers[0]))


def _missing(value: Any) -> bool:
    if isinstance(value, tuple | list):
        return len(value) == 2 and all(_missing(part) for part in value)
    return value is None or (isinstance(value, Real) and math.isnan(value))


def _numbers(value: Any) -> list[Number]:
    """Return the numbers of a cell: one, the two of an interval, or none."""
    parts = value if isinstance(value, tuple | list) and len(value) == 2 else (value,)
    numbers = [_number(part) for part in parts]
    return [number for number in numbers if number is not None] if None not in numbers else []


def _number(value: Any) -> Number | None:
    """Return a Python number for any real number; None for anything else."""
    if isinstance(value, bool) or not isinstance(value, Real) or math.isnan(value):
        return None
    return int(value) if isinstance(value, Integral) else float(value)


def _places(numbers: Sequence[Number]) -> int | None:
    """Decimal places for a column; 0 where all are integers, None where a power of ten is needed."""
    if all(isinstance(number, int) for number in numbers):
        return 0
    largest = max((abs(number) for number in numbers if math.isfinite(number)), default=0.0)
    if largest == 0:
        return DIGITS - 1
    if not SMALLEST <= largest < LARGEST:
        return None
    exponent = math.floor(math.log10(largest))
    # Errors are shares: the same four places for 0.1 and 0.05, so that an estimate and its interval line up.
    return max(DIGITS - 1 - exponent, 0) if exponent >= 0 else max(DIGITS, DIGITS - 2 - exponent)


def _numeral(number: Number, places: int | None) -> str:
    if math.isinf(number):
        return "∞" if number > 0 else "−∞"
    if isinstance(number, int) and not places:
        return f"{number:,d}".replace("-", "−")
    if places is None:
        return f"{number:.{DIGITS}g}".replace("-", "−")
    if number != 0 and abs(number) < 0.5 * 10**-places:
        # A p-value is never 0.
        return f"{'< ' if number > 0 else '> −'}{10**-places:.{places}f}"
    return f"{number:,.{places}f}".replace("-", "−")
