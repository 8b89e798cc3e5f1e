"""Noise: how a table is perturbed before a learner is trained on it again.

Which rows are perturbed, and how, depends only on the content of the rows, the seed, the repeat and the level: not on
the order of rows. All candidates get the same noise, and two calls share their fits. Draws at different levels are
independent, as in the paper (nested draws have the same mean rate, but up to 1.8 times the variance between repeats).
"""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy import sparse

from truefit._core.concatenation import stacked
from truefit._core.data import Data
from truefit._core.rows import Rows, Tokens, salted
from truefit._core.typing import Array, Floats, Positions
from truefit._stats.bounds import correlation, unmemorised_rate

#: A row's probability to be flipped halves with each tenth of its class that is nearer to the boundary.
_HALVINGS = 10


@dataclass(frozen=True, slots=True)
class NoisyData:
    """A perturbed table: its rows, its target (None: unchanged), the truth on its rows, and the share perturbed.

    ``codes`` are the positions of the truth in the classes; None for a regression.
    """

    rows: Rows
    y: Array | None
    truth: Array
    weight: Floats | None
    share: float
    codes: Positions | None

    def agreement(self, predictions: Array) -> float:
        """Accuracy of predictions; for a regression their correlation with the target."""
        if self.codes is None:
            return correlation(predictions, self.truth, self.weight)
        return float(np.average(predictions == self.truth, weights=self.weight))

    @property
    def baseline(self) -> float:
        """Accuracy of always predicting the majority class; 0 for a regression."""
        if self.codes is None:
            return 0.0
        counts = np.bincount(self.codes, weights=self.weight)
        return float(counts.max() / counts.sum())


def _hashed(tokens: Tokens, kind: str, random_state: int | None, repeat: int, level: float) -> Tokens:
    return salted(tokens, f"{kind} {random_state} {repeat} {level:.12g}")


