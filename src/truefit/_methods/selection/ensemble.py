"""Ensemble: the average of the best few candidates of a search, cross-tested on the fits of the search.

Without each outer fold the members and their number are selected by the inner folds alone, and their average is
evaluated on that fold. So the estimate is one of the whole procedure, as that of nested cross-validation is of
selecting a single candidate.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.agghoo.cross_test import aggregated
from truefit._methods.agghoo.plan import Aggregate
from truefit._methods.assessment.estimate import WINNER, estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.assessment.result import Assessment
from truefit._methods.comparison.pairs import Pair, compared_by_rows
from truefit._methods.comparison.plan import CompareConfig, TestChoice
from truefit._methods.comparison.result import Comparison
from truefit._methods.evaluation.promise import Promise
from truefit._methods.result import Result, plain, plot_method
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Splits
from truefit._methods.text import MetricText, new_rows
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._plots.forest import fold_scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: How many candidates are averaged at most, at least, and as a share of all: the best few, not the average one.
MOST: Final = 5
FEWEST: Final = 3
_SHARE: Final = 1 / 3
#: Names of the two in the comparison.
SINGLE, ENSEMBLE = "single model", "ensemble"


def members_count(candidates: int) -> int:
    """Return how many of so many candidates are averaged; 0 where there are too few.

    >>> members_count(70), members_count(10), members_count(8)
    (5, 3, 0)
    """
    count = min(MOST, int(candidates * _SHARE))
    return count if count >= FEWEST else 0


def averageable(estimators: Sequence[Any], metric: Metric) -> list[int]:
    """Return the positions of the candidates whose average has a value of the metric."""
    return [
        place
        for place, each in enumerate(estimators)
        if hasattr(each, "predict_proba") or metric.responses(each) == ("predict",)
    ]


def best_few(scores: Floats, count: int, *, greater_is_better: bool) -> list[int]:
    """Return the positions of the best mean scores of shape (candidates, splits), the first of equal ones first.

    Candidates that a race stopped come after all others, the last ones to be stopped first.

    >>> best_few(np.array([[0.3, 0.1], [0.1, 0.1], [np.nan, 0.0], [0.2, 0.3]]), 3, greater_is_better=False)
    [1, 0, 3]
    """
    known = np.isfinite(scores)
    done = known.sum(axis=1)
    means = np.where(known, scores, 0.0).sum(axis=1) / np.maximum(done, 1) * (-1 if greater_is_better else 1)
    order = np.lexsort((means, -done))[:count]
    return [int(place) for place in order if done[place]]


def aggregate_of(estimators: Sequence[Any], task: str) -> Aggregate:
    """Return how the predictions of some candidates are combined."""
    if task == "regression":
        return "mean"
    return "soft" if all(hasattr(each, "predict_proba") for each in estimators) else "vote"


def best_number(members: Sequence[Sequence[Outcome]], aggregate: Aggregate, data: Data, tests: Sequence[Rows]) -> int:
    """Return how many of the best candidates have the least loss when averaged.

    ``members`` has for each candidate, the best first, its outcome on each test set. The loss is the squared error of
    predictions or probabilities (Brier score), which varies less from sample to sample than the share of wrong
    predictions; of votes it is that share.
    """
    losses = [
        sum(
            _loss(aggregated(together, data, rows, aggregate), aggregate, data, rows)
            for together, rows in zip(zip(*members[:count], strict=True), tests, strict=True)
        )
        for count in range(1, len(members) + 1)
    ]
    return int(np.argmin(losses)) + 1


def _loss(outcome: Outcome, aggregate: Aggregate, data: Data, rows: Rows) -> float:
    """Return the sum over rows of the loss of an average."""
    if aggregate == "soft":
        assert data.classes is not None
        assert data.codes is not None
        truth = np.eye(len(data.classes))[data.codes[rows.index]]
        losses = (outcome.answer(data, rows, "predict_proba") - truth) ** 2
    else:
        predicted, truths = outcome.answer(data, rows), data.y[rows.index]
        losses = predicted != truths if aggregate == "vote" else (predicted - truths) ** 2
    by_row = losses.reshape(len(losses), -1).sum(axis=1)
    return float(by_row.sum() if data.weight is None else by_row @ data.weight[rows.index])


@dataclass(frozen=True, slots=True)
class _Both:
    """The names of what is compared."""

    names: list[str] = field(default_factory=lambda: [SINGLE, ENSEMBLE])
    single: bool = False

    def __len__(self) -> int:
        return len(self.names)


class Ensemble(Result):
    """Estimate of the average of the best few candidates, and its paired difference from selecting a single one.

    Attributes
    ----------
    members : list of str
        The candidates that are averaged: as many of the best ones of the search as do best together.
    aggregate : str
        "mean" of predictions, "soft" for the mean of probabilities, or "vote".
    estimate : float
        Value of the metric on held-out rows, with the members selected by the other folds alone.
    interval : tuple of float or None
        Confidence interval of the estimate.
    interval_reason : str or None
        Why there is no interval.
    chosen : list of lists of str
        The members selected without each test set.
    difference : Pair
        The ensemble against nested selection of a single model, on the same held-out rows.
    recommended : bool
        Whether it is significantly better than the single model.
    """

    title = "Ensemble"

    def __init__(
        self,
        members: Sequence[str],
        aggregate: Aggregate,
        chosen: Sequence[Sequence[str]],
        outcomes: Sequence[Outcome],
        single: Sequence[Outcome],
        data: Data,
        splits: Splits,
        metric: Metric,
        *,
        level: float = 0.95,
        pos_label: Any = None,
    ) -> None:
        self.members, self.aggregate = list(members), aggregate
        self.chosen = [list(each) for each in chosen]
        self.metric, self.level, self.rows = metric.name, level, data.n
        self.metric_text = MetricText.of(metric)
        self._pos_label, self._sign = pos_label, -1 if metric.greater_is_better else 1
        design = Design("splits", splits, "auto")
        both = {SINGLE: single, ENSEMBLE: outcomes}
        assessment = Assessment(_Both(), data, design, metric, both, level, best=SINGLE, pos_label=pos_label)
        by_rows = compared_by_rows(data, design, metric)
        test: TestChoice = "pooled" if by_rows else "corrected_t"
        comparison = Comparison(
            assessment, metric, CompareConfig(reference=SINGLE, test=test, level=level), by_rows=by_rows
        )
        self.fold_scores = assessment.split_scores()
        self.difference: Pair = comparison.pairs[0]
        self.recommended = comparison.verdict_on(self.difference) == "better"
        evidence = Evidence(
            outcomes, (), data.without_table(), design, metric, pooled_rates=False,
            scores=self.fold_scores[ENSEMBLE].copy(),
        )  # fmt: skip
        # As for the winner of a selection, one partition varies more than its losses show.
        self._estimate = estimate(evidence, level=level, factor=WINNER)
        self.estimate, self.interval = self._estimate.value, self._estimate.interval
        self.interval_reason = self._estimate.reason
        self.estimand = f"{self.metric} on {new_rows(data)} of the average of the {len(members)} best candidates"

    @property
    def gain(self) -> float:
        """By how much the ensemble is better than the single model; below 0 where it is worse."""
        found = self.difference.found
        return float("nan") if found is None else -self._sign * found.mean

    @property
    def promise(self) -> Promise | None:
        """The estimate for new rows, in the form in which a saved model carries it; None where there is none."""
        if np.isnan(self.estimate):
            return None
        return Promise(self.metric, float(self.estimate), self.interval, self.level, self.rows, plain(self._pos_label))

    @property
    def text(self) -> str:
        """The estimate, and how it compares with the single model, in a sentence."""
        fmt, found = self.metric_text, self.difference.found
        ends = "" if self.interval is None else f" ({fmt.between(self.interval)})"
        text = f"Ensemble (average of the {len(self.members)} best settings): {fmt.named(self.estimate)}{ends}"
        if found is None:
            return f"{text}; it was not compared with the single model ({self.difference.reason})."
        difference = fmt.named_difference(found.mean, self.difference.interval(self.level))
        against = f"{difference}, paired t-test"
        if self.recommended:
            return f"{text}, significantly better than the single model ({against})."
        if found.p <= 1 - self.level:
            return f"{text}, significantly worse than the single model ({against})."
        return f"{text}, no significant difference from the single model ({against})."

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per test set: the score of the ensemble, that of the single model, and the members."""
        import pandas as pd

        columns = {
            "ensemble": self.fold_scores[ENSEMBLE],
            "single_model": self.fold_scores[SINGLE],
            "members": [", ".join(each) for each in self.chosen],
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.chosen), name="split"))

    def summary(self) -> str:
        """Return the estimate, the difference from a single model, and the members."""
        how = {"mean": "predictions averaged", "soft": "probabilities averaged", "vote": "majority vote"}
        lines = [
            self.text,
            f"Estimated: {self.estimand}, by nested cross-validation: members selected without each test set.",
            f"Members ({how[self.aggregate]}): {', '.join(self.members)}.",
        ]
        return "\n".join(lines)

    @plot_method()
    def plot(self, kind: None = None, *, ax: Axes | None = None) -> Axes:
        """Draw the score on each test set, of the ensemble and of the single model.

        Parameters
        ----------
        kind : None
            There is one kind of plot.
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        names = (ENSEMBLE, SINGLE)
        percent, scores = is_share(self.metric), [self.fold_scores[name] for name in names]
        return fold_scores(names, scores, xlabel=self.metric_text.name, percent=percent, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        found = self.difference.found
        ends = self.difference.interval(self.level)
        return {
            "kind": "ensemble",
            "version": 1,
            **self._values("metric", "rows", "level", "estimand", "members", "aggregate", "estimate", "interval"),
            "reason": self.interval_reason,
            "difference": None if found is None else float(found.mean),
            "difference_interval": None if ends is None else [float(end) for end in ends],
            "p": None if found is None else float(found.p),
            "recommended": self.recommended,
            "chosen": self.chosen,
            "scores": {name: [float(each) for each in scores] for name, scores in self.fold_scores.items()},
        }


def average_outcomes(
    members: Sequence[Sequence[Outcome]], aggregates: Sequence[Aggregate], data: Data, splits: Splits
) -> list[Outcome]:
    """Return the outcome of the average of some fits on each test set."""
    triples = zip(members, aggregates, splits, strict=True)
    return [aggregated(each, data, split.test, aggregate) for each, aggregate, split in triples]


def members_of(
    tables: Sequence[Floats], allowed: Sequence[int], count: int, *, greater_is_better: bool
) -> list[list[int]]:
    """Return for each table of scores the positions of the best few of the allowed candidates."""
    places = np.asarray(allowed, dtype=np.intp)
    found = [best_few(table[places], count, greater_is_better=greater_is_better) for table in tables]
    return [[int(places[each]) for each in chosen] for chosen in found]
