"""Ensemble: a weighted average of candidates of a search, cross-tested on the fits of the search.

Without each outer fold the members and their weights are selected by the inner folds alone, and their average is
evaluated on that fold. So the estimate is one of the whole procedure, as that of nested cross-validation is of
selecting a single candidate.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.agghoo.plan import Aggregate
from truefit._methods.assessment.estimate import estimate, winner_factor
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.assessment.result import Assessment
from truefit._methods.comparison.pairs import Pair, compared_by_rows
from truefit._methods.comparison.plan import CompareConfig, TestChoice
from truefit._methods.comparison.result import Comparison
from truefit._methods.evaluation.promise import Promise
from truefit._methods.result import Result, plain, plot_method
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Splits, lacks_a_class
from truefit._methods.text import MetricText, new_rows
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._metrics.scorers import aligned_answer
from truefit._metrics.smooth import Ratios
from truefit._plots.forest import fold_scores

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Members are drawn from so many of the best candidates and the best one of each family, which err on other rows.
_BEST: Final = 5
#: How many draws there are, with replacement, and how many different members at most. Measured in docs/decisions/0030.
DRAWS, MOST = 10, 5
#: With fewer candidates there is nothing to average that a comparison would not show.
FEWEST: Final = 3
#: Names of the two in the comparison.
SINGLE, ENSEMBLE = "single model", "ensemble"


def averageable(estimators: Mapping[str, Any], metric: Metric, task: str) -> tuple[list[str], Aggregate]:
    """Return the candidates whose average has a value of the metric, and how they are averaged.

    The label of a classifier without probabilities counts as certain; where none has probabilities, labels are votes.
    """
    soft = [name for name, each in estimators.items() if task == "classification" and hasattr(each, "predict_proba")]
    found = [name for name, each in estimators.items() if name in soft or metric.responses(each) == ("predict",)]
    return found, "mean" if task == "regression" else "soft" if soft else "vote"


def pool_of(scores: Floats, families: Sequence[str], *, greater_is_better: bool) -> list[int]:
    """Return the positions of the best few mean scores of shape (candidates, splits), and of the best of each family.

    Candidates that a race stopped come after all others, the last ones to be stopped first.

    >>> scores = np.array([[0.3, 0.1], [0.1, 0.1], [np.nan, 0.0], [0.2, 0.3], [0.2, 0.1], [0.2, 0.2], [np.nan, 0.1]])
    >>> pool_of(scores, ["tree"] * 5 + ["linear"] * 2, greater_is_better=False)
    [1, 4, 0, 5, 3]
    >>> pool_of(scores, ["tree"] * 6 + ["linear"], greater_is_better=False)
    [1, 4, 0, 5, 3, 6]
    """
    known = np.isfinite(scores)
    done = known.sum(axis=1)
    means = np.where(known, scores, 0.0).sum(axis=1) / np.maximum(done, 1) * (-1 if greater_is_better else 1)
    order = [int(place) for place in np.lexsort((means, -done)) if done[place]]
    best: dict[str, int] = {}
    for place in order:
        best.setdefault(families[place], place)
    return list(dict.fromkeys([*order[:_BEST], *best.values()]))


def forward_selection(
    pool: Mapping[str, Sequence[Outcome]], aggregate: Aggregate, data: Data, tests: Sequence[Rows]
) -> dict[str, int]:
    """Return how often each member is drawn: always the one whose addition to the average gives the least loss.

    ``pool`` has for each candidate its outcome on each test set. The loss is the squared error of predictions or
    probabilities (Brier score), which varies less from sample to sample than the share of wrong predictions; of votes
    it is that of their shares.

    References
    ----------
    R. Caruana, A. Niculescu-Mizil, G. Crew and A. Ksikes (2004), Ensemble selection from libraries of models, ICML.
    """
    rows = np.concatenate([test.index for test in tests])
    weight = None if data.weight is None else data.weight[rows]
    truth = data.y[rows] if data.codes is None else _one_hot(data, data.codes[rows])
    truth = truth.reshape(len(rows), -1)
    values = {
        name: np.concatenate(
            [_values(each, data, test, aggregate) for each, test in zip(outcomes, tests, strict=True)]
        ).reshape(truth.shape)
        for name, outcomes in pool.items()
    }
    total, drawn = np.zeros(truth.shape), Counter[str]()

    def loss(name: str) -> float:
        together = (total + values[name]) / (drawn.total() + 1)
        by_row = np.square(together - truth).sum(axis=1)
        return float(by_row.sum() if weight is None else by_row @ weight)

    for _ in range(DRAWS):
        name = min((each for each in values if len(drawn) < MOST or each in drawn), key=loss)
        drawn[name] += 1
        total += values[name]
    return dict(drawn.most_common())


def _one_hot(data: Data, codes: Any) -> Floats:
    assert data.classes is not None
    found: Floats = np.eye(len(data.classes))[codes]
    return found


def _values(outcome: Outcome, data: Data, rows: Rows, aggregate: Aggregate) -> Floats:
    """Return what is averaged: predictions, or a column for each class."""
    found: Any = aligned_answer(outcome, data, rows, "predict_proba") if aggregate == "soft" else None
    if found is None:
        found = outcome.answer(data, rows)
        if aggregate != "mean":
            assert data.classes is not None
            found = _one_hot(data, np.searchsorted(data.classes, found))
    values: Floats = found
    return values


@dataclass(frozen=True, slots=True)
class _Both:
    """The names of what is compared."""

    names: list[str] = field(default_factory=lambda: [SINGLE, ENSEMBLE])
    single: bool = False

    def __len__(self) -> int:
        return len(self.names)


class Ensemble(Result):
    """Estimate of a weighted average of candidates, and its paired difference from selecting a single one.

    Attributes
    ----------
    members : list of str
        The candidates that are averaged, the one with the largest weight first.
    weights : list of float
        Their weights, which sum to 1.
    aggregate : str
        "mean" of predictions, "soft" for the mean of probabilities, or "vote".
    estimate : float
        Value of the metric on held-out rows, with the members selected by the other folds alone.
    interval : tuple of float or None
        Confidence interval of the estimate.
    interval_reason : str or None
        Why there is no interval.
    chosen : list of dicts
        The members selected without each test set, with their weights.
    difference : Pair
        The ensemble against nested selection of a single model, on the same held-out rows.
    recommended : bool
        Whether it is better than the single model by more than one standard error of the difference.
    """

    title = "Ensemble"

    def __init__(
        self,
        drawn: Mapping[str, int],
        aggregate: Aggregate,
        chosen: Sequence[Mapping[str, int]],
        outcomes: Sequence[Outcome],
        single: Sequence[Outcome],
        data: Data,
        splits: Splits,
        metric: Metric,
        *,
        level: float = 0.95,
        pos_label: Any = None,
    ) -> None:
        weights = _weights(drawn)
        self.members, self.weights, self.aggregate = list(weights), list(weights.values()), aggregate
        self.chosen = [_weights(each) for each in chosen]
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
        self._verdict = comparison.verdict_on(self.difference)
        found = self.difference.found
        # What is within one standard error is a tie, as among the settings; the ensemble costs several models.
        self.recommended = self._verdict == "better" or bool(found is not None and self.gain > found.se)
        evidence = Evidence(
            outcomes, (), data.without_table(), design, metric,
            # As in nested cross-validation, a rate of a class that a test set lacks is computed from all test rows.
            pooled_rates=isinstance(metric.smooth, Ratios) and lacks_a_class(data, splits),
            scores=self.fold_scores[ENSEMBLE].copy(),
        )  # fmt: skip
        # As for the winner of a selection, one partition varies more than its losses show.
        self._estimate = estimate(evidence, level=level, factor=winner_factor(metric))
        self.estimate, self.interval = self._estimate.value, self._estimate.interval
        self.interval_reason = self._estimate.reason
        self.estimand = f"{self.metric} on {new_rows(data)} of the weighted average of {len(self.members)} candidates"

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
        text = f"Ensemble (weighted average of {len(self.members)} settings): {fmt.named(self.estimate)}{ends}"
        if found is None:
            return f"{text}; it was not compared with the single model ({self.difference.reason})."
        difference = fmt.named_difference(found.mean, self.difference.interval(self.level))
        against = f"{difference}, paired t-test"
        if self._verdict in ("better", "worse"):
            return f"{text}, significantly {self._verdict} than the single model ({against})."
        if self.recommended:
            return f"{text}, better than the single model by more than one standard error ({against})."
        return f"{text}, no significant difference from the single model ({against})."

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per test set: the score of the ensemble, that of the single model, and the members."""
        import pandas as pd

        columns = {
            "ensemble": self.fold_scores[ENSEMBLE],
            "single_model": self.fold_scores[SINGLE],
            "members": [_weighted(each) for each in self.chosen],
        }
        return pd.DataFrame(columns, index=pd.RangeIndex(len(self.chosen), name="split"))

    def summary(self) -> str:
        """Return the estimate, the difference from a single model, and the members."""
        how = {"mean": "predictions averaged", "soft": "probabilities averaged", "vote": "majority vote"}
        lines = [
            self.text,
            f"Estimated: {self.estimand}, by nested cross-validation: members selected without each test set.",
            f"Members ({how[self.aggregate]}): {_weighted(dict(zip(self.members, self.weights, strict=True)))}.",
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
            **self._values("metric", "rows", "level", "estimand", "members", "weights", "aggregate"),
            **self._values("estimate", "interval"),
            "reason": self.interval_reason,
            "difference": None if found is None else float(found.mean),
            "difference_interval": None if ends is None else [float(end) for end in ends],
            "p": None if found is None else float(found.p),
            "recommended": self.recommended,
            "chosen": self.chosen,
            "scores": {name: [float(each) for each in scores] for name, scores in self.fold_scores.items()},
        }


def _weights(drawn: Mapping[str, int]) -> dict[str, float]:
    return {name: count / sum(drawn.values()) for name, count in drawn.items()}


def _weighted(weights: Mapping[str, float]) -> str:
    return ", ".join(f"{weight:.0%} {name}" for name, weight in weights.items())


def average_outcomes(
    drawn: Sequence[Sequence[tuple[Outcome, int]]], aggregate: Aggregate, data: Data, splits: Splits
) -> list[Outcome]:
    """Return the outcome of the average of some fits on each test set, each as often as it was drawn."""
    found = []
    for each, split in zip(drawn, splits, strict=True):
        tokens, counts = data.tokens_of(split.test), [count for _, count in each]
        values = np.stack([_values(outcome, data, split.test, aggregate) for outcome, _ in each])
        mean = np.average(values, axis=0, weights=counts)
        answers = [Predictions("predict", tokens, mean)]
        if aggregate != "mean":
            answers = [Predictions("predict", tokens, mean.argmax(axis=1), coded=True)]
        if aggregate == "soft":
            answers.append(Predictions("predict_proba", tokens, mean))
        found.append(Outcome("ensemble", answers, classes=data.classes))
    return found
