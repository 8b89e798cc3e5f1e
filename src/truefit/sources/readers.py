"""Readers: rows of a table by their keys, from memory, a Parquet file or delimited text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from truefit._core.hashing import row_tokens, table_blocks
from truefit.sources.delimited import check_width, checked_format, read_chunks
from truefit.sources.files import DELIMITED, checked_columns, ending_of, file_errors, stem, with_arrow

if TYPE_CHECKING:
    import pandas as pd

#: What identifies a row: whole numbers (positions, content, a database's key) or text.
Keys = npt.NDArray[Any]
#: What a key is: a row's own content, where it stands in its file, or its key in a database.
KeyKind = Literal["content", "position", "key"]

_POSITIONS_AT_ONCE = 1 << 18
_ROWS_AT_ONCE = 1 << 14
#: Stands for a chunk in which a column has no value, and for a gap among yes and no.
_GAP: Final = "gap"


class Reader(Protocol):
    """A table whose rows have keys; the types of its columns do not depend on which rows are read."""

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def place(self) -> str:
        """Where it is: the same for the same table on every call."""
        ...

    @property
    def kind(self) -> KeyKind:
        """What its keys are."""
        ...

    @property
    def total(self) -> int:
        """How many rows there are."""
        ...

    @property
    def notes(self) -> tuple[str, ...]:
        """What was done to the table on the way in, in words; usually nothing."""
        ...

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key, in chunks."""
        ...

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        ...


def positions(total: int) -> Iterator[Keys]:
    """Keys of rows that are known by where they stand.

    Examples
    --------
    >>> [keys.tolist() for keys in positions(3)]
    [[0, 1, 2]]
    """
    for start in range(0, total, _POSITIONS_AT_ONCE):
        yield np.arange(start, min(start + _POSITIONS_AT_ONCE, total), dtype=np.int64)


