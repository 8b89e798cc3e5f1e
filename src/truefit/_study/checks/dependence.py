"""TF110, TF111: rows that belong together, or that depend on their order, while the folds are of shuffled rows.

A suspicion is not reported; a measured difference is. A small forest is cross-validated on shuffled rows, and on folds
that keep suspicious rows together or test later rows than they train on. The same rows are tested in both, so that
their losses are compared in pairs.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.finding import Finding, Severity
from truefit._core.typing import Floats, Positions
from truefit._methods.text import counted, percent
from truefit._stats.clustered import clustered_se
from truefit._stats.near_duplicates import near_duplicates
from truefit._study.checks.base import CheckedTable, TableCheck
from truefit._study.checks.table import as_dates, looks_like_date

if TYPE_CHECKING:
    import pandas as pd

Codes = npt.NDArray[np.intp]

#: Rows that a difference is measured on, and rows that are searched for near-duplicates.
_MEASURED_ROWS, _SEARCHED_ROWS = 2_000, 20_000
#: Fewer rows show no difference.
_FEWEST_ROWS: Final = 100
_FOLDS, _TREES = 5, 10
#: Columns that a tree of a regression tries at a node: all of an ordinary table, few of a wide one.
_COLUMNS_TRIED: Final = 30
#: A difference is reported from this many standard errors on, and from this share of the loss on shuffled rows.
STANDARD_ERRORS: Final = 2.5
RELATIVE: Final = 0.1
#: The models of the folds share rows: the factor on the clustered standard error (docs/coverage.md).
_FACTOR: Final = 1.2
#: An error, not a warning, where the loss is this many times that of shuffled rows.
_LARGE: Final = 1.5

_GROUP_NAME: Final = re.compile(
    r"(^|[\W_])(id|ids|uuid|guid|key|patient|subject|person|customer|client|user|member|household|family|site|centre|"
    r"center|hospital|school|store|device|machine|batch|session|account|vehicle)($|[\W_])|[a-z]I[dD]$",
    re.I,
)
#: A column of this many values, in at least this share of the rows twice or more, may name groups; numbers only if the
#: most frequent one is not much more frequent than the others, as it is among amounts.
_MANY_VALUES, _MANY_SHARE, _REPEATED_SHARE, _LARGEST_SHARE, _EVEN = 30, 0.02, 0.5, 0.2, 3.0
#: Neighbouring rows are alike from this correlation of their targets on.
_ALIKE: Final = 0.1


@dataclass(frozen=True, slots=True)
class MeasuredDependence:
    """Loss of a small forest on the same rows: by folds of shuffled rows, and by folds that respect a structure."""

    shuffled: float
    structured: float
    standard_error: float
    loss: str
    rows: int

    @property
    def differs(self) -> bool:
        """Whether the difference is larger than noise."""
        difference = self.structured - self.shuffled
        return difference > STANDARD_ERRORS * self.standard_error and difference > RELATIVE * self.shuffled

    @property
    def severity(self) -> Severity:
        """How wrong numbers of shuffled rows are."""
        return "error" if self.structured > _LARGE * self.shuffled else "warning"

    def text(self, shuffled: str, structured: str) -> str:
        """Return both values in a sentence."""
        name = {"error": "error", "squared error": "RMSE", "Brier score": "Brier score"}[self.loss]
        first, second = (self._value(each) for each in (self.shuffled, self.structured))
        return (
            f"On {self.rows:,} rows a small forest has {name} {first} by {shuffled}, and {second} by {structured}: the "
            "estimates of this study are too optimistic for new "
        )

    def _value(self, value: float) -> str:
        if self.loss == "error":
            return percent(value)
        return f"{np.sqrt(value):.3g}" if self.loss == "squared error" else f"{value:.3g}"

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types; a squared error is reported by its root."""
        root = self.loss == "squared error"
        first, second = (float(np.sqrt(each)) if root else each for each in (self.shuffled, self.structured))
        return {"loss": "rmse" if root else self.loss, "shuffled": first, "structured": second, "rows": self.rows}


