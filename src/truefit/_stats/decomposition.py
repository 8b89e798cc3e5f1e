"""Bias and variance of a learner's predictions, gathered round by round.

Each round is a training set of its own. A point is judged in some of the rounds, not in all of them: those whose
model did not see it. Expectations are taken for each point over its own rounds, then over the points, so that the
parts sum to the expected loss exactly. Only a few numbers per point are held, whatever the number of rounds.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats, Positions

#: With one round alone a point shows no variance.
LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class LossComponents:
    """The parts of an expected loss: ``bias + variance == expected_loss`` up to rounding.

    For 0-1 loss ``variance`` is the net variance, ``unbiased_variance - biased_variance``; for squared loss these two
    are None.

    ``points`` were judged in at least two rounds and count; ``left_out`` were not.
    """

    expected_loss: float
    bias: float
    variance: float
    points: int
    left_out: int
    unbiased_variance: float | None = None
    biased_variance: float | None = None


@dataclass(frozen=True, slots=True)
class Influence:
    """Influence of one round on the estimates, to first order; NaN where an estimate moves in jumps."""

    expected_loss: float
    bias: float
    variance: float


class Tally(ABC):
    """Gathers predictions round by round.

    Parameters
    ----------
    points : int
        How many points there are.
    weight : array of shape (points,), optional
        What each point counts; all alike by default.
    """

    def __init__(self, points: int, weight: Floats | None = None) -> None:
        self._weight = np.ones(points) if weight is None else np.asarray(weight, dtype=np.float64)
        self._rounds = np.zeros(points, dtype=np.int64)

    @abstractmethod
    def add(self, points: Positions, predictions: Array) -> None:
        """Take in what the model of one round says of some points, each named once."""

    @abstractmethod
    def parts(self) -> LossComponents:
        """Return the parts of the expected loss over all rounds."""

    @abstractmethod
    def influence(self, points: Positions, predictions: Array) -> Influence:
        """Return the influence of a round that was taken in on the estimates, once all rounds are in."""

    @property
    def _used(self) -> npt.NDArray[np.bool_]:
        return self._rounds >= LEAST_ROUNDS

    @property
    def _shares(self) -> Floats:
        """Share of each point in a mean over those that count."""
        used = self._used
        if not used.any():
            raise InvalidInput(
                f"A decomposition needs points that {LEAST_ROUNDS} rounds or more have judged. Got none; use more "
                "rounds."
            )
        weight = np.where(used, self._weight, 0.0)
        total = float(weight.sum())
        if total <= 0:
            raise InvalidInput("The weights of the judged points must not all be 0. Give some of them weight.")
        return weight / total


class SquaredTally(Tally):
    r"""Bias and variance under squared loss.

    With :math:`R_i` predictions of point i, their mean :math:`\bar f_i` and variance :math:`s_i^2` (divisor
    :math:`R_i - 1`),

    .. math::

        \underbrace{\frac1{R_i}\sum_r (f_{ir} - y_i)^2}_{\text{expected loss}} =
        \underbrace{(\bar f_i - y_i)^2 - s_i^2/R_i}_{\text{bias}^2} + \underbrace{s_i^2}_{\text{variance}}

    Both parts are unbiased for what infinitely many rounds would give: the mean of few predictions is off by
    :math:`s_i^2/R_i` on average, which belongs to the variance. The bias holds the noise of the target too. A squared
    bias that comes out below 0 by this is 0, and the variance is then all of the loss.

    Parameters
    ----------
    truth : array of shape (n,) or (n, outputs)
    scale : float, optional
        What the sum over the outputs is multiplied by; their mean is taken by default.
    weight : array of shape (n,), optional

    Examples
    --------
    >>> tally = SquaredTally(np.array([1.0, 2.0]))
    >>> tally.add(np.array([0, 1]), np.array([2.0, 2.0]))
    >>> tally.add(np.array([0, 1]), np.array([4.0, 4.0]))
    >>> parts = tally.parts()
    >>> parts.expected_loss, parts.bias, parts.variance
    (3.5, 1.5, 2.0)
    """

    def __init__(self, truth: Array, *, scale: float | None = None, weight: Floats | None = None) -> None:
        super().__init__(len(truth), weight)
        self._truth = np.asarray(truth, dtype=np.float64).reshape(len(truth), -1)
        self._scale = 1.0 / self._truth.shape[1] if scale is None else scale
        # Of the errors, not of the predictions, and updated as they come: a large mean does not eat a small variance.
        self._mean = np.zeros_like(self._truth)
        self._squares = np.zeros_like(self._truth)

    def add(self, points: Positions, predictions: Array) -> None:
        """Take in the predictions of one round."""
        errors = self._errors(points, predictions)
        self._rounds[points] += 1
        off = errors - self._mean[points]
        self._mean[points] += off / self._rounds[points, None]
        self._squares[points] += off * (errors - self._mean[points])

    def parts(self) -> LossComponents:
        """Return the parts of the expected loss."""
        used, shares = self._used, self._shares
        rounds = np.maximum(self._rounds, LEAST_ROUNDS)[:, None]  # points with fewer have no share
        of_mean = self._over_points(self._mean**2, shares)
        about_mean = self._over_points(self._squares / rounds, shares)
        misplaced = self._over_points(self._squares / (rounds * (rounds - 1)), shares)
        misplaced = min(misplaced, of_mean)
        return LossComponents(
            expected_loss=of_mean + about_mean,
            bias=of_mean - misplaced,
            variance=about_mean + misplaced,
            points=int(used.sum()),
            left_out=int((~used).sum()),
        )

    def influence(self, points: Positions, predictions: Array) -> Influence:
        """Return the influence of a round on the estimates."""
        rounds, mean = self._rounds[points], self._mean[points]
        off = self._errors(points, predictions) - mean
        spread = self._squares[points] / rounds[:, None]
        per_round = self._shares[points] / rounds
        bias = self._over_points(2 * mean * off, per_round)
        variance = self._over_points(off**2 - spread, per_round)
        return Influence(bias + variance, bias, variance)

    def _errors(self, points: Positions, predictions: Array) -> Floats:
        errors: Floats = np.asarray(predictions, dtype=np.float64).reshape(len(points), -1) - self._truth[points]
        return errors

    def _over_points(self, each: Floats, shares: Floats) -> float:
        return float(each.sum(axis=1) @ shares) * self._scale


class ZeroOneTally(Tally):
    r"""Bias and variance under 0-1 loss, after Domingos (2000) with noise 0.

    The main prediction :math:`\hat m_i` of point i is the class predicted most often, of equally frequent ones the
    first. The point is biased if that is not its class. With :math:`V_i = P(f \ne \hat m_i)` and
    :math:`c_i = P(f = y_i \mid f \ne \hat m_i)`,

    .. math::

        P(f \ne y_i) = \underbrace{[\hat m_i \ne y_i]}_{\text{bias}} +
        \underbrace{[\hat m_i = y_i]\,V_i - [\hat m_i \ne y_i]\,c_i V_i}_{\text{net variance}}

    Where the main prediction is right every deviation from it costs, where it is wrong those to the true class help.
    With two classes every deviation does, and :math:`c_i` is 1. ``biased_variance`` is :math:`c_i V_i` over the biased
    points, its factor included.

    Parameters
    ----------
    truth : array of shape (n,)
        Codes of the true classes: 0, 1, ...
    classes : int
        How many classes there are.
    rounds : int
        How many rounds there may be at most.
    weight : array of shape (n,), optional

    References
    ----------
    P. Domingos (2000), A unified bias-variance decomposition and its applications, ICML 17:231-238.

    Examples
    --------
    Both points are of class 0; the first is mostly taken for it, the second mostly for class 1.

    >>> tally = ZeroOneTally(np.array([0, 0]), classes=2, rounds=4)
    >>> for predictions in ([0, 1], [0, 1], [0, 1], [1, 0]):
    ...     tally.add(np.array([0, 1]), np.array(predictions))
    >>> parts = tally.parts()
    >>> parts.expected_loss, parts.bias, parts.unbiased_variance, parts.biased_variance
    (0.5, 0.5, 0.125, 0.125)
    """

    def __init__(self, truth: Array, *, classes: int, rounds: int, weight: Floats | None = None) -> None:
        super().__init__(len(truth), weight)
        self._truth = np.asarray(truth, dtype=np.intp)
        self._counts = np.zeros((len(truth), classes), dtype=np.min_scalar_type(rounds))

    def add(self, points: Positions, predictions: Array) -> None:
        """Take in the predicted codes of one round."""
        self._rounds[points] += 1
        self._counts[points, predictions] += 1

    def parts(self) -> LossComponents:
        """Return the parts of the expected loss."""
        used, shares = self._used, self._shares
        rounds = np.maximum(self._rounds, 1)
        right = self._counts[np.arange(len(rounds)), self._truth] / rounds
        biased = self._counts.argmax(axis=1) != self._truth
        deviating = 1 - self._counts.max(axis=1) / rounds
        unbiased_variance = float(np.where(biased, 0.0, deviating) @ shares)
        biased_variance = float(np.where(biased, right, 0.0) @ shares)  # cV is P(f = y) where the main one is wrong
        return LossComponents(
            expected_loss=float((1 - right) @ shares),
            bias=float(biased @ shares),
            variance=unbiased_variance - biased_variance,
            points=int(used.sum()),
            left_out=int((~used).sum()),
            unbiased_variance=unbiased_variance,
            biased_variance=biased_variance,
        )

    def influence(self, points: Positions, predictions: Array) -> Influence:
        """Return the influence on the expected loss; main predictions, and with them the parts, move in jumps."""
        rounds, truth = self._rounds[points], self._truth[points]
        right = self._counts[points, truth] / rounds
        loss = float((right - (predictions == truth)) @ (self._shares[points] / rounds))
        return Influence(loss, float("nan"), float("nan"))


def monte_carlo_error(influences: npt.ArrayLike) -> float:
    r"""Standard error of an estimate over R rounds, by their influences: :math:`\sqrt{\tfrac{R}{R-1}\sum_r u_r^2}`.

    Examples
    --------
    The mean of 1, 2 and 6, on which each has an influence of a third of its distance from it:

    >>> print(f"{monte_carlo_error([-2 / 3, -1 / 3, 3 / 3]):.6f} {np.std([1, 2, 6], ddof=1) / 3**0.5:.6f}")
    1.527525 1.527525
    """
    u = np.asarray(influences, dtype=np.float64)
    return float("nan") if len(u) < 2 else float(np.sqrt(len(u) / (len(u) - 1) * np.sum(u**2)))
