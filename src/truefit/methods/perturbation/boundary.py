"""The decision boundary: how far from it rows lie, by models that did not see them."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import FitError, InvalidEstimator
from truefit.core.job import Plan
from truefit.core.outcome import reasons
from truefit.core.task import Ask, FitTask, Response
from truefit.methods.splitting.splits import Splits
from truefit.metrics.replay import aligned_answer

Floats = npt.NDArray[np.float64]


def ranking_response(name: str, estimator: Any) -> Response:
    """Return the response of an estimator that says how sure it is."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "decision_function"
    raise InvalidEstimator(
        "Labels near the boundary are found by the first estimator, which must have predict_proba or "
        f"decision_function. {name!r} is a {type(estimator).__name__} with neither; put another first."
    )


def boundary_plan(estimator: Any, response: Response, data: Data, splits: Splits) -> Plan[Floats]:
    """Ask how far each row is from the boundary: the gap between the two classes that are most likely for it.

    Models judge the rows that they were not trained on. Of its own training rows a learner that memorises is sure.
    """
    outcomes = yield [FitTask(estimator, split.train, (Ask(split.test, response),)) for split in splits]
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        raise FitError(
            f"{len(failures)} of {len(outcomes)} fits failed, and the boundary needs them all. {reasons(failures)}",
            failures,
        )
    found = np.empty(data.n)
    for split, outcome in zip(splits, outcomes, strict=True):
        said = aligned_answer(outcome, data, split.test, response)
        assert said is not None
        found[split.test.index] = gaps(said)
    return found


def gaps(said: npt.ArrayLike) -> Floats:
    """Gap between the two largest values of each row; of a single column how far it is from 0.

    Examples
    --------
    >>> gaps([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]]).round(12).tolist(), gaps([-1.5, 0.25]).tolist()
    ([0.2, 0.8], [1.5, 0.25])
    """
    values = np.asarray(said, dtype=np.float64)
    if values.ndim == 1:
        return np.abs(values)
    ordered = np.sort(values, axis=1)
    # A class that a fold's model has not seen has a decision of minus infinity.
    return np.where(np.isfinite(ordered[:, -2]), ordered[:, -1] - ordered[:, -2], np.inf)
