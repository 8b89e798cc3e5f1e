"""Noise of a learning curve whose samples are nested: what drawing the rows anew would do to all its points at once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


def nested_covariance(shares: Sequence[Floats], clusters: npt.NDArray[np.intp] | None = None) -> Floats:
    """Covariance of the points of a curve, from what each row adds to each of them.

    A bootstrap that replays the nested sampling draws rows, and a row takes with it what it adds at every size: points
    that share rows move together. What such a bootstrap comes to with ever more draws is the sum of products below, so
    nothing has to be drawn.

    Parameters
    ----------
    shares : sequence of array
        For each point, what each row of its sample adds to the distance of the error from its mean: for a mean of
        losses (loss − mean)/size. Samples are nested: the first rows of a longer one are those of a shorter one.
    clusters : array of int, optional
        Of each row of the longest sample; rows of one cluster are drawn together.

    Examples
    --------
    >>> small = np.array([1.0, 0.0, 0.0, 1.0])
    >>> large = np.array([0.0, 0.0, 0.0, 1.0, 0.0, 0.0, 1.0, 0.0])
    >>> nested_covariance([(small - 0.5) / 4, (large - 0.25) / 8]).tolist()
    [[0.0625, 0.015625], [0.015625, 0.0234375]]
    """
    if clusters is not None:
        shares = [np.bincount(clusters[: len(each)], each).astype(np.float64) for each in shares]
    count = len(shares)
    found = np.empty((count, count))
    for i, one in enumerate(shares):
        for j, other in enumerate(shares[: i + 1]):
            common = min(len(one), len(other))
            found[i, j] = found[j, i] = one[:common] @ other[:common]
    return found
