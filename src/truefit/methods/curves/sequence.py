"""The sequence of rows that the samples of a learning curve are the first rows of."""

from __future__ import annotations

from hashlib import blake2b
from itertools import pairwise
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.tokens import Tokens, mix, value_tokens
from truefit.methods.splitting.splits import is_whole

Positions = npt.NDArray[np.intp]


def row_sequence(data: Data, *, batches: Any = None, random_state: int | None = None) -> Positions:
    """Return the positions of all rows in random order, which follows from their content and the seed.

    Parameters
    ----------
    data : Data
        Rows of one group stay together.
    batches : list of int, optional
        Ends of the batches that the rows came in. Each is shuffled in itself, so that rows that were there before keep
        their places when new ones come.
    random_state : int or None

    Examples
    --------
    >>> labelled = Data([[0.0], [1.0], [2.0], [3.0]], [1.0, 2.0, 3.0, 4.0], task="regression")
    >>> grown = Data([[0.0], [1.0], [2.0], [3.0], [4.0], [5.0]], [1.0, 2.0, 3.0, 4.0, 5.0, 6.0], task="regression")
    >>> bool((row_sequence(grown, batches=[4, 6])[:4] == row_sequence(labelled)).all())
    True
    """
    keys = [*_salted(data.tokens, random_state)]
    if data.groups is not None:
        keys += _salted(value_tokens(data.groups), random_state)
    ends = _checked(batches, data.n)
    parts = [start + np.lexsort([key[start:end] for key in keys]) for start, end in pairwise([0, *ends])]
    return np.concatenate(parts).astype(np.intp)


def _salted(tokens: Tokens, random_state: int | None) -> list[npt.NDArray[np.uint64]]:
    """Return the two lanes of tokens, the second last, which a sort looks at first."""
    salt = blake2b(f"sequence {random_state}".encode(), digest_size=16).digest()
    mixed = mix(tokens, np.broadcast_to(np.frombuffer(salt, dtype="<u8"), tokens.shape))
    return [mixed[:, 1], mixed[:, 0]]


def _checked(batches: Any, n: int) -> list[int]:
    if batches is None:
        return [n]
    ends: list[Any] = list(batches) if isinstance(batches, list | tuple | np.ndarray) else [None]
    rising = all(is_whole(end) for end in ends) and all(a < b for a, b in pairwise([0, *ends]))
    if not ends or not rising or ends[-1] > n:
        raise InvalidInput(
            "The 'batches' parameter must be the number of rows after each batch, increasing and no more than the "
            f"{n:,} rows there are. Got {batches!r} instead."
        )
    return [int(end) for end in ends] + ([n] if ends[-1] < n else [])
