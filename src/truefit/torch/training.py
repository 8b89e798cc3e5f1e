"""Training of one network, epoch by epoch, in an order of rows that is the same on every device."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from typing import Any

import numpy.typing as npt
import torch

from truefit.torch.config import TrainingConfig, on_device
from truefit.torch.head import Head

#: Of splitmix64 (Steele, Lea and Flood 2014), as signed numbers: torch has no others of 64 bits that it multiplies.
_STEP = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_LAST = 2**63 - 1


def orders(seeds: torch.Tensor, epochs: torch.Tensor, sizes: torch.Tensor, width: int) -> torch.Tensor:
    """Return an order of the rows for each epoch and member, of shape (epochs, members, width).

    Places past the rows of a member come last. Each row gets a random number from its seed, the epoch and its place
    alone, and the rows are sorted by it: a member is shuffled alike in a stack and on its own, on every device.

    Examples
    --------
    >>> alone = orders(torch.tensor([7]), torch.tensor([1]), torch.tensor([4]), 4)
    >>> beside = orders(torch.tensor([3, 7]), torch.tensor([0, 1]), torch.tensor([6, 4]), 6)
    >>> bool((beside[1, 1, :4] == alone[0, 0]).all()), beside[1, 1, 4:].tolist()
    (True, [4, 5])
    """
    places = torch.arange(width, device=seeds.device)
    start = _mixed(_mixed(seeds) + epochs[:, None])
    keys = _mixed(start[..., None] + places * _STEP) & _LAST  # not negative, so that the end is the largest
    keys = torch.where(places < sizes[:, None], keys, _LAST)
    return torch.argsort(keys, dim=-1, stable=True)


def _mixed(values: torch.Tensor) -> torch.Tensor:
    values = values + _STEP
    values = (values ^ _shifted(values, 30)) * _FIRST
    values = (values ^ _shifted(values, 27)) * _SECOND
    return values ^ _shifted(values, 31)


def _shifted(values: torch.Tensor, by: int) -> torch.Tensor:
    # A shift of a signed number brings in copies of its sign; they are masked off.
    return (values >> by) & ((1 << (64 - by)) - 1)


def batch_bounds(rows: int, size: int | None) -> list[tuple[int, int]]:
    """Return where each batch of an epoch starts and ends.

    A last batch of one row is merged with the one before: batch normalisation fails on a single row.

    Examples
    --------
    >>> batch_bounds(7, 3), batch_bounds(8, 3), batch_bounds(8, None)
    ([(0, 3), (3, 7)], [(0, 3), (3, 6), (6, 8)], [(0, 8)])
    """
    if size is None or size >= rows:
        return [(0, rows)]
    starts = list(range(0, rows, size))
    if size > 1 and rows - starts[-1] == 1:
        starts.pop()
    return list(zip(starts, [*starts[1:], rows], strict=True))


def epoch_seed(seed: int, epoch: int) -> int:
    """Return a seed for the network's own random numbers in an epoch, such as dropout."""
    return int.from_bytes(blake2b(f"{seed} {epoch}".encode(), digest_size=4).digest(), "little") >> 1


class LossNotFinite(ArithmeticError):
    """The training loss became NaN or infinite."""


def not_finite(epoch: int) -> LossNotFinite:
    """Return the error for the epoch in which it happened."""
    return LossNotFinite(
        f"The training loss must stay finite. It became NaN or infinite in epoch {epoch}. Lower lr, or scale X and y."
    )


def train_epochs(
    config: TrainingConfig,
    module: Any,
    head: Head,
    X: npt.NDArray[Any],
    target: npt.NDArray[Any],
    weight: npt.NDArray[Any] | None,
    seed: int,
) -> Iterator[float]:
    """Train a network, and yield the mean loss after each epoch."""
    device = config.device
    rows, targets = on_device(X, device), on_device(target, device)
    weights = None if weight is None else on_device(weight, device)
    optimizer = config.make_optimizer([p for p in module.parameters() if p.requires_grad])
    bounds = batch_bounds(len(rows), config.batch_size)
    seeds, sizes = torch.tensor([seed], device=device), torch.tensor([len(rows)], device=device)
    for epoch in range(1, config.max_epochs + 1):
        for group in optimizer.param_groups:
            group["lr"] = config.lr_at(epoch)
        order = orders(seeds, torch.tensor([epoch], device=device), sizes, len(rows))[0, 0]
        total = torch.zeros((), dtype=config.dtype, device=device)
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
    """Return the weighted mean; 0 where all weights are 0."""
    return (losses * weights).sum() / weights.sum().clamp_min(torch.finfo(losses.dtype).tiny)


def seed_all(device: torch.device, seed: int) -> None:
    """Start the random numbers of the CPU and of a device from a seed."""
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        torch.cuda.default_generators[device.index].manual_seed(seed)


@contextmanager
def own_random_numbers(device: torch.device, seed: int) -> Iterator[None]:
    """Draw random numbers from a seed inside, and leave the generators outside as they were."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        seed_all(device, seed)
        yield
