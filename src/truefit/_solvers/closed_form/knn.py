"""Nearest neighbours: any k, weights and labels from one search, and leave-one-out."""

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
from truefit._core.protocols import Fit, Response
from truefit._core.typing import Array, Floats, Mask, Positions
from truefit._sklearn import search_method, training_rows
from truefit._solvers.closed_form.left_out import LeftOutSolver, LeftOutValues
from truefit._solvers.closed_form.rounding import TOLERANCE
from truefit._solvers.plain import labels_of, training_data
from truefit._solvers.registry import SharedResult, is_count, is_number_vector, rows_requests
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
    """The neighbours of each row, the nearest first, and their distances."""

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


@dataclass(frozen=True, slots=True)
class TiedLabels:
    """Where the neighbours of a row are tied and have different labels, for one vector of labels.

    Of neighbours in one block of ties the order is uncertain. ``differ`` has for each neighbour whether its block has
    several labels, or may have: a block at the end of the list may go on beyond it. ``before`` is the number of ties
    between different labels up to each neighbour.
    """

    tied: Mask
    differ: Mask
    before: Positions

    @classmethod
    def of(cls, tied: Mask, labels: Array) -> TiedLabels:
        """``tied`` is whether each neighbour but the last is tied with the next, ``labels`` are those of all."""
        rows, most = labels.shape
        place = np.arange(most)
        before = np.zeros((rows, most), dtype=np.intp)
        np.cumsum(tied & (labels[:, 1:] != labels[:, :-1]), axis=1, out=before[:, 1:])
        starts, ends = np.zeros((rows, most), dtype=np.intp), np.full((rows, most), most - 1)
        starts[:, 1:] = np.where(tied, 0, place[1:])
        ends[:, :-1] = np.where(tied, most - 1, place[:-1])
        first = np.maximum.accumulate(starts, axis=1)
        last = np.minimum.accumulate(ends[:, ::-1], axis=1)[:, ::-1]
        line = np.arange(rows)[:, None]
        return cls(tied, (before[line, last] > before[line, first]) | (last == most - 1), before)

    def uncertain(self, k: int, *, ordered: bool) -> Mask:
        """Return the rows whose first ``k`` neighbours have uncertain labels, or an uncertain order of them."""
        found = self.tied[:, k - 1] & self.differ[:, k - 1]
        return found | (self.before[:, k - 1] > 0) if ordered else found


class NeighbourSearch:
    """Finds neighbours for each number wanted as a fitted model itself would.

    A search for the most finds those for fewer too, in the same order, except for ties. Rows are searched again where
    ties are between different labels, which decide the vote.
    """

    def __init__(self, model: Any) -> None:
        self.model = model
        #: The labels of the training rows that vote, by number of neighbours, and whether their order counts.
        self._votes: dict[int, list[tuple[Array, bool]]] = {}
        self._weighted = False

    def want(self, k: int, labels: Array, *, weighted: bool) -> None:
        """Have the first ``k`` neighbours found for a vote of labels.

        Sums of weights depend on their order by rounding, which decides between classes whose sums are equal.
        """
        self._votes.setdefault(k, []).append((labels, weighted))
        self._weighted |= weighted

    def of(self, X: Any) -> dict[int, Neighbours]:
        """Return the neighbours of rows, by how many are wanted."""
        most = max(self._votes)
        if len(self._votes) == 1:
            return {most: self._search(X, most)}
        distances, index = self.model.kneighbors(X, n_neighbors=most)
        nearest = Neighbours(distances, index)
        uncertain = self._uncertain(~self.certain(X, distances), index)
        found = {most: nearest}
        for k in sorted(set(self._votes) - {most}):
            again: Positions = np.flatnonzero(uncertain.get(k, ()))
            if 2 * len(again) > len(index):
                found[k] = self._search(X, k)
                continue
            found[k] = nearest.first(k)
            if len(again):
                found[k].replace(again, self._search(_rows(X, again), k))
        return found

    def _uncertain(self, tied: Mask, index: Positions) -> dict[int, Mask]:
        """Return the rows to search again, by number of neighbours."""
        found: dict[int, Mask] = {}
        some = np.flatnonzero(tied.any(axis=1))
        if not len(some):
            return found
        known: dict[bytes, TiedLabels] = {}  # candidates that differ by k only have the same labels
        most = index.shape[1]
        for k, labels, ordered in ((k, *vote) for k, votes in self._votes.items() if k < most for vote in votes):
            content = labels.tobytes()
            if content not in known:
                known[content] = TiedLabels.of(tied[some], labels[index[some]])
            rows = found.setdefault(k, np.zeros(len(index), dtype=bool))
            rows[some] |= known[content].uncertain(k, ordered=ordered)
        return found

    def _search(self, X: Any, k: int) -> Neighbours:
        if self._weighted:
            return Neighbours(*self.model.kneighbors(X, n_neighbors=k))
        return Neighbours(None, self.model.kneighbors(X, n_neighbors=k, return_distance=False))

    def certain(self, X: Any, distances: npt.NDArray[np.floating[Any]]) -> Mask:
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

    def _reach(self, X: Array) -> Floats:
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


