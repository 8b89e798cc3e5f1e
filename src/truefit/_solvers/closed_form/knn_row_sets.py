"""Nearest neighbours behind a StandardScaler: rows left out."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.rows import Rows
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.base import SharedResult, request_batches
from truefit._solvers.closed_form.knn import (
    ALGORITHMS,
    ClassVote,
    MeanVote,
    Neighbours,
    is_count,
    is_euclidean,
    votes_as_usual,
)
from truefit._solvers.closed_form.left_out import labels_of
from truefit._solvers.closed_form.linear_left_out import accurate_mean
from truefit._solvers.closed_form.rounding import MARGIN, TOLERANCE, UNIT, growth
from truefit._solvers.closed_form.row_sets import OtherRowsSolver, RowSets, certain_scales
from truefit._solvers.relabelled.driver import WORK_BYTES, classes_for, coded

#: With more rows to predict per set scikit-learn's own search is as fast.
MOST_ASKED = 4


class ScaledNeighboursSolver(OtherRowsSolver):
    """Nearest neighbours behind a ``StandardScaler`` on many sets of rows, each asked about few: leave-one-out.

    With s the scales of a set, the squared distance of rows x and t is Σ (x_j − t_j)² / s_j²: linear in 1/s², so that
    matrix products with the rows and their squares give the distances of all pairs of a row and a set. Those of the
    nearest few are then computed from the differences. A row whose neighbours could be others as rounding has it (ties,
    duplicates) is predicted by plain fitting. Folds gain nothing: of so many rows one is uncertain in most tables, and
    scikit-learn's own search for all of them takes as long.

    Examples
    --------
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.task import Ask, FitTask
    >>> X = np.arange(20.0).reshape(10, 2) ** [0.5, 2]
    >>> data = Data(X, np.arange(10.0), task="regression")
    >>> keys, knn = Keys(data), make_pipeline(StandardScaler(), KNeighborsRegressor(2))
    >>> tasks = [FitTask(knn, Rows.without(10, i), (Ask(Rows.of([i])),)) for i in range(10)]
    >>> [job] = ScaledNeighboursSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [float(outcome.answer(data, Rows.of([i]))[0]) for i, outcome in enumerate(job.run(data))][:3]
    [1.5, 2.5, 2.0]
    """

    name = "scaled neighbours"
    kinds = (KNeighborsClassifier, KNeighborsRegressor)
    without_scaler = False

    def along_a_set(self, group: Sequence[Fit]) -> int:
        """Return the number of estimators: where they are many, one search on each set answers them faster."""
        return len({fit.estimator_key for fit in group})

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether distances and votes are the usual ones, of neighbours that every set has."""
        knn, labels = fit.estimator, labels_of(fit, data)
        if not fit.each_left_out and max(len(ask.rows) for ask in fit.asks) > MOST_ASKED:
            return False
        if not (votes_as_usual(knn, data) and is_euclidean(knn) and is_count(knn.n_neighbors, len(fit.train) - 3)):
            return False
        if not (isinstance(knn.algorithm, str) and knn.algorithm in ALGORITHMS):
            return False
        if data.classes is not None:
            return bool(coded(labels, data.classes)[1].all())
        numbers = labels.ndim == 1 and labels.dtype.kind in "iuf" and labels.dtype.itemsize == 8
        return numbers and all(ask.response == "predict" for ask in fit.asks)

    def set_results(self, fits: Sequence[Fit], data: Data, scaled: bool) -> Sequence[SharedResult | None]:
        """Compute the scales of all sets, then the neighbours of all rows asked about, each under its own set."""
        results: list[SharedResult | None] = [None] * len(fits)
        sets = RowSets(fits, data, scaled=scaled)
        vote: ClassVote | MeanVote = MeanVote(sets.labels)
        if data.classes is not None:
            codes = coded(sets.labels, data.classes)[0].astype(np.intp)
            vote = ClassVote(codes, len(data.classes), classes_for(fits[0], data.classes))
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            for part in sets.parts():
                here = [place for place, s in enumerate(sets.of_fit) if part[0] <= s <= part[-1]]
                table = ScaledDistances(sets, part)
                usable = table.certain & _complete(vote, table.counts)
                for batch in request_batches([fits[place] for place in here]):
                    places = [here[place] for place in batch.places]
                    some = [place for place in places if usable[sets.of_fit[place] - part[0]]]
                    for place in some:
                        results[place] = results[place] or SharedResult(vote.classes)
                    rows = [batch.rows[0 if len(batch.rows) == 1 else places.index(place)] for place in some]
                    self._add_votes(fits, some, rows, batch.responses, table, vote, results, data)
        return results

    def _add_votes(
        self,
        fits: Sequence[Fit],
        places: Sequence[int],
        rows: Sequence[Rows],
        responses: Sequence[Response],
        table: ScaledDistances,
        vote: ClassVote | MeanVote,
        results: list[SharedResult | None],
        data: Data,
    ) -> None:
        """Add what fits respond on their rows, all at once; those with a row that is not certain are not trusted."""
        if not places:
            return
        by_estimator: dict[bytes, list[int]] = defaultdict(list)
        for i, place in enumerate(places):
            by_estimator[fits[place].estimator_key].append(i)
        for group in by_estimator.values():
            where = np.concatenate([table.sets.where(rows[i]) for i in group])
            which = np.repeat([table.place(places[i]) for i in group], [len(rows[i]) for i in group])
            ends = np.cumsum([len(rows[i]) for i in group])
            knn = fits[places[group[0]]].estimator
            by_distance = knn.weights == "distance"
            near, certain = table.nearest(which, where, int(knn.n_neighbors), by_distance=by_distance)
            weights = near.weights if by_distance else None
            for response in responses:
                values = vote(response, weights, near.index)
                certain &= vote.certain(values, weights, near.index)
                for i, end in zip(group, ends.tolist(), strict=True):
                    result, span = results[places[i]], slice(end - len(rows[i]), end)
                    assert result is not None
                    result.trusted &= bool(certain[span].all())
                    coded_labels = response == "predict" and vote.classes is not None
                    result.answers.append(Predictions(response, data.tokens_of(rows[i]), values[span], coded_labels))


