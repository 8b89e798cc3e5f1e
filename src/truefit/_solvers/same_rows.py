"""SameRowsSolver: fits on the same rows, what depends on X alone worked out once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from truefit._core.data import Data
from truefit._core.outcome import Predictions
from truefit._core.protocols import Job
from truefit._core.task import Fit, Response
from truefit._solvers.families import Families
from truefit._solvers.plain import checked, row_blocks
from truefit._solvers.questions import Question
from truefit._solvers.replies import Reply, ReplySolver

#: Label codes of one job take at most about this much.
LABEL_BYTES = 64 << 20
#: So do the numbers that are worked with at a time.
WORK_BYTES = 32 << 20


class SameRowsSolver(ReplySolver):
    """Fits on the same rows with other labels: the work that depends on X alone is done once for all of them."""

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job, or a few, for each family of estimators and each set of training rows with at least two fits."""
        if get_config()["enable_metadata_routing"] or not self._takes_weights(data):
            return []
        families = Families(self.path)
        groups: dict[tuple[bytes, tuple[int, int], int], list[Fit]] = defaultdict(list)
        for fit in fits:
            if type(fit.estimator) in self.kinds and self._can_answer(fit):
                family = families.of(fit)
                if family is not None:
                    groups[family, data.digest(fit.train), len(fit.train)].append(fit)
        served = [some for group in groups.values() if len(some := self._served(group, data)) > 1]
        jobs: list[Job] = []
        if served and self.takes(data):
            for group in served:
                most = max(2, min(self.most, LABEL_BYTES // max(len(group[0].train), 1)))
                jobs.extend(self._job(group[i : i + most]) for i in range(0, len(group), most))
        return jobs

    def takes(self, data: Data) -> bool:
        """Whether X is a table that can be worked with: dense, finite, and of full precision."""
        return full_precision(data)


def reply_to(
    question: Question,
    replies: Sequence[Reply | None],
    data: Data,
    voice: Callable[[npt.NDArray[np.intp]], Callable[[Response, int], npt.NDArray[Any]]],
) -> None:
    """Add answers to the replies of those fits that have one.

    Rows are asked about in the same blocks as in plain fitting: ``voice`` gets the positions of a block, and returns
    what says the response of each fit on it; labels as codes.
    """
    index = question.rows.index
    parts: dict[tuple[Response, int], list[npt.NDArray[Any]]] = {
        (response, place): []
        for response, places in question.wanted.items()
        for place in places
        if replies[place] is not None
    }
    for block in row_blocks(index, data) if parts else ():
        says = voice(block)
        for (response, place), values in parts.items():
            values.append(checked(says(response, place), len(block), response))
    tokens = data.tokens_of(question.rows)
    for (response, place), values in parts.items():
        reply = replies[place]
        assert reply is not None
        coded = response == "predict" and reply.classes is not None
        whole = values[0] if len(values) == 1 else np.concatenate(values)
        reply.answers.append(Predictions(response, tokens, whole, coded))


def full_precision(data: Data) -> bool:
    """Whether X is a dense table of whole numbers or floats of double precision, all of them finite."""
    X = data.X
    if hasattr(X, "iloc"):
        if len({isinstance(name, str) for name in X.columns}) > 1:  # which scikit-learn refuses
            return False
        dtypes = list(X.dtypes)
    elif isinstance(X, np.ndarray) and X.ndim == 2:
        dtypes = [X.dtype]
    else:
        return False
    if not (dtypes and X.shape[1] and all(isinstance(one, np.dtype) and one.kind in "iuf" for one in dtypes)):
        return False
    if any(one.kind == "f" and one != np.float64 for one in dtypes):
        return False
    return bool(np.isfinite(np.asarray(X)).all()) if any(one.kind == "f" for one in dtypes) else True


def as_floats(X: Any) -> npt.NDArray[np.float64]:
    """Return a table as scikit-learn's estimators see it.

    Raises
    ------
    ValueError
        If a value is missing or infinite.
    """
    floats = np.asarray(X, dtype=np.float64)
    if not np.isfinite(floats).all():
        raise ValueError("X must be finite. Got NaN or infinite values.")
    return floats


def centred(X: npt.NDArray[np.float64], centre: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """Return rows counted from a centre.

    Examples
    --------
    >>> centred(np.array([[1.0, 5.0], [2.0, 6.0], [3.0, 7.0]]), np.array([2.0, 5.0]))
    array([[-1.,  0.],
           [ 0.,  1.],
           [ 1.,  2.]])
    """
    # Several rows at a time: numpy goes through short rows at a tenth of its speed.
    n, p = X.shape
    many = max(1, 512 // max(p, 1))
    if not X.flags.c_contiguous or n < many:
        return X - centre
    whole = n - n % many
    values = np.empty((n, p))
    np.subtract(X[:whole].reshape(-1, many * p), np.tile(centre, many), out=values[:whole].reshape(-1, many * p))
    np.subtract(X[whole:], centre, out=values[whole:])
    return values
