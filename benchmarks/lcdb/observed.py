"""What is shown of the reference curves, as somebody would have it who has measured so far and asks for more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from truefit.stats.curve_outlook import Outlook
from truefit.stats.curve_points import Points

#: Points without which a curve is not extrapolated.
LEAST_POINTS = 6


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
        "as measured"; "fewer repeats", as if a fifth of the repeats had been made; or "one run", with the scatter of a
        single cross-validation.
    """

    share: float
    every: int = 1
    noise: str = "as measured"

    @property
    def plain(self) -> bool:
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
    curves: np.ndarray
    points: Points
    outlook: Outlook
    at: np.ndarray
    truth: np.ndarray

    @property
    def refused(self):
        return self.outlook.nothing_learned | self.outlook.rising

    @property
    def groups(self):
        return np.array([curve.group for curve in self.curves])

    @property
    def families(self):
        return np.array([curve.family for curve in self.curves])

    @property
    def judged(self):
        return np.array([curve.judged for curve in self.curves])


def observe(curves, view: View) -> Observed:
    """Show so much of each curve as the view says, and extrapolate it."""
    random = np.random.default_rng(0)
    shown, columns = [], []
    for curve in curves:
        seen = np.flatnonzero(curve.sizes <= view.share * curve.sizes[-1] * (1 + 1e-9))[:: -view.every][::-1]
        if len(seen) < LEAST_POINTS:
            continue
        extra = _extra_noise(curve, view.noise)[seen]
        errors = np.clip(curve.errors[seen] + extra * random.standard_normal(len(seen)), 0, 1)
        shown.append(curve)
        columns.append((curve.sizes[seen], errors, np.hypot(curve.stderr[seen], extra)))
    points = Points.of(*zip(*columns, strict=True))
    kept = np.empty(len(shown), dtype=object)
    kept[:] = shown
    at, truth = (np.array([getattr(curve, name)[-3:].mean() for curve in shown]) for name in ("sizes", "errors"))
    return Observed(view, kept, points, Outlook.of(points), at, truth)


def _extra_noise(curve, noise):
    if noise == "as measured":
        return np.zeros_like(curve.errors)
    if noise == "fewer repeats":
        return 2 * curve.stderr  # a fifth of the repeats: five times the variance
    return np.sqrt(np.maximum(curve.errors * (1 - curve.errors), 0.001) / curve.sizes)