class ScaledDistances:
    """The distances of rows under the scales of some sets of rows."""

    def __init__(self, sets: RowSets, part: Sequence[int]) -> None:
        self.sets, self.first = sets, part[0]
        self.counts = sets.counts(part)
        centre = accurate_mean(sets.X)
        self.X = sets.X - centre
        self.squares = self.X**2
        n = self.counts.sum(axis=1)
        mean, summed = self.counts @ self.X / n[:, None], self.counts @ self.squares / n[:, None]
        variance = summed - mean**2
        self.weights = 1 / variance
        # Rows that come again are as near as each other.
        self.certain = certain_scales(variance, centre + mean, n) & (self.counts.max(axis=1) <= 1)
        lost = (summed / variance).max(axis=1)
        #: How far squared distances may be off, relative to the largest that rows could have.
        self.unit = UNIT * (64 * (sets.X.shape[1] + 8) + 8 * growth(int(n.max())) * lost)

    def place(self, fit: int) -> int:
        """Return where the set of a fit stands among those at hand."""
        return self.sets.of_fit[fit] - self.first

    def nearest(
        self, which: Positions, where: Positions, k: int, *, by_distance: bool
    ) -> tuple[Neighbours, npt.NDArray[np.bool_]]:
        """Return the neighbours of rows, each under one of the sets, and which of them are certain."""
        step = max(1, WORK_BYTES // (8 * len(self.X)))
        parts = [
            self._nearest(which[i : i + step], where[i : i + step], k, by_distance) for i in range(0, len(which), step)
        ]
        distances, index, certain = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Neighbours(distances, index), certain

    def _nearest(
        self, which: Positions, where: Positions, k: int, by_distance: bool
    ) -> tuple[Floats, Positions, npt.NDArray[np.bool_]]:
        weights, X = self.weights[which], self.X[where]
        weighted = weights * X
        rough = weights @ self.squares.T
        size = np.sqrt(rough.max(axis=1)) + np.sqrt(np.einsum("ij,ij->i", weighted, X))
        rough -= 2 * weighted @ self.X.T
        rough += np.einsum("ij,ij->i", weighted, X)[:, None]
        rough[self.counts[which] == 0] = np.inf
        # The neighbours, and two more: by the next it is seen that there is none as near, by the last that none is
        # missing.
        index = np.argpartition(rough, k + 1, axis=1)[:, : k + 2]
        found = np.take_along_axis(rough, index, axis=1)
        last = found.max(axis=1)
        apart = X[:, None, :] - self.X[index]
        squares = np.einsum("ijk,ijk,ik->ij", apart, apart, weights)
        squares[np.isinf(found)] = np.inf  # not in the set, which has no more
        order = np.argsort(squares, axis=1, kind="stable")
        index, squares = np.take_along_axis(index, order, axis=1), np.take_along_axis(squares, order, axis=1)
        slack = self.unit[which] * size**2
        certain = (squares[:, k] - squares[:, k - 1] > slack) & (last - squares[:, k - 1] > slack)
        if by_distance:
            certain &= MARGIN * slack <= TOLERANCE * squares[:, 0]
        return np.sqrt(squares[:, :k]), index[:, :k], certain


def _complete(vote: ClassVote | MeanVote, counts: Floats) -> npt.NDArray[np.bool_]:
    """Return the sets that have rows of every class."""
    if isinstance(vote, MeanVote):
        return np.ones(len(counts), dtype=bool)
    return np.asarray(np.all([counts[:, vote.codes == code].any(axis=1) for code in range(vote.number)], axis=0))
