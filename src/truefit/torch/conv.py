"""Convolutions as matrix products: what a stack of small networks is best at."""

from __future__ import annotations

from typing import Any

import torch
from torch.nn import functional
from torch.overrides import TorchFunctionMode


class ConvolutionsAsProducts(TorchFunctionMode):  # type: ignore[misc]
    """Inside it two-dimensional convolutions are worked out as one matrix product each.

    Stacked, a convolution becomes one with a group for each member, which libraries for one network are slow at; a
    matrix product becomes a batch of products, which they are fast at. The same sums, in another order.

    Examples
    --------
    >>> x, w = torch.arange(50.0).reshape(1, 2, 5, 5), torch.ones(3, 2, 3, 3)
    >>> with ConvolutionsAsProducts():
    ...     found = torch.conv2d(x, w, padding=1, stride=2)
    >>> bool((found == torch.conv2d(x, w, padding=1, stride=2)).all())
    True
    """

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        """Take over the convolutions that can be, and leave all else as it is."""
        kwargs = kwargs or {}
        if func is torch.conv2d:
            found = _product(*args, **kwargs)
            if found is not None:
                return found
        return func(*args, **kwargs)


def _product(
    input: torch.Tensor,
    weight: torch.Tensor,
    bias: torch.Tensor | None = None,
    stride: Any = 1,
    padding: Any = 0,
    dilation: Any = 1,
    groups: int = 1,
) -> torch.Tensor | None:
    if groups != 1 or isinstance(padding, str) or input.ndim != 4:
        return None
    rows, _, height, width = input.shape
    outputs, _, tall, wide = weight.shape
    (up, left), (down, right), (row_gap, column_gap) = _pair(padding), _pair(stride), _pair(dilation)
    high = (height + 2 * up - row_gap * (tall - 1) - 1) // down + 1
    broad = (width + 2 * left - column_gap * (wide - 1) - 1) // right + 1
    # Channels first, so that one product serves all rows of the batch.
    x = functional.pad(input.transpose(0, 1), (left, left, up, up)) if up or left else input.transpose(0, 1)
    shifted = [
        x[:, :, i : i + (high - 1) * down + 1 : down, j : j + (broad - 1) * right + 1 : right]
        for i in range(0, tall * row_gap, row_gap)
        for j in range(0, wide * column_gap, column_gap)
    ]
    patches = shifted[0] if len(shifted) == 1 else torch.stack(shifted, dim=1)
    patches = patches.reshape(-1, rows * high * broad)
    kernel = weight.reshape(outputs, -1)
    found = kernel @ patches if bias is None else torch.addmm(bias[:, None], kernel, patches)
    return found.reshape(outputs, rows, high, broad).transpose(0, 1)


def _pair(value: Any) -> tuple[int, int]:
    return (value, value) if isinstance(value, int) else (value[0], value[-1])
