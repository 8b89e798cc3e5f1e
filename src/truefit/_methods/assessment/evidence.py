"""Evidence: the values of one candidate under one metric, from its outcomes; what they show of its interval."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.outcome import LeftOutOutcomes, Outcome
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats, Positions
from truefit._methods.splitting.designs import BOOTSTRAPS, Design
from truefit._methods.splitting.splits import Split, has_clusters
from truefit._metrics.metric import Metric
from truefit._metrics.scorers import StoredPredictor, positive_class, ranked
from truefit._stats.intervals import Tail
from truefit._stats.triangle import single_fit_weight

if TYPE_CHECKING:
    from truefit._methods.assessment.hold_out_interval import Contributions


#: Values of each fold by the fit without it, and by each fit without it and another fold.
Triangle = tuple[list[Array], list[list[Array | None]]]

#: Rows whose values are computed together where each is a test set by itself.
_ROWS_AT_ONCE = 5_000


class Evidence:
    """Values of single rows and scores of whole test sets, read one fit at a time from outcomes without failures."""

    def __init__(
        self,
        outcomes: Sequence[Outcome],
        extra: Sequence[Outcome],
        data: Data,
        design: Design,
        metric: Metric,
        *,
        pooled_rates: bool = True,
        scores: npt.NDArray[np.float64] | None = None,
    ) -> None:
        self.data = data
        self.design = design
        self.splits = design.splits
        self.metric = metric
        #: Whether rates such as F1 are computed from the counts of all test rows, or as the mean over the test sets.
        self.pooled_rates = pooled_rates
        self._outcomes = outcomes
        self.extra_outcomes = extra
        self._scores = np.full(len(design.splits), np.nan) if scores is None else scores
        #: What the rows of one test set contribute, once ``contributions_of`` has computed it; or why there is nothing.
        self.contributions: Contributions | str | None = None

    @property
    def _per_run(self) -> int:
        """Number of splits of one run through all rows."""
        return len(self.splits) // self.splits.repeats if self.splits.partition else 1

    def _tested(self) -> Iterator[tuple[Split, Outcome]]:
        return zip(self.splits, self._outcomes, strict=True)

    @property
    def independent(self) -> bool:
        """Whether rows count alike and are independent: no groups, no weights, no order in time."""
        return self.data.groups is None and self.data.weight is None and self.data.time is None

    @property
    def clustered(self) -> bool:
        """Whether whole groups show the spread: of a 0-1 loss, each row tested once per run, and enough groups."""
        of_rows = self.pooled_rates or not self.one_group_tests
        return self.metric.zero_one and of_rows and has_clusters(self.data, self.splits)

    @property
    def one_group_tests(self) -> bool:
        """Whether each test set is a group, so that their mean weights groups alike, and not rows."""
        return self.splits.partition and len(self.splits) == self.data.n_groups * self.splits.repeats

    def groups_of_runs(self) -> Iterator[Array]:
        """Return the group of each row of ``runs``."""
        assert self.data.groups is not None
        tested = iter(split.test.index for split in self.splits)
        while run := list(islice(tested, self._per_run)):
            yield self.data.groups[np.concatenate(run)]

    @property
    def one_row_tests(self) -> bool:
        """Whether each test set is a single row, as in leave-one-out."""
        return self.splits.partition and len(self.splits) == self.data.n * self.splits.repeats

    @property
    def scores(self) -> npt.NDArray[np.float64]:
        """Score of each test set."""
        if not np.isnan(self._scores).any():
            return self._scores
        if isinstance(self._outcomes, LeftOutOutcomes) and self.metric.row_loss is not None:
            self._scores[:] = self._of(Rows.all(self.data.n), self._outcomes.together)
        elif self.one_row_tests and self.metric.row_loss is not None and self.data.weight is None:
            tested = ((outcome, split.test) for split, outcome in self._tested())
            for start in range(0, len(self._scores), _ROWS_AT_ONCE):
                some = self._scores[start : start + _ROWS_AT_ONCE]
                some[:] = self.metric.rows_of_all(islice(tested, len(some)), self.data)
        else:
            for place, (split, outcome) in enumerate(self._tested()):
                self._scores[place] = self.metric.value(outcome, self.data, split.test)
        return self._scores

    def extra_scores(self) -> npt.NDArray[np.float64]:
        """Score of each further fit on its test rows."""
        pairs = zip(self.design.extra, self.extra_outcomes, strict=True)
        return np.array([self.metric.value(outcome, self.data, split.test) for split, outcome in pairs])

    def rows(self) -> Iterator[Array]:
        """Values of the test rows of each split; with several columns where the metric is made of several means."""
        if isinstance(self._outcomes, LeftOutOutcomes):
            whole = self._of(Rows.all(self.data.n), self._outcomes.together)
            if self.metric.smooth is None:
                self._scores[:] = whole
            yield from (whole[row : row + 1] for row in range(len(whole)))
            return
        for place, (split, outcome) in enumerate(self._tested()):
            each = self._of(split.test, outcome)
            if self.data.weight is None:  # the score comes at no cost
                smooth = self.metric.smooth
                self._scores[place] = each.mean() if smooth is None else smooth.value(each.mean(axis=0))
            yield each

    def extra_rows(self) -> Iterator[Array]:
        """Values of the test rows of each further fit."""
        for split, outcome in zip(self.design.extra, self.extra_outcomes, strict=True):
            yield self._of(split.test, outcome)

    def _of(self, rows: Rows, outcome: Outcome) -> Array:
        if self.metric.smooth is not None:
            return self.metric.smooth.rows(outcome, self.data, rows)
        each = self.metric.rows(outcome, self.data, rows)
        assert each is not None
        return each

    def runs(self) -> Iterator[Array]:
        """Values of each run through all rows; of each split, where the splits are no partition."""
        rows = self.rows()
        while run := list(islice(rows, self._per_run)):
            yield np.concatenate(run)

    def runs_by_row(self) -> Iterator[Array]:
        """Values of each run, in the order of the rows, so that candidates can be compared row by row."""
        tested = iter(split.test.index for split in self.splits)
        for run in self.runs():
            yield run[np.argsort(np.concatenate(list(islice(tested, self._per_run))), kind="stable")]

    def pooled_value(self) -> float:
        """Metric over all test rows at once, for metrics that are not per-sample."""
        parts = [StoredPredictor.of(outcome, self.data, split.test) for split, outcome in self._tested()]
        index = np.concatenate([split.test.index for split in self.splits])
        return self.metric.of(StoredPredictor.joined(parts, self.data), self.data, index)

    def ranked_runs(self) -> Iterator[list[tuple[Array, Array]]]:
        """For each run, per test set whether rows are of the positive class, and how high the model ranks them."""
        positive = positive_class(self.data)
        tested = self._tested()
        while run := list(islice(tested, self._per_run)):
            yield [ranked(outcome, self.data, split.test, positive) for split, outcome in run]

    def tested_codes(self) -> Array:
        """Classes of the rows of the first run, as codes."""
        codes = self.data.codes
        assert codes is not None
        return codes if self.splits.partition else codes[self.splits[0].test.index]

    @property
    def only_test(self) -> tuple[Positions, StoredPredictor]:
        """The rows of the only test set, and their predictions."""
        ((split, outcome),) = self._tested()
        return split.test.index, StoredPredictor.of(outcome, self.data, split.test)

    def triangles(self) -> Iterator[Triangle]:
        """For each repeat: values of each fold by the fit without it, and by each fit without it and another fold."""
        k = len(self.splits) // self.splits.repeats
        singles, further = self.rows(), self.extra_rows()
        for _ in range(self.splits.repeats):
            by_other = [[None if a == b else next(further) for b in range(k)] for a in range(k)]
            yield [next(singles) for _ in range(k)], [list(column) for column in zip(*by_other, strict=True)]


#: With fewer training rows per column the last rows may matter much, above all to a linear model.
FEW_ROWS_PER_COLUMN = 5
#: A linear model of more columns than this share of its rows is taken to be regularised as if it had no more.
MOST_COLUMNS = 2 / 3


def tail_of(evidence: Evidence) -> Tail | None:
    """Measure the tail of the losses; None for shares of rows, and where the rows of a run are not tested once each."""
    metric, splits = evidence.metric, evidence.splits
    once = len(splits) == 1 or splits.partition
    if not once or splits.chronological or evidence.design.kind in BOOTSTRAPS or not has_tail(evidence):
        return None
    return Tail.mean_of(Tail.of(run if metric.smooth is None else _influence(evidence, run)) for run in evidence.runs())


def overflow(evidence: Evidence) -> str | None:
    """Say that losses are too large to compute with, or None: squares of finite errors may be infinite."""
    if not has_tail(evidence) or evidence.one_row_tests:  # leave-one-out has no interval, and many test sets
        return None
    with np.errstate(over="ignore"):
        rows = [np.square(each) for each in evidence.rows()]
    large = sum(int((~np.isfinite(each)).sum()) for each in rows)
    return f"{large} of the losses are infinite or too large to compute with; check the predictions" if large else None


def has_tail(evidence: Evidence) -> bool:
    """Whether the metric is made of losses that are not 0-1."""
    metric = evidence.metric
    if metric.smooth is not None:
        return metric.smooth.scale != "logit"
    return metric.row_loss is not None and not metric.zero_one


def _influence(evidence: Evidence, parts: Floats) -> Floats:
    """How much each row adds to a metric of several means."""
    smooth = evidence.metric.smooth
    assert smooth is not None
    with np.errstate(divide="ignore", invalid="ignore"):
        slopes = np.nan_to_num(smooth.slopes(parts.mean(axis=0)), posinf=0.0, neginf=0.0)
    influence: Floats = parts @ slopes
    return influence


def tail_note(tail: Tail | None) -> str | None:
    """Say that the tail is heavy, with the numbers."""
    if tail is None or not tail.heavy:
        return None
    return (
        f"the losses have a heavy tail: the largest 1% of them carry {tail.largest:.0%} of their sum (tail index "
        f"{tail.hill:.2f}). A sample without the rare largest ones looks too certain, so the interval may cover less "
        "than its level."
    )


def gain_of_all_rows(rows: int, train_rows: float, columns: int) -> float:
    r"""Share by which the squared error of least squares falls from ``train_rows`` to ``rows`` training rows.

    With p normal columns it is proportional to :math:`(m - 1)/(m - p - 1)` at m rows. 0 with many rows per column.

    >>> round(gain_of_all_rows(100, 90, 60), 2), gain_of_all_rows(100, 90, 10)
    (0.17, 0.0)
    """
    if columns * FEW_ROWS_PER_COLUMN <= train_rows:
        return 0.0
    p = min(columns, MOST_COLUMNS * train_rows)
    return 1 - (rows - 1) / (rows - p - 1) * (train_rows - p - 1) / (train_rows - 1)


def extension(evidence: Evidence, value: float) -> float:
    """Length by which an interval is extended at its better end, since the final model is trained on more rows."""
    metric, data, splits = evidence.metric, evidence.data, evidence.splits
    if not has_tail(evidence) or not splits.partition or splits.chronological:
        return 0.0
    folds = len(splits) // splits.repeats
    train_rows = splits.mean_train_rows
    if evidence.design.interval in ("triangle", "nested_cv"):
        train_rows -= (1 - single_fit_weight(folds)) * data.n / folds
    best = metric.bounds[1] if metric.greater_is_better else metric.bounds[0]
    gain = gain_of_all_rows(data.n, train_rows, data.columns)
    return gain * abs(best - value) if math.isfinite(best) else 0.0
