"""The sequence of the rows: random, the same on every call, and found without holding every row's key."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.hashing import mix, value_tokens

#: What a row is told apart by: whole numbers (positions, content, a database's key) or text.
Keys = npt.NDArray[Any]


def first_keys(keys: Iterable[Keys], n: int, *, seed: int = 0) -> Keys:
    """Return the first n keys of the sequence: those whose hashes are the smallest, in the order of the hashes.

    What comes first for a smaller n comes first for a larger one too, and no more than about 3 n keys are held.

    Parameters
    ----------
    keys : iterable of arrays
        All keys, in stretches; each key once.
    n : int
    seed : int

    Examples
    --------
    >>> stretches = [np.arange(0, 60), np.arange(60, 100)]
    >>> first_keys(stretches, 4).tolist()
    [48, 7, 81, 87]
    >>> first_keys(stretches, 6).tolist()
    [48, 7, 81, 87, 2, 5]
    """
    held: list[Keys] = []
    hashes: list[npt.NDArray[np.uint64]] = []
    count = 0
    for stretch in keys:
        held.append(stretch)
        hashes.append(hash_of(stretch, seed))
        count += len(stretch)
        if count > 2 * max(n, 1):
            held, hashes = _smallest(held, hashes, n)
            count = len(held[0])
    if not held:
        return np.empty(0, dtype=np.int64)
    held, hashes = _smallest(held, hashes, n)
    return held[0][np.argsort(hashes[0], kind="stable")]


def hash_of(keys: Keys, seed: int = 0) -> npt.NDArray[np.uint64]:
    """Hash of each key; the same on every machine."""
    if keys.dtype.kind in "iu":
        lanes = np.repeat(keys.astype(np.uint64, copy=False)[:, None], 2, axis=1)
    else:
        lanes = value_tokens(keys)
    # A seed may be any whole number; two lanes take 128 bits of it.
    salt = np.array([seed & 0xFFFFFFFFFFFFFFFF, (seed >> 64) & 0xFFFFFFFFFFFFFFFF], dtype=np.uint64)
    hashes: npt.NDArray[np.uint64] = mix(lanes, np.broadcast_to(salt, lanes.shape))[:, 0]
    return hashes


def _smallest(
    held: list[Keys], hashes: list[npt.NDArray[np.uint64]], n: int
) -> tuple[list[Keys], list[npt.NDArray[np.uint64]]]:
    keys, order = np.concatenate(held), np.concatenate(hashes)
    if len(keys) > n:
        chosen = np.argpartition(order, n - 1)[:n] if n else np.empty(0, dtype=np.intp)
        keys, order = keys[chosen], order[chosen]
    return [keys], [order]
