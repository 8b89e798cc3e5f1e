"""TF103, TF108, TF109, TF112: copies of rows, or too few. TF106, TF107: classes of different sizes, or of few rows."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.finding import Finding
from truefit._methods.text import counted, percent
from truefit._study.checks.base import CheckedTable, TableCheck, as_frame, quoted
from truefit._study.checks.columns import as_text

if TYPE_CHECKING:
    import pandas as pd

LARGE_CLASS: Final = 0.8
RARE_CLASS: Final = 30
FEW_ROWS: Final = 500
FEW_ROWS_PER_COLUMN: Final = 10


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
