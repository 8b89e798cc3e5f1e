"""Cross-tested Agghoo: on each of several test sets, the risk of the Agghoo that has not seen it.

Algorithm 2 of Rynkiewicz, Cross-tested Aggregated Hold-out. With the folds of one partition the inner splits of a test
fold are the other folds, and training without two folds is one fit, whichever of them is tested on.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import Failure, InvalidInput, grouped_failures
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Ask, FitTask, Plan, Response
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.agghoo.plan import AgghooConfig, Aggregate, checked_failures, mean_of, scores_of, vote_of
from truefit._methods.assessment.estimate import estimate, winner_factor
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.evaluation.promise import Promise
from truefit._methods.result import Result, frame, plain, plot_method
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import Design, has_triangle
from truefit._methods.splitting.splits import Split, Splits, is_whole, lacks_a_class
from truefit._methods.text import counted, new_rows
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._metrics.scorers import aligned_answer
from truefit._metrics.smooth import Ratios
from truefit._plots.agghoo import cross_tested, estimates_and_truth, members_and_aggregate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Correction = Literal["learning_curve"]


@dataclass(frozen=True, slots=True, eq=False)
class CrossTestConfig:
    """What is cross-tested, on which splits, and by which metric.

    ``baseline`` also fits every candidate on each outer training set: for the mean validation score of Agghoo on all
    rows, and for cross-validation with a refit of the best candidate.
    """

    agghoo: AgghooConfig
    splits: Splits
    inner: Sequence[Sequence[Split]]
    triangle: bool
    metric: Metric
    baseline: bool = True
    correction: Correction | None = None
    level: float = 0.95


def nested_splits(data: Data, splits: Splits, cv: Any, inner_cv: Any, seed: int | None) -> list[list[Split]]:
    """For each outer split the inner ones: the other folds of its partition, or splits of its training rows alone."""
    if inner_cv is None:
        return inner_splits(data, splits, cv, random_state=seed)
    if isinstance(inner_cv, str) or not (is_whole(inner_cv) or hasattr(inner_cv, "split")):
        raise InvalidInput(
            "The 'inner_cv' parameter must be None, a number of folds or a splitter, since each training set is split. "
            f"Got {inner_cv!r} instead."
        )
    own = Splits.of(splits, splits.description)  # no partition, so that the inner splits are not its other folds
    return inner_splits(data, own, inner_cv, random_state=seed)


def check_correction(correction: Any, baseline: bool) -> None:
    """Refuse an unknown correction, or one without the fits it needs."""
    if correction not in (None, "learning_curve"):
        raise InvalidInput(f"The 'correction' parameter must be None or 'learning_curve'. Got {correction!r} instead.")
    if correction is not None and not baseline:
        raise InvalidInput("correction='learning_curve' needs the fits of baseline=True. Got baseline=False.")


def cross_test_plan(config: CrossTestConfig, data: Data) -> Plan[CrossTest]:
    """Fit every candidate on every inner training set, and predict its validation rows and the test rows."""
    outcomes = yield list(_tasks(config))
    width, place = len(config.agghoo.candidates), 0
    folds: list[Fold] = []
    failures: list[Failure] = []
    singles_start = width * sum(len(group) for group in config.inner)
    for a, (split, group) in enumerate(zip(config.splits, config.inner, strict=True)):
        found = [outcomes[place + b * width : place + (b + 1) * width] for b in range(len(group))]
        place += width * len(group)
        failures += checked_failures(found)
        singles = None
        if config.baseline:
            singles = outcomes[singles_start + a * width : singles_start + (a + 1) * width]
            failures += checked_failures([singles])
        folds.append(_fold(config, data, split, group, found, singles))
    return CrossTest(config, data, folds, tuple(failures))


def _tasks(config: CrossTestConfig) -> Iterator[FitTask]:
    agghoo, metric = config.agghoo, config.metric
    averaged: Response = "predict_proba" if agghoo.aggregate == "soft" else "predict"
    validated, tested = [], []
    for candidate in agghoo.candidates:
        by = (*agghoo.metric.responses(candidate.estimator), *metric.responses(candidate.estimator))
        validated.append(tuple(dict.fromkeys(by)))
        tested.append(tuple(dict.fromkeys((averaged, *metric.responses(candidate.estimator)))))
    for split, group in zip(config.splits, config.inner, strict=True):
        for inner in group:
            for candidate, on_validation, on_test in zip(agghoo.candidates, validated, tested, strict=True):
                asks = [Ask(inner.test, each) for each in on_validation] + [Ask(split.test, each) for each in on_test]
                yield FitTask(candidate.estimator, inner.train, tuple(asks))
    if config.baseline:
        for split in config.splits:
            for candidate, needed in zip(agghoo.candidates, validated, strict=True):
                yield FitTask(candidate.estimator, split.train, tuple(Ask(split.test, each) for each in needed))


def _fold(
    config: CrossTestConfig,
    data: Data,
    split: Split,
    group: Sequence[Split],
    found: Sequence[Sequence[Outcome]],
    singles: Sequence[Outcome] | None,
) -> Fold:
    agghoo, metric = config.agghoo, config.metric
    validation = np.array(
        [scores_of(line, agghoo.metric, data, inner) for line, inner in zip(found, group, strict=True)]
    )
    chosen = [agghoo.best(line) for line in validation]
    members = [line[place] for line, place in zip(found, chosen, strict=True)]
    outcome = aggregated(members, data, split.test, agghoo.aggregate)
    refit_risk = best_validation = float("nan")
    if singles is not None:
        refit = singles[agghoo.best(validation.mean(axis=0))]
        refit_risk = float("nan") if refit.error is not None else metric.value(refit, data, split.test)
        best = agghoo.best(np.array(scores_of(singles, agghoo.metric, data, split)))
        best_validation = metric.value(singles[best], data, split.test)
    return Fold(
        outcome,
        chosen,
        metric.value(outcome, data, split.test),
        np.array([metric.value(member, data, split.test) for member in members]),
        np.array([metric.value(member, data, inner.test) for member, inner in zip(members, group, strict=True)]),
        refit_risk,
        best_validation,
    )


def aggregated(members: Sequence[Outcome], data: Data, rows: Rows, aggregate: Aggregate) -> Outcome:
    """Return the aggregated predictions of several fits on some rows, as an outcome."""
    tokens = data.tokens[rows.index]
    if aggregate == "soft":
        assert data.classes is not None
        parts = [aligned_answer(member, data, rows, "predict_proba") for member in members]
        mean = mean_of([part for part in parts if part is not None])
        answers = (
            Predictions("predict", tokens, mean.argmax(axis=1), coded=True),
            Predictions("predict_proba", tokens, mean),
        )
        return Outcome("agghoo", answers, classes=data.classes)
    predicted = [member.answer(data, rows) for member in members]
    if aggregate == "vote":
        assert data.classes is not None
        return Outcome(
            "agghoo", (Predictions("predict", tokens, vote_of(predicted, data.classes)),), classes=data.classes
        )
    return Outcome("agghoo", (Predictions("predict", tokens, mean_of(predicted)),))


def is_triangle(splits: Splits, inner_cv: Any) -> bool:
    """Whether the inner splits are the other folds of one partition."""
    return inner_cv is None and has_triangle(splits)


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One outer test set: the aggregated predictions, and the scores of the members and of a refit."""

    outcome: Outcome
    chosen: list[int]
    risk: float
    member_risks: Floats
    member_validation: Floats
    refit_risk: float = float("nan")
    best_validation: float = float("nan")