class RelatedRows(TableCheck, code="TF110", title="Rows belong together", severity="error"):
    """Compares shuffled folds with folds that keep together rows of one id, or near-duplicate rows."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding for the id column, or the near-duplicates, with the largest measured difference."""
        if not _applies(table):
            return
        tried = [(_by_groups(table, codes), name) for name, codes in _id_columns(table)]
        found = [(measured, name) for measured, name in tried if measured is not None and measured.differs]
        if found:
            measured, name = max(found, key=lambda each: each[0].structured - each[0].shuffled)
            yield self.finding(
                f"Values of column {name!r} repeat, like ids of groups of rows. "
                + measured.text(f"{_FOLDS}-fold cross-validation", f"folds that keep equal {name!r} together")
                + f"values of {name!r}.",
                f"Rerun with groups=X[{name!r}] (--groups {name}), unless new rows will have the same values of it.",
                measured.severity,
                column=name,
                **measured.to_dict(),
            )
            return
        groups = _near_duplicates(table)
        near = None if groups is None else _by_groups(table, groups[1], groups[0])
        if groups is not None and near is not None and near.differs:
            sizes = np.bincount(groups[1])
            related, rows = int(sizes[sizes > 1].sum()), len(groups[0])
            yield self.finding(
                f"{related:,} of {counted(rows, 'row')} are near-duplicates of another row: almost equal, or equal in "
                f"all cells but one or two ({(sizes > 1).sum():,} groups). "
                + near.text(f"{_FOLDS}-fold cross-validation", "folds that keep near-duplicates together")
                + "cases.",
                "Find out what such rows share (a patient, a batch), and rerun with groups= (--groups COLUMN).",
                near.severity,
                near_duplicates=related,
                groups=int((sizes > 1).sum()),
                searched_rows=rows,
                **near.to_dict(),
            )


class OrderedRows(TableCheck, code="TF111", title="Rows depend on their order", severity="error"):
    """Compares shuffled folds with training on earlier dates, or with folds of neighbouring rows."""

    def run(self, table: CheckedTable) -> Iterator[Finding]:
        """Yield a finding for the first date column with a difference, or for the order of the rows."""
        if not _applies(table):
            return
        dates = list(_date_columns(table))
        for name, times in dates:
            measured = _forward(table, times)
            if measured is not None and measured.differs:
                yield self.finding(
                    f"Column {name!r} holds dates. "
                    + measured.text("training on random rows", f"training on rows of earlier {name!r}, as many")
                    + "dates.",
                    f"Rerun with time={name!r} (--time {name}): models are then tested on later rows only.",
                    measured.severity,
                    column=name,
                    **measured.to_dict(),
                )
                return
        # That neighbours in a file are alike may be its order alone: a warning at most.
        alike = _neighbours_alike(table)
        measured = _blocked(table) if alike is not None and alike > _ALIKE else None
        if measured is not None and measured.differs:
            when = f"time={dates[0][0]!r} (--time {dates[0][0]})" if dates else "time= (--time COLUMN)"
            yield self.finding(
                f"The targets of neighbouring rows are alike (correlation {alike:.2f}). "
                + measured.text(f"{_FOLDS}-fold cross-validation", "folds of neighbouring rows")
                + "stretches of rows.",
                f"If the rows are in order of time, rerun with {when}. If neighbours belong together, rerun "
                "with groups= (--groups COLUMN).",
                "warning",
                correlation=alike,
                **measured.to_dict(),
            )


def _applies(table: CheckedTable) -> bool:
    data = table.data
    free = data.groups is None and data.time is None
    plain = free and data.y.ndim == 1 and table.frame is not None
    return plain and data.n >= _FEWEST_ROWS and table.frame.shape[1] > 0  # type: ignore[union-attr]


# Measuring


def _by_groups(table: CheckedTable, codes: Codes, rows: Positions | None = None) -> MeasuredDependence | None:
    """Compare shuffled folds with folds of whole groups, on a sample of the groups."""
    rng = np.random.default_rng(0)
    number = int(codes.max()) + 1
    if number < 2 * _FOLDS:
        folds_of_groups = rng.permutation(number) % max(min(number, _FOLDS), 2)
    else:
        folds_of_groups = np.empty(number, np.intp)
        # Groups of like size in a row go to different folds.
        folds_of_groups[np.lexsort((rng.permutation(number), np.bincount(codes)))] = np.arange(number) % _FOLDS
    order = rng.permutation(number)
    taken = order[np.cumsum(np.bincount(codes, minlength=number)[order]) <= _MEASURED_ROWS]
    places = np.flatnonzero(np.isin(codes, taken))
    if len(places) < min(len(codes), _MEASURED_ROWS) // 2:  # a few large groups
        places = np.sort(rng.permutation(len(codes))[:_MEASURED_ROWS])
    index = places if rows is None else rows[places]
    structured = folds_of_groups[codes[places]]
    return _compared(table, index, _partition(_shuffled(rng, len(places))), _partition(structured), codes[places])


