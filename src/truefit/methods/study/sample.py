"""Some rows of a large table, for the questions that these answer as well as all of them."""

from __future__ import annotations

from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.rows import add_tokens
from truefit.core.tokens import mix

Positions = npt.NDArray[np.intp]

#: Rounded to so many digits, a number of rows is still read easily.
_DIGITS = 2


def round_rows(rows: float) -> int:
    """Return a number of rows that is read easily, no larger than the one given.

    Examples
    --------
    >>> round_rows(4_871.3), round_rows(87)
    (4800, 87)
    """
    unit: int = 10 ** max(len(str(int(rows))) - _DIGITS, 0)
    return int(rows // unit) * unit


def sample_rows(data: Data, size: int, *, least: int, random_state: int | None) -> Positions:
    """Return the positions of about so many rows, drawn class by class from their content and the seed.

    A class of which there would be fewer than ``least`` is left out, if two others are left: it can be neither split
    nor disturbed.

    Examples
    --------
    >>> data = Data(np.arange(12.0).reshape(-1, 1), list("aaaaaaaabbbc"), task="classification")
    >>> data.y[sample_rows(data, 6, least=1, random_state=None)].tolist()
    ['a', 'a', 'a', 'a', 'b', 'b']
    """
    salt = blake2b(f"study {random_state}".encode(), digest_size=16).digest()
    tokens = mix(data.tokens, np.broadcast_to(np.frombuffer(salt, dtype="<u8"), data.tokens.shape))
    keys = (tokens[:, 1], tokens[:, 0])
    order = np.lexsort(keys if data.codes is None else (*keys, data.codes))
    rows = order[np.floor(np.arange(size) * (data.n / size)).astype(np.intp)]
    if data.codes is not None:
        enough = np.bincount(data.codes[rows])[data.codes[rows]] >= least
        rows = rows[enough] if len(np.unique(data.codes[rows[enough]])) > 1 else rows
    return np.sort(rows)


def part_of(data: Data, rows: Positions) -> Data:
    """Return some rows as a table of their own, each known by the token that it has in the whole.

    It has no X: plans that are made for it are driven on the whole table.
    """
    part = data.without_table()
    part.__dict__.pop("_by_token", None)
    part.__dict__.pop("rowset", None)
    part.n, part.y = len(rows), data.y[rows]
    part.tokens = data.tokens[rows]
    part.total = add_tokens(part.tokens)
    part.groups = None if data.groups is None else data.groups[rows]
    part.weight = None if data.weight is None else data.weight[rows]
    if data.task == "classification":
        part.classes, part.codes = np.unique(part.y, return_inverse=True)
    return part
