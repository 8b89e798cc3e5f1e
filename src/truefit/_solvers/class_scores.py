"""ClassScores: how far each class leads over the first, for many models at once, and what classifiers make of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
from scipy.special import expit

from truefit._core.typing import Floats
from truefit._solvers.rounding import MARGIN, TOLERANCE

Trusted = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class ClassScores:
    """Scores of all classes but the first, less that of the first: shape (classes - 1, models, rows).

    They are logarithms of ratios of probabilities. ``error`` bounds for each model how far they may be from those of
    plain fitting. Each answer comes with the models that are to be trusted with it.

    Examples
    --------
    >>> scores = ClassScores(np.log([[[3.0, 0.25]], [[4.0, 0.75]]]), np.array([1e-12]))  # 1 : 3 : 4 and 1 : .25 : .75
    >>> scores.labels()
    (array([[2, 0]], dtype=uint8), array([ True]))
    >>> scores.probabilities()[0].round(3)
    array([[[0.125, 0.375, 0.5  ], [0.5  , 0.125, 0.375]]])
    """

    leads: Floats
    error: Floats

    def labels(self) -> tuple[npt.NDArray[Any], Trusted]:
        """Return the code of the class that leads, of shape (models, rows)."""
        slack = MARGIN * self.error[:, None]
        if len(self.leads) == 1:
            return (self.leads[0] > 0).view(np.uint8), np.abs(self.leads[0]).min(axis=1) > slack[:, 0]
        codes = np.zeros(self.leads.shape[1:], dtype=np.min_scalar_type(len(self.leads)))
        best = np.zeros(codes.shape)
        for code, lead in enumerate(self.leads, start=1):
            np.copyto(codes, code, where=lead > best)
            np.maximum(best, lead, out=best)
        least = best - 2 * slack
        near = (least <= 0).astype(np.uint8)  # the first class, whose lead is 0
        for lead in self.leads:
            near += lead >= least
        return codes, (near == 1).all(axis=1)  # where a lead is not a number, none is near

    def probabilities(self) -> tuple[Floats, Trusted]:
        """Return the probabilities, of shape (models, rows, classes)."""
        _, models, rows = self.leads.shape
        shares = np.zeros((len(self.leads) + 1, models, rows))
        shares[1:] = self.leads
        shares -= shares.max(axis=0)
        np.exp(shares, out=shares)
        shares /= shares.sum(axis=0)
        return np.ascontiguousarray(np.moveaxis(shares, 0, -1)), self._small

    def probabilities_of_two(self) -> tuple[Floats, Trusted]:
        """Return the same for two classes, worked out from the second's alone."""
        second = expit(self.leads[0])
        return np.stack([1 - second, second], axis=-1), self._small

    @property
    def _small(self) -> Trusted:
        # A probability is off by at most as much as the scores, relative to itself.
        return np.asarray(MARGIN * self.error <= TOLERANCE)
