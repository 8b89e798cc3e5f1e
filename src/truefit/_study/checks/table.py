"""TF101, TF102, TF104, TF105: single columns. TF103, TF106 to TF109, TF112: copies of rows, few rows, rare classes."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.finding import Finding
from truefit._methods.text import counted, percent
from truefit._study.checks.base import NAMED, CheckedTable, TableCheck, as_frame, quoted

if TYPE_CHECKING:
    import pandas as pd


LARGE_CLASS: Final = 0.8
RARE_CLASS: Final = 30
FEW_ROWS: Final = 500
FEW_ROWS_PER_COLUMN: Final = 10
#: A column is reported when its error is at most this share of the baseline's (squared error for a regression).
CLASS_SHARE: Final = 0.02
VARIANCE_SHARE: Final = 0.005
#: Fewer rows to learn from, or fewer errors of the baseline, are no evidence.
_FEWEST_ROWS, _FEWEST_ERRORS = 10, 5
#: "All values differ" means nothing in fewer rows than this.
ID_ROWS: Final = 50
_ID_NAME: Final = re.compile(r"(^|[\W_])(id|ids|key|uuid|guid|index|idx|nr|no|number|row)($|[\W_])|[a-z]I[dD]$", re.I)
_LONGEST_ID: Final = 40
#: Text that may be a date: a day, a month and a year, in any order. So many values are read.
_DATE: Final = re.compile(r"^\s*\d{1,4}[-/. ]\w{1,9}[-/. ,]+\d{1,4}|^\s*\w{3,9} \d{1,2},? \d{4}")
_DATES_READ: Final = 50


class TargetLeakage(TableCheck, code="TF101", title="Possible target leakage", severity="error"):
    """Fits a small model on each column alone, and compares its error on held-out rows with the baseline's."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield one finding per column, the most predictive first."""
        data, half = table.data, len(table.sample) // 2
        if data.y.ndim != 1 or half < _FEWEST_ROWS:
            return
        y = (data.codes if data.codes is not None else data.y)[table.sample]
        order = np.random.default_rng(1).permutation(len(y))
        train, test = order[:half], order[half:]
        constant = np.bincount(y[train]).argmax() if data.task == "classification" else y[train].mean()
        baseline = _error(constant, y[test], data.task)
        few = data.task == "classification" and baseline * len(test) < _FEWEST_ERRORS
        if not baseline > 0 or few:
            return
        limit = CLASS_SHARE if data.task == "classification" else VARIANCE_SHARE
        shares = [
            (_error_of_column(values, y, train, test, data.task) / baseline, name)
            for name, _, values in table.columns()
        ]  # fmt: skip
        for share, name in sorted((each for each in shares if each[0] <= limit), key=lambda each: each[0])[:NAMED]:
            yield self.finding(
                _leakage_text(name, share, baseline, data.task),
                f"Check that {name!r} is known before the target is. If it is not, drop it and run the study again.",
                column=name,
                share_of_baseline_error=share,
                baseline_error=baseline,
                test_rows=len(test),
            )


class IdColumn(TableCheck, code="TF102", title="ID column", severity="warning"):
    """Looks for columns that identify a row: all values differ, and they count, are short texts, or are named so."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield one finding for all such columns."""
        if table.data.n < ID_ROWS:
            return
        names = [
            name
            for name, values, sample in table.columns()
            if _looks_like_id(name, sample) and values.is_unique and not _is_time(table, values)
        ]
        if names:
            yield self.finding(
                f"{_columns(names)} a different value in each of the {table.data.n:,} rows, like an id or a row "
                "number. A model cannot learn from an id, but in a sorted table it can reveal the target.",
                f"Drop {quoted(names)}, unless {'it measures' if len(names) == 1 else 'they measure'} something.",
                columns=names,
                rows=table.data.n,
            )


class ConstantColumns(TableCheck, code="TF104", title="Constant columns", severity="info"):
    """Looks for columns with the same value in every row."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield one finding for all such columns."""
        names = [
            name
            for name, values, sample in table.columns()
            if _distinct(sample) <= 1 and _distinct(values) <= 1 and not values.isna().all()
        ]
        if names:
            yield self.finding(
                f"{_columns(names)} the same value in every row.",
                f"Drop {quoted(names)}: no model can use {'it' if len(names) == 1 else 'them'}.",
                columns=names,
            )


