"""NeighboursSolver: nearest neighbours on the same rows with many label vectors, found once."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor

from truefit.core.data import Data
from truefit.core.task import Fit, Response
from truefit.solvers.label_sweep import LabelSweep, classes_for, label_sweeps
from truefit.solvers.questions import questions
from truefit.solvers.same_rows import Reply, SameRowsSolver, reply_to

Floats = npt.NDArray[np.float64]
Indices = npt.NDArray[np.intp]
#: What a label vector says of rows, given the weights of their neighbours and who these are.
Vote = Callable[[Response, Floats | None, Indices], npt.NDArray[Any]]

#: Metrics in which a tree and brute force are searched by the same distances.
METRICS = ("minkowski", "euclidean", "manhattan", "chebyshev", "cityblock", "l1", "l2")


class NeighboursSolver(SameRowsSolver):
    """``KNeighborsClassifier`` and ``KNeighborsRegressor`` on the same rows with many label vectors.

    Who is near does not depend on the labels: scikit-learn finds the neighbours once, and each label vector votes among
    them by scikit-learn's own sums, in the same order. So answers are those of plain fitting bit for bit, ties too.

    Examples
    --------
    >>> from truefit.core.key import Keys
    >>> from truefit.core.rows import Rows
    >>> from truefit.core.task import Ask, FitTask
    >>> X, rows = np.array([[0.0], [1.0], [4.0], [6.0]]), Rows.all(4)
    >>> data = Data(X, [0.0, 1.0, 2.0, 3.0], task="regression")
    >>> keys, knn = Keys(data), KNeighborsRegressor(2)
    >>> tasks = [FitTask(knn, rows, (Ask(rows),), y=y) for y in (None, np.array([3.0, 1.0, 7.0, 5.0]))]
    >>> [job] = NeighboursSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [outcome.answer(data, rows).tolist() for outcome in job.run(data)]
    [[0.5, 0.5, 2.5, 2.5], [2.0, 2.0, 6.0, 6.0]]
    """

    name = "neighbours"
    kinds = (KNeighborsClassifier, KNeighborsRegressor)
    most = 64

    def takes(self, data: Data) -> bool:
        """Whatever scikit-learn can measure distances in."""
        return True

    def serves(self, fit: Fit, data: Data) -> bool:
        """Whether the vote is one of the two usual, and the neighbours are found in the usual way."""
        classifier = type(fit.estimator) is KNeighborsClassifier
        if classifier != (data.task == "classification"):
            return False
        params = fit.estimator.get_params(deep=False)
        weights, metric = params["weights"], params["metric"]
        if not (isinstance(weights, str) and weights in ("uniform", "distance")):
            return False
        if not (isinstance(metric, str) and metric in METRICS) or params["metric_params"] is not None:
            return False
        # In other metrics brute force counts votes on its way, in an order of its own.
        euclidean = metric in ("euclidean", "l2") or (metric == "minkowski" and params["p"] == 2)
        tree = isinstance(params["algorithm"], str) and params["algorithm"] in ("kd_tree", "ball_tree")
        return not classifier or euclidean or tree

    def _can_answer(self, fit: Fit) -> bool:
        regressor = type(fit.estimator) is KNeighborsRegressor
        return super()._can_answer(fit) and not (regressor and any(ask.response != "predict" for ask in fit.asks))

    def replies(self, fits: Sequence[Fit], data: Data) -> Sequence[Reply | None]:
        """Find the neighbours of all rows that are asked about, and let each label vector vote."""
        estimator, index = clone(fits[0].estimator), fits[0].train.index
        replies: list[Reply | None] = [None] * len(fits)
        votes: dict[int, Vote] = {}
        if data.task == "classification":
            for sweep in label_sweeps(fits, data, index):
                for v, place in enumerate(sweep.places):
                    replies[place] = Reply(classes_for(fits[place], sweep.classes))
                    votes[place] = _Classes(sweep, v)
        else:
            for place, fit in enumerate(fits):
                labels = data.y if fit.y is None else fit.y
                if labels.ndim == 1 and labels.dtype.kind in "iuf" and labels.dtype.itemsize == 8:
                    replies[place] = Reply()
                    votes[place] = _Means(labels[index])
        estimator.fit(data.take(index), (data.y if fits[0].y is None else fits[0].y)[index])

        def voice(block: Indices) -> Callable[[Response, int], npt.NDArray[Any]]:
            weights, near = _neighbours(estimator, data.take(block))
            return lambda response, place: votes[place](response, weights, near)

        for question in questions(fits):
            reply_to(question, replies, data, voice)
        return replies


class _Classes:
    """The vote of a label vector in a classification."""

    def __init__(self, sweep: LabelSweep, v: int) -> None:
        self.codes = sweep.codes[v].astype(np.intp)
        self.number = len(sweep.classes)

    def __call__(self, response: Response, weights: Floats | None, near: Indices) -> npt.NDArray[Any]:
        codes = self.codes[near]
        if response == "predict_proba":
            return self._shares(codes, np.ones_like(near) if weights is None else weights)
        if weights is None:
            votes = [np.count_nonzero(codes == code, axis=1) for code in range(self.number)]
        else:
            votes = [np.sum(np.where(codes == code, weights, 0.0), axis=1) for code in range(self.number)]
        leader = np.argmax(votes, axis=0)  # of equal ones the first, as in scikit-learn
        return np.asarray(leader.astype(np.min_scalar_type(self.number - 1)))

    def _shares(self, codes: Indices, weights: npt.NDArray[Any]) -> Floats:
        shares, rows = np.zeros((len(codes), self.number)), np.arange(len(codes))
        for column, weight in zip(codes.T, weights.T, strict=True):
            shares[rows, column] += weight
        return np.asarray(shares / shares.sum(axis=1)[:, None])


class _Means:
    """The mean of the neighbours' labels in a regression."""

    def __init__(self, labels: npt.NDArray[Any]) -> None:
        self.labels = labels

    def __call__(self, response: Response, weights: Floats | None, near: Indices) -> npt.NDArray[Any]:
        if weights is None:
            # As a column: numpy adds up other shapes in another order.
            return np.asarray(np.mean(self.labels.reshape(-1, 1)[near], axis=1).ravel())
        return np.asarray(np.sum(self.labels[near] * weights, axis=1) / np.sum(weights, axis=1))


def _neighbours(model: Any, X: Any) -> tuple[Floats | None, Indices]:
    """Return who is near, and with which weight; None where all weigh the same."""
    if model.weights == "uniform":
        return None, model.kneighbors(X, return_distance=False)
    distances, near = model.kneighbors(X)
    with np.errstate(divide="ignore"):
        weights = 1.0 / distances
    # Neighbours at no distance at all share the vote, and the others have none.
    same = np.isinf(weights)
    any_same = same.any(axis=1)
    weights[any_same] = same[any_same]
    return weights, near
