"""Networks that the tests train, here and in worker processes."""

from __future__ import annotations

import torch
from torch import nn


class Looking(nn.Module):
    """Does one thing or another, by what it sees: nothing that could be stacked."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, out_features)

    def forward(self, x):
        out = self.layer(x)
        return out if out.sum() > 0 else 2 * out


class TwoHeads(nn.Module):
    """Always two outputs, whatever is asked for."""

    def __init__(self, in_features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, 2)

    def forward(self, x):
        return self.layer(x)


class Exploding(nn.Module):
    """Its output is no number where the first feature is very large."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.layer = nn.Linear(in_features, out_features)

    def forward(self, x):
        lost = torch.where(x[:, :1] > 100, torch.full_like(x[:, :1], float("nan")), torch.zeros_like(x[:, :1]))
        return self.layer(x) + lost


class Scaled(nn.Module):
    """A frozen scale before a trained layer."""

    def __init__(self, in_features: int, out_features: int) -> None:
        super().__init__()
        self.scale = nn.Parameter(torch.full((in_features,), 0.5), requires_grad=False)
        self.layer = nn.Linear(in_features, out_features)

    def forward(self, x):
        return self.layer(x * self.scale)
