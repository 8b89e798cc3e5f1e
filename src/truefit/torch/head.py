"""Head: the meaning of a network's outputs, and their training loss."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

import torch
from torch.nn import functional

from truefit._core.errors import InvalidInput

Loss = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]


def _squared(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target) ** 2


def _absolute(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return (output - target).abs()


def _huber(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    return functional.huber_loss(output, target, reduction="none")


def _binary(output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
    """Cross-entropy of two classes, 0 and 1, in a third of the kernels of torch's own under vmap.

    Beyond the threshold the function is its argument within the precision of the dtype.
    """
    return functional.softplus(output * (1 - 2 * target), threshold=40.0 if output.dtype == torch.float64 else 20.0)


_NUMBERS: dict[str, Loss] = {"squared_error": _squared, "absolute_error": _absolute, "huber": _huber}


@dataclass(frozen=True)
class Head:
    """Reads outputs.

    ``kind`` is "binary" for one output and two classes, "classes" for an output per class, "numbers" in regression;
    ``width`` is the number of outputs that are used, 0 for numbers of one dimension.
    """

    kind: Literal["binary", "classes", "numbers"]
    width: int
    loss: Loss | None = None

    def losses(self, output: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        """Return the loss of each row."""
        output = self._read(output)
        if self.loss is not None:
            found = self.loss(output, target)
        elif self.kind == "binary":
            found = _binary(output, target)
        elif self.kind == "classes":
            found = functional.cross_entropy(output, target, reduction="none")
        else:
            found = _squared(output, target)
        if found.ndim == 0 or found.shape[0] != target.shape[0]:
            raise InvalidInput(
                "A loss must return a number for each row: reduction='none' in torch's own. Got shape "
                f"{tuple(found.shape)} for {target.shape[0]} rows."
            )
        return found if found.ndim == 1 else found.reshape(found.shape[0], -1).mean(dim=1)

    def answer(self, output: torch.Tensor) -> torch.Tensor:
        """Return numbers, or a probability for each class."""
        output = self._read(output)
        if self.kind == "binary":
            share = torch.sigmoid(output)
            return torch.stack([1 - share, share], dim=-1)
        return torch.softmax(output, dim=-1) if self.kind == "classes" else output

    def _read(self, output: torch.Tensor) -> torch.Tensor:
        if self.kind == "classes":
            return output[:, : self.width]
        return output.reshape(output.shape[0]) if self.width == 0 else output


def head_of(module: Any, x: torch.Tensor, *, classes: int, columns: int, loss: Any) -> Head:
    """Return the head that suits a network's outputs for a few rows ``x``.

    ``classes`` is 0 in regression, ``columns`` is 0 for a target of one dimension.
    """
    module.eval()
    with torch.no_grad():
        output = module(x)
    module.train()
    shape = tuple(output.shape) if isinstance(output, torch.Tensor) else None
    chosen = _chosen(loss, classes)
    flat = shape in ((len(x),), (len(x), 1))
    if classes == 2 and flat:
        return Head("binary", 0, chosen)
    if classes and shape is not None and len(shape) == 2 and shape[0] == len(x) and shape[1] >= classes:
        return Head("classes", classes, chosen)
    if classes == 0 and ((columns == 0 and flat) or (columns and shape == (len(x), columns))):
        return Head("numbers", columns, chosen)
    if classes:
        must = f"(rows, {classes})" + (", (rows, 1) or (rows,)" if classes == 2 else "")
    else:
        must = f"(rows, {columns})" if columns else "(rows,) or (rows, 1)"
    got = type(output).__name__ if shape is None else f"shape {shape} for {len(x)} rows"
    raise InvalidInput(
        f"The module must return a tensor of shape {must}. Got {got}. The module's parameter "
        "out_features is given the required number."
    )


def _chosen(loss: Any, classes: int) -> Loss | None:
    if callable(loss):
        return loss  # type: ignore[no-any-return]
    offered = ("auto", "cross_entropy") if classes else ("auto", *_NUMBERS)
    if loss not in offered:
        raise InvalidInput(f"The 'loss' parameter must be one of {', '.join(offered)}, or a function. Got {loss!r}.")
    return _NUMBERS.get(loss)
