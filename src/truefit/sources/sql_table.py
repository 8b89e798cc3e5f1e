"""A table of a database, read whole."""

from __future__ import annotations

from typing import TYPE_CHECKING

from truefit.sources.database import Database, quoted, quoted_column
from truefit.sources.sql_reader import chosen_table, columns_of, typed

if TYPE_CHECKING:
    import pandas as pd


def read_table(database: Database, table: str | None, target: str | None) -> tuple[pd.DataFrame, str, tuple[str, ...]]:
    """Read all rows of a table.

    A primary key of one column numbers the rows and says nothing else: it orders them, and is left out.

    Parameters
    ----------
    database : Database
    table : str, optional
        None where the database has one table only.
    target : str, optional
        Whole numbers in it stay whole.

    Returns
    -------
    frame, name, notes
        The rows, the table's name, and what was left out, in words.
    """
    import pandas as pd
    import pyarrow as pa

    name = chosen_table(database, table)
    columns = columns_of(database, name)
    keys = [column for column in columns if column.in_key]
    key = keys[0] if len(keys) == 1 else None
    kept = [column for column in columns if column != key]
    order = f" ORDER BY {', '.join(quoted_column(column.name) for column in keys)}" if keys else ""
    query = f"SELECT {', '.join(map(database.selected, kept))} FROM {quoted(name)}{order}"
    batches = list(database.stretches(query))
    if not batches:
        return pd.DataFrame(columns=[column.name for column in kept]), name, ()
    # A stretch in which a column has no value has no type for it either.
    whole = pa.concat_tables([pa.Table.from_batches([batch]) for batch in batches], promote_options="permissive")
    frame = pd.DataFrame(
        {i: typed(whole.column(i), column, name, is_target=column.name == target) for i, column in enumerate(kept)},
        copy=False,
    )
    frame.columns = pd.Index([column.name for column in kept])
    left_out = f"The column {key.name!r} tells the rows apart; it is not among the inputs." if key else None
    return frame, name, () if left_out is None else (left_out,)
