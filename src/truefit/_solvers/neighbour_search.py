"""NeighbourSearch: the nearest neighbours of rows, for several numbers of them from one search."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit._core.typing import Floats, Positions

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

    def first(self, k: int) -> Neighbours:
        """Return the nearest ``k``."""
        distances = None if self.distances is None else np.ascontiguousarray(self.distances[:, :k])
        return Neighbours(distances, np.ascontiguousarray(self.index[:, :k]))


class NeighbourSearch:
    """Finds neighbours for each number in ``wanted`` as the model itself would.

    A search for the most finds those for fewer too, in the same order, unless two are so equally near that their order,
    or which of them is left out, is as the search goes: then there is a search for that number.

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
        certain = np.logical_and.accumulate(self.certain(X, distances).all(axis=0))
        found = {most: nearest}
        for k in sorted(self.wanted - {most}):
            found[k] = nearest.first(k) if certain[k - 1] else self._search(X, k)
        return found

    def _search(self, X: Any, k: int) -> Neighbours:
        if self.weighted:
            return Neighbours(*self.model.kneighbors(X, n_neighbors=k))
        return Neighbours(None, self.model.kneighbors(X, n_neighbors=k, return_distance=False))

    def certain(self, X: Any, distances: npt.NDArray[np.floating[Any]]) -> npt.NDArray[np.bool_]:
        """Whether each neighbour but the last is nearer than the next, beyond what rounding could have done."""
        gaps = distances.shape[0], max(distances.shape[1] - 1, 0)
        if sparse.issparse(X) or sparse.issparse(self.model._fit_X):
            return np.zeros(gaps, dtype=bool)
        trained, asked = self.model._fit_X, np.asarray(X)
        unit = 32 * (trained.shape[1] + 8) * max(_unit(trained), _unit(asked), _unit(distances))
        apart = distances[:, 1:] > _SMALLEST
        with np.errstate(all="ignore"):
            if self.model._fit_method == "brute" and self.model.effective_metric_ == "euclidean":
                # |x|² - 2xy + |y|², by which they are ranked, is as far off as its terms are large.
                squares = distances.astype(np.float64) ** 2
                return np.asarray(apart & (np.diff(squares, axis=1) > unit * self._reach(asked)[:, None] ** 2))
            slack = unit * distances[:, 1:].astype(np.float64)
            if self.model._fit_method == "ball_tree":  # whose bounds are distances from far-off centres
                slack += unit * self._reach(asked)[:, None]
            return np.asarray(apart & (np.diff(distances.astype(np.float64), axis=1) > slack))

    def _reach(self, X: npt.NDArray[Any]) -> Floats:
        """Bound how far rows are from the training rows, by their distances from 0."""
        return np.asarray(_norms(X) + self._largest)

    @cached_property
    def _largest(self) -> float:
        return float(_norms(self.model._fit_X).max())


def is_euclidean(estimator: Any) -> bool:
    """Whether distances are the usual ones."""
    metric = estimator.metric
    return metric in ("euclidean", "l2") or (metric == "minkowski" and estimator.p == 2)


def _norms(X: npt.NDArray[Any]) -> Floats:
    return np.asarray(np.linalg.norm(np.asarray(X, dtype=np.float64), axis=1))


def _unit(values: npt.NDArray[Any]) -> float:
    return float(np.finfo(values.dtype).eps) if values.dtype.kind == "f" else float(np.finfo(np.float64).eps)
