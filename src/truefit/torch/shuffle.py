"""Shuffle: the order of the rows in an epoch, the same on every device and whoever trains beside."""

from __future__ import annotations

from hashlib import blake2b

import torch

#: Of splitmix64 (Steele, Lea and Flood 2014), as signed numbers: torch has no others of 64 bits that it multiplies.
_STEP = 0x9E3779B97F4A7C15 - 2**64
_FIRST = 0xBF58476D1CE4E5B9 - 2**64
_SECOND = 0x94D049BB133111EB - 2**64
_LAST = 2**63 - 1


def orders(seeds: torch.Tensor, epochs: torch.Tensor, sizes: torch.Tensor, width: int) -> torch.Tensor:
    """Return for each epoch and member an order of its rows; places past its own rows come last, in their order.

    Each row gets a random number by its seed, the epoch and its place alone, and the rows are sorted by it: no state
    that a device would keep, so that a member is shuffled alike in a stack and on its own.

    Parameters
    ----------
    seeds, sizes : integer tensors of shape (members,)
    epochs : integer tensor of shape (epochs,)
    width : int
        At least the largest size.

    Returns
    -------
    tensor of shape (epochs, members, width)

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
    """Return where each batch of an epoch starts and ends; a single row that is left over joins the batch before it.

    Batch normalisation knows nothing of a batch of one.

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
    """Return a seed for what is drawn inside the network in an epoch, such as dropout."""
    return int.from_bytes(blake2b(f"{seed} {epoch}".encode(), digest_size=4).digest(), "little") >> 1