class MissingColumns(TableCheck, code="TF105", title="Columns without values", severity="info"):
    """Looks for columns without any value."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield one finding for all such columns."""
        names = [name for name, values, sample in table.columns() if sample.isna().all() and values.isna().all()]
        if names:
            yield self.finding(
                f"{_columns(names)} no value in any row.",
                f"Drop {quoted(names)}, or check how the table was read.",
                columns=names,
            )


def _is_time(table: CheckedTable, values: pd.Series[Any]) -> bool:
    """Whether a column puts the rows in the same order as the time that was given: it is that time, not an id."""
    import pandas as pd

    if table.data.time is None:
        return False
    order = values if pd.api.types.is_numeric_dtype(values) else values.astype(str)
    return bool((np.argsort(order.to_numpy()) == np.argsort(table.data.time)).all())


def _columns(names: list[str]) -> str:
    return f"Column {quoted(names)} has" if len(names) == 1 else f"Columns {quoted(names)} have"


def _distinct(values: pd.Series[Any]) -> int:
    try:
        return int(values.nunique(dropna=False))
    except TypeError:  # lists and other unhashable cells
        return int(values.astype(str).nunique())


def _looks_like_id(name: str, values: pd.Series[Any]) -> bool:
    import pandas as pd

    if not bool(values.notna().all()) or pd.api.types.is_bool_dtype(values):
        return False
    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float)
        if not (np.isfinite(numbers) & (numbers % 1 == 0)).all() or len(np.unique(numbers)) < len(numbers):
            return False
        steps = np.diff(numbers)
        return bool((steps > 0).all() or (steps < 0).all() or _ID_NAME.search(name))
    if looks_like_date(values):
        return False
    texts = values.astype(str)
    # A sentence that occurs once is no id; a word is.
    return (
        bool(texts.is_unique) and bool((texts.str.len() <= _LONGEST_ID).all()) and not texts.str.count(" ").mean() > 1
    )


