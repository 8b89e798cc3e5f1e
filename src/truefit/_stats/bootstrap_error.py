"""Bootstrap estimates of the error: leave-one-out bootstrap, .632 and .632+, with intervals; the no-information error.

Models are trained on samples drawn with replacement. Each row is tested by the models whose sample did not contain it.
For the winner of a selection (:func:`bbc`) no model is fitted: the losses that it was selected by are drawn.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from typing import Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats
from truefit._stats.clustered import design_effect
from truefit._stats.intervals import NO_SPREAD, SHARED_ROWS, IntervalEstimate, Tail, inflated, sample

Rule = Literal["loo", ".632", ".632+"]


class OutOfBag:
    """Out-of-bag losses of ``rows`` rows, summed up model by model.

    Stores a few numbers per row and a bit per row and model, never the B·n losses.
    """

    def __init__(self, rows: int) -> None:
        self.rows = rows
        self._left_out = np.zeros(rows)
        self._sum = np.zeros(rows)
        self._squares = np.zeros(rows)
        self._totals: list[float] = []
        self._outside: list[npt.NDArray[np.uint8]] = []
        self._range = (math.inf, -math.inf)

    def add(self, losses: npt.ArrayLike, counts: npt.ArrayLike) -> None:
        """Add the losses of one model; those of rows in its sample (``counts`` above 0) are ignored and may be NaN."""
        each = np.asarray(losses, dtype=np.float64)
        out = np.asarray(counts) == 0
        loss = np.where(out, each, 0.0)
        if not np.isfinite(loss).all():
            raise InvalidInput("Out-of-bag losses must be finite. Got NaN or infinite values; check the predictions.")
        self._left_out += out
        self._sum += loss
        self._squares += loss * loss
        self._totals.append(float(loss.sum()))
        self._outside.append(np.packbits(out))
        self._range = (
            float(each.min(where=out, initial=self._range[0])),
            float(each.max(where=out, initial=self._range[1])),
        )

    @property
    def models(self) -> int:
        """How many models were added."""
        return len(self._totals)

    @property
    def never_left_out(self) -> int:
        """How many rows were in all samples, and so are tested by no model."""
        return int((self._left_out == 0).sum())

    @property
    def error_of_rows(self) -> Floats:
        """Mean out-of-bag loss of each row; NaN where every sample contained it."""
        seen = self._left_out > 0
        return np.asarray(np.divide(self._sum, self._left_out, out=np.full(self.rows, np.nan), where=seen))

    @property
    def error(self) -> float:
        """The leave-one-out bootstrap error Err(1): the mean over the rows that are out of bag at least once."""
        found = self.error_of_rows[self._left_out > 0]
        if not found.size:
            raise InvalidInput(
                "The bootstrap error needs an out-of-bag row. Every sample has all rows; draw more samples."
            )
        return float(found.mean())

    def spread(self) -> tuple[float, float]:
        r"""Variance of a single out-of-bag loss, and between-model variance of the error beyond the noise of the rows.

        The second is :math:`\tau^2 = \operatorname{Var}_b(r_b) - v\,\overline{1/m_b}`, at least 0: :math:`r_b` is the
        mean over the :math:`m_b` out-of-bag rows of model b of its loss minus the row's mean loss, and v the residual
        variance.
        """
        seen = self._left_out > 0
        mean_of_row = np.nan_to_num(self.error_of_rows)
        sizes, beyond = self._models_beyond(mean_of_row)
        losses = float(sizes.sum())
        free = losses - int(seen.sum()) - len(sizes) + 1
        if len(sizes) < 2 or free < 1:
            raise InvalidInput(f"The spread of bootstrap losses needs more samples. Got {self.models}; draw more.")
        if self._range[0] == self._range[1]:
            return 0.0, 0.0
        within_rows = float((self._squares - self._sum * mean_of_row).sum())
        moved = beyond / sizes
        noise = max(0.0, within_rows - float(sizes @ np.square(moved))) / free
        tau2 = max(0.0, float(moved.var(ddof=1)) - noise * float(np.mean(1 / sizes)))
        variance = (float(self._squares.sum()) - math.fsum(self._totals) ** 2 / losses) / (losses - 1)
        return variance, tau2

    def _models_beyond(self, mean_of_row: Floats) -> tuple[Floats, Floats]:
        """Number of out-of-bag rows of each model, and its loss on them minus the mean loss of all models there."""
        found = []
        for total, bits in zip(self._totals, self._outside, strict=True):
            out = np.unpackbits(bits, count=self.rows).astype(np.float64)
            found.append((out.sum(), total - out @ mean_of_row))
        sizes, beyond = np.array(found).reshape(-1, 2).T
        return sizes[sizes > 0], beyond[sizes > 0]


class BootstrapInterval(NamedTuple):
    """A bootstrap estimate of the error with its interval; ``weight`` is w, ``overfitting`` R of .632+ (else NaN)."""

    estimate: float
    low: float
    high: float
    se: float
    tau2: float
    weight: float
    overfitting: float


def bootstrap_error(
    out_of_bag: OutOfBag, *, rule: Rule, zero_one: bool, apparent: npt.ArrayLike | None = None,
    no_information: float | None = None, level: float = 0.95,
) -> BootstrapInterval:  # fmt: skip
    r"""Bootstrap estimate of the error of the model trained on all rows, with an interval.

    With Err(1) the leave-one-out bootstrap error, err the mean of the ``apparent`` losses and γ the ``no_information``
    error, the estimate is :math:`(1-w)\,err + w\,Err^{(1)\prime}`: w = 1 for "loo", .632 for ".632", and
    :math:`.632/(1 - .368 R)` for ".632+" with :math:`R = (Err^{(1)\prime} - err)/(\gamma - err)`, 0 unless both exceed
    err, and :math:`Err^{(1)\prime} = \min(Err^{(1)}, \gamma)` throughout (the published form has Err(1) in one place).

    .. math:: SE^2 = 1.21\,\frac{h^2}{n} + \tau^2 + \frac{(Err^{(1)} - \text{estimate})^2}{3}

    with :math:`h^2` and :math:`\tau^2` of :meth:`OutOfBag.spread`; the third part is the variance of a truth that lies
    anywhere up to one step of the rule from the estimate. The interval is estimate ± z·SE, for 0-1 loss Wilson's at the
    effective size :math:`h^2/SE^2`. In simulation (13 settings, n = 100, 60 models, 200 repetitions, nominal 95%) it
    covered on average and at worst: "loo" 96 and 90%, ".632" 98 and 90%, ".632+" 98 and 90%; the Wald interval of
    10-fold cross-validation covered 88 and 67%.

    References
    ----------
    B. Efron and R. Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method, JASA 92:548-560.
    """
    error = out_of_bag.error
    weight, overfitting, base = 1.0, math.nan, 0.0
    if rule != "loo":
        assert apparent is not None
        base = float(sample(apparent, "apparent", "bootstrap_error", zero_one=zero_one).mean())
        weight = 0.632
    if rule == ".632+":
        assert no_information is not None
        overfitting, error = _overfitting(error, base, no_information)
        weight = 0.632 / (1 - 0.368 * overfitting)
    estimate = (1 - weight) * base + weight * error
    if zero_one:
        # The weighted mean of two shares may be off by a rounding.
        estimate = min(1.0, max(0.0, estimate))
    n = out_of_bag.rows
    variance, tau2 = out_of_bag.spread()
    if variance == 0.0:
        sd, factor = 0.0, NO_SPREAD
    else:
        moved2 = (out_of_bag.error - estimate) ** 2 / 3
        sd, factor = math.sqrt(variance), math.sqrt(SHARED_ROWS + (tau2 + moved2) * n / variance)
    tail = None if zero_one else Tail.of(out_of_bag.error_of_rows[~np.isnan(out_of_bag.error_of_rows)])
    low, high = inflated(estimate, sd, n, factor=factor, tail=tail, level=level)
    return BootstrapInterval(estimate, low, high, factor * sd / math.sqrt(n), tau2, weight, overfitting)


def _overfitting(error: float, apparent: float, no_information: float) -> tuple[float, float]:
    """Relative overfitting rate R, and Err(1) capped at the no-information error."""
    capped = min(error, no_information)
    if error > apparent and no_information > apparent:
        return (capped - apparent) / (no_information - apparent), capped
    return 0.0, capped


# The no-information error γ of the .632+ bootstrap (Efron and Tibshirani 1997, section 3) is the loss of predictions
# that are independent of the truth: the mean over all n² pairs of a prediction and a row's truth.

#: How many pairs the general form holds at once, and how many counts of drawn rows.
_BLOCK, _DRAWS_BLOCK = 1 << 20, 1 << 22


def no_information_zero_one(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of 0-1 loss: :math:`\sum_l \hat p_l (1 - \hat q_l)`, true and predicted class shares."""
    y, f = np.asarray(truth), np.asarray(predicted)
    classes, code = np.unique(np.concatenate([y, f]), return_inverse=True)
    p = np.bincount(code[: len(y)], minlength=len(classes)) / len(y)
    q = np.bincount(code[len(y) :], minlength=len(classes)) / len(f)
    return float(p @ (1 - q))


