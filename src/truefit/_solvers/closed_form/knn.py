"""Nearest neighbours: any k, weights and labels from one search, and rows left out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor, NearestNeighbors

from truefit._core.data import Data
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._sklearn import search_method, training_rows
from truefit._solvers.base import SharedResult, rows_requests
from truefit._solvers.closed_form.left_out import LeftOutSolver, LeftOutValues, labels_of
from truefit._solvers.closed_form.rounding import TOLERANCE
from truefit._solvers.relabelled.driver import (
    RelabelledSolver,
    add_responses,
    as_floats,
    classes_for,
    coded,
    full_precision,
    label_sweeps,
)

#: The square of a smaller distance has lost digits, or is 0.
_SMALLEST = 1e-145


@dataclass(eq=False)
class Neighbours:
    """Who is near to each row, the nearest first, and how near."""

    distances: npt.NDArray[np.floating[Any]] | None
    index: Positions

    @cached_property
    def weights(self) -> npt.NDArray[np.floating[Any]]:
        """What the neighbours weigh in a vote by distance."""
        assert self.distances is not None  # or the search was not for votes of this kind
        with np.errstate(divide="ignore"):
            weights = 1.0 / self.distances
        # Neighbours at no distance at all share the vote, and the others have none.
        same = np.isinf(weights)
        any_same = same.any(axis=1)
        weights[any_same] = same[any_same]
        return np.asarray(weights)

    def replace(self, rows: Positions, others: Neighbours) -> None:
        """Put other neighbours in the place of those of some rows."""
        self.index[rows] = others.index
        if self.distances is not None and others.distances is not None:
            self.distances[rows] = others.distances

    def first(self, k: int) -> Neighbours:
        """Return the nearest ``k``."""
        distances = None if self.distances is None else self.distances[:, :k].copy()
        return Neighbours(distances, self.index[:, :k].copy())


class NeighbourSearch:
    """Finds neighbours for each number in ``wanted`` as the model itself would.

    A search for the most finds those for fewer too, in the same order, unless two are so equally near that their order,
    or which of them is left out, is as the search goes: rows of which that is so are searched again for that number.

    Parameters
    ----------
    model : fitted estimator of nearest neighbours

    Examples
    --------
    >>> from sklearn.neighbors import NearestNeighbors
    >>> search = NeighbourSearch(NearestNeighbors().fit([[0.0], [1.0], [3.0], [7.0]]))
    >>> search.wanted |= {1, 3}
    >>> {k: near.index.tolist() for k, near in search.of(np.array([[1.2]])).items()}
    {3: [[1, 0, 2]], 1: [[1]]}
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        self.wanted: set[int] = set()
        #: Whether distances are wanted too.
        self.weighted = False

    def of(self, X: Any) -> dict[int, Neighbours]:
        """Return the neighbours of rows, by how many are wanted."""
        most = max(self.wanted)
        if len(self.wanted) == 1:
            return {most: self._search(X, most)}
        distances, index = self.model.kneighbors(X, n_neighbors=most)
        nearest = Neighbours(distances, index)
        certain = np.logical_and.accumulate(self.certain(X, distances), axis=1)
        found = {most: nearest}
        for k in sorted(self.wanted - {most}):
            again = np.flatnonzero(~certain[:, k - 1])
            if 2 * len(again) > len(index):
                found[k] = self._search(X, k)
                continue
            found[k] = nearest.first(k)
            if len(again):
                found[k].replace(again, self._search(_rows(X, again), k))
        return found

    def _search(self, X: Any, k: int) -> Neighbours:
        if self.weighted:
            return Neighbours(*self.model.kneighbors(X, n_neighbors=k))
        return Neighbours(None, self.model.kneighbors(X, n_neighbors=k, return_distance=False))

    def certain(self, X: Any, distances: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
        """Whether each neighbour but the last is nearer than the next, beyond what rounding could have done."""
        gaps = distances.shape[0], max(distances.shape[1] - 1, 0)
        if sparse.issparse(X) or sparse.issparse(training_rows(self.model)):
            return np.zeros(gaps, dtype=bool)
        trained, asked = training_rows(self.model), np.asarray(X)
        unit = 32 * (trained.shape[1] + 8) * max(_unit(trained), _unit(asked), _unit(distances))
        apart = distances[:, 1:] > _SMALLEST
        with np.errstate(all="ignore"):
            if search_method(self.model) == "brute" and self.model.effective_metric_ == "euclidean":
                # |x|² - 2xy + |y|², by which they are ranked, is as far off as its terms are large.
                squares = distances.astype(np.float64) ** 2
                return np.asarray(apart & (np.diff(squares, axis=1) > unit * self._reach(asked)[:, None] ** 2))
            slack = unit * distances[:, 1:].astype(np.float64)
            if search_method(self.model) == "ball_tree":  # whose bounds are distances from far-off centres
                slack += unit * self._reach(asked)[:, None]
            return np.asarray(apart & (np.diff(distances.astype(np.float64), axis=1) > slack))

    def _reach(self, X: npt.NDArray[Any]) -> Floats:
        """Bound how far rows are from the training rows, by their distances from 0."""
        return np.asarray(_norms(X) + self._largest)

    @cached_property
    def _largest(self) -> float:
        return float(_norms(training_rows(self.model)).max())


def _rows(X: Any, rows: Positions) -> Any:
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def is_euclidean(estimator: Any) -> bool:
    """Whether distances are the usual ones."""
    metric = estimator.metric
    return metric in ("euclidean", "l2") or (metric == "minkowski" and estimator.p == 2)


def _norms(X: npt.NDArray[Any]) -> Floats:
    return np.asarray(np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1))


