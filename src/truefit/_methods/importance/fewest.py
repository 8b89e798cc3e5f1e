"""The fewest columns that do as well as all, within one standard error, judged by nested cross-validation.

In each outer fold the columns are ordered by their importances for models of the other folds, and left out from the
least important on; the smallest number of columns within one standard error of all columns is chosen there, and judged
on the outer fold. So no row takes part in choosing the columns that it is predicted from.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.errors import FitError, reasons
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, FitTask, Keep, Plan
from truefit._core.typing import Floats
from truefit._methods.importance.fold_model import FoldModel, measured_columns
from truefit._methods.splitting.designs import pair_splits
from truefit._methods.splitting.splits import Split
from truefit._stats.intervals import corrected_t

if TYPE_CHECKING:
    from truefit._methods.importance.plan import ImportanceConfig

Order = npt.NDArray[np.intp]
#: Each number of columns that is tried is at most this share of the next larger one.
_STEP = 0.75


class SelectColumns(TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Takes some columns of a table of any kind, by their places.

    >>> SelectColumns((2, 0)).fit_transform(np.array([[1, 2, 3]])).tolist()
    [[3, 1]]
    """

    def __init__(self, places: tuple[int, ...]) -> None:
        self.places = places

    def fit(self, X: Any, y: Any = None) -> SelectColumns:
        """Do nothing."""
        return self

    def transform(self, X: Any) -> Any:
        """Return the columns."""
        return X.iloc[:, list(self.places)] if hasattr(X, "iloc") else X[:, list(self.places)]

    def __sklearn_is_fitted__(self) -> bool:
        return True


def with_columns(estimator: Any, places: Order) -> Any:
    """Return an estimator that is given some columns only."""
    steps = estimator.steps if isinstance(estimator, Pipeline) else [("model", estimator)]
    return Pipeline([("columns", SelectColumns(tuple(int(place) for place in places))), *steps])


def sizes_of(columns: int) -> list[int]:
    """Return the numbers of columns that are tried, from all down to 1.

    >>> sizes_of(30)
    [30, 22, 16, 12, 9, 6, 4, 3, 2, 1]
    """
    sizes = [columns]
    while sizes[-1] > 1:
        sizes.append(max(1, min(int(sizes[-1] * _STEP), sizes[-1] - 1)))
    return sizes


@dataclass(frozen=True, slots=True, eq=False)
class FewestColumns:
    """The fewest columns within one standard error of all.

    Attributes
    ----------
    columns : list of str
        The columns, the most important first.
    scores : dict of int to float
        The metric in cross-validation by number of columns. It chose their number, so it is optimistically biased.
    estimate : float
        The metric of this way of choosing columns on rows that had no part in it.
    full : float
        The metric with all columns on the same rows.
    difference : float
        Estimate less ``full``.
    interval : tuple of float
        Confidence interval of the difference: corrected t over the outer folds.
    chosen : list of int
        How many columns were chosen without each outer fold.
    """

    columns: list[str]
    scores: dict[int, float]
    estimate: float
    full: float
    difference: float
    interval: tuple[float, float]
    chosen: list[int]


def fewest_plan(config: ImportanceConfig, data: Data, names: Sequence[str], order: Order) -> Plan[FewestColumns]:
    """Choose the columns on all folds, and judge the choice on each outer fold."""
    inner = pair_splits(data.n, config.splits)
    orders = []
    for place, group in enumerate(inner):
        (response,) = config.metric.responses(config.estimator)
        tasks = [
            FitTask(config.estimator, split.train, (Ask(split.test, response),), keep=Keep(("inner", place, number)))
            for number, split in enumerate(group)
        ]
        outcomes = _succeeded((yield tasks))
        models = [
            FoldModel(outcome, split, response, data, config, number)
            for number, (outcome, split) in enumerate(zip(outcomes, group, strict=True))
        ]
        found = measured_columns([[column] for column in range(len(names))], models, config)
        means = np.array([each.increases.mean() for each in found])
        left = np.setdiff1d(np.arange(len(names)), np.arange(len(means)))  # not measured: the time is up
        orders.append(np.concatenate([np.argsort(-means, kind="stable"), left]).astype(np.intp))
    sizes = sizes_of(len(names))
    groups = [*zip(orders, inner, strict=True), (order, list(config.splits))]
    outcomes = _succeeded((yield [task for own, group in groups for task in _tasks(config, own, sizes, group)]))
    scores, at = [], 0
    for _, group in groups:
        part = outcomes[at : at + len(sizes) * len(group)]
        scores.append(_scores(config, data, part, list(group), len(sizes)))
        at += len(part)
    *within, on_all = scores
    chosen = [_one_se(each, sizes, greater=config.metric.greater_is_better) for each in within]
    outer = [
        next(iter(_tasks(config, own, [size], [split])))
        for own, size, split in zip(orders, chosen, config.splits, strict=True)
    ]
    judged = _scores(config, data, _succeeded((yield outer)), list(config.splits), 1)[0]
    count = _one_se(on_all, sizes, greater=config.metric.greater_is_better)
    gap = judged - on_all[0]
    return FewestColumns(
        [names[place] for place in order[:count]],
        dict(zip(sizes, map(float, on_all.mean(axis=1)), strict=True)),
        float(judged.mean()),
        float(on_all[0].mean()),
        float(gap.mean()),
        corrected_t(gap, config.splits.share, config.level),
        chosen,
    )


def _tasks(config: ImportanceConfig, order: Order, sizes: Sequence[int], splits: Sequence[Split]) -> Iterator[FitTask]:
    for size in sizes:
        estimator = config.estimator if size == len(order) else with_columns(config.estimator, order[:size])
        asks = config.metric.responses(config.estimator)
        for split in splits:
            yield FitTask(estimator, split.train, tuple(Ask(split.test, response) for response in asks))


def _scores(
    config: ImportanceConfig, data: Data, outcomes: Sequence[Outcome], splits: Sequence[Split], sizes: int
) -> Floats:
    """Return the metric by number of columns and split."""
    values = [config.metric.value(outcome, data, splits[i % len(splits)].test) for i, outcome in enumerate(outcomes)]
    return np.array(values).reshape(sizes, len(splits))


def _one_se(scores: Floats, sizes: Sequence[int], *, greater: bool) -> int:
    """Return the smallest number of columns within one standard error of all columns."""
    means = scores.mean(axis=1) * (-1 if greater else 1)
    error = scores[0].std(ddof=1) / scores.shape[1] ** 0.5
    return min(size for size, mean in zip(sizes, means, strict=True) if mean <= means[0] + error)


def _succeeded(outcomes: Sequence[Outcome]) -> Sequence[Outcome]:
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        raise FitError(
            f"The fewest columns need every fit. {len(failures)} of {len(outcomes)} failed. {reasons(failures)}",
            failures,
        )
    return outcomes
