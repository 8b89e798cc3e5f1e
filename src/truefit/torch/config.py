"""TrainingConfig: the parameters of training a network, validated."""

from __future__ import annotations

import inspect
import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from truefit._core.errors import InvalidInput

OPTIMIZERS: dict[str, Any] = {
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "rmsprop": torch.optim.RMSprop,
    "sgd": torch.optim.SGD,
}
DTYPES = {"float32": torch.float32, "float64": torch.float64}


def _cosine(done: float) -> float:
    return 0.5 * (1 + math.cos(math.pi * done))


def _linear(done: float) -> float:
    return 1 - done


SCHEDULES: dict[str, Callable[[float], float]] = {"cosine": _cosine, "linear": _linear}


@dataclass(frozen=True)
class TrainingConfig:
    """The validated parameters of an estimator."""

    module: Callable[..., Any]
    module_params: Mapping[str, Any]
    optimizer: Any
    optimizer_params: Mapping[str, Any]
    lr: float
    weight_decay: float
    schedule: Callable[[float], float] | None
    max_epochs: int
    batch_size: int | None
    device: torch.device
    dtype: torch.dtype

    @classmethod
    def of(cls, estimator: Any) -> TrainingConfig:
        """Read the parameters of an estimator."""
        params = estimator.get_params(deep=False)
        if isinstance(params["module"], nn.Module) or not callable(params["module"]):
            raise InvalidInput(
                "The 'module' parameter must be a class of networks or a function that makes one, so that each fit "
                f"starts with its own. Got {params['module']!r}. Pass the class, and its arguments as module_params."
            )
        return cls(
            params["module"],
            _mapping("module_params", params["module_params"]),
            _choice("optimizer", params["optimizer"], OPTIMIZERS, of=torch.optim.Optimizer),
            _mapping("optimizer_params", params["optimizer_params"]),
            _number("lr", params["lr"], above=0.0),
            _number("weight_decay", params["weight_decay"]),
            None if params["schedule"] is None else _choice("schedule", params["schedule"], SCHEDULES),
            _count("max_epochs", params["max_epochs"]),
            None if params["batch_size"] is None else _count("batch_size", params["batch_size"]),
            find_device(params["device"]),
            _choice("dtype", params["dtype"], DTYPES, of=None),
        )

    @property
    def numpy_dtype(self) -> Any:
        """The dtype of the arrays that go in."""
        return np.float64 if self.dtype == torch.float64 else np.float32

    def lr_at(self, epoch: int) -> float:
        """Return the learning rate of an epoch, the first being 1."""
        return self.lr if self.schedule is None else self.lr * float(self.schedule((epoch - 1) / self.max_epochs))

    def build(self, in_shape: tuple[int, ...], out_features: int, seed: int) -> Any:
        """Make a network with the random numbers of a seed, on the CPU: the same wherever it is trained."""
        known = {"in_shape": in_shape, "in_features": math.prod(in_shape), "out_features": out_features}
        try:
            wanted = set(inspect.signature(self.module).parameters)
        except (TypeError, ValueError):
            wanted = set()
        given = {name: value for name, value in known.items() if name in wanted} | dict(self.module_params)
        with torch.random.fork_rng(devices=[]):
            torch.default_generator.manual_seed(seed)
            module = self.module(**given)
        if not isinstance(module, nn.Module):
            raise InvalidInput(f"The 'module' parameter must make a torch.nn.Module. It made {type(module).__name__}.")
        return module.to(self.dtype)

    def make_optimizer(self, parameters: Any, **how: Any) -> Any:
        """Make the optimizer of some parameters."""
        options = dict(self.optimizer_params) | how
        options.setdefault("lr", self.lr)
        return self.optimizer(parameters, weight_decay=self.weight_decay, **options)


def find_device(wanted: Any) -> torch.device:
    """Return a device of torch; "auto" is a GPU where there is one."""
    # The count does not start CUDA, so that worker processes can still be forked.
    gpus = torch.cuda.device_count()
    if isinstance(wanted, str) and wanted == "auto":
        return torch.device("cuda", 0) if gpus else torch.device("cpu")
    try:
        device = torch.device(wanted)
    except (RuntimeError, TypeError) as error:
        raise InvalidInput(
            f"The 'device' parameter must be 'auto', 'cpu', 'cuda' or a device of torch. Got {wanted!r}."
        ) from error
    if device.type == "cuda":
        if (device.index or 0) >= gpus:
            raise InvalidInput(
                f"device={str(wanted)!r} needs a GPU that torch can use. It sees {gpus}. Use device='auto' or 'cpu'."
            )
        device = torch.device("cuda", device.index or 0)
    return device


def on_device(array: npt.NDArray[Any], device: torch.device) -> torch.Tensor:
    """Return an array as a tensor; one that must not be written to is copied."""
    return torch.as_tensor(array if array.flags.writeable else array.copy(), device=device)


def _mapping(name: str, value: Any) -> Mapping[str, Any]:
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"The {name!r} parameter must be a dict or None. Got {value!r}.")
    return value


def _choice(name: str, value: Any, choices: Mapping[str, Any], *, of: Any = Callable) -> Any:
    if isinstance(value, str) and value in choices:
        return choices[value]
    if of is Callable and callable(value) and not isinstance(value, str):
        return value
    if of is torch.optim.Optimizer and isinstance(value, type) and issubclass(value, of):
        return value
    others = {None: "", Callable: ", or a function", torch.optim.Optimizer: ", or a class of torch.optim"}[of]
    raise InvalidInput(f"The {name!r} parameter must be one of {', '.join(choices)}{others}. Got {value!r}.")


def _number(name: str, value: Any, *, above: float | None = None) -> float:
    real = isinstance(value, int | float | np.number) and not isinstance(value, bool) and math.isfinite(value)
    if not real or value < 0 or (above is not None and value <= above):
        kind = "a positive number" if above is not None else "a number that is not negative"
        raise InvalidInput(f"The {name!r} parameter must be {kind}. Got {value!r}.")
    return float(value)


def _count(name: str, value: Any) -> int:
    if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < 1:
        raise InvalidInput(f"The {name!r} parameter must be a positive whole number. Got {value!r}.")
    return int(value)
