"""The table: columns to learn from, a target with its task, and where they came from."""

from __future__ import annotations

import difflib
import re
from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, NamedTuple

from truefit._core.errors import InvalidInput
from truefit._core.validation import Task, as_array

if TYPE_CHECKING:
    import pandas as pd


#: Whole numbers with more distinct values than this are taken for a quantity.
MAX_CLASSES = 20
#: A class needs about so many rows: one for each of five folds.
MIN_PER_CLASS = 5
#: Grades and counts have values that hardly occur; classes seldom do.
MIN_SHARE = 0.001


class TaskHint(NamedTuple):
    """What a target looks like, and why; the caller may overrule it."""

    task: Task
    reason: str


def infer_task(y: Any) -> TaskHint:
    """Infer from the values of a target whether it is a class or a quantity.

    Text, truth values and categories are classes. Numbers with fractions are a quantity. Whole numbers are
    classes when there are two of them, or at most 20 and each occurs at least 5 times and in 1 of 1,000 rows;
    otherwise they are a quantity.

    Parameters
    ----------
    y : array-like of shape (n,)
        Missing values are ignored.

    Returns
    -------
    TaskHint
        ``task`` and ``reason``.

    Examples
    --------
    >>> infer_task(["yes", "no", "yes"])
    TaskHint(task='classification', reason='the target is text with 2 distinct values')
    >>> infer_task([0.5, 1.25, 3.0]).task
    'regression'
    >>> infer_task([0, 1, 1, 0]).reason
    'the target has 2 distinct whole numbers'
    >>> infer_task(range(100)).reason
    'the target has 100 distinct whole numbers, more than 20'
    """
    values = _known_values(y)
    distinct = int(values.nunique())
    kind = _kind_of_labels(values)
    if kind is not None:
        return TaskHint(
            "classification", f"the target is {kind} with {distinct} distinct {'value' if distinct == 1 else 'values'}"
        )
    fractions = int((values % 1 != 0).sum())
    if fractions:
        return TaskHint("regression", f"the target has fractions at {fractions:,} of {len(values):,} rows")
    counted = f"the target has {distinct:,} distinct whole {'number' if distinct == 1 else 'numbers'}"
    if distinct > MAX_CLASSES:
        return TaskHint("regression", f"{counted}, more than {MAX_CLASSES}")
    counts = values.value_counts()
    rarest = int(counts.min())
    if distinct > 2 and rarest < max(MIN_PER_CLASS, MIN_SHARE * len(values)):
        times = f"{'once' if rarest == 1 else f'{rarest} times'} in {len(values):,} rows"
        return TaskHint("regression", f"{counted}, but {_shown(counts.idxmin())} occurs only {times}")
    return TaskHint("classification", f"{counted}{f', each at least {rarest} times' if distinct > 2 else ''}")


def _known_values(y: Any) -> pd.Series[Any]:
    import pandas as pd

    if not isinstance(y, pd.Series):
        array = as_array(y, "The target")
        if array.ndim != 1:
            got = f"shape {array.shape}" if array.ndim else f"a {type(y).__name__}"
            raise InvalidInput(f"The target must be one column. Got {got}.")
        # Text is kept as objects: pandas' own type for it does not take all of them.
        y = pd.Series(array.astype(object), dtype=object) if array.dtype.kind in "OSU" else pd.Series(array)
    values = y.dropna()
    if not len(values):
        raise InvalidInput("The target must have values. Got none.")
    if isinstance(values.dtype, pd.api.extensions.ExtensionDtype) and pd.api.types.is_numeric_dtype(values):
        values = pd.Series(values.to_numpy())  # without missing values, a type of numpy's
    if values.dtype == object and all(type(value) in (int, float, Decimal) for value in values):
        values = values.astype(float)
    if values.dtype == object or "[pyarrow]" in str(values.dtype) or values.dtype.kind == "c":
        for value in values:
            if isinstance(value, complex) or not isinstance(value, Hashable):
                raise InvalidInput(f"The target must be one label or number per row. Got values such as {value!r}.")
    if pd.api.types.is_datetime64_any_dtype(values) or pd.api.types.is_timedelta64_dtype(values):
        raise InvalidInput(
            "The target must be labels or numbers. Got dates or durations. Turn them into a number, such as "
            "days since a first date."
        )
    return values  # type: ignore[no-any-return]


def _kind_of_labels(values: pd.Series[Any]) -> str | None:
    """Return what kind of labels the values are, in words; None for numbers."""
    import pandas as pd

    if isinstance(values.dtype, pd.CategoricalDtype):
        return "a category"
    if pd.api.types.is_bool_dtype(values):
        return "true or false"
    if pd.api.types.is_numeric_dtype(values):
        return None
    return "text" if all(isinstance(value, str) for value in values) else "labels"


