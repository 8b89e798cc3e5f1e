"""Bias and variance of a learner's predictions, gathered round by round.

Each round is a training set of its own; a point is tested in the rounds whose model did not see it. Expectations are
taken per point over its rounds, then over the points, so that the parts sum to the expected loss exactly.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats, Mask, Positions

#: A single round shows no variance.
LEAST_ROUNDS = 2


@dataclass(frozen=True, slots=True)
class LossComponents:
    """The parts of an expected loss: ``bias + variance == expected_loss`` up to rounding.

    For 0-1 loss ``variance`` is the net variance, ``unbiased_variance - biased_variance``; for squared loss these are
    None. ``points`` were tested in at least two rounds and count; ``left_out`` were not.
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
    """Influence of one round on the estimates, to first order; NaN where an estimate is not smooth."""

    expected_loss: float
    bias: float
    variance: float


class Tally(ABC):
    """Gathers predictions round by round, for a number of points with weights."""

    def __init__(self, points: int, weight: Floats | None = None) -> None:
        self._weight = np.ones(points) if weight is None else np.asarray(weight, dtype=np.float64)
        self._rounds = np.zeros(points, dtype=np.int64)

    @abstractmethod
    def add(self, points: Positions, predictions: Array) -> None:
        """Add the predictions of one round for some points, each named once."""

    @abstractmethod
    def parts(self) -> LossComponents:
        """Return the parts of the expected loss over all rounds."""

    @abstractmethod
    def influence(self, points: Positions, predictions: Array) -> Influence:
        """Return the influence of a round that was added on the estimates, once all rounds are in."""

    @property
    def _used(self) -> Mask:
        return self._rounds >= LEAST_ROUNDS

    @property
    def _shares(self) -> Floats:
        """Share of each point in a mean over those that count."""
        used = self._used
        if not used.any():
            raise InvalidInput(
                f"A decomposition needs points that were tested in {LEAST_ROUNDS} rounds or more. Got none; use more "
                "rounds."
            )
        weight = np.where(used, self._weight, 0.0)
        total = float(weight.sum())
        if total <= 0:
            raise InvalidInput("The weights of the tested points must not all be 0. Pass positive weights.")
        return weight / total


class SquaredTally(Tally):
    r"""Bias and variance under squared loss.

    With :math:`R_i` predictions of point i, their mean :math:`\bar f_i` and variance :math:`s_i^2` (divisor
    :math:`R_i - 1`),

    .. math::

        \underbrace{\frac1{R_i}\sum_r (f_{ir} - y_i)^2}_{\text{expected loss}} =
        \underbrace{(\bar f_i - y_i)^2 - s_i^2/R_i}_{\text{bias}^2} + \underbrace{s_i^2}_{\text{variance}}

    Both parts are unbiased for infinitely many rounds. The bias includes the noise of the target; a negative squared
    bias is set to 0. The sum over several outputs is multiplied by ``scale``, by default for their mean.
    """

    def __init__(self, truth: Array, *, scale: float | None = None, weight: Floats | None = None) -> None:
        super().__init__(len(truth), weight)
        self._truth = np.asarray(truth, dtype=np.float64).reshape(len(truth), -1)
        self._scale = 1.0 / self._truth.shape[1] if scale is None else scale
        # Of the errors, not of the predictions, and updated as they come: a large mean does not eat a small variance.
        self._mean = np.zeros_like(self._truth)
        self._squares = np.zeros_like(self._truth)

    def add(self, points: Positions, predictions: Array) -> None:
        """Add the predictions of one round."""
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
        return np.asarray(np.asarray(predictions, dtype=np.float64).reshape(len(points), -1) - self._truth[points])

    def _over_points(self, each: Floats, shares: Floats) -> float:
        return float(each.sum(axis=1) @ shares) * self._scale


class ZeroOneTally(Tally):
    r"""Bias and variance under 0-1 loss, after Domingos (2000) with noise 0.

    The main prediction :math:`\hat m_i` of point i is the class predicted most often, the first of equally frequent
    ones. With :math:`V_i = P(f \ne \hat m_i)` and :math:`c_i = P(f = y_i \mid f \ne \hat m_i)`,

    .. math::

        P(f \ne y_i) = \underbrace{[\hat m_i \ne y_i]}_{\text{bias}} +
        \underbrace{[\hat m_i = y_i]\,V_i - [\hat m_i \ne y_i]\,c_i V_i}_{\text{net variance}}

    ``biased_variance`` is :math:`c_i V_i` over the biased points. Truth and predictions are codes 0, 1, ... of the
    classes; ``rounds`` is the largest number of rounds.

    P. Domingos (2000), A unified bias-variance decomposition and its applications, ICML 17:231-238.
    """

    def __init__(self, truth: Array, *, classes: int, rounds: int, weight: Floats | None = None) -> None:
        super().__init__(len(truth), weight)
        self._truth = np.asarray(truth, dtype=np.intp)
        self._counts = np.zeros((len(truth), classes), dtype=np.min_scalar_type(rounds))

    def add(self, points: Positions, predictions: Array) -> None:
        """Add the predicted codes of one round."""
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
        """Return the influence on the expected loss; main predictions, and with them the parts, change in jumps."""
        rounds, truth = self._rounds[points], self._truth[points]
        right = self._counts[points, truth] / rounds
        loss = float((right - (predictions == truth)) @ (self._shares[points] / rounds))
        return Influence(loss, float("nan"), float("nan"))


def monte_carlo_error(influences: npt.ArrayLike) -> float:
    r"""Standard error of an estimate over R rounds, by their influences: :math:`\sqrt{\tfrac{R}{R-1}\sum_r u_r^2}`."""
    u = np.asarray(influences, dtype=np.float64)
    return float("nan") if len(u) < 2 else float(np.sqrt(len(u) / (len(u) - 1) * np.sum(u**2)))
