"""Result of a cross-test: the risk of Agghoo on test sets that it has not seen, beside what its own validation says."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from math import log
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Failure, Outcome, grouped_failures
from truefit._core.typing import Floats
from truefit._methods.assessment.estimate import WINNER, Estimate, estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.result import Result, plain
from truefit._methods.splitting.designs import Design
from truefit._metrics.scorers import aligned_answer
from truefit._plots.agghoo import cross_tested, estimates_and_truth, members_and_aggregate

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.agghoo.cross_test import CrossTestConfig


@dataclass(frozen=True, slots=True, eq=False)
class Fold:
    """One outer test set: the aggregated answers, what the members scored, and what a refit would have."""

    outcome: Outcome
    chosen: list[int]
    risk: float
    member_risks: Floats
    member_validation: Floats
    refit_risk: float = float("nan")
    best_validation: float = float("nan")


class CrossTest(Result):
    """How good Agghoo is on rows that had no part in it, and what choosing and aggregating did.

    Attributes
    ----------
    estimate : float
        The cross-tested value, corrected where that was requested.
    interval : tuple of float or None
        Interval of the estimate; that of a corrected one is moved along with it.
    interval_method, interval_reason : str or None
        How the interval was made, or why there is none.
    estimand : str
        What the estimate is an estimate of.
    cross_tested : float
        Mean of the values on the test sets: that of an Agghoo trained on fewer rows than there are.
    inner_validation, members_alone : float
        Mean of the members' values on the validation rows that they were chosen by, and on the test sets.
    mean_validation : float
        Mean validation value of the chosen ones when Agghoo is trained on all rows with these folds: the figure that is
        at hand without cross-testing. NaN without the baseline.
    cv_refit : float
        Value of the usual way: the candidate best in cross-validation, fitted on all training rows.
    optimism : float
        By how much the members look better on the rows that they were chosen by than on test rows.
    aggregation_gain : float
        By how much the members together are better than they are alone, on the same test rows.
    learning_gap : float
        What the validation value changes from inner training sets to outer ones: the learning-curve correction.
    selection_burden : float
        (1 + ln N)/(np): N candidates chosen among on np rows. Without a unit, and no claim on the accuracy.
    fold_risks : array of shape (A,)
        Value of the metric on each test set.
    member_risks, member_validation : list of arrays of shape (B,)
        For each test set the members' own values on it, and on the validation rows that they were chosen by.
    refit_risks : array of shape (A,)
        On each test set the value of the candidate with the best mean inner validation score, fitted on all its
        training rows; NaN without the baseline.
    chosen : list of lists of str
        For each test set the candidate of each inner split.
    triangle : bool
        Whether the inner splits are the other folds of one partition.
    failures : tuple of Failure
    """

    title = "Cross-tested Agghoo"

    def __init__(
        self, config: CrossTestConfig, data: Data, folds: Sequence[Fold], failures: tuple[Failure, ...] = ()
    ) -> None:
        self.metric = config.metric.name
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
        evidence = Evidence(
            self._outcomes, (), self._data, design, config.metric, pooled_rates=False, scores=self.fold_risks.copy()
        )
        # Like the winner of a selection: one partition varies more than its losses show.
        self._estimate = estimate(evidence, level=config.level, factor=WINNER)
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
        self.estimate = self.cross_tested + shift
        found = self._estimate.interval
        self.interval = None if found is None else (found[0] + shift, found[1] + shift)
        size = f"{self.train_rows:,.0f}" if self.correction is None else f"all {self.rows:,}"
        self.estimand = f"{self.metric} on new rows of Agghoo trained on {size} rows"
        if failures:
            text = f"{len(failures)} fits failed, and their candidates were left out of the choice on those splits."
            warnings.warn(f"{text}\n\n{grouped_failures(failures)}", stacklevel=2)

    @cached_property
    def predictions(self) -> pd.DataFrame:
        """What the Agghoo that had not seen it says of each row: row, split, y, prediction and probabilities."""
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
        """One row per test set: Agghoo's value, its members' alone and on their validation rows, and a refit's."""
        import pandas as pd

        return pd.DataFrame(
            {
                "split": range(len(self.fold_risks)),
                "rows": [len(split.test) for split in self._splits],
                "agghoo": self.fold_risks,
                "members": [each.mean() for each in self.member_risks],
                "validation": [each.mean() for each in self.member_validation],
                "cv_refit": self.refit_risks,
            }
        ).set_index("split")

    @property
    def _has_baseline(self) -> bool:
        return not np.isnan(self.validation_risks).all()

    def summary(self) -> str:
        """Return the estimate, what it estimates, and what choosing and aggregating did."""
        shown = Estimate(
            self.estimate, self.interval, self._estimate.method, self._estimate.reason, self._estimate.note
        )
        how = "the triangle of fits" if self.triangle else "inner splits of its training rows"
        lines = [
            f"{self.metric} of Agghoo over {len(self.candidates):,} candidates: {shown.text(self.level)}",
            f"Estimated: {self.estimand}, by {self.design} with {how}.",
            f"Members alone on the test rows {self.members_alone:.4g}: aggregation gains {self.aggregation_gain:.3g}. "
            f"On the rows they were chosen by {self.inner_validation:.4g}: an optimism of {self.optimism:.3g} "
            f"(selection burden (1 + ln N)/(np) = {self.selection_burden:.3g}, which has no unit).",
        ]
        if self._has_baseline:
            lines.append(
                f"Beside it: mean validation {self.mean_validation:.4g} (trained on all but one fold), "
                f"cross-validation and refit {self.cv_refit:.4g}."
            )
        if self.correction is not None:
            lines.append(
                f"Corrected by {self.learning_gap:+.3g} from {self.cross_tested:.4g}: what validation changes from "
                "inner to outer training sets. Experimental; the interval is moved along."
            )
        if self.failures:
            lines.append(f"Note: {len(self.failures)} fits failed and were left out of the choice.")
        return "\n".join(lines)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        kind: Literal["members", "estimates"] | None = None,
        truth: float | None = None,
    ) -> Axes:
        """Draw the cross-test.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"members", "estimates"}, optional
            By default the values on each test set, with the interval of their mean. "members": on each test set the
            members alone, and together. "estimates": the estimate with its interval, beside mean validation,
            validation inside and cross-validation with a refit.
        truth : float, optional
            For "estimates": the value on rows that nothing has seen, drawn as a line.
        """
        if kind not in (None, "members", "estimates"):
            raise InvalidInput(f"The 'kind' parameter must be None, 'members' or 'estimates'. Got {kind!r} instead.")
        if truth is not None and kind != "estimates":
            raise InvalidInput(f"The 'truth' parameter is for kind='estimates'. Got kind={kind!r}.")
        if kind == "members":
            return members_and_aggregate(self.member_risks, self.fold_risks, xlabel=self.metric, ax=ax)
        if kind == "estimates":
            values = {"cross-tested": self.estimate, "members' validation": self.inner_validation}
            if self._has_baseline:
                values |= {"mean validation": self.mean_validation, "CV + refit": self.cv_refit}
            return estimates_and_truth(
                list(values), list(values.values()), interval=self.interval, truth=truth, xlabel=self.metric, ax=ax
            )
        rows = {
            "Agghoo": self.fold_risks,
            "members alone": self.table["members"].to_numpy(),
            "members' validation": self.table["validation"].to_numpy(),
        }
        if self._has_baseline and not np.isnan(self.refit_risks).any():
            rows["CV + refit"] = self.refit_risks
        found = self._estimate.interval
        return cross_tested(list(rows), list(rows.values()), interval=found, xlabel=self.metric, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "cross-test",
            "version": 1,
            "metric": self.metric,
            "design": self.design,
            "rows": self.rows,
            "level": self.level,
            "estimand": self.estimand,
            "aggregate": self.aggregate,
            "candidates": self.candidates,
            "triangle": self.triangle,
            "correction": self.correction,
            "estimate": plain(self.estimate),
            "interval": None if self.interval is None else [float(end) for end in self.interval],
            "method": self.interval_method,
            "reason": self.interval_reason,
            "fold_risks": [plain(value) for value in self.fold_risks],
            "member_risks": [[plain(value) for value in each] for each in self.member_risks],
            "member_validation": [[plain(value) for value in each] for each in self.member_validation],
            "refit_risks": [plain(value) for value in self.refit_risks],
            "chosen": self.chosen,
            "cross_tested": plain(self.cross_tested),
            "mean_validation": plain(self.mean_validation),
            "inner_validation": plain(self.inner_validation),
            "cv_refit": plain(self.cv_refit),
            "optimism": plain(self.optimism),
            "aggregation_gain": plain(self.aggregation_gain),
            "selection_burden": plain(self.selection_burden),
            "failed": len(self.failures),
        }
