"""Extrapolation of a learning curve that was measured elsewhere."""

from __future__ import annotations

from typing import Any

from truefit._methods.learning_curve.extrapolation import Extrapolation, extrapolated
from truefit._methods.learning_curve.forecast import MeasuredCurve
from truefit._methods.perturbation.config import Mode


def extrapolate(
    sizes: Any,
    errors: Any,
    stderr: Any = None,
    *,
    level: float = 0.95,
    mode: Mode = "default",
    tolerance: float | None = None,
    horizon: float | None = None,
    largest: float | None = None,
    baseline: float | None = None,
) -> Extrapolation:
    """Extrapolate a learning curve that was measured elsewhere: no data, no fits.

    Parameters
    ----------
    sizes : list of numbers
        Numbers of training rows, in any order. Errors at the same size are averaged.
    errors : list of numbers
        The error on test rows at each size: shares such as 0.139, or any loss.
    stderr : list of numbers, optional
        Standard errors of the errors.
    level : float, default=0.95
        Confidence level of the intervals, from 0.2 to 0.99. In paper mode it is the paper's 0.999.
    mode : {"default", "paper"}, default="default"
        "paper": a + b·n^c through all points with equal weights, plus and minus rσ, and the stopping rule of Brumen et
        al. (2007).
    tolerance : float, optional
        The change of the error that does not matter, for ``stopped``. By default 0.02; of a loss 2% of the largest
        measured; in paper mode 2 where errors are in percent.
    horizon : float, optional
        The largest number of rows that could be collected, for ``stopped`` and the plot. By default ten times the
        largest size.
    largest : float, optional
        The largest possible error: 1 for shares, infinite for a loss. By default 1 where no error exceeds 1. A loss is
        scaled by its largest measured value, and its intervals have no other upper limit.
    baseline : float, optional
        The error of a model that uses no feature. A flat curve below it is a plateau and is extrapolated; one that is
        not has learned nothing yet. Without it errors up to 0.25 of the largest count as learned.

    Returns
    -------
    Extrapolation
        Predicts the error at other sizes, with intervals.

    Notes
    -----
    Power laws are fitted with more weight on later points, the more so the less the points scatter, and averaged over
    their exponents. The intervals come from the errors of such extrapolations on real learning curves
    (docs/reproduction/lcdb.md). A curve that has not begun to fall, or rises at its end, is refused.

    Examples
    --------
    >>> sizes = [100, 200, 400, 800, 1600, 3200]
    >>> result = extrapolate(sizes, [0.312, 0.251, 0.209, 0.182, 0.160, 0.148])
    >>> value, low, high = result.predict(12_800)
    >>> low < value < high < 0.16
    True
    >>> print(result.rows_for(0.05).rows, result.refused)
    None None
    """
    measured = MeasuredCurve.of(sizes, errors, stderr, largest=largest, baseline=baseline)
    return extrapolated(measured, level=level, mode=mode, tolerance=tolerance, horizon=horizon)
