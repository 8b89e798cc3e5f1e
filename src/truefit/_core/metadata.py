"""Metadata: how weights, groups and parameters of ``fit`` reach an estimator, by scikit-learn's routing."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from copy import deepcopy
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import BaseEstimator, clone
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from truefit._core.data import Data
from truefit._core.errors import InvalidEstimator
from truefit._sklearn import check_method_params

logger = logging.getLogger("truefit")


class WithFitParams(BaseEstimator):  # type: ignore[misc]
    """An estimator together with parameters of its ``fit``, such as an ``eval_set`` or callbacks.

    Both are its identity: fits whose parameters have no comparable content are never shared or stored. Only plain
    fitting knows of it, so no solver answers for it in another way. What is fitted is the estimator itself.

    Parameters
    ----------
    estimator : estimator
    params : dict
        Those with one value per row of the table are given to ``fit`` for the training rows, the others as they are.
    n : int
        Number of rows of the table.
    """

    def __init__(self, estimator: Any, params: Mapping[str, Any], n: int) -> None:
        self.estimator = estimator
        self.params = params
        self.n = n

    @property
    def by_row(self) -> bool:
        """Whether a parameter has one value per row."""
        table = np.empty((self.n, 0))
        return any(
            taken is not self.params[name]
            for name, taken in check_method_params(table, dict(self.params), np.arange(0)).items()
        )

    def params_at(self, index: npt.NDArray[np.intp]) -> dict[str, Any]:
        """Return the parameters for a fit on the rows at ``index``.

        Each fit has a copy, since one that changes a callback must not change what the next one gives.
        """
        taken = check_method_params(np.empty((self.n, 0)), dict(self.params), index)
        return {name: _copied(value) if value is self.params[name] else value for name, value in taken.items()}

    def fit(self, X: Any, y: Any, **metadata: Any) -> Any:
        """Fit the estimator, and return it."""
        return self.estimator.fit(X, y, **metadata)

    def __sklearn_clone__(self) -> WithFitParams:
        return WithFitParams(clone(self.estimator), self.params, self.n)

    def __truefit_key__(self) -> Any:
        return [self.estimator, self.params]


def _copied(value: Any) -> Any:
    try:
        return deepcopy(value)
    except Exception as error:  # such as an open file, which is not identified by content either
        logger.info("A fit parameter of type %s is used without a copy: %r", type(value).__name__, error)
        return value


def bare(estimator: Any) -> Any:
    """Return the estimator without its fit parameters."""
    return estimator.estimator if isinstance(estimator, WithFitParams) else estimator


def _consumes(estimator: Any, name: str) -> bool:
    return bool(get_routing_for_object(estimator).consumes("fit", [name]))


def wants_groups(estimator: Any) -> bool:
    """Whether the estimator asks for groups in fit; only with metadata routing can it."""
    return bool(get_config()["enable_metadata_routing"]) and _consumes(bare(estimator), "groups")


def weight_parameter(estimator: Any) -> str | None:
    """Name under which ``fit`` takes the weights; None if it does not."""
    if get_config()["enable_metadata_routing"]:
        return "sample_weight" if _consumes(estimator, "sample_weight") else None
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = None if last in (None, "passthrough") else weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def check_takes_weights(estimator: Any) -> None:
    """Refuse weights that would silently not be used."""
    if weight_parameter(estimator) is not None:
        return
    if get_config()["enable_metadata_routing"]:
        advice = "Request them where they are used: set_fit_request(sample_weight=True)."
    else:
        advice = "Leave sample_weight out, or use an estimator whose fit takes it."
    raise InvalidEstimator(
        f"With sample_weight every estimator must take weights in fit. Got {type(estimator).__name__}, which does not. "
        f"{advice}"
    )


def fit_metadata(estimator: Any, data: Data, index: npt.NDArray[np.intp]) -> dict[str, Any]:
    """Keyword arguments for ``fit`` on the rows at ``index``."""
    if isinstance(estimator, WithFitParams):
        return fit_metadata(estimator.estimator, data, index) | estimator.params_at(index)
    metadata: dict[str, Any] = {}
    if data.weight is not None:
        name = weight_parameter(estimator)
        if name is not None:
            metadata[name] = data.weight[index]
    if data.groups is not None and wants_groups(estimator):
        metadata["groups"] = data.groups[index]
    return metadata
