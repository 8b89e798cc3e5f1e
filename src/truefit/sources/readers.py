"""Readers: rows of a table by their keys, from memory, a Parquet file or delimited text."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol

import numpy as np
import numpy.typing as npt

from truefit._core.rows import row_tokens, table_blocks
from truefit.sources.files import (
    DELIMITED,
    arrow_errors,
    check_width,
    checked_columns,
    checked_format,
    ending_of,
    file_errors,
    read_chunks,
    stem,
)

if TYPE_CHECKING:
    import pandas as pd

#: What identifies a row: whole numbers (positions, content, a database's key) or text.
Keys = npt.NDArray[Any]
#: What a key is: a row's own content, its position in a file, or its key in a database.
KeyKind = Literal["content", "position", "key"]

_POSITIONS_AT_ONCE = 1 << 18
_ROWS_AT_ONCE = 1 << 14
#: A chunk in which a column has no value, and a missing value among true and false.
_GAP: Final = "gap"


class Reader(Protocol):
    """A table whose rows have keys; the types of its columns do not depend on which rows are read."""

    #: What messages call it, and where it is: the same for the same table on every call.
    name: str
    place: str
    kind: KeyKind
    #: Number of rows.
    total: int
    #: What was changed while the table was read; usually nothing.
    notes: tuple[str, ...]

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key, in chunks."""
        ...

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        ...


class FrameReader:
    """Rows of a frame, identified by their content: they may come back in another order.

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
        self.total = len(frame)
        self._frame = frame.reset_index(drop=True)
        # The first lane is enough: two rows that share it are a 2^-64 accident.
        tokens = row_tokens(table_blocks(self._frame)[0])[:, 0] if frame.shape[1] and len(frame) else np.empty(0)
        self._tokens: Keys = tokens.astype(np.uint64).view(np.int64)

    def all_keys(self) -> Iterator[Keys]:
        """Every row's key."""
        yield self._tokens

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows of these keys, in this order."""
        order = np.argsort(self._tokens)
        return self._frame.iloc[order[np.searchsorted(self._tokens, keys, sorter=order)]]


class _FileReader:
    """Rows of a file, which is read in chunks and never held; a row is identified by its position."""

    kind: KeyKind = "position"
    notes: tuple[str, ...] = ()
    total: int

    def __init__(self, path: Path) -> None:
        self.name = stem(path)
        self.place = str(path.resolve())
        self._path = path

    def all_keys(self) -> Iterator[Keys]:
        """Every row's position, in chunks."""
        for start in range(0, self.total, _POSITIONS_AT_ONCE):
            yield np.arange(start, min(start + _POSITIONS_AT_ONCE, self.total), dtype=np.int64)


class ParquetReader(_FileReader):
    """Rows of a Parquet file; columns have the types of the whole file."""

    def __init__(self, path: Path) -> None:
        super().__init__(path)
        with file_errors(path), arrow_errors(path, "Parquet"):
            self._metadata: Any = _parquet(path).metadata
        check_width(self._metadata.num_columns, path)
        self.total = int(self._metadata.num_rows)
        self._groups = int(self._metadata.num_row_groups)
        self._starts = np.cumsum([0, *(self._metadata.row_group(i).num_rows for i in range(self._groups))])

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows at these positions, in this order."""
        with file_errors(self._path), arrow_errors(self._path, "Parquet"):
            import pyarrow as pa

            file = _parquet(self._path)
            wanted = np.sort(keys)
            pieces = [piece for group in range(self._groups) for piece in self._pieces(file, group, wanted)]
            table = pa.Table.from_batches(pieces, schema=file.schema_arrow).unify_dictionaries()
            table = table.take(pa.array(np.searchsorted(wanted, keys)))
            gaps = _columns_with_gaps(self._metadata)
            flags = [field.name for field in table.schema if pa.types.is_boolean(field.type) and field.name in gaps]
            for i, field in enumerate(table.schema):
                if pa.types.is_integer(field.type) and field.name in gaps:
                    # As in the whole file: whole numbers with gaps are floats, also in a sample that has none.
                    table = table.set_column(i, field.name, table.column(i).cast(pa.float64(), safe=False))
            return checked_columns(table.to_pandas(), self._path).astype(dict.fromkeys(flags, object))

    def _pieces(self, file: Any, group: int, wanted: Keys) -> Iterator[Any]:
        """Read the wanted rows of one group of rows."""
        import pyarrow as pa

        offset, end = self._starts[group], self._starts[group + 1]
        # Every group may add categories to a column of them, also by rows that are not in the sample.
        categories = any(pa.types.is_dictionary(field.type) for field in file.schema_arrow)
        if np.searchsorted(wanted, offset) == np.searchsorted(wanted, end) and not categories:
            return
        for batch in file.iter_batches(batch_size=_ROWS_AT_ONCE, row_groups=[group]):
            low, high = np.searchsorted(wanted, [offset, offset + batch.num_rows])
            if low < high or categories:
                yield batch.take(pa.array(wanted[low:high] - offset))
            offset += batch.num_rows


def _parquet(path: Path) -> Any:
    from pyarrow import parquet

    # With a buffer of its own a group of rows is not held whole while it is read.
    return parquet.ParquetFile(path, buffer_size=1 << 20, pre_buffer=False)


def _columns_with_gaps(metadata: Any) -> set[str]:
    """Names of the columns that have missing values, or may have: where the file does not say."""
    groups = [metadata.row_group(i) for i in range(metadata.num_row_groups)]
    columns = [(group.column(j), group.column(j).statistics) for group in groups for j in range(group.num_columns)]
    return {
        column.path_in_schema
        for column, known in columns
        if known is None or not known.has_null_count or known.null_count
    }


class DelimitedReader(_FileReader):
    """Rows of delimited text.

    A first pass counts the rows and finds the types of the columns in the whole file: a column that is numbers in one
    sample and text in another would be two different columns.
    """

    def __init__(self, path: Path, target: str | None) -> None:
        super().__init__(path)
        with file_errors(path):
            self._format = checked_format(path, target, separator=DELIMITED[ending_of(path)])
            self.notes = self._format.notes
            self.total, self._types = self._survey()

    def read(self, keys: Keys) -> pd.DataFrame:
        """Rows at these positions, in this order."""
        import pandas as pd

        wanted = np.sort(keys)
        picked, offset = [], 0
        # There is no type to read true, false or missing as: each chunk infers its own.
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
        # Rows that have gone meanwhile are missing at the end; the caller counts them.
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
