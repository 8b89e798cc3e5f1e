"""Many sets of the same rows, and the sums over the rows of each that learners are made of."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from truefit._core.data import Data
from truefit._core.protocols import Fit
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats, Mask, Positions
from truefit._solvers.closed_form.rounding import column_ranges, exact_sums
from truefit._solvers.plain import labels_of
from truefit._solvers.relabelled.driver import WORK_BYTES, as_floats

SetKey = tuple[tuple[int, int], int]

#: Rows whose products are made at a time: as many as stay in the processor's cache.
STRETCH = 256
#: With more columns the products take as long as a fit of scikit-learn's does.
MOST_COLUMNS = 64
#: Sets must have so many times as many rows as columns: near that point hardly anything is certain.
LEAST_ROWS = 2
#: The rows of one job take at most about this much.
TABLE_BYTES = 1 << 30


def certain_scales(variance: Floats, mean: Floats, n: Floats) -> Mask:
    """Return the sets, a row of each array, in which no column is so near to constant that a scaler may skip it."""
    # scikit-learn's own limit, with room for rounding on both sides.
    limit = (4 * n[:, None] * np.finfo(np.float64).eps * np.abs(mean)) ** 2
    return np.asarray((variance > limit).all(axis=1))


class RowSets:
    """Sets of training rows, with ``X`` and ``labels`` of the rows that any fit uses; ``order`` are their positions.

    All ``fits`` have the same labels. Rows are sorted by ``codes``, the class of each row of the table; ``slices`` says
    where those of each class are. With ``scaled``, learners see the rows of each set standardised by it, and constant
    columns are dropped.
    """

    def __init__(self, fits: Sequence[Fit], data: Data, codes: Array | None = None, *, scaled: bool = False) -> None:
        asked = {id(ask.rows): ask.rows for fit in fits for ask in fit.asks}
        used = used_rows([*(fit.train for fit in fits), *asked.values()], data.n)
        order = np.flatnonzero(used)
        if 8 * len(order) * data.X.shape[1] > TABLE_BYTES:
            raise ValueError("The rows take too much memory to be held at once.")
        if codes is not None:
            classes = codes[order]
            order = order[np.argsort(classes, kind="stable")]
            ends = np.cumsum(np.bincount(classes, minlength=int(codes.max()) + 1))
            #: Where the rows of each class stand.
            self.slices = [slice(int(start), int(end)) for start, end in zip([0, *ends[:-1]], ends, strict=True)]
        else:
            self.slices = []
        self.order = order
        self.X = as_floats(data.X if len(order) == data.n and codes is None else data.take(order))
        self.scaled = scaled
        if scaled:
            self._drop_constant_columns()
        self.labels = labels_of(fits[0], data)[order]
        self._place = np.zeros(data.n, dtype=np.intp)
        self._place[order] = np.arange(len(order))
        known: dict[SetKey, int] = {}
        #: Which set each fit is trained on; fits of other estimators may have the same.
        self.of_fit = [known.setdefault(set_key(fit, data), len(known)) for fit in fits]
        self.trains = [fits[self.of_fit.index(s)].train for s in range(len(known))]
        self._last: tuple[Sequence[int], Floats] | None = None
        #: How many rows the largest set has.
        self.largest = max(len(train) for train in self.trains)

    def _drop_constant_columns(self) -> None:
        bottom, top = column_ranges(self.X)
        constant = top == bottom
        if constant.any():
            # What a scaler leaves of one is its rounding: nothing, where sums are exact.
            if constant.all() or not exact_sums(self.X[:, constant]).all():
                raise ValueError("A scaled constant column depends on rounding.")
            self.X = np.ascontiguousarray(self.X[:, ~constant])

    def where(self, rows: Rows) -> Positions:
        """Return the positions of rows here, in their order."""
        return np.asarray(self._place[rows.index])

    def counts(self, sets: Sequence[int]) -> Floats:
        """Return how often each row is in each of some sets: shape (sets, rows)."""
        if self._last is not None and self._last[0] is sets:
            return self._last[1]
        counts = np.empty((len(sets), len(self.order)))
        for row, s in zip(counts, sets, strict=True):
            train = self.trains[s]
            if train.total is not None and len(self.order) == train.total:
                row[:] = 1.0
                row[self._place[train.listed]] = 0.0
            else:
                row[:] = np.bincount(self._place[train.index], minlength=len(row))
        self._last = sets, counts
        return counts

    def complete(self, sets: Sequence[int]) -> Mask:
        """Return which of some sets have rows of every class."""
        counts, complete = self.counts(sets), np.ones(len(sets), dtype=bool)
        for rows in self.slices:
            complete &= counts[:, rows].any(axis=1)
        return complete

    def class_sums(self, sets: Sequence[int], *tables: Floats) -> tuple[Floats, list[Floats]]:
        """Return class counts of some sets, (classes, sets, 1), and class sums of tables, (classes, sets, columns)."""
        counts = self.counts(sets)
        rows = np.array([counts[:, some].sum(axis=1) for some in self.slices])[:, :, None]
        return rows, [np.array([counts[:, some] @ table[some] for some in self.slices]) for table in tables]

    def products(self, sets: Sequence[int], table: Floats) -> Floats:
        """Return sums of products of any two columns over the rows of some sets: shape (sets, columns, columns)."""
        counts = self.counts(sets)
        groups = equal_rows(counts)
        if groups is not None and len(groups.rows) * table.shape[1] <= len(table):
            return groups.products(table)
        return _products(counts, table)

    def parts(self) -> Iterator[list[int]]:
        """Cut the sets into parts whose counts are small enough to be worked with."""
        step = max(1, WORK_BYTES // (8 * len(self.order)))
        for start in range(0, len(self.trains), step):
            yield list(range(start, min(start + step, len(self.trains))))

    @property
    def repeated(self) -> float:
        """How many times as many rows as there are here the largest set has, drawn again and again; at least 1."""
        return max(1.0, self.largest / len(self.order))


@dataclass(frozen=True, slots=True, eq=False)
class EqualRows:
    """Rows that are in the same sets, as those of a fold are; ``counts`` of these groups in each set."""

    rows: list[Positions]
    counts: Floats

    def products(self, table: Floats) -> Floats:
        """Return the sums of products of any two columns over the rows of each set."""
        p = table.shape[1]
        sums = np.empty((len(self.rows), p, p))
        for each, rows in zip(sums, self.rows, strict=True):
            block = table.take(rows, axis=0)
            np.matmul(block.T, block, out=each)
        return (self.counts @ sums.reshape(len(sums), p * p)).reshape(-1, p, p)


def equal_rows(counts: Floats) -> EqualRows | None:
    """Return the rows that are in the same sets, from counts of shape (sets, rows); None where few are."""
    # Rows in the same sets have the same sum of these numbers; that others differ is checked below.
    sums = np.sqrt(np.arange(2.0, 2.0 + len(counts))) @ counts
    _, first, group = np.unique(sums, return_index=True, return_inverse=True)
    if 2 * len(first) > len(sums):
        return None
    same = counts[:, first]
    if not np.array_equal(same[:, group], counts):
        return None
    order = np.argsort(group, kind="stable")
    return EqualRows(np.split(order, np.cumsum(np.bincount(group))[:-1]), same)


def _products(counts: Floats, table: Floats) -> Floats:
    p = table.shape[1]
    ends = np.cumsum(np.arange(p, 0, -1))
    pairs = [slice(end - p + j, end) for j, end in enumerate(ends.tolist())]
    sums = np.zeros((len(counts), p * (p + 1) // 2))
    made = np.empty((STRETCH, sums.shape[1]))
    for start in range(0, len(table), STRETCH):
        rows = table[start : start + STRETCH]
        for j, columns in enumerate(pairs):
            np.multiply(rows[:, j : j + 1], rows[:, j:], out=made[: len(rows), columns])
        sums += counts[:, start : start + STRETCH] @ made[: len(rows)]
    products = np.empty((len(counts), p, p))
    for j, columns in enumerate(pairs):
        products[:, j, j:] = products[:, j:, j] = sums[:, columns]
    return products


def set_key(fit: Fit, data: Data) -> SetKey:
    return data.digest(fit.train), len(fit.train)


def distinct_sets(fits: Sequence[Fit], data: Data) -> set[SetKey]:
    """Return what the sets of rows are known by that fits are trained on."""
    return {set_key(fit, data) for fit in fits}


def used_rows(sets: Sequence[Rows], n: int) -> Mask:
    """Return which rows of a table of ``n`` are in any of the sets."""
    used = np.zeros(n, dtype=bool)
    unused: Array | None = None  # by every set that lists the rows it lacks
    for rows in sets:
        if rows.total is None:
            used[rows.listed] = True
        else:
            unused = rows.listed if unused is None else np.intersect1d(unused, rows.listed)
    if unused is not None:
        used[np.setdiff1d(np.arange(n), unused, assume_unique=True)] = True
    return used
