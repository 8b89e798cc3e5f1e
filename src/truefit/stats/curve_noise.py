"""How much single points of a learning curve scatter around it, and how much of its fall is more than that."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truefit.stats.curve_points import Points

Floats = npt.NDArray[np.float64]

#: Points, from the end, whose scatter is looked at; and whose standard errors are.
_SCATTER, _STDERR = 10, 5
#: Errors are rarely known better than this.
FLOOR = 5e-4
#: How slowly and how fast points may lose weight.
SLOWEST, FASTEST = 1.5, 5.0


def noise(points: Points) -> Floats:
    r"""Standard deviation of the last points around their curve.

    Each point is compared with the line, in :math:`\ln n`, between its neighbours; the standard errors, where known,
    are a second opinion, and the smaller one counts: a bend of the curve looks like scatter, and a standard error also
    has in it what all points have in common.

    Examples
    --------
    >>> zigzag = Points.of([[10, 20, 40, 80, 160]], [[0.30, 0.26, 0.30, 0.26, 0.30]])
    >>> noise(zigzag).round(4).tolist()
    [0.0327]
    """
    found: Floats = np.sqrt(np.nanmean(_off_the_line(points) ** 2, axis=1))
    return _second_opinion(points, found)


def usual_noise(points: Points) -> Floats:
    """Return the same by the median point: a bend or a peak of the curve does not count as scatter.

    Examples
    --------
    >>> step = Points.of([10 * 2 ** np.arange(8)], [[0.34, 0.32, 0.30, 0.28, 0.26, 0.50, 0.48, 0.46]])
    >>> noise(step).round(4).tolist(), usual_noise(step).round(4).tolist()
    ([0.0613], [0.0005])
    """
    found: Floats = 1.4826 * np.nanmedian(np.abs(_off_the_line(points)), axis=1)
    return _second_opinion(points, np.minimum(found, noise(points)))


def _off_the_line(points: Points) -> Floats:
    """How far the last points lie off the lines between their neighbours, in standard deviations of a single point."""
    u, y = np.log(points.sizes), points.errors
    left = (u[:, 2:] - u[:, 1:-1]) / (u[:, 2:] - u[:, :-2])
    right = 1 - left
    off: Floats = (y[:, 1:-1] - left * y[:, :-2] - right * y[:, 2:]) / np.sqrt(1 + left**2 + right**2)
    return off[:, -_SCATTER:]


def _second_opinion(points: Points, scatter: Floats) -> Floats:
    if points.stderr is not None:
        scatter = np.fmin(scatter, np.nanmean(points.stderr[:, -_STDERR:], axis=1))
    return np.asarray(np.maximum(scatter, FLOOR))


def recency(points: Points, sigma: Floats) -> Floats:
    r"""How fast points lose weight with their distance from the last: the exponent γ of :math:`(n/n_\text{last})^γ`.

    Old points say less about what comes than new ones, because no family of curves is true. Where points scatter little
    compared with what the curve falls in two doublings, few of them are enough.
    """
    fall = np.abs(points.around(1 / 4) - points.end(2)) / sigma
    weight: Floats = np.clip(2 + 2 * np.log10(np.maximum(fall, 1e-9) / 4), SLOWEST, FASTEST)
    return weight
