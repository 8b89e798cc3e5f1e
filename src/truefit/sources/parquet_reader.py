"""ParquetReader: rows of a Parquet file by where they stand in it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit.sources.arrow_columns import checked_columns
from truefit.sources.files import file_errors, stem, with_arrow
from truefit.sources.layout import check_width
from truefit.sources.reader import KeyKind, positions
from truefit.sources.sequence import Keys

if TYPE_CHECKING:
    import pandas as pd

_ROWS_AT_ONCE = 1 << 14


class ParquetReader:
    """Rows of a Parquet file, which is looked through in stretches and never held.

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
