"""Config of a study: the table, the candidates, the folds, the metric and the time budget."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from copy import copy
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.finding import Finding
from truefit._core.outcome import Outcome, Predictions
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Response
from truefit._core.rows import Rows
from truefit._methods.candidates import Candidates, default_responses
from truefit._methods.selection.families import ModelFamily, Setting
from truefit._methods.selection.plan import inner_splits
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Split, Splits
from truefit._metrics.metric import Metric
from truefit._study.budget import TimeBudget, nominal_seconds
from truefit._study.evidence import NotRun


@dataclass(frozen=True, eq=False)
class StudyConfig:
    """The table, the candidates, the folds, the metric and the time budget of a study."""

    candidates: Candidates
    data: Data
    splits: Splits
    metric: Metric
    level: float
    time_budget: TimeBudget
    random_state: int | None
    target: str | None = None
    findings: tuple[Finding, ...] = ()
    ignore: frozenset[str] = frozenset()
    #: Names of the columns with groups, time and weights, by keyword; empty where they have none.
    roles: Mapping[str, str] = field(default_factory=dict)
    #: Families of candidates by name, and the setting that each candidate is; empty where nothing is tuned.
    families: Mapping[str, ModelFamily] = field(default_factory=dict)
    settings: Mapping[str, Setting] = field(default_factory=dict)
    #: The positive class that was named, or None.
    pos_label: Any = None
    #: What the study does without from the start, and why.
    not_run: tuple[NotRun, ...] = ()

    def fit_seconds(self, task: FitTask, outcome: Outcome) -> float:
        """Return what a fit took; without a budget what it is expected to take, so that reruns decide alike."""
        if self.time_budget.measured:
            return outcome.fit_seconds
        return self._nominal_seconds(task.estimator, len(task.train))

    def whole_fit_seconds(self, name: str, on_folds: float) -> float:
        """Return what a fit of a candidate on all rows takes, given the seconds of one on a fold."""
        if self.time_budget.measured:
            return on_folds * self.data.n / self.splits.mean_train_rows
        return self._nominal_seconds(self.candidates.estimators[name], self.data.n)

    def _nominal_seconds(self, estimator: Any, rows: int) -> float:
        classes = 1 if self.data.classes is None else len(self.data.classes)
        return nominal_seconds(estimator, rows, self.columns, classes) or 0.0

    @property
    def columns(self) -> int:
        """Number of columns."""
        return int(self.data.X.shape[1]) if len(self.data.X.shape) > 1 else 1

    def check(self) -> None:
        """Refuse candidates that do not take sample weights, where there are weights."""
        if self.data.weight is not None:
            for _, estimator in self.candidates:
                check_takes_weights(estimator)

    def edges(self, name: str) -> dict[str, Any]:
        """Return the parameters of a candidate that are at the edge of its family's search space."""
        if name not in self.settings:
            return {}
        setting = self.settings[name]
        return dict(self.families[setting.family].edges(setting.params))

    @property
    def tuned(self) -> bool:
        """Whether any family has more than one setting."""
        return len(self.settings) > len(self.families)

    def family(self, name: str) -> str:
        """Return the family of a candidate; its own name where it is not one of several settings."""
        return self.settings[name].family if name in self.settings else name

    @property
    def sign(self) -> int:
        """1 where a smaller value of the metric is better, -1 where a greater one is."""
        return -1 if self.metric.greater_is_better else 1

    @property
    def folds(self) -> int:
        """How many folds there are."""
        return len(self.splits)

    @cached_property
    def inner(self) -> list[list[Split]]:
        """For each fold the splits of the other folds, on which the selection is repeated."""
        return inner_splits(self.data, self.splits, self.folds, random_state=self.random_state)

    @property
    def triangle(self) -> bool:
        """Whether the fits without two folds serve both of them."""
        return has_triangle(self.splits)

    def work(self, *, nested: bool) -> float:
        """Return the cost of a candidate's search, in fits on the first fold."""
        if self.splits.chronological:  # the first training set is the smallest, and nesting needs no other fits
            return self.folds * self.splits.mean_train_rows / len(self.splits[0].train)
        found = float(self.folds)
        if nested:
            pairs = self.folds * (self.folds - 1) / 2 if self.triangle else sum(len(group) for group in self.inner)
            found += pairs * max(self.folds - 2, 1) / (self.folds - 1)
        return found

    def responses(self, name: str) -> tuple[Response, ...]:
        """Return the responses to request from a candidate, so that other metrics need no refit."""
        estimator = self.candidates.estimators[name]
        wanted = (*default_responses(estimator, self.data.task), *self.metric.responses(estimator))
        return tuple(dict.fromkeys(wanted))

    def task(self, name: str, split: Split) -> FitTask:
        """Return the fit of a candidate on a split, as the search requests it."""
        asks = tuple(Ask(split.test, response) for response in self.responses(name))
        return FitTask(self.candidates.estimators[name], split.train, asks)

    def on_all_rows(self, name: str) -> FitTask:
        """Return the fit of a candidate on all rows, with predictions for all rows."""
        everything = Rows.all(self.data.n)
        asks = tuple(Ask(everything, response) for response in self.responses(name))
        return FitTask(self.candidates.estimators[name], everything, asks)

    def constant_on(self, split: Split) -> Outcome:
        """Return what a baseline predicts on a split: the majority class, with the share of each, or the mean."""
        data, train = self.data, split.train.index
        weight, tokens = data.weights_of(train), data.tokens_of(split.test)
        if data.codes is None or data.classes is None:
            mean = np.average(data.y[train], weights=weight)
            return Outcome("constant", [Predictions("predict", tokens, np.full(len(tokens), mean))])
        shares = np.bincount(data.codes[train], weights=weight, minlength=len(data.classes))
        label = np.repeat(data.classes[[shares.argmax()]], len(tokens))
        probability = np.tile(shares / shares.sum(), (len(tokens), 1))
        answers = [Predictions("predict", tokens, label), Predictions("predict_proba", tokens, probability)]
        return Outcome("constant", answers, classes=data.classes)

    @property
    def baselines(self) -> tuple[str, ...]:
        """Names of the candidates that are baselines."""
        return tuple(name for name, each in self.candidates if is_baseline(each))

    @property
    def baseline_rule(self) -> str:
        """What the baseline predicts, in words."""
        rules = {_last_step(self.candidates.estimators[name]).strategy for name in self.baselines}
        if rules <= {"prior", "most_frequent", "mean"}:
            what = "majority class" if self.data.task == "classification" else "mean"
            return f"always predicts the {what}"
        return "ignores the features"

    def only(self, names: Iterable[str]) -> Candidates:
        """Return some of the candidates."""
        some = copy(self.candidates)
        some.estimators = {name: self.candidates.estimators[name] for name in names}
        some.single = False
        return some


def is_baseline(estimator: Any) -> bool:
    """Whether an estimator, or the last step of a pipeline, is one of scikit-learn's dummies."""
    from sklearn.dummy import DummyClassifier, DummyRegressor

    return isinstance(_last_step(estimator), DummyClassifier | DummyRegressor)


def _last_step(estimator: Any) -> Any:
    steps = getattr(estimator, "steps", None)
    return steps[-1][1] if isinstance(steps, list) and steps else estimator
