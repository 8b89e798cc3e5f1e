"""Two-sided quantiles of an interval at a level."""

from __future__ import annotations

from scipy.special import ndtri, stdtrit

from truefit.core.errors import InvalidInput


def normal_quantile(level: float) -> float:
    """Return z, with the share ``level`` of a standard normal between -z and z.

    Examples
    --------
    >>> print(f"{normal_quantile(0.95):.4f}")
    1.9600
    """
    return float(ndtri(_tail(level)))


def t_quantile(level: float, degrees: int) -> float:
    """Return t, with the share ``level`` of Student's distribution between -t and t.

    Examples
    --------
    >>> print(f"{t_quantile(0.95, 4):.4f}")
    2.7764
    """
    return float(stdtrit(degrees, _tail(level)))


def _tail(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise InvalidInput(f"The 'level' of an interval must lie between 0 and 1, such as 0.95. Got {level!r} instead.")
    return 0.5 + level / 2