class FrameReader:
    """Rows of a frame. They are known by their content, so that they may come back in another order.

    Parameters
    ----------
    frame : pandas DataFrame
        With the target among its columns.
    name, place : str
    notes : tuple of str

    Examples
    --------
    >>> import pandas as pd
    >>> from truefit.sources.on_demand import RowsOnDemand
    >>> frame = pd.DataFrame({"size": range(50), "kind": ["a", "b"] * 25})
    >>> rows = RowsOnDemand(FrameReader(frame, name="shells"), "kind")
    >>> rows.take(3)[0]["size"].tolist(), rows.take(5)[0]["size"].tolist()
    ([10, 12, 38], [10, 12, 38, 21, 27])
    """

    kind: KeyKind = "content"

    def __init__(self, frame: pd.DataFrame, *, name: str, place: str = "memory", notes: tuple[str, ...] = ()) -> None:
        self.name = name
        self.place = place
        self.notes = notes
        self._frame = frame.reset_index(drop=True)
        # The first lane is enough: two rows that share it are a 2^-64 accident.
        tokens = row_tokens(table_blocks(self._frame)[0])[:, 0] if frame.shape[1] and len(frame) else np.empty(0)
        self._tokens: Keys = tokens.astype(np.uint64).view(np.int64)

    @property
    def total(self) -> int:
        """How many rows there are."""
        return len(self._frame)

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key."""
        yield self._tokens

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        order = np.argsort(self._tokens)
        return self._frame.iloc[order[np.searchsorted(self._tokens, keys, sorter=order)]]


class ParquetReader:
    """Rows of a Parquet file, which is looked through in chunks and never held.

    The columns have the types that reading the whole file gives them.

    Parameters
    ----------
    path : Path
    """

    kind: KeyKind = "position"
    notes: tuple[str, ...] = ()

    def __init__(self, path: Path) -> None:
        self.name = stem(path)
        self.place = str(path.resolve())
        self._path = path
        with file_errors(path):
            self._metadata: Any = with_arrow(lambda: _parquet(path).metadata, path, "Parquet")
        check_width(self._metadata.num_columns, path)
        self._starts = np.cumsum([0, *(self._metadata.row_group(i).num_rows for i in range(self._groups))])

    @property
    def total(self) -> int:
        """How many rows there are."""
        return int(self._metadata.num_rows)

    def all_keys(self) -> Iterator[Keys]:
        """Every row's position."""
        return positions(self.total)

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows at these positions, in this order."""
        with file_errors(self._path):
            return with_arrow(lambda: self._read(keys), self._path, "Parquet")

    @property
    def _groups(self) -> int:
        return int(self._metadata.num_row_groups)

    def _read(self, keys: Keys) -> pd.DataFrame:
        import pyarrow as pa

        file = _parquet(self._path)
        wanted = np.sort(keys)
        pieces = [piece for group in range(self._groups) for piece in self._pieces(file, group, wanted)]
        table = pa.Table.from_batches(pieces, schema=file.schema_arrow).unify_dictionaries()
        table = table.take(pa.array(np.searchsorted(wanted, keys)))
        gaps = _columns_with_gaps(self._metadata)
        yes_or_no = [field.name for field in table.schema if pa.types.is_boolean(field.type) and field.name in gaps]
        for i, field in enumerate(table.schema):
            if pa.types.is_integer(field.type) and field.name in gaps:
                # As in the whole file: whole numbers with gaps are floats, also in a sample that has none.
                table = table.set_column(i, field.name, table.column(i).cast(pa.float64(), safe=False))
        frame = checked_columns(table.to_pandas(), self._path)
        return frame.astype(dict.fromkeys(yes_or_no, object))

    def _pieces(self, file: Any, group: int, wanted: Keys) -> Iterator[Any]:
        """Take what is wanted of one group of rows; nothing is read where nothing is."""
        offset, end = self._starts[group], self._starts[group + 1]
        # Every group may add categories to a column of them, also by rows that are not in the sample.
        categories = any(_is_category(field) for field in file.schema_arrow)
        if np.searchsorted(wanted, offset) == np.searchsorted(wanted, end) and not categories:
            return
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, row_groups=[group]):
            low, high = np.searchsorted(wanted, [offset, offset + batch.num_rows])
            if low < high or categories:
                yield batch.take(_indices(wanted[low:high] - offset))
            offset += batch.num_rows


def _parquet(path: Path) -> Any:
    from pyarrow import parquet

    # A buffer of its own keeps a group of rows from being held whole while it is looked through.
    return parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)


def _is_category(field: Any) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_dictionary(field.type))


def _indices(values: Keys) -> Any:
    import pyarrow as pa

    return pa.array(values)


def _columns_with_gaps(metadata: Any) -> set[str]:
    """Names of the columns that have missing values, or may have: where the file does not say."""
    found = set()
    for i in range(metadata.num_row_groups):
        group = metadata.row_group(i)
        for j in range(group.num_columns):
            column = group.column(j)
            known = column.statistics if column.is_stats_set else None
            if known is None or not known.has_null_count or known.null_count:
                found.add(column.path_in_schema)
    return found


class DelimitedReader:
    """Rows of delimited text, which is looked through in chunks and never held.

    The file is looked through once to count its rows and to settle the types of its columns as a reading of the
    whole would: a column that is numbers in one sample and text in another would be two different columns.

    Parameters
    ----------
    path : Path
    target : str, optional
        Checked not to be there twice.
    """

    kind: KeyKind = "position"

    def __init__(self, path: Path, target: str | None) -> None:
        self.name = stem(path)
        self.place = str(path.resolve())
        self._path = path
        with file_errors(path):
            self._format = checked_format(path, target, separator=DELIMITED[ending_of(path)])
            self.notes: tuple[str, ...] = () if self._format.note is None else (self._format.note,)
            self.total, self._types = self._survey()

    def all_keys(self) -> Iterator[Keys]:
        """Every row's position."""
        return positions(self.total)

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows at these positions, in this order."""
        import pandas as pd

        wanted = np.sort(keys)
        picked, offset = [], 0
        # Text that is yes, no or nothing has no type to read it as: each chunk settles its own.
        types = {column: kind for column, kind in self._types.items() if kind != "object"}
        with file_errors(self._path), closing(read_chunks(self._path, text_format=self._format, types=types)) as chunks:
            for chunk in chunks:
                low, high = np.searchsorted(wanted, [offset, offset + len(chunk)])
                if low < high or not offset:
                    picked.append(chunk.iloc[wanted[low:high] - offset].astype(self._types))
                offset += len(chunk)
                if high == len(wanted):
                    break
        frame = pd.concat(picked, ignore_index=True)
        # Rows that have gone meanwhile are missing at the end; whoever asked counts them.
        places = np.searchsorted(wanted, keys)
        return frame.iloc[places[places < len(frame)]]

    def _survey(self) -> tuple[int, dict[str, Any]]:
        total, kinds = 0, defaultdict[str, set[str]](set)
        for chunk in read_chunks(self._path, text_format=self._format):
            total += len(chunk)
            for column, values in chunk.items():
                kinds[str(column)] |= _kinds(values)
        return total, {column: _whole(found) for column, found in kinds.items()}


def _kinds(values: pd.Series[Any]) -> set[str]:
    known = values.dropna() if values.dtype.kind != "i" else values
    if not len(known):
        return {_GAP}
    kind = str(values.dtype)
    if kind == "object" and all(isinstance(value, bool) for value in known):
        return {"bool", _GAP}
    # Gaps matter to whole numbers only, and a chunk of those that has one is floats already.
    return {kind}


def _whole(kinds: set[str]) -> str:
    """Type of a whole column, by those of its chunks."""
    if kinds in ({"int64"}, {"bool"}):
        return next(iter(kinds))
    if kinds == {"bool", _GAP}:
        return "object"
    return "float64" if kinds <= {"int64", "float64", _GAP} else "str"