class CrossTest(Result):
    """The value of Agghoo on held-out rows, and the effects of selection and aggregation.

    Attributes
    ----------
    estimate : float
        The cross-tested value, with the correction where it was requested.
    interval : tuple of float or None
        Interval of the estimate, shifted by the correction.
    interval_method : str or None
        How the interval was computed.
    interval_reason : str or None
        Why there is no interval.
    estimand : str
        What is estimated.
    cross_tested : float
        Mean of the values on the test sets: that of an Agghoo trained on fewer rows than there are.
    inner_validation : float
        Mean of the members' values on the validation rows that selected them.
    members_alone : float
        Mean of the members' values on the test sets.
    mean_validation : float
        Mean validation value of the selected candidates when Agghoo is trained on all rows with these folds: the figure
        available without cross-testing. NaN without the baseline.
    cv_refit : float
        Value of the best candidate in cross-validation, refitted on all training rows.
    optimism : float
        By how much the members are better on the rows that selected them than on test rows.
    aggregation_gain : float
        By how much the aggregated members are better than single members, on the same test rows.
    learning_gap : float
        Change of the validation value from inner training sets to outer ones: the learning-curve correction.
    selection_burden : float
        (1 + ln N)/(np) for N candidates and np validation rows. Without a unit; not a bound of the accuracy.
    fold_risks : array of shape (A,)
        Value of the metric on each test set.
    member_risks : list of arrays of shape (B,)
        For each test set the members' values on it.
    member_validation : list of arrays of shape (B,)
        For each test set the members' values on the validation rows that selected them.
    refit_risks : array of shape (A,)
        On each test set the value of the candidate with the best mean inner validation score, refitted on all training
        rows; NaN without the baseline.
    chosen : list of lists of str
        For each test set the selected candidate of each inner split.
    triangle : bool
        Whether the inner splits are the other folds of one partition.
    failures : tuple of Failure
        Fits that failed.
    """

    title = "Cross-tested Agghoo"

    def __init__(
        self, config: CrossTestConfig, data: Data, folds: Sequence[Fold], failures: tuple[Failure, ...] = ()
    ) -> None:
        self.metric = config.metric.name
        self._pos_label = config.metric.pos_label
        self.level = config.level
        self.rows = data.n
        self.candidates = [candidate.label for candidate in config.agghoo.candidates]
        self.aggregate = config.agghoo.aggregate
        self.design = config.splits.description
        self.triangle = config.triangle
        self.correction = config.correction
        self.failures = failures
        self.fold_risks = np.array([fold.risk for fold in folds])
        self.member_risks = [fold.member_risks for fold in folds]
        self.member_validation = [fold.member_validation for fold in folds]
        self.refit_risks = np.array([fold.refit_risk for fold in folds])
        self.validation_risks = np.array([fold.best_validation for fold in folds])
        self.chosen = [[self.candidates[place] for place in fold.chosen] for fold in folds]
        self.train_rows = config.splits.mean_train_rows
        self.validation_rows = float(np.mean([len(inner.test) for group in config.inner for inner in group]))
        self._data = data.without_table()
        self._splits = config.splits
        self._outcomes = [fold.outcome for fold in folds]
        design = Design("splits", config.splits, "auto")
        # As in nested cross-validation, a rate of a class that a test set lacks is computed from all test rows.
        pooled = isinstance(config.metric.smooth, Ratios) and lacks_a_class(data, config.splits)
        evidence = Evidence(
            self._outcomes, (), self._data, design, config.metric, pooled_rates=pooled, scores=self.fold_risks.copy()
        )
        # As for the winner of a selection, one partition varies more than its losses show.
        self._estimate = estimate(evidence, level=config.level, factor=winner_factor(config.metric))
        self.interval_method, self.interval_reason = self._estimate.method, self._estimate.reason
        self.cross_tested = float(self.fold_risks.mean())
        self.inner_validation = float(np.mean([each.mean() for each in self.member_validation]))
        self.members_alone = float(np.mean([each.mean() for each in self.member_risks]))
        self.mean_validation = float(self.validation_risks.mean())
        self.cv_refit = float(self.refit_risks.mean())
        sign = -1.0 if config.metric.greater_is_better else 1.0
        self.optimism = sign * (self.members_alone - self.inner_validation)
        self.aggregation_gain = sign * (self.members_alone - self.cross_tested)
        self.learning_gap = self.mean_validation - self.inner_validation
        self.selection_burden = (1 + log(len(self.candidates))) / self.validation_rows
        shift = 0.0 if self.correction is None else self.learning_gap
        self.estimate = (self._estimate.value if pooled else self.cross_tested) + shift
        found = self._estimate.interval
        self.interval = None if found is None else (found[0] + shift, found[1] + shift)
        size = f"{self.train_rows:,.0f}" if self.correction is None else f"all {self.rows:,}"
        self.estimand = f"{self.metric} on {new_rows(data)} of Agghoo trained on {size} rows"
        if failures:
            text = f"{len(failures)} fits failed; their candidates were not selected on those splits."
            warnings.warn(f"{text}\n\n{grouped_failures(failures)}", stacklevel=2)

    @property
    def promise(self) -> Promise | None:
        """The estimate for new rows, in the form in which a saved model carries it; None where there is none."""
        if np.isnan(self.estimate):
            return None
        return Promise(self.metric, float(self.estimate), self.interval, self.level, self.rows, plain(self._pos_label))

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """Held-out predictions: row, split, y, prediction and probabilities."""
        import pandas as pd

        frames = []
        for place, (split, outcome) in enumerate(zip(self._splits, self._outcomes, strict=True)):
            rows = split.test.index
            columns: dict[str, Any] = {"row": rows, "split": place, "y": list(self._data.y[rows])}
            columns["prediction"] = list(outcome.answer(self._data, split.test))
            proba = aligned_answer(outcome, self._data, split.test, "predict_proba")
            if proba is not None and self._data.classes is not None:
                columns |= {f"p({label})": proba[:, j] for j, label in enumerate(self._data.classes)}
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True)

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per test set: values of Agghoo, of single members, on validation rows, and of a refit."""
        columns = {
            "split": range(len(self.fold_risks)),
            "rows": [len(split.test) for split in self._splits],
            "agghoo": self.fold_risks,
            "members": [each.mean() for each in self.member_risks],
            "validation": [each.mean() for each in self.member_validation],
            "cv_refit": self.refit_risks,
        }
        return frame(columns, "split")

    @property
    def _has_baseline(self) -> bool:
        return not np.isnan(self.validation_risks).all()

    def summary(self) -> str:
        """Return the estimate, what it estimates, and the effects of selection and aggregation."""
        shown = replace(self._estimate, value=self.estimate, interval=self.interval)
        how = "the triangle of fits" if self.triangle else "inner splits of its training rows"
        lines = [
            f"{self.metric} of Agghoo over {len(self.candidates):,} candidates: {shown.text(self.level)}",
            f"Estimated: {self.estimand}, by {self.design} with {how}.",
            f"Single members on test rows: {self.members_alone:.4g}; aggregation gains {self.aggregation_gain:.3g}. "
            f"On the rows that selected them: {self.inner_validation:.4g}, an optimism of {self.optimism:.3g}. "
            f"It grows with more candidates and fewer validation rows (selection burden {self.selection_burden:.3g}: "
            f"{counted(len(self.candidates), 'candidate')}, {self.validation_rows:,.0f} rows).",
        ]
        if self._has_baseline:
            lines.append(
                f"For comparison: mean validation {self.mean_validation:.4g} (trained without one fold), "
                f"cross-validation and refit {self.cv_refit:.4g}."
            )
        if self.correction is not None:
            lines.append(
                f"Corrected by {self.learning_gap:+.3g} from {self.cross_tested:.4g}: the change of the validation "
                "value from inner to outer training sets. Experimental; the interval is shifted by the same amount."
            )
        if self.failures:
            lines.append(f"Note: {len(self.failures)} fits failed; their candidates were not selected there.")
        return "\n".join(lines)

    @plot_method("members", "estimates")
    def plot(
        self,
        kind: Literal["members", "estimates"] | None = None,
        *,
        ax: Axes | None = None,
        truth: float | None = None,
    ) -> Axes:
        """Draw the cross-test.

        Parameters
        ----------
        kind : {"members", "estimates"}, optional
            By default the values on each test set, with the interval of their mean. "members": on each test set the
            members alone, and together. "estimates": the estimate with its interval, beside mean validation,
            validation inside and cross-validation with a refit.
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        truth : float, optional
            For "estimates": the value on held-out rows that no fit has seen, drawn as a line.
        """
        if truth is not None and kind != "estimates":
            raise InvalidInput(f"The 'truth' parameter is for kind='estimates'. Got kind={kind!r}.")
        metric, percent = self.metric, is_share(self.metric)
        if kind == "members":
            return members_and_aggregate(self.member_risks, self.fold_risks, xlabel=metric, percent=percent, ax=ax)
        if kind == "estimates":
            values = {"cross-tested": self.estimate, "members' validation": self.inner_validation}
            if self._has_baseline:
                values |= {"mean validation": self.mean_validation, "CV + refit": self.cv_refit}
            return estimates_and_truth(
                list(values),
                list(values.values()),
                interval=self.interval,
                truth=truth,
                xlabel=metric,
                percent=percent,
                ax=ax,
            )
        rows = {
            "Agghoo": self.fold_risks,
            "single members": self.table["members"].to_numpy(),
            "members' validation": self.table["validation"].to_numpy(),
        }
        if self._has_baseline and not np.isnan(self.refit_risks).any():
            rows["CV + refit"] = self.refit_risks
        found = self._estimate.interval
        return cross_tested(list(rows), list(rows.values()), interval=found, xlabel=metric, percent=percent, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        names = ("metric", "design", "rows", "level", "estimand", "aggregate", "candidates", "triangle", "correction")
        values = ("estimate", "cross_tested", "mean_validation", "inner_validation", "cv_refit", "optimism")
        return {
            "kind": "cross-test",
            "version": 1,
            **self._values(*names, *values, "aggregation_gain", "selection_burden", "interval"),
            "method": self.interval_method,
            "reason": self.interval_reason,
            **self._values("fold_risks", "member_risks", "member_validation", "refit_risks", "chosen"),
            "failed": len(self.failures),
        }