def uniform(lane: npt.NDArray[np.uint64]) -> Floats:
    """Hashes as numbers strictly between 0 and 1."""
    return ((lane >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def count(level: float, n: int) -> int:
    """Return how many of n rows a level is, half a row counting as one."""
    return int(np.floor(level * n + 0.5 + 1e-9))


def _least(keys: Floats, number: int) -> npt.NDArray[np.intp]:
    """Return the positions of the smallest keys, in any order."""
    return np.argpartition(keys, number)[:number] if number < len(keys) else np.arange(len(keys))


@dataclass(frozen=True)
class FlippedLabels:
    """A share of the labels flipped, each to one of the other classes, all equally likely.

    The share is that of each class as in the paper, or without ``within_classes`` that of the table. With ``gaps``, the
    distances of rows from the decision boundary, rows near it are flipped more often.

    >>> data = Data(np.arange(8.0).reshape(-1, 1), list("aaaabbbb"), task="classification")
    >>> noisy = FlippedLabels(data).at(repeat=0, level=0.25)
    >>> noisy.share, sorted(noisy.truth.tolist()), int((noisy.truth != data.y).sum())
    (0.25, ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'], 2)
    """

    data: Data
    within_classes: bool = True
    gaps: Floats | None = None
    random_state: int | None = None

    def at(self, repeat: int, level: float) -> NoisyData:
        """Return the table with this share of its labels flipped."""
        data = self.data
        assert data.codes is not None
        assert data.classes is not None
        attempts = (self._codes(repeat, level, attempt) for attempt in itertools.count())
        codes = next(codes for codes in attempts if (codes != codes[0]).any())  # a classifier needs two classes
        share = float(np.mean(codes != data.codes))
        labels = data.classes[codes] if share else None
        truth = data.y if labels is None else labels
        return NoisyData(Rows.all(data.n), labels, truth, data.weight, share, codes)

    def _codes(self, repeat: int, level: float, attempt: int) -> npt.NDArray[np.intp]:
        data = self.data
        assert data.codes is not None
        assert data.classes is not None
        hashed = _hashed(data.tokens, f"flips {attempt}" if attempt else "flips", self.random_state, repeat, level)
        keys = self._keys(uniform(hashed[:, 0]))
        flipped: npt.NDArray[np.intp] = data.codes.astype(np.intp)
        others = len(data.classes) - 1
        for rows in self._parts if self.within_classes else [np.arange(data.n)]:
            first = rows[_least(keys[rows], count(level, len(rows)))]
            further = (hashed[first, 1] % np.uint64(others)).astype(np.intp)
            flipped[first] = (flipped[first] + 1 + further) % (others + 1)
        return flipped

    @cached_property
    def _parts(self) -> list[npt.NDArray[np.intp]]:
        """The rows of each class."""
        assert self.data.classes is not None
        return [np.flatnonzero(self.data.codes == code) for code in range(len(self.data.classes))]

    def _keys(self, drawn: Floats) -> Floats:
        """Sort keys of the rows: those with the smallest keys are flipped."""
        if self.gaps is None:
            return drawn
        nearer = np.empty(self.data.n)
        for rows in self._parts:
            # Rows equally near, such as all with probability 1 in a tree, have the same probability.
            _, place, counts = np.unique(self.gaps[rows], return_inverse=True, return_counts=True)
            nearer[rows] = (np.cumsum(counts) - (counts + 1) / 2)[place] / len(rows)
        # Exponential times with the weights as rates: their order is that of drawing by weight without replacement.
        return -np.log(drawn) * 2.0 ** (_HALVINGS * nearer)

    def ideal(self, agreement: float) -> float | None:
        """Return the rate of predictions that memorise no noise; None near the boundary, where it is unknown."""
        assert self.data.classes is not None
        return unmemorised_rate(agreement, len(self.data.classes)) if self.gaps is None else None


@dataclass(frozen=True)
class PermutedTargets:
    """A share of the targets of a regression permuted among themselves.

    >>> data = Data(np.arange(8.0).reshape(-1, 1), np.arange(8.0), task="regression")
    >>> noisy = PermutedTargets(data).at(repeat=0, level=0.5)
    >>> noisy.share, sorted(noisy.truth.tolist()) == data.y.tolist(), int((noisy.truth != data.y).sum())
    (0.5, True, 4)
    """

    data: Data
    random_state: int | None = None

    def at(self, repeat: int, level: float) -> NoisyData:
        """Return the table with this share of its targets permuted."""
        data = self.data
        drawn = _hashed(data.tokens, "targets", self.random_state, repeat, level)[:, 0]
        chosen = np.argsort(drawn, kind="stable")[: count(level, data.n)]
        if len(chosen) < 2:
            return NoisyData(Rows.all(data.n), None, data.y, data.weight, 0.0, None)
        target = data.y.copy()
        # Each to the next in a random order: no row keeps its own.
        target[chosen] = data.y[np.roll(chosen, 1)]
        return NoisyData(Rows.all(data.n), target, target, data.weight, len(chosen) / data.n, None)

    def ideal(self, agreement: float) -> float | None:
        """Return the rate of predictions that memorise no noise: proportional to the share left in place."""
        return agreement


# Fits are identified by the content of their rows, so perturbed rows are rows of their own: they are appended to the
# table, as many for each repeat, and a level says how many rows are replaced by their copies.


def with_noisy_rows(data: Data, repeats: int, random_state: int | None) -> Data:
    """Return the table with a perturbed copy appended for each repeat.

    In a copy every value comes from another row, drawn separately for each column: columns keep their values and lose
    their relation to each other and to the target.

    >>> data = Data(np.arange(6.0).reshape(3, 2), [1.0, 2.0, 3.0], task="regression")
    >>> below = with_noisy_rows(data, 2, None).X[3:6]
    >>> sorted(below[:, 0].tolist()) == [0.0, 2.0, 4.0], bool((below != data.X).all())
    (True, True)
    """
    donors = np.concatenate([_donors(data, repeat, random_state) for repeat in range(repeats)])
    tiled = np.tile(np.arange(data.n), repeats + 1)
    return Data(
        stacked(data.X, _gathered(data.X, donors)),
        data.y[tiled],
        task=data.task,
        groups=None if data.groups is None else data.groups[tiled],
        weight=None if data.weight is None else data.weight[tiled],
        time=None if data.time is None else data.time[tiled],
    )


def _donors(data: Data, repeat: int, random_state: int | None) -> Positions:
    """For each row and column the row that the value is taken from: never the row itself."""
    width = int(np.prod(data.X.shape[1:], dtype=np.int64))
    seed = f"features {data.total[0]:016x}{data.total[1]:016x} {data.n} {random_state} {repeat}"
    random = np.random.default_rng(int.from_bytes(blake2b(seed.encode(), digest_size=16).digest(), "little"))
    by_content = np.lexsort((data.tokens[:, 1], data.tokens[:, 0]))
    donors = np.empty((data.n, width), dtype=np.intp)
    for column in range(width):
        order = by_content[random.permutation(data.n)]
        donors[order, column] = np.roll(order, 1)
    return donors


def _gathered(X: Any, donors: Positions) -> Any:
    """Values of X at the donors, as a table of X's own kind."""
    if sparse.issparse(X):
        columns = X.tocsc()
        parts = [columns[:, [j]][donors[:, j]] for j in range(X.shape[1])]
        return sparse.hstack(parts, format="csr", dtype=X.dtype)
    if hasattr(X, "iloc"):
        import pandas as pd

        series = [X.iloc[donors[:, j], j].reset_index(drop=True) for j in range(X.shape[1])]
        frame = pd.concat(series, axis=1)
        # Copies keep the index labels of their rows.
        return frame if X.index.dtype.kind in "iu" else frame.set_axis(np.tile(X.index, len(donors) // len(X)))
    if type(X).__module__.startswith("polars"):
        import polars as pl

        return pl.DataFrame([column.gather(donors[:, j]) for j, column in enumerate(X.get_columns())])
    return np.take_along_axis(X.reshape(len(X), -1), donors, axis=0).reshape(len(donors), *X.shape[1:])


@dataclass(frozen=True)
class FeatureNoise:
    """A share of the ``rows`` of the table replaced by their perturbed copies (see :func:`with_noisy_rows`)."""

    data: Data
    rows: int
    random_state: int | None = None

    def at(self, repeat: int, level: float) -> NoisyData:
        """Return the table with this share of its rows replaced."""
        replaced = count(level, self.rows)
        by_content = np.lexsort((self.data.tokens[: self.rows, 1], self.data.tokens[: self.rows, 0]))
        seed = blake2b(f"rows {self.random_state} {repeat} {level:.12g}".encode(), digest_size=16).digest()
        chosen = np.random.default_rng(int.from_bytes(seed, "little")).permutation(by_content)[:replaced]
        index = np.arange(self.rows)
        index[chosen] += self.rows * (repeat + 1)
        index = np.sort(index)
        data = self.data
        weight = None if data.weight is None else data.weight[index]
        codes = None if data.codes is None else data.codes[index]
        return NoisyData(Rows.of(index), None, data.y[index], weight, replaced / self.rows, codes)

    def ideal(self, agreement: float) -> float | None:
        """Return None: the rate has to be computed from predictions on the perturbed rows."""
        return None


#: A kind of noise on one table.
Noise = FlippedLabels | PermutedTargets | FeatureNoise
