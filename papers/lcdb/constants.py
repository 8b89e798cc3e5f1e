"""The constants of the intervals and of the bound of the gain, learnt from the reference curves."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt
from scipy.optimize import minimize

from papers.lcdb.curves import NESTED, Curve, Observed, View, observe
from truefit._stats.curve_forecast import FEATURES, GAIN_FEATURES, gain_features

Floats = npt.NDArray[np.float64]
Array = npt.NDArray[Any]
Chosen = Callable[[Curve], bool]

#: What the constants are learnt from: near and far, dense and sparse points, little noise and much.
VIEWS = [
    View(share, every, noise)
    for share in (0.8, 0.5, 0.25, 0.164, 0.1, 0.05, 0.02, 0.01)
    for every, noise in ((1, "as measured"), (1, "fewer repeats"), (4, "fewer repeats"), (8, "one run"))
]
#: Probabilities, of lying beyond one end of an interval, for which a multiple of the scale is kept.
TAILS = (0.4, 0.3, 0.25, 0.2, 0.15, 0.1, 0.075, 0.05, 0.035, 0.025, 0.015, 0.01, 0.005)
#: The scale is made to be right for the intervals of 95%.
_TAIL = 0.025
#: Groups of learners in which the intervals need not hold: their curves rise without a sign of it before.
EXEMPT = ("QDA", "TabNet", "dummy")
#: Extrapolations from more than this share of the target size are near, others far; intervals hold for both.
NEAR = 0.2
#: Parts of the families of data sets: how far an extrapolation is off is seen with constants from the other parts.
FOLDS = 6
#: Smaller differences of errors, and smaller gains, count as this.
_LEAST = 5e-4


def learn(observed: Sequence[Observed], chosen: Chosen | None = None) -> dict[str, Any]:
    """Return the constants, from curves in several views; ``chosen`` says which, all by default."""
    parts = [_part(each, chosen) for each in observed]
    features, off, cells, families = (np.concatenate(column) for column in zip(*parts, strict=True))
    left_out = np.array([crc32(family.encode()) % FOLDS for family in families])
    sides: dict[str, Any] = {}
    for name, sign in (("below", -1.0), ("above", 1.0)):
        distance = np.log(np.maximum(sign * off, _LEAST))
        ratio = np.empty_like(off)
        for fold in range(FOLDS):
            others, own = left_out != fold, left_out == fold
            ratio[own] = sign * off[own] / np.exp(features[own] @ _scale(features[others], distance[others]))
        quantiles = [_in_every_cell(ratio, cells, 1 - tail) for tail in TAILS]
        sides[name] = {
            "weights": _scale(features, distance).tolist(),
            "quantiles": np.maximum.accumulate(quantiles).tolist(),
        }
    return {"features": list(FEATURES), "tails": list(TAILS), **sides}


def _part(each: Observed, chosen: Chosen | None) -> tuple[Floats, Floats, Array, Array]:
    which = ~each.refused
    if chosen is not None:
        which &= np.array([chosen(curve) for curve in each.curves], dtype=bool)
    features = each.outlook.features(each.at[:, None])[:, 0]
    off = each.truth - each.outlook.curve.predict(each.at[:, None])[:, 0]
    far = f", {'near' if each.view.share > NEAR else 'far'}"
    cells = np.array([group + far for group in each.groups])
    return features[which], off[which], cells[which], each.families[which]


def _in_every_cell(ratio: Floats, cells: Array, share: float) -> float:
    """Quantile that holds for each kind of learner, near and far, not only on average: who asks has one learner."""
    return max(float(np.quantile(ratio[cells == cell], share)) for cell in set(cells) if not cell.startswith(EXEMPT))


def _scale(features: Floats, distance: Floats) -> Floats:
    return quantile_regression(features, distance, 1 - _TAIL)


def quantile_regression(features: Floats, target: Floats, share: float) -> Floats:
    """Weights with which a share of the targets lies below the weighted features, smoothed and a little shrunk."""
    centre, spread = features.mean(axis=0), features.std(axis=0)
    centre[0], spread[0] = 0.0, 1.0
    scaled = (features - centre) / spread
    weights = np.zeros(scaled.shape[1])
    weights[0] = np.quantile(target, share)
    for smoothing in (1.0, 0.3, 0.1, 0.03):
        weights = minimize(_smoothed_loss, weights, (scaled, target, share, smoothing), jac=True, method="L-BFGS-B").x
    unscaled: Floats = weights / spread
    unscaled[0] -= unscaled[1:] @ centre[1:]
    return unscaled


def _smoothed_loss(
    weights: Floats, features: Floats, target: Floats, share: float, smoothing: float, shrinking: float = 1e-4
) -> tuple[float, Floats]:
    left = target - features @ weights
    loss = share * left + smoothing * np.logaddexp(0.0, -left / smoothing)
    slope = share - 0.5 * (1 - np.tanh(left / (2 * smoothing)))
    shrunk = np.append(0.0, weights[1:])
    return float(loss.mean() + shrinking * (shrunk**2).sum()), -(features.T @ slope) / len(
        left
    ) + 2 * shrinking * shrunk


#: Points of one cross-validation each, near and far, dense and sparse: what somebody has who measures a curve.
GAIN_VIEWS = [View(share, every, NESTED) for share in (0.8, 0.5, 0.25, 0.164, 0.1, 0.05, 0.02) for every in (2, 4, 8)]
#: The scale is made to be right for this probability of a larger gain.
_GAIN_TAIL = 0.05


def learn_gain(curves: Sequence[Curve], chosen: Chosen | None = None) -> dict[str, Any]:
    """Return the constants; ``chosen`` says from which curves, all by default."""
    parts = [_gain_part(observe(curves, view), chosen) for view in GAIN_VIEWS]
    features, gains, families = (np.concatenate(column) for column in zip(*parts, strict=True))
    target = np.log(np.maximum(gains, _LEAST))
    left_out = np.array([crc32(family.encode()) % FOLDS for family in families])
    ratio = np.empty_like(gains)
    for fold in range(FOLDS):
        others, own = left_out != fold, left_out == fold
        weights = quantile_regression(features[others], target[others], 1 - _GAIN_TAIL)
        ratio[own] = gains[own] / np.exp(features[own] @ weights)
    quantiles = [np.quantile(ratio, 1 - tail) for tail in TAILS]
    return {
        "features": [*FEATURES, *GAIN_FEATURES],
        "tails": list(TAILS),
        "weights": quantile_regression(features, target, 1 - _GAIN_TAIL).tolist(),
        "quantiles": np.maximum.accumulate(np.maximum(quantiles, 0.0)).tolist(),
    }


def _gain_part(seen: Observed, chosen: Chosen | None) -> tuple[Floats, Floats, Array]:
    which = ~seen.refused
    if chosen is not None:
        which &= np.array([chosen(curve) for curve in seen.curves], dtype=bool)
    last = seen.points.last
    features = gain_features(seen.outlook, last[:, None], seen.at[:, None])[:, 0]
    gains = np.array([level_at(curve, size) for curve, size in zip(seen.curves, last, strict=True)]) - seen.truth
    return features[which], gains[which], seen.families[which]


def level_at(curve: Curve, size: float) -> float:
    """Return the error of a curve around a size, without the noise that a view puts on it."""
    at = int(np.argmin(np.abs(curve.sizes - size)))
    return float(curve.errors[max(at - 1, 0) : at + 2].mean())
