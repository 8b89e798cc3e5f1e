"""Modules: two small networks to start from, one for tables and one for images."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import nn


class MLP(nn.Module):  # type: ignore[misc]
    """A network of fully connected layers with rectified units.

    Parameters
    ----------
    in_features : int
        Number of inputs; given by the estimator.
    out_features : int
        Number of outputs; given by the estimator.
    hidden : sequence of int, default=(100,)
        Widths of the hidden layers.
    dropout : float, default=0
        Share of hidden units that is dropped at random in each training step.

    Examples
    --------
    >>> MLP(784, 1, hidden=(256,))(torch.zeros(5, 28, 28)).shape
    torch.Size([5, 1])
    """

    def __init__(
        self, in_features: int, out_features: int, hidden: Sequence[int] = (100,), dropout: float = 0.0
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        width = in_features
        for units in hidden:
            layers += [nn.Linear(width, units), nn.ReLU()]
            layers += [nn.Dropout(dropout)] if dropout else []
            width = units
        self.layers = nn.Sequential(nn.Flatten(), *layers, nn.Linear(width, out_features))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the outputs of each row."""
        return self.layers(x)


class ConvNet(nn.Module):  # type: ignore[misc]
    """A small convolutional network: blocks of a 3×3 convolution, rectified units and pooling, then a mean.

    Parameters
    ----------
    in_shape : tuple of int
        Channels, height and width of an image; given by the estimator.
    out_features : int
        Number of outputs; given by the estimator.
    channels : sequence of int, default=(16, 32, 64)
        One block for each; all but the last halve height and width.
    norm : {None, "group", "batch"}, default=None
        Normalisation after each convolution.

    Examples
    --------
    >>> ConvNet((3, 28, 28), 5)(torch.zeros(2, 3, 28, 28)).shape
    torch.Size([2, 5])
    """

    def __init__(
        self,
        in_shape: Sequence[int],
        out_features: int,
        channels: Sequence[int] = (16, 32, 64),
        norm: str | None = None,
    ) -> None:
        super().__init__()
        layers: list[nn.Module] = []
        depth = in_shape[0]
        for place, wide in enumerate(channels):
            layers.append(nn.Conv2d(depth, wide, 3, padding=1))
            if norm is not None:
                layers.append(nn.GroupNorm(4, wide) if norm == "group" else nn.BatchNorm2d(wide))
            layers.append(nn.ReLU())
            layers += [nn.MaxPool2d(2)] if place < len(channels) - 1 else []
            depth = wide
        self.layers = nn.Sequential(*layers)
        self.output = nn.Linear(depth, out_features)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        """Return the outputs of each image."""
        return self.output(self.layers(x).mean(dim=(2, 3)))
