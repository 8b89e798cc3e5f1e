"""SamplePoint: k-fold cross-validation inside one sample of a learning curve."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.outcome import Outcome
from truefit.core.rows import Rows
from truefit.core.task import Ask, FitTask, Response
from truefit.methods.splitting.part import Part
from truefit.methods.splitting.splits import Split, shared_partition
from truefit.metrics.metric import Metric

Floats = npt.NDArray[np.float64]
Positions = npt.NDArray[np.intp]


@dataclass(frozen=True)
class SamplePoint:
    """The error at one size.

    Attributes
    ----------
    size : int
    error : float
    shares : array of shape (size,) or None
        What each row of the sample, in the order of the sequence, adds to the error less its mean; None for metrics
        that are made of no means over rows.
    folds : array of shape (k,)
        The error on each fold.
    train : array of shape (k,) or None
        The error on the rows that each fit was trained on, where that was asked for.
    seconds : float
        Spent in the fits.
    """

    size: int
    error: float
    shares: Floats | None
    folds: Floats
    train: Floats | None
    seconds: float


def sample_splits(data: Data, sequence: Positions, size: int, *, k: int, random_state: int | None) -> list[Split]:
    """Return k folds of the first rows of a sequence; of all rows those that other methods use too."""
    rows = np.sort(sequence[:size])
    folds = shared_partition(Part(data, rows), k, random_state=random_state, rare=True)
    return [
        Split(Rows.train_of(data.n, rows[folds != fold]), Rows.of(rows[folds == fold]))
        for fold in range(k)
        if (folds == fold).any()
    ]


def sample_tasks(
    estimator: object, splits: Sequence[Split], responses: Sequence[Response], *, train: bool
) -> list[FitTask]:
    """Return the fits of a sample; with ``train`` they answer for their training rows too."""
    return [
        FitTask(
            estimator,
            split.train,
            tuple(
                Ask(rows, response)
                for rows in ((split.test, split.train) if train else (split.test,))
                for response in responses
            ),
        )
        for split in splits
    ]


def sample_point(
    data: Data,
    sequence: Positions,
    splits: Sequence[Split],
    outcomes: Sequence[Outcome],
    metric: Metric,
    *,
    train: bool,
) -> SamplePoint:
    """Read the error of a sample from fits of which none failed."""
    tested = list(zip(splits, outcomes, strict=True))
    positions = np.concatenate([split.test.index for split in splits])
    folds = np.array([metric.value(outcome, data, split.test) for split, outcome in tested])
    error, shares = float(folds.mean()), None
    if metric.row_loss is not None or metric.smooth is not None:
        each = np.concatenate([_of_rows(metric, outcome, data, split.test) for split, outcome in tested])
        error, shares = _summed_up(metric, each, _counts(data, splits, by_fold=metric.smooth is None))
        place = np.empty(data.n, dtype=np.intp)
        place[sequence] = np.arange(data.n)
        shares = shares[np.argsort(place[positions], kind="stable")]
    on_train = np.array([metric.value(o, data, split.train) for split, o in tested]) if train else None
    return SamplePoint(len(positions), error, shares, folds, on_train, sum(o.fit_seconds for o in outcomes))


def _of_rows(metric: Metric, outcome: Outcome, data: Data, rows: Rows) -> Floats:
    if metric.smooth is not None:
        return metric.smooth.rows(outcome, data, rows)
    each = metric.rows(outcome, data, rows)
    assert each is not None
    return np.asarray(each, dtype=np.float64)[:, None]


def _counts(data: Data, splits: Sequence[Split], *, by_fold: bool) -> Floats:
    """What each row counts: all folds alike, as in the mean over the folds, or all rows alike."""
    tests = [split.test.index for split in splits]
    weights = [np.ones(len(test)) if data.weight is None else data.weight[test] for test in tests]
    counts = np.concatenate([each / each.sum() for each in weights] if by_fold else weights)
    return np.asarray(counts / counts.sum())


def _summed_up(metric: Metric, each: Floats, counts: Floats) -> tuple[float, Floats]:
    """Return the metric over all rows, and what each of them adds to it less the mean."""
    means = counts @ each
    shares = counts[:, None] * (each - means)
    if metric.smooth is None:
        return float(means[0]), shares[:, 0]
    # A part that is the same for all rows adds nothing, even where its slope is infinite: an RMSE of zero.
    slopes = np.where(shares.any(axis=0), metric.smooth.slopes(means), 0.0)
    return float(metric.smooth.value(means)), shares @ slopes
