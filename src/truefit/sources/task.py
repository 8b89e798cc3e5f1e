"""The task: whether a target is a class or a quantity, judged by its values."""

from __future__ import annotations

from collections.abc import Hashable
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
