"""Bootstrap estimates of the error: leave-one-out bootstrap, .632 and .632+, with intervals; the no-information error.

The models are trained on samples drawn with replacement. Each row is judged by the models whose sample it was not in.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats
from truefit._stats.intervals import inflated, sample

Rule = Literal["loo", ".632", ".632+"]

#: On the variance of single losses: rows are tested by models that share training rows. 1.1 squared.
_SHARED_ROWS = 1.21

#: On the standard deviation, where all out-of-bag losses are equal and so say nothing.
_NO_SPREAD = 1.2


class OutOfBag:
    """Losses of rows that were left out of bootstrap samples, summed up model by model.

    Holds a few numbers per row, and a bit per row and model, never the losses themselves: B·n may be large.

    Parameters
    ----------
    rows : int
        How many rows the samples are drawn from, n.

    Examples
    --------
    >>> bag = OutOfBag(3)
    >>> bag.add([0.0, 0.0, 1.0], counts=[2, 1, 0])
    >>> bag.add([0.0, 3.0, 2.0], counts=[3, 0, 0])
    >>> bag.error, bag.never_left_out
    (2.25, 1)
    """

    def __init__(self, rows: int) -> None:
        if rows < 2:
            raise InvalidInput(f"The 'rows' parameter of OutOfBag must be at least 2. Got {rows} instead.")
        self.rows = rows
        self._left_out = np.zeros(rows)
        self._sum = np.zeros(rows)
        self._squares = np.zeros(rows)
        self._totals: list[float] = []
        self._outside: list[npt.NDArray[np.uint8]] = []
        self._range = (math.inf, -math.inf)

    @classmethod
    def of(cls, losses: npt.ArrayLike, counts: npt.ArrayLike) -> OutOfBag:
        """Sum up losses of shape (B, n), with how often each row was drawn for each model."""
        each, drawn = np.asarray(losses, dtype=np.float64), np.asarray(counts)
        if each.ndim != 2 or each.shape != drawn.shape:
            raise InvalidInput(
                "The losses and counts of OutOfBag must have one line per model and one column per row. "
                f"Got shapes {each.shape} and {drawn.shape}."
            )
        found = cls(each.shape[1])
        for line, times in zip(each, drawn, strict=True):
            found.add(line, times)
        return found

    def add(self, losses: npt.ArrayLike, counts: npt.ArrayLike) -> None:
        """Add one model.

        Parameters
        ----------
        losses : array-like of shape (n,)
            Its loss on each row; what stands where the row was in the sample, NaN or else, is not looked at.
        counts : array-like of shape (n,)
            How often each row was drawn for its sample.
        """
        each, drawn = np.asarray(losses, dtype=np.float64), np.asarray(counts)
        if each.shape != (self.rows,) or drawn.shape != (self.rows,):
            raise InvalidInput(
                f"The losses and counts of a bootstrap model must be of all {self.rows} rows. "
                f"Got shapes {each.shape} and {drawn.shape}."
            )
        out = drawn == 0
        loss = np.where(out, each, 0.0)
        if not np.isfinite(loss).all():
            raise InvalidInput("The losses of rows that were left out of a sample must be finite. Got NaN or infinite.")
        total = float(loss.sum())
        self._left_out += out
        self._sum += loss
        self._squares += loss * loss
        self._totals.append(total)
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
        """How many rows were in all samples, and so are judged by no model."""
        return int((self._left_out == 0).sum())

    @property
    def error_of_rows(self) -> Floats:
        """Mean loss of each row over the models that did not see it; NaN where all did."""
        seen = self._left_out > 0
        found: Floats = np.divide(self._sum, self._left_out, out=np.full(self.rows, np.nan), where=seen)
        return found

    @property
    def error(self) -> float:
        """The leave-one-out bootstrap error Err(1): the mean over the rows that were ever left out."""
        found = self.error_of_rows[self._left_out > 0]
        if not found.size:
            raise InvalidInput("The bootstrap error needs a row that was left out of a sample. Add more models.")
        return float(found.mean())

    def spread(self) -> tuple[float, float]:
        r"""Variance of a single out-of-bag loss, and of the models' errors beyond the noise of the rows.

        The second is :math:`\tau^2 = \operatorname{Var}_b(r_b) - v\,\overline{1/m_b}`, cut off at 0: :math:`r_b` is the
        mean over the :math:`m_b` rows that model b did not see of its loss less the row's mean loss :math:`E_i`, and
        v the variance of what is then left of a single loss.
        """
        seen = self._left_out > 0
        mean_of_row = np.nan_to_num(self.error_of_rows)
        sizes, beyond = self._models_beyond(mean_of_row)
        losses = float(sizes.sum())
        free = losses - int(seen.sum()) - len(sizes) + 1
        if len(sizes) < 2 or free < 1:
            raise InvalidInput(f"The spread of bootstrap losses needs more models. Got {self.models}; add some.")
        if self._range[0] == self._range[1]:
            return 0.0, 0.0
        within_rows = float((self._squares - self._sum * mean_of_row).sum())
        moved = beyond / sizes
        noise = max(0.0, within_rows - float(sizes @ np.square(moved))) / free
        tau2 = max(0.0, float(moved.var(ddof=1)) - noise * float(np.mean(1 / sizes)))
        variance = (float(self._squares.sum()) - math.fsum(self._totals) ** 2 / losses) / (losses - 1)
        return variance, tau2

    def _models_beyond(self, mean_of_row: Floats) -> tuple[Floats, Floats]:
        """For each model that left rows out: how many, and its loss on them beyond what others lose there."""
        found = []
        for total, bits in zip(self._totals, self._outside, strict=True):
            out = np.unpackbits(bits, count=self.rows).astype(np.float64)
            found.append((out.sum(), total - out @ mean_of_row))
        sizes, beyond = np.array(found).reshape(-1, 2).T
        return sizes[sizes > 0], beyond[sizes > 0]


class BootstrapInterval(NamedTuple):
    """A bootstrap estimate of the error, its interval, and what it is made of."""

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

    With Err(1) the leave-one-out bootstrap error, err the apparent error of the model trained on all rows, and γ the
    no-information error, the estimate is :math:`(1-w)\,err + w\,Err^{(1)\prime}`:

    - ``"loo"``: Err(1) itself, w = 1;
    - ``".632"``: w = .632, with Err(1) as it is;
    - ``".632+"``: :math:`w = .632/(1 - .368 R)` with the relative overfitting rate
      :math:`R = (Err^{(1)\prime} - err)/(\gamma - err)`, which is 0 unless both Err(1) and γ exceed err, and
      :math:`Err^{(1)\prime} = \min(Err^{(1)}, \gamma)`.

    The standard error has three parts:

    .. math:: SE^2 = 1.21\,\frac{h^2}{n} + \tau^2 + \frac{(Err^{(1)} - \text{estimate})^2}{3}

    :math:`h^2` is the variance of a single out-of-bag loss and :math:`\tau^2` that of the models' errors beyond the
    noise of the rows (:meth:`OutOfBag.spread`). The third stands for the rule itself, whose step from Err(1)
    towards the apparent error is a rule of thumb: it is the variance of a truth that is anywhere up to such a step
    from the estimate. The interval is estimate ± z·SE; for 0-1 loss it is Wilson's at the effective size
    :math:`h^2/SE^2`.

    Parameters
    ----------
    out_of_bag : OutOfBag
    rule : {"loo", ".632", ".632+"}
    zero_one : bool
        Whether the losses are 0 or 1.
    apparent : array-like of shape (n,), optional
        Losses of the model trained on all rows on those same rows; for ``".632"`` and ``".632+"``.
    no_information : float, optional
        γ, for ``".632+"``: see :func:`no_information_error`.
    level : float, default=0.95

    Returns
    -------
    BootstrapInterval
        ``estimate, low, high, se, tau2, weight, overfitting``; the last two are w and R, which is NaN but for
        ``".632+"``.

    Notes
    -----
    Where the models memorise, .632 is far too low (for the nearest neighbour on pure noise it says .32 instead of
    .5); its interval then is wide. Use .632+.

    In simulation at nominal 95% (13 settings of 0-1 and squared loss, n = 100, 60 models, 200 repetitions) the
    error of the model trained on all rows was covered, on average and at worst: "loo" 96 and 90%, ".632" 98 and 90%,
    ".632+" 98 and 90%, at 1.4, 1.6 and 1.5 times the width of the Wald interval of 10-fold cross-validation; that
    one covered 88 and 67%. Without the third part ".632" covered 0% where the learner memorised noise. With the
    standard error of Efron and Tibshirani (their equations 35 to 40), scaled as they do for .632 and .632+, that
    of "loo" was more than twice as wide as Wald's, and ".632" covered 12% at worst.

    The published form of .632+ has Err(1) itself in the part that does not depend on R; where Err(1) exceeds γ, that
    exceeds γ as well. Here Err(1)' is meant throughout, so that total overfitting gives Err(1)'.

    References
    ----------
    B. Efron and R. Tibshirani (1997), Improvements on cross-validation: the .632+ bootstrap method, JASA 92:548-560.

    Examples
    --------
    A model that remembers its rows: the apparent error is 0.

    >>> bag = OutOfBag.of([[0, 1, 0], [0, 0, 1], [1, 0, 0]], counts=[[3, 0, 0], [0, 3, 0], [0, 0, 3]])
    >>> bag.error
    0.5
    >>> bootstrap_error(bag, rule=".632", zero_one=True, apparent=[0, 0, 0]).estimate
    0.316
    """
    if rule not in get_args(Rule):
        offered = ", ".join(map(repr, get_args(Rule)))
        raise InvalidInput(f"The 'rule' parameter of bootstrap_error must be one of {offered}. Got {rule!r} instead.")
    error = out_of_bag.error
    weight, overfitting, base = 1.0, math.nan, 0.0
    if rule != "loo":
        if apparent is None:
            raise InvalidInput(f"The {rule} bootstrap needs the apparent losses of the model trained on all rows.")
        base = float(sample(apparent, "apparent", "bootstrap_error", zero_one=zero_one).mean())
        weight = 0.632
    if rule == ".632+":
        if no_information is None:
            raise InvalidInput("The .632+ bootstrap needs the no-information error. Pass no_information=.")
        overfitting, error = _overfitting(error, base, no_information)
        weight = 0.632 / (1 - 0.368 * overfitting)
    estimate = (1 - weight) * base + weight * error
    if zero_one:
        # The weighted mean of two shares may be off by a rounding.
        estimate = min(1.0, max(0.0, estimate))
    n = out_of_bag.rows
    variance, tau2 = out_of_bag.spread()
    if variance == 0.0:
        sd, factor = 0.0, _NO_SPREAD
    else:
        moved2 = (out_of_bag.error - estimate) ** 2 / 3
        sd, factor = math.sqrt(variance), math.sqrt(_SHARED_ROWS + (tau2 + moved2) * n / variance)
    low, high = inflated(estimate, sd, n, factor=factor, zero_one=zero_one, level=level)
    return BootstrapInterval(estimate, low, high, factor * sd / math.sqrt(n), tau2, weight, overfitting)