def _unit(values: npt.NDArray[Any]) -> float:
    return float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else float(np.finfo(np.float64).eps)


Weights = npt.NDArray[np.floating[Any]]

#: Ways to search for neighbours.
ALGORITHMS = ("auto", "brute", "kd_tree", "ball_tree")
#: Metrics in which a tree and brute force are searched by the same distances.
METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cityblock", "l1", "l2")


class NeighboursSolver(RelabelledSolver):
    """``KNeighborsClassifier`` and ``KNeighborsRegressor`` on the same rows, whatever their k, weights and labels.

    Who is near depends on none of them: scikit-learn finds the neighbours once, for the largest k, and each fit votes
    among its own first ones by scikit-learn's sums, in the same order. So answers are those of plain fitting bit for
    bit. Where it is a matter of chance who is the k-th (two are equally near, or may be as rounding has it) the search
    is made anew for that k.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, [0.0, 1.0, 2.0, 3.0], task="regression")
    >>> keys, other = Keys(data), np.array([3.0, 1.0, 7.0, 5.0])
    >>> candidates = [(KNeighborsRegressor(2), None), (KNeighborsRegressor(2), other), (KNeighborsRegressor(1), None)]
    >>> fits = [keys.fit(FitTask(knn, rows, (Ask(rows),), y=y)) for knn, y in candidates]
    >>> [job] = NeighboursSolver().claim(fits, data)
    >>> [outcome.answer(data, rows).tolist() for outcome in job.run(data)]
    [[0.5, 0.5, 2.5, 2.5], [2.0, 2.0, 6.0, 6.0], [0.0, 1.0, 2.0, 3.0]]
    """

    name = "neighbours"
    kinds = (KNeighborsClassifier, KNeighborsRegressor)
    path = ("n_neighbors", "weights")
    most = 64

    def takes(self, data: Data) -> bool:
        """Whatever scikit-learn can measure distances in."""
        return True

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the vote is one of the two usual, and the neighbours are found in the usual way."""
        return votes_as_usual(fit.estimator, data)

    def _can_answer(self, fit: Fit) -> bool:
        regressor = type(fit.estimator) is KNeighborsRegressor
        return super()._can_answer(fit) and not (regressor and any(ask.response != "predict" for ask in fit.asks))

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Find the neighbours of all rows that are asked about, and let each fit vote."""
        index = fits[0].train.index
        results: list[SharedResult | None] = [None] * len(fits)
        votes = self._votes(fits, data, index)
        searches: dict[bool, NeighbourSearch] = {}
        X, y = data.take(index), (data.y if fits[0].y is None else fits[0].y)[index]
        for place in votes:
            k = fits[place].estimator.n_neighbors
            if not is_count(k, len(index)):
                continue  # plain fitting is to say so
            many = k >= len(index) // 2  # then scikit-learn may search in another way
            if many not in searches:
                searches[many] = NeighbourSearch(clone(fits[place].estimator).fit(X, y))
            searches[many].wanted.add(int(k))
            searches[many].weighted |= fits[place].estimator.weights == "distance"
            results[place] = SharedResult(votes[place].classes)

        def scores_of(block: Positions) -> Callable[[Response, int], npt.NDArray[Any]]:
            asked = data.take(block)
            found = {many: search.of(asked) for many, search in searches.items()}

            def says(response: Response, place: int) -> npt.NDArray[Any]:
                estimator = fits[place].estimator
                near: Neighbours = found[estimator.n_neighbors >= len(index) // 2][int(estimator.n_neighbors)]
                return votes[place](response, near.weights if estimator.weights == "distance" else None, near.index)

            return says

        for request in rows_requests(fits):
            add_responses(request, results, data, scores_of)
        return results

    def _votes(self, fits: Sequence[Fit], data: Data, index: Positions) -> dict[int, ClassVote | MeanVote]:
        votes: dict[int, ClassVote | MeanVote] = {}
        if data.task == "classification":
            for sweep in label_sweeps(fits, data, index):
                for v, place in enumerate(sweep.places):
                    codes, number = sweep.codes[v].astype(np.intp), len(sweep.classes)
                    votes[place] = ClassVote(codes, number, classes_for(fits[place], sweep.classes))
            return votes
        for place, fit in enumerate(fits):
            labels = data.y if fit.y is None else fit.y
            if labels.ndim == 1 and labels.dtype.kind in "iuf" and labels.dtype.itemsize == 8:
                votes[place] = MeanVote(labels[index])
        return votes


def votes_as_usual(estimator: Any, data: Data) -> bool:
    """Whether the vote is one of the two usual, the neighbours are found in the usual way, and the task is its own."""
    classifier = type(estimator) is KNeighborsClassifier
    if classifier != (data.task == "classification"):
        return False
    weights, metric, algorithm = estimator.weights, estimator.metric, estimator.algorithm
    if not (isinstance(weights, str) and weights in ("uniform", "distance")):
        return False
    if not (isinstance(metric, str) and metric in METRICS) or estimator.metric_params is not None:
        return False
    # In other metrics brute force counts votes on its way, in an order of its own.
    tree = isinstance(algorithm, str) and algorithm in ("kd_tree", "ball_tree")
    return not classifier or is_euclidean(estimator) or tree


def is_count(k: Any, n: int) -> bool:
    """Whether a value is a number of neighbours that can be found among ``n`` rows."""
    return isinstance(k, int | np.integer) and not isinstance(k, bool) and bool(1 <= k <= n)


class ClassVote:
    """The vote of a label vector in a classification."""

    def __init__(self, codes: Positions, number: int, classes: npt.NDArray[Any]) -> None:
        self.codes, self.number, self.classes = codes, number, classes

    def __call__(self, response: Response, weights: Weights | None, near: Positions) -> npt.NDArray[Any]:
        """Return the labels of rows as codes, or the shares of the classes, given who is near with which weight."""
        codes = self.codes[near]
        if weights is None:
            counts = np.array([np.count_nonzero(codes == code, axis=1) for code in range(self.number)])
            if response == "predict_proba":
                return np.ascontiguousarray(counts.T / float(near.shape[1]))
            return self._leaders(counts)
        if response == "predict_proba":
            return self._shares(codes, weights)
        sums = [np.sum(np.where(codes == code, weights, 0.0), axis=1) for code in range(self.number)]
        return self._leaders(np.array(sums))

    def certain(self, values: npt.NDArray[Any], weights: Weights | None, near: Positions) -> npt.NDArray[np.bool_]:
        """Return the rows whose response does not depend on the last digits of the weights."""
        if weights is None or values.ndim == 2:
            return np.ones(len(near), dtype=bool)
        shares = np.sort(self._shares(self.codes[near], weights), axis=1)
        return np.asarray(shares[:, -1] - shares[:, -2] > 10 * TOLERANCE)

    def _leaders(self, votes: npt.NDArray[Any]) -> npt.NDArray[Any]:
        leader = np.argmax(votes, axis=0)  # of equal ones the first, as in scikit-learn
        return np.asarray(leader.astype(np.min_scalar_type(self.number - 1)))

    def _shares(self, codes: Positions, weights: Weights) -> Floats:
        shares, rows = np.zeros((len(codes), self.number)), np.arange(len(codes))
        for column, weight in zip(codes.T, weights.T, strict=True):
            shares[rows, column] += weight
        return np.asarray(shares / shares.sum(axis=1)[:, None])


class MeanVote:
    """The mean of the neighbours' labels in a regression."""

    classes = None

    def __init__(self, labels: npt.NDArray[Any]) -> None:
        self.labels = labels

    def certain(self, values: npt.NDArray[Any], weights: Weights | None, near: Positions) -> npt.NDArray[np.bool_]:
        """Return the rows whose mean does not cancel out, so that it depends on the order of its sum."""
        return np.asarray(np.abs(values) > 1e-6 * np.abs(self.labels[near]).max(axis=1))

    def __call__(self, response: Response, weights: Weights | None, near: Positions) -> npt.NDArray[Any]:
        """Return the mean for each row, given who is near with which weight."""
        if weights is None:
            # As a column: numpy adds up other shapes in another order.
            return np.asarray(np.mean(self.labels.reshape(-1, 1)[near], axis=1).ravel())
        return np.asarray(np.sum(self.labels[near] * weights, axis=1) / np.sum(weights, axis=1))


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
        if not (isinstance(knn.algorithm, str) and knn.algorithm in ALGORITHMS):
            return False
        if data.classes is not None:
            return bool(coded(labels, data.classes)[1].all())
        numbers = labels.ndim == 1 and labels.dtype.kind in "iuf" and labels.dtype.itemsize == 8
        return numbers and all(ask.response == "predict" for ask in fit.asks)

    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOutValues:
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
            return LeftOutValues({"predict": MeanVote(labels)("predict", weights, nearest.index)}, trusted)
        codes, counts = coded(labels, data.classes)
        vote = ClassVote(codes.astype(np.intp), len(counts), data.classes.astype(labels.dtype, copy=False))
        trusted &= counts[codes[rows]] > 1  # or the class is gone with the row
        values = {response: vote(response, weights, nearest.index) for response in self.responses}
        return LeftOutValues(values, trusted, vote.classes)


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
