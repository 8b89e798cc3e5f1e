"""NeighboursLooSolver: leave-one-out of nearest neighbours, each row left out of its own neighbours."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from truefit._core.data import Data
from truefit._core.task import Fit, Response
from truefit._core.typing import Positions
from truefit._solvers.label_sweep import coded
from truefit._solvers.left_out import LeftOut, LeftOutSolver, labels_of
from truefit._solvers.neighbour_search import Neighbours, NeighbourSearch, is_euclidean
from truefit._solvers.neighbours import ClassVote, MeanVote, is_count, votes_as_usual
from truefit._solvers.same_rows import as_floats, full_precision

#: Up to this many rows all distances are worked out sooner than a tree is searched.
MOST_BRUTE_ROWS = 4000
#: With more columns scikit-learn does not build a tree, unless it is told to.
MOST_TREE_COLUMNS = 15


class NeighboursLooSolver(LeftOutSolver):
    """Leave-one-out fits of ``KNeighborsClassifier`` and ``KNeighborsRegressor``.

    The neighbours of a row in the table without it are those in the whole table but the row itself. They vote by
    scikit-learn's own sums, so answers are those of plain fitting bit for bit. Where it is a matter of chance who is
    among them, or in which order, because two are equally near, the row is fitted plainly.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> data = Data(np.arange(10.0).reshape(10, 1) ** 1.5, np.arange(10.0), task="regression")
    >>> keys, knn = Keys(data), KNeighborsRegressor(2)
    >>> tasks = [FitTask(knn, Rows.without(10, i), (Ask(Rows.of([i])),)) for i in range(10)]
    >>> [job] = NeighboursLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [float(outcome.answer(data, Rows.of([i]))[0]) for i, outcome in enumerate(job.run(data))]
    [1.5, 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 7.5]
    """

    name = "neighbours loo"
    kinds = (KNeighborsClassifier, KNeighborsRegressor)
    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those that search and vote in the usual way, on a table that can be used."""
        some = [group for group in groups if self._serves(group[0], data)]
        return some if some and full_precision(data) else []

    def _serves(self, fit: Fit, data: Data) -> bool:
        knn, labels = fit.estimator, labels_of(fit, data)
        if not (votes_as_usual(knn, data) and is_count(knn.n_neighbors, data.n - 2) and _is_power(knn.p)):
            return False
        if not (isinstance(knn.algorithm, str) and knn.algorithm in ("auto", "brute", "kd_tree", "ball_tree")):
            return False
        if data.classes is not None:
            return bool(coded(labels, data.classes)[1].all())
        numbers = labels.ndim == 1 and labels.dtype.kind in "iuf" and labels.dtype.itemsize == 8
        return numbers and all(ask.response == "predict" for ask in fit.asks)

    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOut:
        """Search for all rows at once."""
        X, k = np.ascontiguousarray(as_floats(data.X)), int(estimator.n_neighbors)
        search = NeighbourSearch(_index(estimator, X))
        asked = X if len(rows) == len(X) and np.array_equal(rows, np.arange(len(X))) else X[rows]
        # The row itself, its neighbours, and the next one, by which to see that it is the next.
        distances, near = search.model.kneighbors(asked, n_neighbors=k + 2)
        trusted = (near[:, 0] == rows) & search.certain(asked, distances).all(axis=1)
        nearest = Neighbours(np.ascontiguousarray(distances[:, 1:-1]), np.ascontiguousarray(near[:, 1:-1]))
        weights = nearest.weights if estimator.weights == "distance" else None
        if data.classes is None:
            return LeftOut({"predict": MeanVote(labels)("predict", weights, nearest.index)}, trusted)
        codes, counts = coded(labels, data.classes)
        vote = ClassVote(codes.astype(np.intp), len(counts), data.classes.astype(labels.dtype, copy=False))
        trusted &= counts[codes[rows]] > 1  # or the class is gone with the row
        values = {response: vote(response, weights, nearest.index) for response in self.responses}
        return LeftOut(values, trusted, vote.classes)


def _index(estimator: Any, X: npt.NDArray[np.float64]) -> Any:
    """Return the table made ready for a search.

    However it is searched, distances are the same, and so are neighbours where they are certain.
    """
    method = estimator.algorithm
    if is_euclidean(estimator) and len(X) <= MOST_BRUTE_ROWS:
        method = "brute"
    elif method == "auto":
        many = X.shape[1] > MOST_TREE_COLUMNS or estimator.n_neighbors >= (len(X) - 1) // 2
        method = "brute" if many else "kd_tree"
    options = {"leaf_size": estimator.leaf_size, "metric": estimator.metric, "p": estimator.p}
    return NearestNeighbors(algorithm=method, n_jobs=estimator.n_jobs, **options).fit(X)


def _is_power(p: Any) -> bool:
    return isinstance(p, int | float) and not isinstance(p, bool) and p >= 1
