"""The driver for other row sets: one learner on many sets of the same rows, from sums that all sets share.

Folds, repeated folds, all rows but two folds, samples of a learning curve, bootstrap samples: the sums that a learner
is made of are those of its rows, whichever these are. With a matrix that says how often each row is in each set, one
matrix product with the rows' statistics gives the sums of all sets.
"""

from __future__ import annotations

from abc import abstractmethod
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._core.rows import Rows
from truefit._core.task import Fit
from truefit._core.typing import Floats, Positions
from truefit._sklearn import has_own_output
from truefit._solvers.base import EstimatorFamilies, GroupSolver, SharedResult
from truefit._solvers.closed_form.left_out import (
    LeftOutValues,
    asks_of_the_same_rows,
    each_left_out,
    labels_of,
    without_row,
)
from truefit._solvers.closed_form.rounding import column_ranges, exact_sums
from truefit._solvers.pipelines.steps import idle, is_shareable
from truefit._solvers.relabelled.driver import WORK_BYTES, as_floats, full_precision

SetKey = tuple[tuple[int, int], int]

#: Below this many sets plain fitting is as fast.
SMALLEST_GROUP = 4
#: Where sets have a smaller share of the rows that any of them has, adding up all rows for each takes too long.
SMALLEST_SHARE = 0.05
#: Where rows that are in the same sets are so many times as many as columns, their products are made together.
ATOM_ROWS = 1
#: Rows whose products are made at a time: as many as stay in the processor's cache.
STRETCH = 256
#: Of leave-one-out fits that are answered together at least this share must need no fit of its own.
MOST_REFITS = 0.5
#: The rows of one job take at most about this much.
TABLE_BYTES = 1 << 30


