"""NeighboursSolver: nearest neighbours on the same rows, found once for any number of them and any labels."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from truefit._core.data import Data
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.label_sweep import classes_for, label_sweeps
from truefit._solvers.neighbour_search import Neighbours, NeighbourSearch, is_euclidean
from truefit._solvers.questions import questions
from truefit._solvers.replies import Reply
from truefit._solvers.same_rows import SameRowsSolver, reply_to

Weights = npt.NDArray[np.floating[Any]]

#: Metrics in which a tree and brute force are searched by the same distances.
METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cityblock", "l1", "l2")


class NeighboursSolver(SameRowsSolver):
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

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Find the neighbours of all rows that are asked about, and let each fit vote."""
        index = fits[0].train.index
        replies: list[Reply | None] = [None] * len(fits)
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
            replies[place] = Reply(votes[place].classes)

        def voice(block: Positions) -> Callable[[Response, int], npt.NDArray[Any]]:
            asked = data.take(block)
            found = {many: search.of(asked) for many, search in searches.items()}

            def says(response: Response, place: int) -> npt.NDArray[Any]:
                estimator = fits[place].estimator
                near: Neighbours = found[estimator.n_neighbors >= len(index) // 2][int(estimator.n_neighbors)]
                return votes[place](response, near.weights if estimator.weights == "distance" else None, near.index)

            return says

        for question in questions(fits):
            reply_to(question, replies, data, voice)
        return replies

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

    def __call__(self, response: Response, weights: Weights | None, near: Positions) -> npt.NDArray[Any]:
        """Return the mean for each row, given who is near with which weight."""
        if weights is None:
            # As a column: numpy adds up other shapes in another order.
            return np.asarray(np.mean(self.labels.reshape(-1, 1)[near], axis=1).ravel())
        return np.asarray(np.sum(self.labels[near] * weights, axis=1) / np.sum(weights, axis=1))
