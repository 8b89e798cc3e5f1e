"""What is shown of the reference curves, as somebody would have it who has measured so far and asks for more."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from truefit._core.typing import Array, Floats, Mask
from truefit._stats.curve_forecast import Outlook
from truefit._stats.curve_points import Points
from truefit.reproduce.lcdb.curves import Curve

#: Points without which a curve is not extrapolated.
LEAST_POINTS = 6
#: A cross-validation in each of samples that contain one another; and how much a row's losses are alike from one size
#: to the next (0.26 to 0.88 were seen for trees, forests, nearest neighbours, logistic regression and naive Bayes).
NESTED, ALIKE = "nested runs", (0.3, 0.9)


@dataclass(frozen=True)
class View:
    """How much of a curve is seen.

    Attributes
    ----------
    share : float
        Of the largest size.
    every : int
        Which points are seen, counted from the last.
    noise : str
        "as measured"; "fewer repeats", as if a fifth of the repeats had been made; "one run", with the scatter of a
        single cross-validation; or "nested runs", the same where each sample contains the one before.
    """

    share: float
    every: int = 1
    noise: str = "as measured"

    @property
    def plain(self) -> bool:
        """Whether all points are seen, as they were measured."""
        return self.every == 1 and self.noise == "as measured"

    def __str__(self) -> str:
        spacing = "" if self.every == 1 else f", every {self.every}th point"
        noise = "" if self.noise == "as measured" else f", {self.noise}"
        return f"{self.share:.3g}{spacing}{noise}"


@dataclass(frozen=True)
class Observed:
    """Curves in one view, and what came of them.

    Attributes
    ----------
    view : View
    curves : array of Curve
    points : Points
    outlook : Outlook
    at, truth : array of shape (curves,)
        Means of the last three sizes and errors.
    """

    view: View
    curves: Array
    points: Points
    outlook: Outlook
    at: Floats
    truth: Floats

    @property
    def refused(self) -> Mask:
        """Curves that are not extrapolated."""
        return self.outlook.nothing_learned | self.outlook.rising

    @property
    def groups(self) -> Array:
        """Kind of learner of each curve."""
        return np.array([curve.group for curve in self.curves])

    @property
    def families(self) -> Array:
        """What each data set belongs to."""
        return np.array([curve.family for curve in self.curves])

    @property
    def judged(self) -> Mask:
        """Which curves are kept for judging."""
        return np.array([curve.judged for curve in self.curves])


def observe(curves: Sequence[Curve], view: View) -> Observed:
    """Show so much of each curve as the view says, and extrapolate it."""
    random = np.random.default_rng(0)
    shown, columns, covariances = [], [], []
    for curve in curves:
        seen = np.flatnonzero(curve.sizes <= view.share * curve.sizes[-1] * (1 + 1e-9))[:: -view.every][::-1]
        if len(seen) < LEAST_POINTS:
            continue
        extra = _extra_noise(curve, view.noise)[seen]
        alike = nested_correlation(curve.sizes[seen], random) if view.noise == NESTED else np.eye(len(seen))
        drawn = extra * (np.linalg.cholesky(alike) @ random.standard_normal(len(seen)))
        shown.append(curve)
        columns.append(
            (curve.sizes[seen], np.clip(curve.errors[seen] + drawn, 0, 1), np.hypot(curve.stderr[seen], extra))
        )
        covariances.append(alike * np.outer(extra, extra) + np.diag(curve.stderr[seen] ** 2))
    points = Points.of(*zip(*columns, strict=True))
    if view.noise == NESTED:
        points = replace(points, covariance=_filled(covariances, points.sizes.shape[1]))
    kept = np.empty(len(shown), dtype=object)
    kept[:] = shown
    at, truth = (np.array([getattr(curve, name)[-3:].mean() for curve in shown]) for name in ("sizes", "errors"))
    return Observed(view, kept, points, Outlook.of(points), at, truth)


def nested_correlation(sizes: Floats, random: np.random.Generator) -> Floats:
    """Correlation of points whose samples are nested, for a row's losses that are so much alike from size to size."""
    alike = random.uniform(*ALIKE)
    ratio = np.sqrt(np.minimum.outer(sizes, sizes) / np.maximum.outer(sizes, sizes))
    return np.where(np.eye(len(sizes), dtype=bool), 1.0, alike * ratio)


def _filled(covariances: Sequence[Floats], width: int) -> Floats:
    filled = np.zeros((len(covariances), width, width))
    for whole, part in zip(filled, covariances, strict=True):
        whole[width - len(part) :, width - len(part) :] = part
    return filled


def _extra_noise(curve: Curve, noise: str) -> Floats:
    if noise == "as measured":
        return np.zeros_like(curve.errors)
    if noise == "fewer repeats":
        return 2 * curve.stderr  # a fifth of the repeats: five times the variance
    return np.asarray(np.sqrt(np.maximum(curve.errors * (1 - curve.errors), 0.001) / curve.sizes))