def looks_like_date(values: pd.Series[Any]) -> bool:
    """Whether a column holds dates or times, or text that reads as such."""
    import pandas as pd

    if pd.api.types.is_datetime64_any_dtype(values):
        return True
    if pd.api.types.is_numeric_dtype(values):
        return False
    some = values.dropna().iloc[:: max(len(values) // _DATES_READ, 1)].iloc[:_DATES_READ]
    texts = some.map(as_text)
    if not len(texts) or not bool(texts.str.contains(_DATE).all()):
        return False
    return bool(as_dates(texts).notna().mean() > 0.95)


def as_dates(values: pd.Series[Any]) -> pd.Series[Any]:
    """Return dates, or text that reads as such, as dates: month first or day first, what suits more of the values."""
    import pandas as pd

    with warnings.catch_warnings():  # of formats that differ
        warnings.simplefilter("ignore", UserWarning)
        read = [pd.to_datetime(values, errors="coerce", utc=True, dayfirst=each) for each in (False, True)]
    return max(read, key=lambda each: int(each.notna().sum()))


def _leakage_text(name: str, share: float, baseline: float, task: str) -> str:
    start = f"Column {name!r} alone predicts the target"
    if task == "classification":
        error = "without error" if share == 0 else f"with error {percent(share * baseline)}"
        return f"{start} {error} on held-out rows (baseline on the same rows: {percent(baseline)})."
    explained = f"{1 - share:.2%}" if share >= 5e-5 else "more than 99.99%"
    return f"{start}: it explains {explained} of the target's variance on held-out rows."


def _error(predicted: Any, y: npt.NDArray[Any], task: str) -> float:
    """Return the share of errors, or the mean squared error: infinite where a prediction is missing."""
    if task == "classification":
        return float(np.mean(predicted != y))
    return float(np.mean(np.where(np.isnan(predicted), np.inf, (predicted - y) ** 2)))


def _error_of_column(
    values: pd.Series[Any],
    y: npt.NDArray[Any],
    train: npt.NDArray[np.intp],
    test: npt.NDArray[np.intp],
    task: str,
) -> float:
    """Return the error on test rows of a model of one column: a tree for numbers and dates, a lookup for the rest."""
    import pandas as pd
    from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

    is_date = isinstance(values.dtype, np.dtype) and values.dtype.kind in "mM"
    if pd.api.types.is_numeric_dtype(values) or is_date:
        numbers = values.astype("int64") if is_date else values
        column: npt.NDArray[Any] = numbers.to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isnan(column).all() or not _changes_rarely(column, y, task):
            return np.inf
        column = np.clip(column, -1e38, 1e38).reshape(-1, 1)
        tree = DecisionTreeRegressor(max_leaf_nodes=256, random_state=0)
        if task == "classification":
            tree = DecisionTreeClassifier(max_leaf_nodes=4 * int(y.max() + 1), random_state=0)
        return _error(tree.fit(column[train], y[train]).predict(column[test]), y[test], task)
    texts = values.astype(object).map(as_text).astype(object).where(values.notna(), None).to_numpy(dtype=object)
    groups = pd.DataFrame({"value": texts[train], "y": y[train]}).groupby("value")["y"]
    by_value = groups.agg(lambda group: group.mode().iloc[0]) if task == "classification" else groups.mean()
    return _error(by_value.reindex(texts[test]).to_numpy(dtype=np.float64), y[test], task)


def _changes_rarely(column: npt.NDArray[np.float64], y: npt.NDArray[Any], task: str) -> bool:
    """Whether the target hardly changes from one value of the column to the next; if it does, no tree is needed."""
    ordered = y[np.argsort(column, kind="stable")]
    if task == "classification":
        changes = int(np.count_nonzero(ordered[1:] != ordered[:-1]))
        return changes <= 4 * int(y.max() + 1) + 4 * CLASS_SHARE * len(y)
    # Half the mean squared step is the variance around a curve through the points, if there is one.
    return float(np.mean(np.diff(ordered) ** 2)) / 2 <= 4 * VARIANCE_SHARE * float(np.var(y))


def as_text(cell: Any) -> str:
    """Return a value as text that pandas can hash: lone surrogates are escaped."""
    return str(cell).encode("utf-8", "backslashreplace").decode()


class DuplicateRows(TableCheck, code="TF103", title="Duplicate rows", severity="warning"):
    """Counts rows that equal another row, target included. Copies within one group are never split, and not counted."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding where there are copies."""
        data, frame = table.data, table.frame
        if frame is None or data.y.ndim != 1:
            return
        targets = np.unique(data.y, return_inverse=True)[1]
        groups = np.arange(data.n) if data.groups is None else np.unique(data.groups, return_inverse=True)[1]
        cells = np.column_stack([_row_hashes(frame), targets.astype(np.uint64), groups.astype(np.uint64)])
        copies = len(np.unique(cells, axis=0)) - len(np.unique(cells[:, :2], axis=0))
        if copies:
            yield self.finding(
                f"{copies:,} of the {data.n:,} rows {'is a copy' if copies == 1 else 'are copies'} of another row, "
                "target included. A model that was trained on one copy and tested on the other looks better than it "
                "is.",
                "Remove copies that are not separate observations, or keep them in one fold with groups.",
                copies=copies,
                rows=data.n,
            )


class TestRowsInTraining(TableCheck, code="TF112", title="Test rows are training rows", severity="warning"):
    """Counts rows of a separate test set that equal a training row, target included, or are of a training group."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding where there are such rows."""
        frame, test = table.frame, table.test
        if test is not None and test.groups is not None and table.data.groups is not None:
            known = set(table.data.groups.tolist())
            related = sum(group in known for group in test.groups.tolist())
            if related:
                yield self.finding(
                    f"{related:,} of the {counted(test.n, 'test row')} {'is' if related == 1 else 'are'} of groups "
                    "that have training rows too: the result on the test set is too optimistic for new groups.",
                    "Remove their groups from the training rows or from the test set.",
                    related=related,
                    test_rows=test.n,
                )
        other = None if test is None else as_frame(test.X)
        if frame is None or test is None or other is None or table.data.y.ndim != 1:
            return
        both = _stacked(frame, other)
        targets = np.unique(np.concatenate([table.data.y, test.y]), return_inverse=True)[1]
        cells = np.column_stack([_row_hashes(both), targets.astype(np.uint64)])
        codes = np.unique(cells, axis=0, return_inverse=True)[1].reshape(-1)
        copies = int(np.isin(codes[table.data.n :], codes[: table.data.n]).sum())
        if copies:
            yield self.finding(
                f"{copies:,} of the {counted(test.n, 'test row')} {'is' if copies == 1 else 'are'} also among the "
                "training rows, target included: the model has seen the answers, and the result on the test set is too "
                "optimistic.",
                "Remove them from the training rows or from the test set, unless they are separate observations.",
                copies=copies,
                test_rows=test.n,
            )


class ClassImbalance(TableCheck, code="TF106", title="Class imbalance", severity="warning"):
    """Measures the share of the largest class, where the metric counts rows that are right or wrong."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding where more than 80% of the rows are of one class."""
        data = table.data
        if data.codes is None or data.classes is None or not table.metric.zero_one:
            return
        counts = np.bincount(data.codes)
        share = float(counts.max() / counts.sum())
        if share > LARGE_CLASS:
            label = data.classes[counts.argmax()].item()
            ranked = len(counts) == 2 and counts.min() > 1 and not table.replaced
            others = " or AUC" if ranked else ""  # a class of one row is not in two test sets
            yield self.finding(
                f"{percent(share)} of the rows belong to class {label!r}: a model that always predicts it has accuracy "
                f"{percent(share)}. {table.metric.name.capitalize()} says little about the other "
                f"{'class' if len(counts) == 2 else 'classes'}.",
                f"If the rare rows matter, use balanced accuracy{others} as the metric.",
                largest_class=str(label),
                share=share,
                threshold=LARGE_CLASS,
            )


class RareClass(TableCheck, code="TF107", title="Rare class", severity="warning"):
    """Counts the rows of each class, and compares them with the number of folds."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield one finding for all classes with fewer than 30 rows."""
        data = table.data
        if data.codes is None or data.classes is None:
            return
        counts = np.bincount(data.codes)
        rare = [int(place) for place in np.argsort(counts, kind="stable") if counts[place] < RARE_CLASS]
        if not rare:
            return
        labels, fewest = [data.classes[place].item() for place in rare], counted(int(counts[rare[0]]), "row")
        text = f"Class {labels[0]!r} has {fewest} (fewer than {RARE_CLASS})."
        if len(rare) > 1:
            text = (
                f"{'All' if len(rare) == len(counts) else f'{len(rare):,} of the'} {len(counts):,} classes have fewer "
                f"than {RARE_CLASS} rows: {quoted(labels)}. The smallest, {labels[0]!r}, has {fewest}."
            )
        absent = int((counts < table.folds).sum())
        if absent:
            which = "It has" if len(rare) == 1 else f"{absent:,} of them {'has' if absent == 1 else 'have'}"
            rows = "it" if absent == 1 else "them"
            text += f" {which} fewer rows than there are folds ({table.folds}): some folds have no test row of {rows}."
        yield self.finding(
            f"{text} The recall of so rare a class can only be estimated roughly.",
            "Collect more rows of rare classes, or merge them with similar ones.",
            classes={str(label): int(counts[place]) for label, place in zip(labels, rare, strict=True)},
            threshold=RARE_CLASS,
            folds=table.folds,
            fewer_than_folds=absent,
        )


class FewRows(TableCheck, code="TF108", title="Few rows", severity="info"):
    """Compares the number of rows with a fixed number."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding below 500 rows."""
        if table.data.n < FEW_ROWS:
            yield self.finding(
                f"{table.data.n:,} rows are few (fewer than {FEW_ROWS}): another sample of this size may select "
                "another model.",
                "Quote the confidence interval, not the estimate alone.",
                rows=table.data.n,
                threshold=FEW_ROWS,
            )


class FewRowsPerColumn(TableCheck, code="TF109", title="Few rows for the columns", severity="info"):
    """Compares the number of rows with the number of columns."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding below 10 rows for each column."""
        columns = int(table.data.X.shape[1]) if len(table.data.X.shape) == 2 else 0
        if columns and table.data.n < FEW_ROWS_PER_COLUMN * columns:
            yield self.finding(
                f"{table.data.n:,} rows for {columns:,} columns: {table.data.n / columns:.2g} rows per column (fewer "
                f"than {FEW_ROWS_PER_COLUMN}). Flexible models overfit such tables easily.",
                "Try fewer features, or models with strong regularisation.",
                rows=table.data.n,
                columns=columns,
                threshold=FEW_ROWS_PER_COLUMN,
            )


def _stacked(frame: pd.DataFrame, other: pd.DataFrame) -> pd.DataFrame:
    """Return the rows of both, columns by position, each of the type that holds both."""
    import pandas as pd

    return pd.concat([frame, other.set_axis(frame.columns, axis=1)], ignore_index=True)


def _row_hashes(frame: pd.DataFrame) -> npt.NDArray[Any]:
    import pandas as pd

    try:
        return pd.util.hash_pandas_object(frame, index=False).to_numpy()
    except (TypeError, ValueError):  # lists and the like, lone surrogates, long doubles
        return pd.util.hash_pandas_object(frame.map(as_text), index=False).to_numpy()
