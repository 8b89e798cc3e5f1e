"""The bound of the gain still to be had, learnt from how much the error of the reference curves still fell."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from zlib import crc32

import numpy as np
import numpy.typing as npt

from truefit._stats.curve_forecast import FEATURES, GAIN_FEATURES, gain_features
from truefit.reproduce.lcdb.calibrate import FOLDS, TAILS, Chosen, quantile_regression
from truefit.reproduce.lcdb.curves import Curve
from truefit.reproduce.lcdb.observed import NESTED, Observed, View, observe

#: Points of one cross-validation each, near and far, dense and sparse: what somebody has who measures a curve.
GAIN_VIEWS = [View(share, every, NESTED) for share in (0.8, 0.5, 0.25, 0.164, 0.1, 0.05, 0.02) for every in (2, 4, 8)]
#: The scale is made to be right for this probability of a larger gain.
_TAIL = 0.05
#: Gains are not told apart below this.
_LEAST = 5e-4


def learn_gain(curves: Sequence[Curve], chosen: Chosen | None = None) -> dict[str, Any]:
    """Return the constants; ``chosen`` says from which curves, all by default."""
    parts = [_part(observe(curves, view), chosen) for view in GAIN_VIEWS]
    features, gains, families = (np.concatenate(column) for column in zip(*parts, strict=True))
    target = np.log(np.maximum(gains, _LEAST))
    left_out = np.array([crc32(family.encode()) % FOLDS for family in families])
    ratio = np.empty_like(gains)
    for fold in range(FOLDS):
        others, own = left_out != fold, left_out == fold
        weights = quantile_regression(features[others], target[others], 1 - _TAIL)
        ratio[own] = gains[own] / np.exp(features[own] @ weights)
    quantiles = [np.quantile(ratio, 1 - tail) for tail in TAILS]
    return {
        "features": [*FEATURES, *GAIN_FEATURES],
        "tails": list(TAILS),
        "weights": quantile_regression(features, target, 1 - _TAIL).tolist(),
        "quantiles": np.maximum.accumulate(np.maximum(quantiles, 0.0)).tolist(),
    }


def _part(
    seen: Observed, chosen: Chosen | None
) -> tuple[npt.NDArray[np.float64], npt.NDArray[np.float64], npt.NDArray[Any]]:
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