def no_information_squared(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """No-information error of squared loss: the two variances plus the squared difference of the means."""
    y, f = np.asarray(truth, dtype=np.float64), np.asarray(predicted, dtype=np.float64)
    return float(y.var() + f.var() + (y.mean() - f.mean()) ** 2)


def no_information_absolute(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    """No-information error of absolute loss, by sorting."""
    y, f = (np.sort(np.asarray(each, dtype=np.float64)) for each in (truth, predicted))
    # Around a common middle, so that the running sums do not cancel where the values are large.
    middle = (y.mean() + f.mean()) / 2
    y, f = y - middle, f - middle
    below = np.searchsorted(y, f, side="right")
    sums = np.concatenate([[0.0], np.cumsum(y)])
    of_each = f * below - sums[below] + (sums[-1] - sums[below]) - f * (len(y) - below)
    return float(of_each.sum() / (len(y) * len(f)))


def no_information_error(
    truth: npt.ArrayLike, predicted: npt.ArrayLike, loss: Callable[[Array, Array], npt.ArrayLike]
) -> float:
    """No-information error of any per-row loss: the mean over all n² pairs, about a million at a time."""
    y, f = np.asarray(truth), np.asarray(predicted)
    step = max(1, _BLOCK // len(y))
    total = 0.0
    for start in range(0, len(f), step):
        block = f[start : start + step]
        found = loss(np.tile(y, (len(block), *[1] * (y.ndim - 1))), np.repeat(block, len(y), axis=0))
        total += float(np.sum(found, dtype=np.float64))
    return total / (len(y) * len(f))


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
    step = max(1, _DRAWS_BLOCK // n)
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
