"""Noise: what is done to a table before a learner is trained on it again.

Which rows are disturbed, and how, depends on the rows' content, the seed, the repeat and the level alone: not on the
order of the rows, nor on who asks. So all candidates are given the same noise, and two calls share their fits. The
draws at different levels are independent, as in the paper. (Nested ones, each level adding to the one before, have the
same rate on average, but it varied up to 1.8 times as much from repeat to repeat.)
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.rows import Rows
from truefit.core.tokens import Tokens, mix
from truefit.stats.decrease_rate import correlation, unmemorised_rate

Array = npt.NDArray[Any]
Floats = npt.NDArray[np.float64]

#: With each tenth of its class that is nearer to the boundary a row's chance to be flipped falls by half.
_HALVINGS = 10


@dataclass(frozen=True, slots=True)
class Disturbed:
    """A table with some noise in it.

    ``rows`` are trained on and asked about, ``y`` stands in the place of the table's own target (None: that itself),
    ``truth`` is what the fit is held against on ``rows``, and ``share`` is how much was really disturbed.
    """

    rows: Rows
    y: Array | None
    truth: Array
    weight: Floats | None
    share: float
    classes: Array | None

    def agreement(self, predictions: Array) -> float:
        """Accuracy of predictions, or for a regression their correlation with the target."""
        if self.classes is None:
            return correlation(predictions, self.truth, self.weight)
        return float(np.average(predictions == self.truth, weights=self.weight))

    @property
    def dummy(self) -> float:
        """What a learner that looks at the target alone reaches: the share of the largest class."""
        if self.classes is None:
            return 0.0
        codes = np.searchsorted(self.classes, self.truth)
        counts = np.bincount(codes, weights=self.weight, minlength=len(self.classes))
        return float(counts.max() / counts.sum())


class Noise(Protocol):
    """A kind of noise on one table."""

    def at(self, repeat: int, level: float) -> Disturbed:
        """Return the table with noise at a level; level 0 is the table itself."""
        ...

    def ideal(self, agreement: float) -> float | None:
        """Rate of a learner that does not follow the noise; None where only its own predictions can tell it."""
        ...


def _hashed(tokens: Tokens, kind: str, random_state: int | None, repeat: int, level: float) -> Tokens:
    salt = blake2b(f"{kind} {random_state} {repeat} {level:.12g}".encode(), digest_size=16).digest()
    return mix(tokens, np.frombuffer(salt, dtype="<u8").reshape(1, 2))


def uniform(lane: npt.NDArray[np.uint64]) -> Floats:
    """Hashes as numbers strictly between 0 and 1."""
    return ((lane >> np.uint64(12)).astype(np.float64) + 0.5) * 2.0**-52


def count(level: float, n: int) -> int:
    """Return how many of n rows a level is, half a row counting as one."""
    return int(np.floor(level * n + 0.5 + 1e-9))


def _least(keys: Floats, number: int) -> npt.NDArray[np.intp]:
    """Return where the least keys are, in any order."""
    return np.argpartition(keys, number)[:number] if number < len(keys) else np.arange(len(keys))


@dataclass(frozen=True)
class FlippedLabels:
    """A share of the labels flipped, each to one of the other classes, all of them equally likely.

    Parameters
    ----------
    data : Data
    within_classes : bool, default=True
        Whether the share is that of each class, as in the paper, or that of the table.
    gaps : array of shape (n,), optional
        How far each row is from the decision boundary: near ones are flipped more often.
    random_state : int, optional

    Examples
    --------
    >>> data = Data(np.arange(8.0).reshape(-1, 1), list("aaaabbbb"), task="classification")
    >>> noisy = FlippedLabels(data).at(repeat=0, level=0.25)
    >>> noisy.share, sorted(noisy.truth.tolist()), int((noisy.truth != data.y).sum())
    (0.25, ['a', 'a', 'a', 'a', 'b', 'b', 'b', 'b'], 2)
    """

    data: Data
    within_classes: bool = True
    gaps: Floats | None = None
    random_state: int | None = None

    def at(self, repeat: int, level: float) -> Disturbed:
        """Return the table with this share of its labels flipped."""
        data = self.data
        assert data.codes is not None
        assert data.classes is not None
        codes, attempt = self._codes(repeat, level, 0), 0
        while np.ptp(codes) == 0:  # a classifier has to be shown two classes
            attempt += 1
            codes = self._codes(repeat, level, attempt)
        share = float(np.mean(codes != data.codes))
        labels = data.classes[codes] if share else None
        truth = data.y if labels is None else labels
        return Disturbed(Rows.all(data.n), labels, truth, data.weight, share, data.classes)

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
        """What rows are ordered by: those with the least keys are flipped."""
        if self.gaps is None:
            return drawn
        nearer = np.empty(self.data.n)
        assert self.data.codes is not None
        for code in range(int(self.data.codes.max()) + 1):
            rows = np.flatnonzero(self.data.codes == code)
            # Rows equally near, such as all that a tree is sure of, have the same chance.
            _, place, counts = np.unique(self.gaps[rows], return_inverse=True, return_counts=True)
            nearer[rows] = (np.cumsum(counts) - (counts + 1) / 2)[place] / len(rows)
        # Exponential times with the weights as rates: their order is that of drawing by weight without replacement.
        return -np.log(drawn) * 2.0 ** (_HALVINGS * nearer)

    def ideal(self, agreement: float) -> float | None:
        """Return the rate of predictions that stay as they are; near the boundary their errors are hit more often."""
        assert self.data.classes is not None
        return unmemorised_rate(agreement, len(self.data.classes)) if self.gaps is None else None


@dataclass(frozen=True)
class PermutedTargets:
    """A share of the targets of a regression handed on among themselves.

    Examples
    --------
    >>> data = Data(np.arange(8.0).reshape(-1, 1), np.arange(8.0), task="regression")
    >>> noisy = PermutedTargets(data).at(repeat=0, level=0.5)
    >>> noisy.share, sorted(noisy.truth.tolist()) == data.y.tolist(), int((noisy.truth != data.y).sum())
    (0.5, True, 4)
    """

    data: Data
    random_state: int | None = None

    def at(self, repeat: int, level: float) -> Disturbed:
        """Return the table with this share of its targets in other places."""
        data = self.data
        drawn = _hashed(data.tokens, "targets", self.random_state, repeat, level)[:, 0]
        chosen = np.argsort(drawn, kind="stable")[: count(level, data.n)]
        if len(chosen) < 2:
            return Disturbed(Rows.all(data.n), None, data.y, data.weight, 0.0, None)
        target = data.y.copy()
        # Along a random order, each to the next: none stays where it is.
        target[chosen] = data.y[np.roll(chosen, 1)]
        return Disturbed(Rows.all(data.n), target, target, data.weight, len(chosen) / data.n, None)

    def ideal(self, agreement: float) -> float | None:
        """Rate of predictions that stay as they are: their correlation falls in proportion to what is left in place."""
        return agreement
