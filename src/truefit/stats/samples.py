"""Samples: losses and scores as checked arrays."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from truefit.core.errors import InvalidInput

Floats = npt.NDArray[np.float64]


def sample(values: npt.ArrayLike, parameter: str, function: str, *, least: int = 2, zero_one: bool = False) -> Floats:
    """Return ``values`` as an array of floats in one row, or say what is wrong with them.

    Parameters
    ----------
    values : array-like of shape (n,)
    parameter, function : str
        What the message calls them, and whose they are.
    least : int, default=2
        How many there must be.
    zero_one : bool, default=False
        Whether each must be 0 or 1.
    """
    x = np.asarray(values, dtype=np.float64)
    what = f"The {parameter!r} parameter of {function}"
    if x.ndim != 1 or x.size < least:
        count = "1 number" if least == 1 else f"{least} numbers"
        raise InvalidInput(f"{what} must be at least {count} in one row. Got shape {x.shape} instead.")
    if not np.isfinite(x).all():
        raise InvalidInput(f"{what} must be finite. Got {int((~np.isfinite(x)).sum())} NaN or infinite of {x.size}.")
    if zero_one and not np.isin(x, (0.0, 1.0)).all():
        raise InvalidInput(f"{what} must be 0 or 1 with zero_one=True. Got values such as {x[~np.isin(x, (0, 1))][0]}.")
    return x