def _norms(X: Array) -> Floats:
    return np.asarray(np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1))


def _unit(values: Array) -> float:
    return float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else float(np.finfo(np.float64).eps)


Weights = npt.NDArray[np.floating[Any]]

#: Ways to search for neighbours.
ALGORITHMS = ("auto", "brute", "kd_tree", "ball_tree")
#: Metrics in which a tree and brute force are searched by the same distances.
METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cityblock", "l1", "l2")


class NeighboursSolver(RelabelledSolver):
    """Nearest neighbours on the same rows, with any k, weights and labels.

    scikit-learn finds the neighbours once, for the largest k, and each fit votes among its first k by scikit-learn's
    own sums, so answers equal plain fitting bit for bit; means of tied neighbours may differ by rounding. Where the
    k-th is tied with one of another label, the search is repeated for that k and row.
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

    def results(self, fits: Sequence[Fit], data: Data) -> Sequence[SharedResult | None]:
        """Find the neighbours of all rows to predict, and let each fit vote."""
        index = fits[0].train.index
        results: list[SharedResult | None] = [None] * len(fits)
        votes = self._votes(fits, data, index)
        searches: dict[bool, NeighbourSearch] = {}
        X, y = training_data(fits[0], data)
        for place in votes:
            k = fits[place].estimator.n_neighbors
            if not is_count(k, len(index)):
                continue  # plain fitting raises the error
            many = k >= len(index) // 2  # then scikit-learn may search in another way
            if many not in searches:
                searches[many] = NeighbourSearch(clone(fits[place].estimator).fit(X, y))
            searches[many].want(int(k), votes[place].labels, weighted=fits[place].estimator.weights == "distance")
            results[place] = SharedResult(votes[place].classes)

        def scores_of(block: Positions) -> Callable[[Response, int], Array]:
            asked = data.take(block)
            found = {many: search.of(asked) for many, search in searches.items()}

            def respond(response: Response, place: int) -> Array:
                estimator = fits[place].estimator
                near: Neighbours = found[estimator.n_neighbors >= len(index) // 2][int(estimator.n_neighbors)]
                return votes[place](response, near.weights if estimator.weights == "distance" else None, near.index)

            return respond

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
            labels = labels_of(fit, data)
            if is_number_vector(labels):
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


def votes_on_labels(fit: Fit, data: Data) -> bool:
    """Whether a fit votes as usual, on all classes of the table or on numbers of full precision."""
    algorithm, labels = fit.estimator.algorithm, labels_of(fit, data)
    if not (votes_as_usual(fit.estimator, data) and isinstance(algorithm, str) and algorithm in ALGORITHMS):
        return False
    if data.classes is not None:
        return bool(coded(labels, data.classes)[1].all())
    return is_number_vector(labels) and all(ask.response == "predict" for ask in fit.asks)


class ClassVote:
    """The vote of a label vector in a classification."""

    def __init__(self, codes: Positions, number: int, classes: Array | None = None) -> None:
        self.labels, self.number, self.classes = codes, number, classes

    def __call__(self, response: Response, weights: Weights | None, near: Positions) -> Array:
        """Return the labels of rows as codes, or the shares of the classes, by neighbours and weights."""
        codes = self.labels[near]
        if weights is None:
            counts = np.array([np.count_nonzero(codes == code, axis=1) for code in range(self.number)])
            if response == "predict_proba":
                return np.ascontiguousarray(counts.T / float(near.shape[1]))
            return self._leaders(counts)
        if response == "predict_proba":
            return self._shares(codes, weights)
        sums = [np.sum(np.where(codes == code, weights, 0.0), axis=1) for code in range(self.number)]
        return self._leaders(np.array(sums))

    def certain(self, values: Array, weights: Weights | None, near: Positions) -> Mask:
        """Return the rows whose response does not depend on the last digits of the weights."""
        if weights is None or values.ndim == 2:
            return np.ones(len(near), dtype=bool)
        shares = np.sort(self._shares(self.labels[near], weights), axis=1)
        return np.asarray(shares[:, -1] - shares[:, -2] > 10 * TOLERANCE)

    def _leaders(self, votes: Array) -> Array:
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

    def __init__(self, labels: Array) -> None:
        self.labels = labels

    def certain(self, values: Array, weights: Weights | None, near: Positions) -> Mask:
        """Return the rows whose mean does not cancel out, so that it depends on the order of its sum."""
        return np.asarray(np.abs(values) > 1e-6 * np.abs(self.labels[near]).max(axis=1))

    def __call__(self, response: Response, weights: Weights | None, near: Positions) -> Array:
        """Return the mean for each row, by neighbours and weights."""
        if weights is None:
            # As a column: numpy adds up other shapes in another order.
            return np.asarray(np.mean(self.labels.reshape(-1, 1)[near], axis=1).ravel())
        return np.asarray(np.sum(self.labels[near] * weights, axis=1) / np.sum(weights, axis=1))


#: Up to this many rows brute force is faster than a tree.
MOST_BRUTE_ROWS = 4000
#: With more columns scikit-learn does not build a tree by default.
MOST_TREE_COLUMNS = 15


class NeighboursLooSolver(LeftOutSolver):
    """Leave-one-out of nearest neighbours: those of a row in the whole table, but for the row itself.

    They vote by scikit-learn's own sums, so answers equal plain fitting bit for bit. Rows with ties are fitted plainly.
    """

    name = "neighbours loo"
    kinds = (KNeighborsClassifier, KNeighborsRegressor)
    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those that search and vote in the usual way, on a table that can be used."""
        some = [group for group in groups if self._serves(group[0], data)]
        return some if some and full_precision(data) else []

    def _serves(self, fit: Fit, data: Data) -> bool:
        knn = fit.estimator
        power = isinstance(knn.p, int | float) and not isinstance(knn.p, bool) and knn.p >= 1
        return power and is_count(knn.n_neighbors, data.n - 2) and votes_on_labels(fit, data)

    def left_out(self, estimator: Any, labels: Array, data: Data, rows: Positions) -> LeftOutValues:
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


def _index(estimator: Any, X: Floats) -> Any:
    """Return a search on the table; any method finds the same neighbours where these are certain."""
    method = estimator.algorithm
    if is_euclidean(estimator) and len(X) <= MOST_BRUTE_ROWS:
        method = "brute"
    elif method == "auto":
        many = X.shape[1] > MOST_TREE_COLUMNS or estimator.n_neighbors >= (len(X) - 1) // 2
        method = "brute" if many else "kd_tree"
    options = {"leaf_size": estimator.leaf_size, "metric": estimator.metric, "p": estimator.p}
    return NearestNeighbors(algorithm=method, n_jobs=estimator.n_jobs, **options).fit(X)