def _forward(table: CheckedTable, times: Floats) -> MeasuredDependence | None:
    """Compare training on earlier rows with training on as many random rows; the same rows are tested."""
    rng = np.random.default_rng(0)
    rows = np.flatnonzero(~np.isnan(times))
    rows = np.sort(rng.permutation(rows)[:_MEASURED_ROWS])
    rows = rows[np.argsort(times[rows], kind="stable")]
    if len(rows) < _FEWEST_ROWS or len(np.unique(times[rows])) <= _FOLDS:
        return None
    blocks = np.arange(len(rows)) * 2 * _FOLDS // len(rows)
    forward, shuffled = [], []
    for block in range(_FOLDS, 2 * _FOLDS):  # the first half is trained on only
        test, others = np.flatnonzero(blocks == block), np.flatnonzero(blocks != block)
        forward.append((np.flatnonzero(blocks < block), test))
        shuffled.append((rng.permutation(others)[: len(forward[-1][0])], test))
    return _compared(table, rows, shuffled, forward, np.arange(len(rows)) * 50 // len(rows))


def _blocked(table: CheckedTable) -> MeasuredDependence | None:
    """Compare shuffled folds with folds of neighbours.

    Each class, or tenth of the targets, is cut into stretches of its own: in a table that is sorted by the target, a
    stretch of all rows would be a class that no model has been trained on.
    """
    rng = np.random.default_rng(0)
    n = table.data.n
    stretches = np.linspace(0, n, 31).astype(np.intp)[:-1]
    length = max(_MEASURED_ROWS // 30, 1)
    rows = np.arange(n) if n <= _MEASURED_ROWS else np.unique((stretches[:, None] + np.arange(length)).clip(max=n - 1))
    y = table.data.codes if table.data.codes is not None else _tenths(table.data.y)
    folds = np.empty(len(rows), np.intp)
    for level in np.unique(y[rows]):
        own = np.flatnonzero(y[rows] == level)
        folds[own] = np.arange(len(own)) * _FOLDS // len(own)
    clusters = np.arange(len(rows)) * 50 // len(rows)
    return _compared(table, rows, _partition(_shuffled(rng, len(rows))), _partition(folds), clusters)


def _tenths(y: Floats) -> Codes:
    return np.searchsorted(np.quantile(y, np.linspace(0.1, 0.9, 9)), y)


def _shuffled(rng: np.random.Generator, n: int) -> Codes:
    return rng.permutation(n) % _FOLDS


def _partition(folds: Codes) -> list[tuple[Positions, Positions]]:
    return [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in np.unique(folds)]


def _compared(
    table: CheckedTable,
    rows: Positions,
    shuffled: Iterable[tuple[Positions, Positions]],
    structured: Iterable[tuple[Positions, Positions]],
    clusters: Codes,
) -> MeasuredDependence | None:
    """Compare the losses of the same rows by two designs; None where nothing can be compared."""
    X = table.numbers(rows)
    y = (table.data.codes if table.data.codes is not None else table.data.y)[rows]
    if len(rows) < _FEWEST_ROWS or not np.ptp(y) or not np.ptp(clusters):
        return None
    first, second = (_losses(X, y, pairs, table.data.task) for pairs in (shuffled, structured))
    measured = None
    for loss in first:
        tested = ~np.isnan(first[loss])
        plain, other = first[loss][tested], second[loss][tested]
        se = _FACTOR * clustered_se(other - plain, clusters[tested])
        measured = MeasuredDependence(float(plain.mean()), float(other.mean()), se, loss, int(tested.sum()))
        if measured.differs:
            return measured
    return measured


def _losses(
    X: Floats, y: npt.NDArray[Any], pairs: Iterable[tuple[Positions, Positions]], task: str
) -> dict[str, Floats]:
    from sklearn.ensemble import ExtraTreesClassifier, ExtraTreesRegressor

    tried = min(X.shape[1], _COLUMNS_TRIED)
    names = ("error", "Brier score") if task == "classification" else ("squared error",)
    found = {name: np.full(len(y), np.nan) for name in names}
    for train, test in pairs:
        if task == "regression":
            regressor = ExtraTreesRegressor(_TREES, max_features=tried, random_state=0).fit(X[train], y[train])
            found["squared error"][test] = (regressor.predict(X[test]) - y[test]) ** 2
            continue
        with warnings.catch_warnings():  # of many classes
            warnings.simplefilter("ignore", UserWarning)
            classifier = ExtraTreesClassifier(_TREES, random_state=0).fit(X[train], y[train])
        share = classifier.predict_proba(X[test])
        right = y[test][:, None] == classifier.classes_
        found["error"][test] = classifier.classes_[share.argmax(axis=1)] != y[test]
        # An unseen class has probability 0.
        found["Brier score"][test] = ((share - right) ** 2).sum(axis=1) + ~right.any(axis=1)
    return found


# Suspicion


def _id_columns(table: CheckedTable) -> Iterator[tuple[str, Codes]]:
    """Yield columns of whole numbers or text whose values repeat like ids, the two likeliest."""
    import pandas as pd

    found = []
    for name, values, _ in table.columns():
        if pd.api.types.is_bool_dtype(values) or looks_like_date(values) or not _whole_or_text(values):
            continue
        codes, distinct = _factorized(values)
        counts = np.bincount(codes)
        number = len(counts)
        repeated = counts[counts > 1].sum() / len(codes)
        named = bool(_GROUP_NAME.search(name)) and number >= _FOLDS
        largest = _LARGEST_SHARE * len(codes)
        if pd.api.types.is_numeric_dtype(values):
            largest = min(largest, _EVEN * len(codes) / number)
        many = number >= max(_MANY_VALUES, _MANY_SHARE * len(codes)) and counts.max() <= largest
        if distinct and repeated >= _REPEATED_SHARE and (named or many):
            found.append((not named, -number, name, codes))
    for _, _, name, codes in sorted(found, key=lambda each: each[:2])[:2]:
        yield name, codes


def _whole_or_text(values: pd.Series[Any]) -> bool:
    import pandas as pd

    if pd.api.types.is_numeric_dtype(values):
        numbers = values.to_numpy(dtype=float, na_value=np.nan)
        numbers = numbers[~np.isnan(numbers)]
        return bool(len(numbers)) and bool(np.isfinite(numbers).all()) and not (numbers % 1).any()
    return not (isinstance(values.dtype, np.dtype) and values.dtype.kind in "mM")


def _factorized(values: pd.Series[Any]) -> tuple[Codes, int]:
    """Codes of the values, a missing value as one of its own, and how many there are."""
    import pandas as pd

    try:
        codes, distinct = pd.factorize(values, use_na_sentinel=False)
    except TypeError:  # lists and other unhashable cells
        return np.zeros(len(values), np.intp), 0
    return codes, len(distinct)


def _date_columns(table: CheckedTable) -> Iterator[tuple[str, Floats]]:
    for name, values, _ in table.columns():
        if looks_like_date(values):
            times = as_dates(values)
            numbers = times.astype("int64").to_numpy(dtype=float)
            yield name, np.where(times.isna(), np.nan, numbers)


def _neighbours_alike(table: CheckedTable) -> float | None:
    """Correlation of the targets of neighbouring rows; None where chance explains it."""
    y = table.data.codes if table.data.codes is not None else table.data.y
    if not np.ptp(y):
        return None
    if table.data.codes is not None:
        chance = float((np.bincount(y) / len(y)) @ (np.bincount(y) / len(y)))
        alike = (float(np.mean(y[1:] == y[:-1])) - chance) / (1 - chance)
    else:
        alike = 1 - float(np.mean(np.diff(y.astype(float)) ** 2)) / (2 * float(np.var(y)))
    return alike if alike > 5 / np.sqrt(len(y)) else None


def _near_duplicates(table: CheckedTable) -> tuple[Positions, Codes] | None:
    """Return rows that were searched and the group of each; None where there are hardly any near-duplicates."""
    rng = np.random.default_rng(0)
    rows = np.sort(rng.permutation(table.data.n)[:_SEARCHED_ROWS])
    groups = near_duplicates(table.numbers(rows))
    return None if groups is None else (rows, groups)
