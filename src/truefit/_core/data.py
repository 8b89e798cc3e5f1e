"""Data: a table with its target, groups, weights and time; rows with other labels; rows read on demand."""

from __future__ import annotations

import difflib
import math
from collections.abc import Callable
from copy import copy
from functools import cached_property
from itertools import pairwise
from typing import Any, Protocol, runtime_checkable

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.rows import (
    Rows,
    Tokens,
    add_tokens,
    array_block,
    few_values,
    mix,
    row_tokens,
    rowset_id,
    table_blocks,
    value_tokens,
)
from truefit._core.typing import Array, Floats, Positions
from truefit._core.validation import Task as Task
from truefit._core.validation import (
    called,
    checked_column,
    checked_groups,
    checked_table,
    checked_target,
    checked_weight,
    count_missing,
    kind_of,
)

#: A gather from a mapped table releases its pages after each stretch of this size.
STRETCH_BYTES = 32 << 20


class Data:
    """X and y with groups, weights and time, validated, every row with its content token.

    ``classes`` are those of the training rows, where y is of test rows that may lack some of them.

    The tokens are the rows' own; ``schema`` says what the table is besides: its kind, column names and types. Groups
    and time decide on splits only, so they are no part of either.

    >>> data = Data([[0.0], [1.0], [2.0]], ["a", "b", "a"], task="classification")
    >>> data.n, data.classes.tolist(), data.codes.tolist()
    (3, ['a', 'b'], [0, 1, 0])
    >>> larger = Data([[0.0], [1.0], [2.0], [3.0]], ["a", "b", "a", "b"], task="classification")
    >>> bool((larger.tokens[:3] == data.tokens).all())
    True
    """

    def __init__(
        self,
        X: Any,
        y: Any,
        *,
        task: Task,
        groups: Any = None,
        weight: Any = None,
        time: Any = None,
        classes: Array | None = None,
    ) -> None:
        self.time_name = ""
        if time is not None:
            X, time, self.time_name = take_time(X, time)
        self.X = checked_table(X)
        self.n = int(self.X.shape[0])
        self.columns = math.prod(self.X.shape[1:])
        self.task: Task = task
        self.y = checked_target(y, self.n, task)
        self.groups = None if groups is None else checked_groups(groups, self.n)
        self.weight = None if weight is None else checked_weight(weight, self.n)
        self.time = None if time is None else checked_time(time, self.n)
        if groups is not None and time is not None:
            raise InvalidInput(
                "groups and time cannot be given together: with time the earlier rows train, and a group may have rows "
                "before and after. Leave out one of them."
            )
        self.classes: Array | None = None
        self.codes: Array | None = None
        if task == "classification":
            self.classes, self.codes = _classes_of(self.y) if classes is None else _all_classes(self.y, classes)
        self.schema, self.tokens = self._identity()
        self.total = add_tokens(self.tokens)
        #: Set where X is a mapped file: releases the pages that a gather has touched.
        self.release: Callable[[], None] | None = None

    def _identity(self) -> tuple[str, Tokens]:
        blocks, schema = table_blocks(self.X)
        target = self.y.reshape(self.n, -1)
        # The width of an integer or of a label is the table's accident, not the row's content.
        if target.dtype.kind in "iu":
            target = target.astype(np.int64)
        block, kind = array_block(target)
        blocks.append(block)
        schema += f" | y {kind} {target.shape[1]}"
        if self.weight is not None:
            blocks.append(self.weight.reshape(-1, 1))
            schema += " | weight"
        return schema, row_tokens(blocks)

    def digest(self, rows: Rows) -> tuple[int, int]:
        """Return what the rows are known by together, whatever their order and wherever they stand."""
        return rows.digest(self.tokens, self.total)

    def label_digest(self, rows: Rows, labels: Array) -> tuple[int, int]:
        """Digest of the rows with other values at them: replaced labels, groups."""
        labels = labels if rows.whole else labels[rows.index]
        return add_tokens(mix(self.tokens_of(rows), value_tokens(labels)))

    def tokens_of(self, rows: Rows) -> Tokens:
        """Tokens of the rows in ascending order of position."""
        return self.tokens if rows.whole else self.tokens[rows.index]

    @cached_property
    def rowset(self) -> bytes:
        """Identity of all rows in their order."""
        return rowset_id(self.tokens)

    def rowset_of(self, rows: Rows) -> bytes:
        """Identity of some rows in ascending order of position."""
        return self.rowset if rows.whole else rows.rowset(self.tokens)

    @cached_property
    def group_codes(self) -> Positions:
        """Number of each row's group, in an order that depends on the rows' content: not on how groups are named."""
        assert self.groups is not None
        _, first, codes = np.unique(self.groups, return_index=True, return_inverse=True)
        digests = np.zeros((2, len(first)), dtype=np.uint64)
        for lane in (0, 1):
            np.add.at(digests[lane], codes, self.tokens[:, lane])
        place = np.empty(len(first), dtype=np.intp)
        place[np.lexsort((first, digests[1], digests[0]))] = np.arange(len(first))
        return place[codes]

    @property
    def n_groups(self) -> int:
        """Number of groups; of rows, where there are none."""
        return self.n if self.groups is None else int(self.group_codes.max()) + 1

    def weights_of(self, index: Positions) -> Floats | None:
        """Return the weights of rows that a mean is taken over, refused where all are zero; None without weights."""
        if self.weight is None:
            return None
        weight = self.weight[index]
        if not weight.any():
            raise InvalidInput(
                f"sample_weight must leave some weight among the rows that are tested on. Got 0 at all {len(index)} "
                "rows of a test set. Leave out rows of no weight, or use fewer folds."
            )
        return weight

    def take(self, index: Positions) -> Any:
        """Return the X of the rows at ``index``, as a copy of X's own kind."""
        X = self.X
        if hasattr(X, "iloc"):
            return X.iloc[index]
        if self.release is None or not isinstance(X, np.ndarray):
            # The same copy in half the time, where the layout comes out the same.
            return X.take(index, axis=0) if type(X) is np.ndarray and X.flags.c_contiguous else X[index]
        gathered = np.empty((len(index), *X.shape[1:]), dtype=X.dtype)
        span = max(1, STRETCH_BYTES // max(X.dtype.itemsize * int(np.prod(X.shape[1:])), 1))
        bounds = np.searchsorted(index, np.arange(0, self.n + span, span))
        for a, b in pairwise(bounds):
            if b > a:
                gathered[a:b] = X[index[a:b]]
                self.release()
        return gathered

    def without_table(self) -> Data:
        """Return the same rows with y and tokens but no X: enough to judge predictions by, and cheap to keep."""
        rest = copy(self)
        rest.X = None
        return rest

    def without_time(self) -> Data:
        """Return the same table with rows in no order: its splits are shuffled, its fits are the same."""
        rest = copy(self)
        rest.time = None
        return rest

    def subset(self, rows: Positions) -> Data:
        """Return some rows as a table of their own without X, each with the token that it has in the whole."""
        part = self.without_table()
        for of_all_rows in ("rowset", "group_codes"):
            part.__dict__.pop(of_all_rows, None)
        part.n, part.y = len(rows), self.y[rows]
        part.tokens = self.tokens[rows]
        part.total = add_tokens(part.tokens)
        part.groups = None if self.groups is None else self.groups[rows]
        part.weight = None if self.weight is None else self.weight[rows]
        part.time = None if self.time is None else self.time[rows]
        if self.task == "classification":
            part.classes, part.codes = np.unique(part.y, return_inverse=True)
        return part

    @property
    def row_bytes(self) -> int:
        """About what one row of X takes in memory."""
        if isinstance(self.X, np.ndarray):
            return int(self.X.dtype.itemsize * np.prod(self.X.shape[1:]))
        return 8 * int(self.X.shape[1])

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state["release"] = None
        return state

    def __len__(self) -> int:
        return self.n


def _classes_of(y: Array) -> tuple[Array, Array]:
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise InvalidInput(
            f"A classification needs at least 2 classes in y. Got 1 class: {classes[0]!r}. Check the target column, "
            "or use a regressor."
        )
    return classes, codes


def _all_classes(y: Array, known: Array) -> tuple[Array, Array]:
    """Return known classes and those of y together: test rows may lack some, and have others."""
    classes = np.union1d(known, y)
    return classes, np.searchsorted(classes, y)


#: Tokens of the rows with each of the labels take at most this much; tables for which they would take more do without.
HELD_BYTES = 32 << 20


class LabelledRows:
    """Digests of the rows of a table with other values at them, the same as :meth:`Data.label_digest` gives.

    Noise draws many lists of the same few labels: the tokens of all rows with each label are computed once.
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._most = HELD_BYTES // max(data.tokens.nbytes, 1)
        self._tokens: dict[tuple[str, bytes], Tokens] = {}
        #: The values of the last list: most lists have the same.
        self._values: Array = np.empty(0)

    def digest(self, rows: Rows, labels: Array) -> tuple[int, int]:
        """Return the digest of rows with the labels that stand at them."""
        if not (rows.whole and self._most):
            return self._data.label_digest(rows, labels)
        found = self._sum(labels)
        if found is None:
            few = few_values(labels)
            if few is None or len(few) > self._most:
                return self._data.label_digest(rows, labels)
            self._values = few
            found = self._sum(labels)
        assert found is not None
        return found

    def _sum(self, labels: Array) -> tuple[int, int] | None:
        """Add up the tokens of rows with their labels; None where labels occur that the last list did not have."""
        if labels.ndim != 1 or labels.dtype != self._values.dtype:
            return None
        first = second = count = 0
        for value in self._values:
            here = labels == value
            count += int(np.count_nonzero(here))
            # A sum of products goes through the tokens once, and copies none.
            lanes = np.einsum("ij,j->i", self._with(value), here.astype(np.uint64))
            first, second = first + int(lanes[0]), second + int(lanes[1])
        return (first % 2**64, second % 2**64) if count == len(labels) else None

    def _with(self, value: Any) -> Tokens:
        """Tokens of all rows with one label, one lane after the other: along a lane they are added up faster."""
        name = (value.dtype.str, value.tobytes())
        known = self._tokens.get(name)
        if known is None:
            if len(self._tokens) >= self._most:
                self._tokens.clear()
            token = value_tokens(np.array([value]))
            tokens = mix(self._data.tokens, np.broadcast_to(token, self._data.tokens.shape))
            known = self._tokens[name] = np.ascontiguousarray(tokens.T)
        return known


@runtime_checkable
class RowSource(Protocol):
    """A table with its target that is read from the front, in one fixed random sequence of its rows.

    A sample of n rows is the first n of the sequence, so a larger sample contains every smaller one.
    """

    @property
    def name(self) -> str:
        """What messages call it."""

    @property
    def total(self) -> int | None:
        """How many rows there are; None where that is not known."""

    def take(self, n: int) -> tuple[Any, Any]:
        """Return X and y of the first n rows, or of all where there are fewer."""


def take_time(X: Any, time: Any) -> tuple[Any, Any, str]:
    """Return X without the column that ``time`` names, the values of the time, and its name; X itself for values.

    >>> import pandas as pd
    >>> X, values, name = take_time(pd.DataFrame({"day": [1, 2], "x": [0.5, 0.7]}), "day")
    >>> list(X.columns), values.tolist(), name
    (['x'], [1, 2], 'day')
    """
    if not isinstance(time, str):
        name = getattr(time, "name", None)
        return X, time, "time" if name is None else str(name)
    if type(X).__module__.partition(".")[0] == "pyarrow" and hasattr(X, "to_pandas"):
        X = X.to_pandas()
    if not hasattr(X, "columns"):
        raise InvalidInput(
            f"time must be one value per row, or the name of a column of X. Got {time!r}, and X is a "
            f"{type(X).__name__} without column names. Pass the values, or a data frame."
        )
    columns = list(X.columns)
    if columns.count(time) != 1:
        near = difflib.get_close_matches(time, list(map(str, columns)), n=1)
        what = "no column" if time not in columns else f"{columns.count(time)} columns"
        raise InvalidInput(
            f"time must be one value per row, or the name of a column of X. X has {what} {time!r}."
            + (f" Did you mean {near[0]!r}?" if near else "")
        )
    return (X.drop(columns=time) if hasattr(X, "iloc") else X.drop(time)), X[time], time


def checked_time(time: Any, n: int) -> Array:
    """Return the time of each row as finite numbers or as datetime64, so that rows can be sorted by it.

    >>> checked_time(["2024-03-01", "2024-02-01"], 2)
    array(['2024-03-01', '2024-02-01'], dtype='datetime64[D]')
    """
    name = called(time, "time")
    values = checked_column(_timestamps(time), n, name)
    missing = count_missing(values)
    if missing:
        raise InvalidInput(
            f"{name} must have a value for every row. Got {missing} missing of {n}. Drop these rows, or fill in their "
            "time."
        )
    if values.ndim != 1:
        raise InvalidInput(f"{name} must be one value per row. Got shape {values.shape}; pass one column.")
    if values.dtype.kind not in "biufmM":
        values = _dates(values, name)
    if values.dtype.kind == "M" and (values == values.astype("datetime64[D]")).all():
        values = values.astype("datetime64[D]")  # messages and pictures show days without hours
    if values.dtype.kind in "bm":
        values = values.astype(np.int64)
    if values.dtype.kind == "f" and not np.isfinite(values).all():
        raise InvalidInput(f"{name} must be finite. Got infinite values; drop or correct these rows.")
    if (values == values[0]).all():
        raise InvalidInput(
            f"{name} must have different values, which put the rows in order. All {n} are {values[0]}. Leave it out if "
            "the rows have no order."
        )
    return values


def _timestamps(time: Any) -> Any:
    """Return pandas periods as the time at which they begin; other values as they are."""
    import pandas as pd

    if isinstance(time, pd.Series) and isinstance(time.dtype, pd.PeriodDtype):
        return time.dt.to_timestamp()
    return time.to_timestamp() if isinstance(time, pd.PeriodIndex) else time


def _dates(values: Array, name: str) -> Array:
    """Return dates and times of Python or pandas, or text in ISO format, as datetime64 in UTC."""
    import pandas as pd

    kind, example = kind_of(values[0]), values[0]
    try:
        if kind not in ("text", "date"):
            raise TypeError
        index = pd.to_datetime(values, utc=True, format="ISO8601" if kind == "text" else None, errors="coerce")
        if index.isna().any():
            example = values[index.isna().argmax()]
            raise ValueError
    except (TypeError, ValueError, OverflowError) as error:
        form = ", which is no date in ISO format, such as 2024-01-31." if kind == "text" else "."
        raise InvalidInput(
            f"{name} must be numbers or dates. Got {str(example)!r}{form} Convert the values first, for example with "
            "pandas.to_datetime(values, format=...)."
        ) from error
    return np.asarray(index.tz_localize(None).to_numpy())