def _overfitting(error: float, apparent: float, no_information: float) -> tuple[float, float]:
    """Relative overfitting rate R, and Err(1) no higher than the no-information error."""
    capped = min(error, no_information)
    if error > apparent and no_information > apparent:
        return (capped - apparent) / (no_information - apparent), capped
    return 0.0, capped


# The no-information error γ of the .632+ bootstrap (Efron and Tibshirani 1997, section 3): what predictions would lose
# if they had nothing to do with the truth. Each prediction is set against each row's truth, not only against its own:
# the mean loss over all n² pairs.

#: How many pairs the general form holds at once.
_BLOCK = 1 << 20


def no_information_zero_one(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of 0-1 loss: :math:`\sum_l \hat p_l (1 - \hat q_l)`.

    :math:`\hat p_l` is the share of class l in the truth, :math:`\hat q_l` its share in the predictions.

    Examples
    --------
    Shares .75 and .25 in the truth, one half each in the predictions: .75 · .5 + .25 · .5.

    >>> no_information_zero_one(["a", "a", "a", "b"], ["a", "b", "a", "b"])
    0.5
    """
    y, f = _columns(truth, predicted)
    classes, code = np.unique(np.concatenate([y, f]), return_inverse=True)
    p = np.bincount(code[: len(y)], minlength=len(classes)) / len(y)
    q = np.bincount(code[len(y) :], minlength=len(classes)) / len(f)
    return float(p @ (1 - q))


def no_information_squared(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of squared loss: :math:`\frac1{n^2}\sum_{i,j} (y_i - f_j)^2`.

    Equal to the two variances plus the squared difference of the means, so that no pair is formed.

    Examples
    --------
    >>> no_information_squared([0.0, 2.0], [1.0, 3.0])
    3.0
    """
    y, f = (each.astype(np.float64) for each in _columns(truth, predicted))
    return float(y.var() + f.var() + (y.mean() - f.mean()) ** 2)


def no_information_absolute(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> float:
    r"""No-information error of absolute loss: :math:`\frac1{n^2}\sum_{i,j} |y_i - f_j|`, by sorting.

    Examples
    --------
    >>> no_information_absolute([0.0, 2.0], [1.0, 3.0])
    1.5
    """
    y, f = (np.sort(each.astype(np.float64)) for each in _columns(truth, predicted))
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
    """No-information error of any loss of single rows: the mean over all pairs, a block of pairs at a time.

    Parameters
    ----------
    truth : array-like of shape (n, ...)
    predicted : array-like of shape (n, ...)
        One prediction per row: labels, numbers, or a line of probabilities.
    loss : callable
        ``loss(truth, predicted)`` gives one loss per row of two arrays of the same length.

    Notes
    -----
    Takes n² losses of time, and memory for about a million of them.

    Examples
    --------
    >>> no_information_error([0.0, 2.0], [1.0, 3.0], lambda y, f: abs(y - f))
    1.5
    """
    y, f = np.asarray(truth), np.asarray(predicted)
    if y.ndim == 0 or f.ndim == 0 or len(y) != len(f) or not len(y):
        raise InvalidInput(_same_length(y, f))
    step = max(1, _BLOCK // len(y))
    total = 0.0
    for start in range(0, len(f), step):
        block = f[start : start + step]
        found = loss(np.tile(y, (len(block), *[1] * (y.ndim - 1))), np.repeat(block, len(y), axis=0))
        total += float(np.sum(found, dtype=np.float64))
    return total / (len(y) * len(f))


def _columns(truth: npt.ArrayLike, predicted: npt.ArrayLike) -> tuple[Array, Array]:
    y, f = np.asarray(truth), np.asarray(predicted)
    if y.ndim != 1 or y.shape != f.shape or not y.size:
        raise InvalidInput(_same_length(y, f))
    return y, f


def _same_length(y: Array, f: Array) -> str:
    return (
        "The no-information error needs one truth and one prediction per row. "
        f"Got truth of shape {y.shape} and predictions of shape {f.shape}."
    )
