"""Saving: a fitted network as safetensors beside a description in JSON, never a pickle."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import torch

from truefit._core.errors import InvalidInput, MissingDependency
from truefit.torch import modules
from truefit.torch.config import TrainingConfig
from truefit.torch.head import head_of

FORMAT_VERSION = 1
_DESCRIPTION, _TENSORS = "model.json", "model.safetensors"
#: Parameters that are values of JSON as they are, or are left to the reader.
_PARAMS = ("module_params", "loss", "optimizer", "optimizer_params", "lr", "weight_decay", "schedule", "max_epochs",
           "batch_size", "dtype", "random_state")  # fmt: skip


def _safetensors() -> Any:
    try:
        import safetensors.torch
    except ImportError as error:
        raise MissingDependency("To save a network needs safetensors: pip install truefit[torch].") from error
    return safetensors.torch


def save(model: Any, folder: str | os.PathLike[str]) -> None:
    """Write a fitted model to a folder."""
    if not hasattr(model, "module_"):
        raise InvalidInput("A model must be fitted before it is saved. Call fit first.")
    params = {name: getattr(model, name) for name in _PARAMS}
    described = {
        "format": FORMAT_VERSION,
        "class": type(model).__name__,
        "module": getattr(model.module, "__qualname__", repr(model.module)),
        "params": {name: value if _plain(value) else None for name, value in params.items()},
        "in_shape": list(model.in_shape_),
        "classes": None if not hasattr(model, "classes_") else model.classes_.tolist(),
        "classes_dtype": None if not hasattr(model, "classes_") else model.classes_.dtype.str,
        "columns": model.head_.width if model.head_.kind == "numbers" else 0,
        "loss_curve": model.loss_curve_,
        "feature_names": list(getattr(model, "feature_names_in_", [])),
    }
    if not _plain(model.module_params):
        raise InvalidInput(
            f"To be saved, module_params must be values of JSON: numbers, texts, lists. Got {model.module_params!r}."
        )
    place = Path(folder)
    place.mkdir(parents=True, exist_ok=True)
    tensors = {name: value.detach().cpu().contiguous() for name, value in model.module_.state_dict().items()}
    _safetensors().save_file(tensors, place / _TENSORS)
    (place / _DESCRIPTION).write_text(json.dumps(described, indent=1), "utf-8")


def load(cls: Any, folder: str | os.PathLike[str], module: Any = None) -> Any:
    """Read a model from a folder."""
    place = Path(folder)
    try:
        described = json.loads((place / _DESCRIPTION).read_text("utf-8"))
    except (OSError, ValueError) as error:
        raise InvalidInput(f"A saved network must have a {_DESCRIPTION} that reads. {place}: {error}.") from error
    if described.get("format") != FORMAT_VERSION or described.get("class") != cls.__name__:
        raise InvalidInput(
            f"{cls.__name__}.load takes what {cls.__name__}.save has written, format {FORMAT_VERSION}. Got "
            f"{described.get('class')!r}, format {described.get('format')!r}."
        )
    if module is None:
        module = {"MLP": modules.MLP, "ConvNet": modules.ConvNet}.get(described["module"])
    if module is None:
        raise InvalidInput(
            f"The network was made by {described['module']}, which is not truefit's own. Pass it as module=."
        )
    params = {name: value for name, value in described["params"].items() if value is not None}
    model = cls(module, **params, device="cpu")
    config = TrainingConfig.of(model)
    classes = 0
    if described["classes"] is not None:
        model.classes_ = np.array(described["classes"], dtype=described["classes_dtype"])
        classes = len(model.classes_)
    shape, columns = tuple(described["in_shape"]), described["columns"]
    from truefit.torch.estimators import outputs_for

    network = config.build(shape, outputs_for(classes, columns), 0)
    try:
        network.load_state_dict(_safetensors().load_file(place / _TENSORS))
    except (OSError, RuntimeError) as error:
        raise InvalidInput(f"The tensors in {place} must be those of the module. {error}") from error
    probe = torch.zeros((2, *shape), dtype=config.dtype)
    head = head_of(network, probe, classes=classes, columns=columns, loss=model.loss)
    model.adopt(network, head, described["loss_curve"], shape)
    model.n_features_in_ = shape[0] if shape else 1
    if described["feature_names"]:
        model.feature_names_in_ = np.array(described["feature_names"], dtype=object)
    return model


def _plain(value: Any) -> bool:
    try:
        json.dumps(value)
    except (TypeError, ValueError):
        return False
    return True
