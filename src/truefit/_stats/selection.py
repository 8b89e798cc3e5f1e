"""The error of the winner of a selection, from the losses that it was selected by."""

from __future__ import annotations

import math
from collections.abc import Iterator

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats
from truefit._stats.clustered import design_effect
from truefit._stats.intervals import IntervalEstimate, Tail, inflated

#: How many counts of drawn rows are held at once.
_BLOCK = 1 << 22


def bbc(
    losses: npt.ArrayLike, *, seed: int, zero_one: bool, draws: int = 1000, greater_is_better: bool = False,
    factor: float = 1.1, level: float = 0.95, groups: npt.ArrayLike | None = None,
) -> IntervalEstimate:  # fmt: skip
    r"""Error of the candidate selected by its out-of-fold losses, without selection bias (BBC-CV); no model is fitted.

    Rows of the loss matrix are drawn with replacement, the candidate with the best mean on the drawn rows is selected
    (the first of equal ones) and tested on the rows that were not drawn; the estimate is the mean over the draws. A row
    is drawn with all its repeats. The interval has the standard deviation of the losses of the candidate selected on
    all rows times ``factor``, and is corrected for their skewness; for 0-1 loss it is Wilson's at the effective size
    :math:`n/\text{factor}^2`. ``losses`` have shape (n, N) or (R, n, N): of each row by each of N candidates, for each
    of R repeats. With ``groups``, one per row, whole groups are drawn, and the spread is that of
    :mod:`truefit._stats.clustered`.

    References
    ----------
    I. Tsamardinos, E. Greasidou, G. Borboudakis (2018), Bootstrapping the out-of-sample predictions for efficient and
    accurate cross-validation, Machine Learning 107:1895-1922.
    """
    runs = _matrix(losses, zero_one)
    repeats, n, _ = runs.shape
    # Sums over repeats, not means: of 0-1 losses they are whole numbers, and ties stay ties.
    total = runs.sum(axis=0)
    sizes, effective, df = np.ones(n), float(n), None
    if groups is not None:
        codes = np.unique(np.asarray(groups), return_inverse=True)[1]
        sizes = np.bincount(codes).astype(np.float64)
        total = np.stack([np.bincount(codes, weights=column) for column in total.T], axis=1)
    signed = -total if greater_is_better else total
    drawn = _drawn(len(sizes), draws, seed)
    errors = np.concatenate([_out_of_bag(counts, signed, total, sizes) for counts in drawn]) / repeats
    if not errors.size:
        raise InvalidInput(f"The bootstrap needs more rows. Each of {draws} draws has all {n} of them; add rows.")
    winner = int(signed.sum(axis=0).argmin())
    if groups is not None:
        effective /= float(np.mean([design_effect(run, codes) for run in runs[:, :, winner]]))
        df = len(sizes) - 1
    sd = float(runs[:, :, winner].std(axis=1, ddof=1).mean())
    estimate = float(errors.mean())
    if zero_one:
        # A mean of shares may be off by a rounding.
        estimate = min(1.0, max(0.0, estimate))
    tail = None if zero_one else Tail.mean_of(Tail.of(run) for run in runs[:, :, winner])
    low, high = inflated(estimate, sd, effective, factor=factor, tail=tail, level=level, df=df)
    return IntervalEstimate(estimate, low, high, factor * sd / math.sqrt(effective))


def _matrix(losses: npt.ArrayLike, zero_one: bool) -> Floats:
    found = np.asarray(losses, dtype=np.float64)
    runs = found[None] if found.ndim == 2 else found
    if runs.ndim != 3 or runs.shape[1] < 2 or not runs.size:
        raise InvalidInput(
            "The 'losses' parameter of bbc must have at least 2 rows and a column per candidate, or one such matrix "
            f"per repeat. Got shape {found.shape} instead."
        )
    if not np.isfinite(runs).all():
        raise InvalidInput(
            "The 'losses' parameter of bbc must be finite. Got NaN or infinite values; leave out what failed."
        )
    if zero_one and not np.isin(runs, (0.0, 1.0)).all():
        raise InvalidInput("The 'losses' parameter of bbc must be 0 or 1 with zero_one=True. Got other values.")
    return runs


def _drawn(n: int, draws: int, seed: int) -> Iterator[Floats]:
    """How often each row is drawn, (draws, n), in blocks of draws."""
    random = np.random.default_rng(seed)
    step = max(1, _BLOCK // n)
    for start in range(0, draws, step):
        size = min(step, draws - start)
        places = random.integers(0, n, size=(size, n)) + n * np.arange(size)[:, None]
        yield np.bincount(places.ravel(), minlength=size * n).reshape(size, n).astype(np.float64)


def _out_of_bag(counts: Floats, signed: Floats, total: Floats, sizes: Floats) -> Floats:
    """Mean loss, on the rows not drawn, of the candidate that is best on those drawn; one for each draw.

    What is drawn is rows, or groups of so many rows, with their summed losses.
    """
    out = (counts == 0).astype(np.float64)
    left_out = out @ sizes
    winners = (counts @ signed).argmin(axis=1)
    sums = np.empty(len(counts))
    for winner in np.unique(winners):
        chosen = winners == winner
        sums[chosen] = out[chosen] @ total[:, winner]
    usable = left_out > 0
    return np.asarray(sums[usable] / left_out[usable])