def _shown(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


#: Column names listed in a message; a wide table has thousands.
LISTED = 20

#: Roles of columns, by the keyword of truefit's functions, in words.
_ROLES = {"groups": "groups", "time": "time", "sample_weight": "weights"}

_WITH_COMMA = re.compile(r"\s*[-+]?\d[\d.]*(,\d+)*\s*")


@dataclass(frozen=True, slots=True, eq=False)
class Table:
    """Rows with a target, ready for a method.

    Attributes
    ----------
    X : pandas DataFrame
        Every column but the target, in the order of the source.
    y : pandas Series
        The target, without missing values.
    name : str
        What the source is called: a built-in name, or a file's name without its ending.
    target : str
        Name of the target column.
    task_hint : TaskHint
        Whether the target looks like a class or a quantity, and why.
    notes : tuple of str
        What was changed while the source was read; usually nothing.
    roles : dict of str to pandas Series
        Columns that are not features: ``groups``, ``time`` and ``sample_weight``, by the keywords of the functions.
    """

    X: pd.DataFrame
    y: pd.Series[Any]
    name: str
    target: str
    task_hint: TaskHint
    notes: tuple[str, ...] = ()
    roles: Mapping[str, Any] = field(default_factory=dict)

    @classmethod
    def of(cls, frame: pd.DataFrame, *, name: str, target: str | None, positions: Sequence[int] | None = None) -> Table:
        """Split a frame into columns and target, with every check that can be made before a fit.

        Parameters
        ----------
        frame : pandas DataFrame
            All columns, the target among them.
        name : str
            Name of the source, for messages.
        target : str
            Name of the target column.
        positions : sequence of int, optional
            Positions of the rows in the source, if the frame is a sample; by default it is the whole.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"size": [1.0, 2.5, 3.0, 2.0], "kind": ["a", "b", "b", "a"]})
        >>> table = Table.of(frame, name="shells", target="kind")
        >>> table.X.columns.tolist(), table.y.tolist(), table.task_hint.task
        (['size'], ['a', 'b', 'b', 'a'], 'classification')
        """
        if len(frame) < 2 or not len(frame.columns):
            got = "no columns" if not len(frame.columns) else ("columns but no rows", "one row only")[len(frame)]
            raise InvalidInput(f"{name!r} must have rows to learn from and rows to test on. Got {got}.")
        # A file's index is no column: from here on rows are identified by their position.
        frame, notes = _without_row_numbers(
            frame.reset_index(drop=True), target, range(len(frame)) if positions is None else positions
        )
        names = [str(c) for c in frame.columns]
        column = find_column(names, target, name)
        check_names(names, name)
        position = names.index(column)
        y = frame.iloc[:, position]
        # A copy lays columns of a kind side by side: rows of a wide table are then taken many times faster.
        X = frame.iloc[:, [i for i in range(frame.shape[1]) if i != position]].copy()
        if X.shape[1] == 0:
            raise InvalidInput(f"{name!r} must have a column beside the target {column!r}. Got no other column.")
        if X.isna().all(axis=None):
            raise InvalidInput(f"{name!r} must have a column with values beside the target {column!r}. Got empty ones.")
        _check_target(y, column, name)
        return cls(X, y, name, column, infer_task(y), notes)

    def with_roles(
        self,
        *,
        groups: str | None = None,
        time: str | None = None,
        weights: str | None = None,
        drop: Sequence[str] = (),
    ) -> Table:
        """Return the table without the columns of these names: groups, time and weights become roles.

        Examples
        --------
        >>> import pandas as pd
        >>> frame = pd.DataFrame({"id": [7, 7, 8, 8], "size": [1.0, 2.5, 3.0, 2.0], "kind": ["a", "b", "b", "a"]})
        >>> table = Table.of(frame, name="shells", target="kind").with_roles(groups="id")
        >>> table.X.columns.tolist(), table.roles["groups"].tolist(), table.contents()
        (['size'], [7, 7, 8, 8], '4 rows, 1 columns, target: kind, 2 groups (id)')
        """
        given = {"groups": groups, "time": time, "sample_weight": weights}
        named = {role: column for role, column in given.items() if column is not None}
        names = [str(column) for column in self.X.columns]
        wanted = [*((f"as {_ROLES[role]}", named[role]) for role in named), *(("to drop", each) for each in drop)]
        uses = column_uses(names, wanted, self.name, {self.target: "as the target"})
        if len(uses) == 1:
            return self
        X = self.X.iloc[:, [i for i, name in enumerate(names) if name not in uses]].copy()
        if X.shape[1] == 0 or X.isna().all(axis=None):
            left = "empty ones" if X.shape[1] else "none: every column is dropped, or is the groups, time or weights"
            raise InvalidInput(
                f"{self.name!r} must keep a column with values beside the target {self.target!r}. Got {left}."
            )
        return replace(self, X=X, roles={role: self.X.iloc[:, names.index(named[role])] for role in named})

    def contents(self, rows: int | None = None) -> str:
        """Return rows, columns, target and roles in words; ``rows`` is the number of rows if this is a sample."""
        text = f"{len(self.y) if rows is None else rows:,} rows, {self.X.shape[1]:,} columns, target: {self.target}"
        for role, column in self.roles.items():
            text += f", {column.nunique():,} groups ({column.name})" if role == "groups" else ""
            text += f", {_ROLES[role]} {column.name}" if role != "groups" else ""
        return text


def find_column(columns: Sequence[str], target: str | None, name: str) -> str:
    """Return the target's column, or list the columns.

    >>> find_column(["age", "income"], "incme", "people")
    Traceback (most recent call last):
        ...
    truefit._core.errors.InvalidInput: 'people' has no column 'incme'. Did you mean 'income'? Columns: age,
    income.
    """
    if target is not None and target in columns:
        return target
    listed = ", ".join(columns[:LISTED])
    listed += f", and {len(columns) - LISTED:,} more." if len(columns) > LISTED else "."
    if target is None:
        raise InvalidInput(f"{name!r} needs a target: name the column to predict. Columns: {listed}")
    near = nearest(target, columns)
    meant = f" Did you mean {near}?" if near else ""
    raise InvalidInput(f"{name!r} has no column {target!r}.{meant} Columns: {listed}")


def column_uses(
    columns: Sequence[str],
    wanted: Sequence[tuple[str, str | None]],
    name: str,
    uses: Mapping[str, str] | None = None,
) -> dict[str, str]:
    """Return columns and what each is used as, beside ``uses``; refuse one with two uses, or that there is not.

    >>> column_uses(["age", "site"], [("as groups", "site"), ("as weights", None), ("to drop", "site")], "people")
    Traceback (most recent call last):
        ...
    truefit._core.errors.InvalidInput: A column of 'people' can have one use. Got 'site' as groups and to drop. ...
    """
    found = dict(uses or {})
    for use, column in wanted:
        if column is None:
            continue
        if column in found:
            both = f"{use} twice" if found[column] == use else f"{found[column]} and {use}"
            raise InvalidInput(f"A column of {name!r} can have one use. Got {column!r} {both}. Name it once.")
        found[find_column(columns, column, name)] = use
    return found


def check_names(names: Sequence[str], name: str) -> None:
    """Refuse a table in which two columns have one name: no model could distinguish them."""
    if len(set(names)) < len(names):
        twice, count = Counter(names).most_common(1)[0]
        raise InvalidInput(
            f"{name!r} must have columns of different names. Got {count} that are called {twice!r}. Rename or remove "
            "them."
        )


def nearest(word: str, choices: Sequence[str]) -> str:
    """Return the choices most like a word, quoted, in one string; empty if none is.

    >>> nearest("Iris", ["iris", "wine"]), nearest("zebra", ["iris", "wine"])
    ("'iris'", '')
    """
    by_lower = {choice.lower(): choice for choice in reversed(choices)}
    hits = difflib.get_close_matches(word.lower(), by_lower, n=3, cutoff=0.65)
    return " or ".join(repr(by_lower[hit]) for hit in hits)


def _without_row_numbers(
    frame: pd.DataFrame, target: str | None, positions: Sequence[int]
) -> tuple[pd.DataFrame, tuple[str, ...]]:
    """Leave out the row numbers that writing a frame with its index puts first: they may leak the target."""
    first = frame.columns[0]
    if first == target or not str(first).startswith("Unnamed: 0"):
        return frame, ()
    numbers = frame[first].tolist()
    if numbers not in (list(positions), [position + 1 for position in positions]):
        return frame, ()
    return frame.drop(columns=first), ("The first column has no name and counts the rows; it was dropped.",)


def _check_target(y: pd.Series[Any], column: str, name: str) -> None:
    import pandas as pd

    missing = int(y.isna().sum())
    if missing:
        raise InvalidInput(
            f"The target {column!r} of {name!r} must have a value in every row. Got {missing:,} of {len(y):,} "
            "missing. Drop these rows, or fill in their target."
        )
    plain = y.dtype.kind != "O" or isinstance(y.dtype, pd.StringDtype | pd.CategoricalDtype)
    nested = [] if plain else [value for value in y if not pd.api.types.is_scalar(value)]
    if nested:
        raise InvalidInput(
            f"The target {column!r} of {name!r} must have one label or number in every row. Got "
            f"{len(nested):,} of {len(y):,} that are lists or the like, such as {str(nested[0])[:60]}. Make a column "
            "of it that has one value in each row."
        )
    values = y.unique()
    if len(values) == 1:
        raise InvalidInput(
            f"The target {column!r} of {name!r} must take at least 2 values. Got {values.tolist()[0]!r} in every row. "
            "Check that it is the right column."
        )
    written = [value for value in values if isinstance(value, str)]
    if len(written) > MAX_CLASSES and all(map(_WITH_COMMA.fullmatch, written)):
        # More than a few classes, and all of them digits and commas: a quantity that was not read as one.
        raise InvalidInput(
            f"The target {column!r} of {name!r} looks like numbers with a comma, such as {written[0]!r}. "
            "Write them with a decimal point, and without marks between thousands."
        )
    infinite = int(y.isin([float("inf"), float("-inf")]).sum())
    if infinite:
        raise InvalidInput(
            f"The target {column!r} of {name!r} must be finite. Got {infinite:,} infinite of {len(y):,}. "
            "Drop or fix these rows."
        )
