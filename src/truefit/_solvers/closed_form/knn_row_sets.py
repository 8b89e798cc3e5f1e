"""Nearest neighbours behind a StandardScaler: leave-one-out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from truefit._core.data import Data
from truefit._core.protocols import Fit, Response
from truefit._core.typing import Array, Floats, Mask, Positions
from truefit._solvers.closed_form.knn import ClassVote, MeanVote, Neighbours, is_euclidean, votes_on_labels
from truefit._solvers.closed_form.other_rows import OtherRowsSolver
from truefit._solvers.closed_form.rounding import MARGIN, TOLERANCE, UNIT, accurate_mean, growth
from truefit._solvers.closed_form.row_sets import RowSets, certain_scales
from truefit._solvers.registry import is_count
from truefit._solvers.relabelled.driver import WORK_BYTES

#: With more rows to predict per set scikit-learn's own search is as fast.
MOST_ASKED = 4


class ScaledNeighboursSolver(OtherRowsSolver):
    """Nearest neighbours behind a ``StandardScaler`` on many sets of rows that predict few rows each: leave-one-out.

    With s the scales of a set, squared distances Σ (x_j − t_j)² / s_j² are linear in 1/s²: matrix products give them
    for all pairs of a row and a set. Those of the nearest few are recomputed from the differences. Rows with ties are
    fitted plainly. Folds gain nothing: one such row in a fold is enough to fit it plainly.
    """

    name = "scaled neighbours"
    kinds = (KNeighborsClassifier, KNeighborsRegressor)
    without_scaler = False

    def along_a_set(self, group: Sequence[Fit]) -> int:
        """Return the number of estimators: where they are many, one search on each set answers them faster."""
        return len({fit.estimator_key for fit in group})

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether distances and votes are the usual ones, of neighbours that every set has."""
        if not fit.each_left_out and max(len(ask.rows) for ask in fit.asks) > MOST_ASKED:
            return False
        known = is_euclidean(fit.estimator) and is_count(fit.estimator.n_neighbors, len(fit.train) - 3)
        return known and votes_on_labels(fit, data)

    def predictors(self, sets: RowSets, estimators: Sequence[Any]) -> Callable[[list[int]], Sequence[SetVotes]]:
        """Return what computes the scales of some sets, by which each estimator finds neighbours."""
        vote: ClassVote | MeanVote = MeanVote(sets.labels)
        if sets.slices:
            codes = np.repeat(np.arange(len(sets.slices)), [rows.stop - rows.start for rows in sets.slices])
            vote = ClassVote(codes, len(sets.slices))

        def voting(part: list[int]) -> list[SetVotes]:
            distances = ScaledDistances(sets, part)
            return [SetVotes(distances, knn, vote) for knn in estimators]

        return voting


@dataclass(slots=True)
class SetVotes:
    """Votes of the neighbours of rows, under the scales of some sets."""

    distances: ScaledDistances
    knn: Any
    vote: ClassVote | MeanVote
    _last: tuple[list[int], Neighbours, Mask] | None = None

    def predictions(self, response: Response, models: list[int], where: list[Positions]) -> tuple[Array, Mask]:
        """Return what models predict, all of the same rows or each of its own, and which are to be trusted."""
        by_distance = self.knn.weights == "distance"
        shape = len(models), len(where[0])
        if self._last is None or self._last[0] is not models:
            which = np.repeat(models, shape[1])
            rows = np.concatenate(where if len(where) > 1 else where * shape[0])
            near, certain = self.distances.nearest(which, rows, int(self.knn.n_neighbors), by_distance=by_distance)
            self._last = models, near, certain & self.distances.certain[which]
        _, near, certain = self._last
        weights = near.weights if by_distance else None
        values = self.vote(response, weights, near.index)
        certain = certain & self.vote.certain(values, weights, near.index)
        return values.reshape(*shape, *values.shape[1:]), np.asarray(certain.reshape(shape).all(axis=1))


class ScaledDistances:
    """The distances of rows under the scales of some sets of rows."""

    def __init__(self, sets: RowSets, part: Sequence[int]) -> None:
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

    def nearest(self, which: Positions, where: Positions, k: int, *, by_distance: bool) -> tuple[Neighbours, Mask]:
        """Return the neighbours of rows, each under one of the sets, and which of them are certain."""
        step = max(1, WORK_BYTES // (8 * len(self.X)))
        parts = [
            self._nearest(which[i : i + step], where[i : i + step], k, by_distance) for i in range(0, len(which), step)
        ]
        distances, index, certain = (np.concatenate(column) for column in zip(*parts, strict=True))
        return Neighbours(distances, index), certain

    def _nearest(self, which: Positions, where: Positions, k: int, by_distance: bool) -> tuple[Floats, Positions, Mask]:
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
