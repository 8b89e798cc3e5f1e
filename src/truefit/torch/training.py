"""Training: one network by itself, epoch by epoch."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

import numpy.typing as npt
import torch

from truefit.torch.head import Head
from truefit.torch.recipe import Recipe, on_device
from truefit.torch.shuffle import batch_bounds, epoch_seed, orders


class LossNotFinite(ArithmeticError):
    """Training came to a loss that is no number any more."""


def not_finite(epoch: int) -> LossNotFinite:
    """Say in which epoch the loss was lost."""
    return LossNotFinite(
        f"The training loss must stay finite. It became NaN or infinite in epoch {epoch}. Lower lr, or scale X and y."
    )


def train_epochs(
    recipe: Recipe,
    module: Any,
    head: Head,
    X: npt.NDArray[Any],
    target: npt.NDArray[Any],
    weight: npt.NDArray[Any] | None,
    seed: int,
) -> Iterator[float]:
    """Train a network, and yield the mean loss after each epoch."""
    device = recipe.device
    rows, targets = on_device(X, device), on_device(target, device)
    weights = None if weight is None else on_device(weight, device)
    optimizer = recipe.make_optimizer([p for p in module.parameters() if p.requires_grad])
    bounds = batch_bounds(len(rows), recipe.batch_size)
    seeds, sizes = torch.tensor([seed], device=device), torch.tensor([len(rows)], device=device)
    for epoch in range(1, recipe.max_epochs + 1):
        for group in optimizer.param_groups:
            group["lr"] = recipe.lr_at(epoch)
        order = orders(seeds, torch.tensor([epoch], device=device), sizes, len(rows))[0, 0]
        total = torch.zeros((), dtype=recipe.dtype, device=device)
        module.train()
        with own_random_numbers(device, epoch_seed(seed, epoch)):
            for start, stop in bounds:
                batch = order[start:stop]
                losses = head.losses(module(rows[batch]), targets[batch])
                loss = losses.mean() if weights is None else weighted_mean(losses, weights[batch])
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
                total += loss.detach() * (stop - start)
        mean = float(total) / len(rows)
        if not math.isfinite(mean):
            raise not_finite(epoch)
        yield mean


def weighted_mean(losses: torch.Tensor, weights: torch.Tensor) -> torch.Tensor:
    """Return a mean in which a row counts by its weight; 0 where all weigh nothing."""
    return (losses * weights).sum() / weights.sum().clamp_min(torch.finfo(losses.dtype).tiny)


def seed_all(device: torch.device, seed: int) -> None:
    """Start the random numbers of the CPU and of a device from a seed."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index].manual_seed(seed)


class own_random_numbers:  # noqa: N801
    """What is drawn inside comes from a seed, and what is drawn outside does not notice."""

    def __init__(self, device: torch.device, seed: int) -> None:
        self._device, self._seed = device, seed
        self._fork = torch.random.fork_rng(devices=[device] if device.type == "cuda" else [])

    def __enter__(self) -> None:
        self._fork.__enter__()
        seed_all(self._device, self._seed)

    def __exit__(self, *exception: Any) -> None:
        self._fork.__exit__(*exception)
