"""Bootstrap samples: rows drawn with replacement, and the rows that were left out."""

from __future__ import annotations

from collections.abc import Iterator
from hashlib import blake2b

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput
from truefit.core.rows import Rows, add_tokens
from truefit.methods.splitting.splits import Split, Splits, Table, is_whole

#: A sample that cannot be used is drawn again; after so many in a row there is none to be had.
_ATTEMPTS = 1000


def bootstrap_samples(data: Table, rounds: int, random_state: int | None = None) -> Splits:
    """Return bootstrap samples as splits: each trains on n rows drawn with replacement and tests on those not drawn.

    See :func:`draw_samples`, which does not hold them all at once.
    """
    drawn = tuple(draw_samples(data, rounds, random_state))
    return Splits(splits=drawn, partition=False, repeats=1, description=f"{rounds} bootstrap samples")


def draw_samples(data: Table, rounds: int, random_state: int | None = None) -> Iterator[Split]:
    """Draw bootstrap samples one after the other.

    A sample depends on the rows' content, the seed and its own number alone: not on the order of the rows, and not on
    how many samples are drawn. So whoever asks for samples of these rows gets the same ones and shares the fits. With
    groups whole groups are drawn. A sample that holds one class only, or leaves no row out, is drawn again.

    Parameters
    ----------
    data : Table
    rounds : int
        How many samples.
    random_state : int, optional

    Returns
    -------
    iterator of Split
        The training rows are a multiset of positions; the rows to test on are those that it lacks.

    Examples
    --------
    >>> from truefit.core.data import Data
    >>> data = Data([[0.0], [1.0], [2.0], [3.0]], [0.5, 1.5, 2.5, 4.0], task="regression")
    >>> for sample in draw_samples(data, 2):
    ...     print(len(sample.train), set(sample.train.index) | set(sample.test.index) == {0, 1, 2, 3})
    4 True
    4 True
    """
    if not is_whole(rounds) or rounds < 1:
        raise InvalidInput(f"The 'rounds' parameter must be a whole number of at least 1. Got {rounds!r} instead.")
    if data.n < 2:
        raise InvalidInput(f"A bootstrap needs at least 2 rows. Got {data.n}.")
    first, second = add_tokens(data.tokens)
    seed = f"bootstrap {first:016x}{second:016x} {data.n} {random_state}"
    return _samples(data, int(rounds), seed)


def _samples(data: Table, rounds: int, seed: str) -> Iterator[Split]:
    blocks = _blocks(data)
    for number in range(rounds):
        digest = blake2b(f"{seed} {number}".encode(), digest_size=16).digest()
        yield _sample(data, blocks, np.random.default_rng(int.from_bytes(digest, "little")))


def _blocks(data: Table) -> list[npt.NDArray[np.intp]] | npt.NDArray[np.intp]:
    """Return what is drawn, in an order that does not depend on where the rows stand: rows, or groups of rows."""
    if data.groups is None:
        return np.lexsort((data.tokens[:, 1], data.tokens[:, 0]))
    _, codes = np.unique(data.groups, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


def _sample(
    data: Table, blocks: list[npt.NDArray[np.intp]] | npt.NDArray[np.intp], random: np.random.Generator
) -> Split:
    for _ in range(_ATTEMPTS):
        drawn = random.integers(len(blocks), size=len(blocks))
        train = np.concatenate([blocks[i] for i in drawn]) if isinstance(blocks, list) else blocks[drawn]
        left_out = np.ones(data.n, dtype=bool)
        left_out[train] = False
        one_class = data.codes is not None and np.ptp(data.codes[train]) == 0
        if left_out.any() and not one_class:
            return Split(Rows.of(train), Rows.of(np.flatnonzero(left_out)))
    raise InvalidInput(
        f"A bootstrap sample must leave rows out and, for a classification, hold two classes. Of {len(blocks)} "
        f"{'groups' if data.groups is not None else 'rows'} no such sample could be drawn. Pass more."
    )
