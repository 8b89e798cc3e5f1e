"""What would more rows bring, from points measured elsewhere?"""

from __future__ import annotations

from typing import Any

from truefit._methods.learning_curve.extrapolation import Extrapolation, extrapolated
from truefit._methods.learning_curve.samples import MeasuredCurve
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
) -> Extrapolation:
    """Say what more rows would bring, from a learning curve that was measured elsewhere: no data, no fits.

    Parameters
    ----------
    sizes : list of numbers
        Rows that a learner was trained on, in any order. Errors at the same size are averaged.
    errors : list of numbers
        Its error on other rows: shares such as 0.139, or any loss.
    stderr : list of numbers, optional
        Standard errors of the errors.
    level : float, default=0.95
        Level of the intervals, from 0.2 to 0.99. In paper mode it is the paper's 0.999.
    mode : {"default", "paper"}, default="default"
        "paper": a + b·n^c through all points alike, plus and minus rσ, and the stopping rule of Brumen et al. (2007).
    tolerance : float, optional
        How much of an error does not matter, for ``stopped``. By default 0.02; of a loss 2% of the largest measured;
        in paper mode 2 where errors are percent.
    horizon : float, optional
        Rows that could be had at most, for ``stopped`` and the plot. By default ten times the largest size.
    largest : float, optional
        The largest value that an error can have: 1 for shares, infinite for a loss. By default 1 where no error exceeds
        1. What is known of error rates is applied to a loss in units of the largest error measured, and its intervals
        have no upper end other than that.

    Returns
    -------
    Extrapolation

    Notes
    -----
    Power laws are fitted with more weight on later points, the more so the less the points scatter, and averaged over
    their exponents. The intervals come from how far such extrapolations of real learning curves were off
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
    measured = MeasuredCurve.of(sizes, errors, stderr, largest=largest)
    return extrapolated(measured, level=level, mode=mode, tolerance=tolerance, horizon=horizon)