class OtherRowsSolver(GroupSolver):
    """Fits with the same labels on many sets of rows: what they have in common is added up once for all of them.

    Fits are taken where there are more sets of rows than there are labels for them: else it is the sets that are
    the same, and :class:`truefit._solvers.relabelled.driver.RelabelledSolver` has more to share.

    A learner may stand behind a ``StandardScaler``, which is fitted on each set too: its means and scales follow from
    the same sums. Leave-one-out is then a design like any other, with as many sets as rows.
    """

    wrappers = (Pipeline,)
    leaves_out_each = True
    #: Whether the learner is served without a scaler too.
    without_scaler = True

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job, or a few, for each family of estimators and labels with enough sets of rows."""
        if get_config()["enable_metadata_routing"] or not self._takes_weights(data):
            return []
        families, given = EstimatorFamilies(self.path), {fit.key: fit for fit in fits}
        groups: dict[tuple[bytes, bool], dict[int, list[Fit]]] = defaultdict(lambda: defaultdict(list))
        together = []
        for fit in fits:
            learner, scaled = learner_of(fit.estimator)
            if type(learner) not in self.kinds or not fit.asks or not (scaled or self.without_scaler):
                continue
            fit = replace(fit, estimator=learner) if scaled else fit
            if fit.each_left_out:
                # Bare learners have a closed form for it: a solver of rows left out.
                if scaled and fit.count >= SMALLEST_GROUP and asks_of_the_same_rows(fit, data.n, self.responses):
                    together.append(fit)
            elif self._can_answer(fit) and (family := families.of(fit)) is not None:
                groups[family, scaled][id(fit.y)].append(fit)
        served = [
            (some, scaled)
            for (_, scaled), by_labels in groups.items()
            for group in by_labels.values()
            if (some := self._enough(group, max(SMALLEST_GROUP, len(by_labels), self.along_a_set(group)), data))
        ]
        served += [([fit], True) for fit in together if self.serves(fit, data)]
        if not served or not self.takes(data):
            return []
        jobs = []
        for group, scaled in served:
            if self.promises(group[0], data, scaled):
                parts = [group[i : i + self.most] for i in range(0, len(group), self.most)]
                # Each set has a model of its own, however little it takes.
                jobs += [Job(self, tuple(given[fit.key] for fit in p), work=len(_distinct(p, data))) for p in parts]
        return jobs

    def along_a_set(self, group: Sequence[Fit]) -> int:
        """Return how many estimators another solver would answer together on one set of rows."""
        return 1

    def promises(self, fit: Fit, data: Data, scaled: bool) -> bool:
        """Whether most sets can be expected to need no fit of their own: else the work here would be in vain."""
        return True

    def _enough(self, group: Sequence[Fit], least: int, data: Data) -> list[Fit]:
        if len(group) < least:
            return []
        some = self._served(group, data)
        if len(_distinct(some, data)) < least:
            return []
        most = len(some) * int(used_rows([fit.train for fit in some], data.n).sum())
        return some if sum(len(fit.train) for fit in some) >= SMALLEST_SHARE * most else []

    def takes(self, data: Data) -> bool:
        """Whether X is a table that can be worked with: dense, finite, and of full precision."""
        return full_precision(data)

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer all fits together."""
        if job.fits[0].each_left_out:
            return [each_left_out(job.fits[0], data, self.name, self._left_out)]
        return super().solve(job, data)

    def _left_out(self, fit: Fit, rows: Positions, data: Data) -> LeftOutValues:
        results = self.results([without_row(fit, row, data.n) for row in rows.tolist()], data)
        trusted = np.array([result is not None and result.trusted for result in results])
        if trusted.mean() < MOST_REFITS:  # in parallel, then
            raise ValueError(f"Of {len(rows)} rows only {int(trusted.sum())} have a certain answer.")
        first = results[int(trusted.argmax())]
        assert first is not None
        values = {a.response: np.zeros((len(rows), *a.values.shape[1:]), a.values.dtype) for a in first.answers}
        for place, result in enumerate(results):
            for answer in result.answers if result is not None else ():
                values[answer.response][place] = answer.values[0]
        return LeftOutValues(values, trusted, first.classes)

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Return a result for each fit; None for those that are to be fitted plainly."""
        learners = [learner_of(fit.estimator) for fit in fits]
        scaled = learners[0][1]
        if scaled:
            fits = [replace(fit, estimator=learner) for fit, (learner, _) in zip(fits, learners, strict=True)]
        return self.set_results(fits, data, scaled)

    @abstractmethod
    def set_results(self, fits: Sequence[Fit], data: Data, scaled: bool) -> Sequence[SharedResult | None]:
        """Return a result for each fit of a learner, on its rows as they are or standardised."""


def learner_of(estimator: Any) -> tuple[Any, bool]:
    """Return the learner that follows on a ``StandardScaler``, and True; or the estimator itself, and False.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> learner_of(make_pipeline(StandardScaler(), Ridge()))
    (Ridge(), True)
    >>> learner_of(Ridge())
    (Ridge(), False)
    """
    if not is_shareable(estimator):
        return estimator, False
    steps = [step for _, step in estimator.steps if not idle(step)]
    if len(steps) != 2 or type(steps[0]) is not StandardScaler or has_own_output(steps[0]):
        return estimator, False
    whole = steps[0].with_mean is True and steps[0].with_std is True
    return (steps[1], True) if whole else (estimator, False)


def certain_scales(variance: Floats, mean: Floats, n: Floats) -> npt.NDArray[np.bool_]:
    """Return the sets in which no column is so near to constant that a ``StandardScaler`` might leave it as it is.

    ``variance`` and ``mean`` have a row for each set, ``n`` the number of its rows.
    """
    # scikit-learn's own limit, with room for rounding on both sides.
    limit = (4 * n[:, None] * np.finfo(np.float64).eps * np.abs(mean)) ** 2
    return np.asarray((variance > limit).all(axis=1))


class RowSets:
    """Sets of training rows, of the rows that any fit is trained on or asked about.

    ``X`` and ``labels`` are of these rows; ``order`` says where they stand in the table, and may be any.

    Parameters
    ----------
    fits : sequence of Fit
        All with the same labels.
    data : Data
    codes : ndarray, optional
        The class of each row of the table, by which the rows are to be ordered.
    scaled : bool, default=False
        Whether learners see the rows of each set standardised by it. Columns that are constant are left out then.

    Examples
    --------
    >>> data = Data([[0.0], [1.0], [2.0], [3.0]], ["b", "a", "b", "a"], task="classification")
    >>> trains = Rows.without(4, [3]), Rows.of([1, 1, 2])
    >>> fits = [Fit("", b"", b"", None, train, ()) for train in trains]
    >>> sets = RowSets(fits, data, data.codes)
    >>> sets.X.ravel().tolist(), sets.slices
    ([1.0, 0.0, 2.0], [slice(0, 1, None), slice(1, 3, None)])
    >>> sets.counts([0, 1])
    array([[1., 1., 1.],
           [2., 0., 1.]])
    """

    def __init__(
        self, fits: Sequence[Fit], data: Data, codes: npt.NDArray[Any] | None = None, *, scaled: bool = False
    ) -> None:
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
        self.of_fit = [known.setdefault(_set_key(fit, data), len(known)) for fit in fits]
        self.trains = [fits[self.of_fit.index(s)].train for s in range(len(known))]
        self._last: tuple[Sequence[int], Floats] | None = None
        self._cut: tuple[Sequence[int], EqualRows | None] | None = None
        #: How many rows the largest set has.
        self.largest = max(len(train) for train in self.trains)

    def _drop_constant_columns(self) -> None:
        bottom, top = column_ranges(self.X)
        constant = top == bottom
        if constant.any():
            # What a scaler leaves of one is its rounding: nothing, where sums are exact.
            if constant.all() or not exact_sums(self.X[:, constant]).all():
                raise ValueError("What a scaler makes of a constant column is as rounding has it.")
            self.X = np.ascontiguousarray(self.X[:, ~constant])

    def where(self, rows: Rows) -> Positions:
        """Return where rows stand here, in the order in which they are asked about."""
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

    def complete(self, sets: Sequence[int]) -> npt.NDArray[np.bool_]:
        """Return which of some sets have rows of every class."""
        counts = self.counts(sets)
        return np.asarray(np.logical_and.reduce([counts[:, rows].any(axis=1) for rows in self.slices]))

    def class_sums(self, sets: Sequence[int], *tables: Floats) -> tuple[Floats, list[Floats]]:
        """Return how many rows of each class some sets have, and what they add up to in each table.

        Of shape (classes, sets, 1) and (classes, sets, columns).
        """
        counts = self.counts(sets)
        rows = np.array([counts[:, some].sum(axis=1) for some in self.slices])[:, :, None]
        return rows, [np.array([counts[:, some] @ table[some] for some in self.slices]) for table in tables]

    def products(self, sets: Sequence[int], table: Floats, some: slice | None = None) -> Floats:
        """Return the sums of products of any two columns over the rows of some sets: shape (sets, columns, columns).

        ``some`` are the rows to go by, if not all.
        """
        some = slice(0, len(table)) if some is None else some
        atoms = self._atoms(sets)
        if atoms is not None and len(atoms.rows) * ATOM_ROWS * table.shape[1] <= some.stop - some.start:
            return atoms.products(table, some)
        return _products(self.counts(sets)[:, some], table[some])

    def _atoms(self, sets: Sequence[int]) -> EqualRows | None:
        if self._cut is None or self._cut[0] is not sets:
            self._cut = sets, equal_rows(self.counts(sets))
        return self._cut[1]

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
    """Rows that are in the same sets, as those of a fold are: ``counts`` says how often each atom is in each set."""

    rows: list[Positions]
    counts: Floats

    def products(self, table: Floats, some: slice) -> Floats:
        """Return the sums of products of any two columns over those rows of each set that are in ``some``."""
        p = table.shape[1]
        sums = np.empty((len(self.rows), p, p))
        for each, rows in zip(sums, self.rows, strict=True):
            start, stop = np.searchsorted(rows, [some.start, some.stop])
            block = table.take(rows[start:stop], axis=0)
            np.matmul(block.T, block, out=each)
        return (self.counts @ sums.reshape(len(sums), p * p)).reshape(-1, p, p)


def equal_rows(counts: Floats) -> EqualRows | None:
    """Return the rows that are in the same sets, by counts of rows in sets; None where hardly two are.

    Examples
    --------
    >>> atoms = equal_rows(np.array([[1.0, 0.0, 1.0, 0.0, 1.0, 0.0], [1.0, 2.0, 1.0, 2.0, 1.0, 2.0]]))
    >>> [rows.tolist() for rows in atoms.rows], atoms.counts.tolist()
    ([[0, 2, 4], [1, 3, 5]], [[1.0, 0.0], [1.0, 2.0]])
    """
    # Sets are told apart by any numbers that add up to others; that they do is looked at below.
    sums = np.sqrt(np.arange(2.0, 2.0 + len(counts))) @ counts
    _, first, atom = np.unique(sums, return_index=True, return_inverse=True)
    if 2 * len(first) > len(sums):
        return None
    same = counts[:, first]
    if not np.array_equal(same[:, atom], counts):
        return None
    order = np.argsort(atom, kind="stable")
    return EqualRows(np.split(order, np.cumsum(np.bincount(atom))[:-1]), same)


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


def _set_key(fit: Fit, data: Data) -> SetKey:
    return data.digest(fit.train), len(fit.train)


def _distinct(fits: Sequence[Fit], data: Data) -> set[SetKey]:
    """Return what the sets of rows are known by that fits are trained on."""
    return {_set_key(fit, data) for fit in fits}


def used_rows(sets: Sequence[Rows], n: int) -> npt.NDArray[np.bool_]:
    """Return which rows of a table of ``n`` are in any of the sets.

    Examples
    --------
    >>> used_rows([Rows.of([0, 2, 2]), Rows.of([3])], 5)
    array([ True, False,  True,  True, False])
    """
    used = np.zeros(n, dtype=bool)
    unused: npt.NDArray[Any] | None = None  # of the sets that say what they leave out, those that all of them do
    for rows in sets:
        if rows.total is None:
            used[rows.listed] = True
        else:
            unused = rows.listed if unused is None else np.intersect1d(unused, rows.listed)
    if unused is not None:
        used[np.setdiff1d(np.arange(n), unused, assume_unique=True)] = True
    return used
