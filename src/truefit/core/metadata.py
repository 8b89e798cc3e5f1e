"""Metadata: how weights and groups reach an estimator's fit, by scikit-learn's routing."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils.metadata_routing import get_routing_for_object
from sklearn.utils.validation import has_fit_parameter

from truefit.core.data import Data
from truefit.core.errors import InvalidEstimator


def _consumes(estimator: Any, name: str) -> bool:
    return bool(get_routing_for_object(estimator).consumes("fit", [name]))


def wants_groups(estimator: Any) -> bool:
    """Whether the estimator asks for groups in fit; only with metadata routing can it."""
    return bool(get_config()["enable_metadata_routing"]) and _consumes(estimator, "groups")


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
    metadata: dict[str, Any] = {}
    if data.weight is not None:
        name = weight_parameter(estimator)
        if name is not None:
            metadata[name] = data.weight[index]
    if data.groups is not None and wants_groups(estimator):
        metadata["groups"] = data.groups[index]
    return metadata
