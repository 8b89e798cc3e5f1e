"""Assessment: how good learners are, by hold-out, k-fold, nesting, leave-one-out, bootstrap or any splitter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import LeftOutOutcomes, Outcome
from truefit._core.validation import Task
from truefit._methods.assessment.estimate import Estimate, estimate, winner_estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.assessment.hold_out_interval import Contributions, contributions_of
from truefit._methods.assessment.plot import KINDS
from truefit._methods.candidates import Named
from truefit._methods.diagnostics import PredictionDiagnostics
from truefit._methods.predictions import ModelPredictions, first_predictions, held_out_frame
from truefit._methods.result import EstimatorResult, plain, plot_method, report_failures
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Split, Splits
from truefit._methods.text import MetricText, new_rows
from truefit._metrics.metric import Metric, get_metric, metric_names
from truefit._metrics.row_loss import is_share
from truefit._metrics.scorers import positive_class, ranked
from truefit._metrics.smooth import RootMeanSquare
from truefit._plots.forest import fold_scores, forest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Scores = npt.NDArray[np.float64]


def _of_each(attribute: str, text: str) -> property:
    """Return a property: an attribute of the estimate, or with several estimators a dict of it by name."""

    def get(self: Assessment) -> Any:
        return self._each(attribute, self.estimates)

    return property(get, doc=text)


class Assessment(PredictionDiagnostics, EstimatorResult):
    """Estimates with intervals, and every prediction behind them.

    With one estimator ``estimate`` is a float and ``interval`` a pair; with several each is a dict by name.

    :meth:`calibration`, :meth:`decision_curve`, :meth:`threshold`, :meth:`per_class` and :meth:`by` pool the rows of
    all test sets. They take the first held-out prediction of each row: of repeats those of the first partition.
    """

    title = "Assessment"

    def __init__(
        self,
        candidates: Named,
        data: Data,
        design: Design,
        metric: Metric,
        outcomes: Mapping[str, Sequence[Outcome | None]],
        level: float,
        *,
        best: str | None = None,
        pos_label: Any = None,
    ) -> None:
        self.names = candidates.names
        self.metric = metric.name
        self.level = level
        self.splits = design.splits
        self.single = candidates.single
        self._data = data.without_table()
        self._design = design
        self._metric = metric
        self._best = best
        self._pos_label = pos_label
        self._all = outcomes  # those of the splits, then those of the design's further fits
        self._outcomes = {name: found[: len(design.splits)] for name, found in outcomes.items()}
        failures = [o.error for name in self.names for o in self._uncertain(name) if o and o.error]
        report_failures(failures, sum(len(found) for found in outcomes.values()))

    @property
    def from_best_to_worst(self) -> list[str]:
        """Names in the order of their estimates; those without one at the end."""
        sign = -1 if self._metric.greater_is_better else 1
        return sorted(self.names, key=lambda name: np.nan_to_num(sign * self.estimates[name].value, nan=np.inf))

    def failed(self, name: str) -> int:
        """Return the number of failed fits of an estimator."""
        return sum(o is not None and o.error is not None for o in self._uncertain(name))

    def missing(self, name: str) -> int:
        """Return the number of fits of an estimator that were not run: time budget exhausted."""
        return sum(o is None for o in self._uncertain(name))

    def _uncertain(self, name: str) -> Sequence[Outcome | None]:
        """Return the outcomes that may have failed or be missing; closed forms of leave-one-out do neither."""
        found = self._all[name]
        return () if isinstance(found, LeftOutOutcomes) else found

    def split_scores(self, metric: str | Metric | None = None, *, pos_label: Any = None) -> dict[str, Scores]:
        """Value of a metric on each test set, by estimator; NaN where the fit failed or was not run."""
        wanted = self._metric if metric is None else self._metric_named(metric, pos_label)
        scores = {name: np.full(len(self.splits), np.nan) for name in self.names}
        for name, own in scores.items():
            for i, split, outcome in self._tested(name):
                own[i] = wanted.value(outcome, self._data, split.test)
        return scores

    def _metric_named(self, metric: str | Metric, pos_label: Any) -> Metric:
        return get_metric(metric, self._data.task, pos_label=self._pos_label if pos_label is None else pos_label)

    def row_losses(self, name: str) -> list[npt.NDArray[Any]] | None:
        """Values of the rows of each test set; None where the metric is not per-sample, or fits failed."""
        if self._metric.row_loss is None or self._incomplete(name):
            return None
        return list(self._evidence(name, self._metric).rows())

    def row_contributions(self, name: str) -> list[npt.NDArray[Any]] | None:
        """Values of the rows of each test set whose mean is its score: losses, and for RMSE its linearisation.

        With mean squared error m on a test set, a row of squared error s contributes (m + s) / (2 √m) to the RMSE, by
        the delta method. None where rows have no such values, or fits failed.
        """
        if not isinstance(self._metric.smooth, RootMeanSquare):
            return self.row_losses(name)
        if self._incomplete(name):
            return None
        squares = self._evidence(name, get_metric("mse", self._data.task)).rows()
        return [self._metric.smooth.sign * _linearised_root(each) for each in squares]

    def contributions(self, name: str) -> Contributions | str:
        """Contributions of the rows of the only test set to the metric, or why there are none."""
        return self._incomplete(name) or contributions_of(self._evidence(name, self._metric))

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Estimate of each estimator, with its interval and the method of the interval."""
        return {name: self._estimate(name, self._metric) for name in self.names}

    def _estimate(self, name: str, metric: Metric) -> Estimate:
        reason = self._incomplete(name)
        if reason is not None:
            return Estimate(float("nan"), None, None, reason)
        return estimate(self._evidence(name, metric), level=self.level)

    def _incomplete(self, name: str) -> str | None:
        """Why an estimator has no estimate, or None."""
        failed, missing = self.failed(name), self.missing(name)
        if not failed and not missing:
            return None
        parts = ([f"{failed} of its fits failed"] if failed else []) + ([f"{missing} were not run"] if missing else [])
        return f"{' and '.join(parts)}; an estimate from the others would be biased"

    def _evidence(self, name: str, metric: Metric) -> Evidence:
        count = len(self.splits)
        found = cast("Sequence[Outcome]", self._all[name])
        design = self._design if self._design.suits(metric) else replace(self._design, interval="auto")
        return Evidence(found[:count], found[count:], self._data, design, metric)

    estimate = _of_each("value", "The estimate; a dict by name with several estimators.")
    interval = _of_each("interval", "The interval as (low, high), or None where there is none.")
    interval_reason = _of_each("reason", "Why there is no interval, or None.")
    interval_method = _of_each("method", "Method of the interval.")

    @cached_property
    def best(self) -> str:
        """Name of the best estimator, by the estimate or by the validation rows; the first of equal ones."""
        if self._best is not None:
            return self._best
        if self._design.kind == "threeway":
            values = [
                np.nan if self._incomplete(name) else float(self._evidence(name, self._metric).extra_scores()[0])
                for name in self.names
            ]
        else:
            values = [self.estimates[name].value for name in self.names]
        if np.isnan(values).all():
            return self.names[0]
        sign = -1 if self._metric.greater_is_better else 1
        return self.names[int(np.nanargmin(sign * np.array(values)))]

    @cached_property
    def winner(self) -> Estimate:
        """Estimate for the best of these, corrected for its selection.

        Its own estimate is the best of several, so it is optimistically biased. Here the selection is repeated on
        bootstrap samples of the rows and evaluated on the other rows, from the same fits. With one estimator, or with
        validation rows of their own, it is the plain estimate.
        """
        if len(self.names) == 1 or self._design.kind == "threeway":
            return self.estimates[self.best]
        complete = [name for name in self.names if not self._incomplete(name)]
        evidence = [self._evidence(name, self._metric) for name in complete]
        return winner_estimate(evidence, level=self.level)

    @property
    def periods(self) -> list[tuple[Any, Any]]:
        """With time: the first and the last time of each test set, as numbers or datetime64; otherwise empty."""
        return time_spans(self._data, self.splits)

    @property
    def time_name(self) -> str:
        """Name of the time, where there is one."""
        return self._data.time_name

    @property
    def estimand(self) -> str:
        """What the estimate is an estimate of."""
        name = MetricText.from_name(self.metric).name
        what = f"{name} on {new_rows(self._data)} of the learner trained on these {self._data.n:,} rows"
        if self.splits.chronological:
            before = "the last period" if len(self.splits) == 1 else f"each of {len(self.splits)} periods"
            return f"{what}, from models trained on the rows before {before}"
        if self._design.kind in (".632", ".632+"):
            return f"{what}, weighted from the errors on out-of-bag rows and on the training rows"
        if self._design.kind == "bootstrap":
            return f"{what}, from models trained on samples that hold about 63% of them"
        share = self.splits.mean_train_rows / self._data.n
        return f"{what}, from models trained on {share:.0%} of them"

    def score(self, metric: str, *, pos_label: Any = None) -> Any:
        """Return the estimate under another metric, from the stored predictions.

        It is the mean over the test sets; rates such as precision and F1 are computed from the counts of all test sets
        pooled, since one test set may lack their denominator.

        Parameters
        ----------
        metric : str
            Name of a metric or of a scikit-learn scorer.
        pos_label : label, optional
            The positive class. By default that of the assessment, or the second class in sorted order.

        Raises
        ------
        InvalidInput
            If the metric is unknown, or needs a response that the estimators do not have.
        """
        return self.under(metric, pos_label=pos_label).estimate

    def under(self, metric: str, *, pos_label: Any = None) -> Assessment:
        """Return this assessment under another metric, with its intervals, from the stored predictions.

        Parameters
        ----------
        metric : str
            Name of a metric or of a scikit-learn scorer.
        pos_label : label, optional
            The positive class. By default that of the assessment, or the second class in sorted order.
        """
        wanted = self._metric_named(metric, pos_label)
        wanted.check(self._data)
        other = copy(self)
        for cached in ("estimates", "best", "winner", "table"):
            other.__dict__.pop(cached, None)
        other._metric, other.metric = wanted, wanted.name
        if not self._design.suits(wanted):
            other._design = replace(self._design, interval="auto")
        return other

    def of(self, name: str) -> Assessment:
        """Return the assessment of one of its estimators alone."""
        other = copy(self)
        for cached in ("estimates", "best", "winner", "table"):
            other.__dict__.pop(cached, None)
        other.names, other.single, other._best = [name], True, None
        return other

    @property
    def classes(self) -> npt.NDArray[Any] | None:
        """The classes in order; None for a regression."""
        return self._data.classes

    @property
    def predictions(self) -> Any:
        """Out-of-fold predictions as a frame with a line per tested row; a dict with several estimators."""
        return self._one_or_all({name: held_out_frame(self._tested(name), self._data) for name in self.names})

    def _predictions_of(self, name: str) -> ModelPredictions:
        """Return the first held-out prediction of each row; of repeats those of the first partition."""
        reason = self._incomplete(name)
        if reason is not None:
            raise InvalidInput(f"Diagnostics need every prediction of {name}. {reason[:1].upper()}{reason[1:]}.")
        several = len(self.splits) > 1
        return first_predictions(self._tested(name), self._data, several=several, pos_label=self._pos_label)

    def _rows_of(self, name: str) -> npt.NDArray[np.intp] | None:
        """Return the rows that were tested; None where all of them were."""
        tested = np.unique(np.concatenate([split.test.index for split in self.splits]))
        return None if len(tested) == self._data.n else tested

    @property
    def groups(self) -> npt.NDArray[Any] | None:
        """The group of each row, or None."""
        return self._data.groups

    @property
    def task(self) -> Task:
        """Whether this is a classification or a regression."""
        return self._data.task

    def ranked(
        self, *, pos_label: Any = None, probabilities: bool | None = False
    ) -> dict[str, list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]]:
        """Whether rows are of the positive class, and their predicted scores, per test set, by estimator.

        Scores are those of the decision function before probabilities, as scikit-learn's AUC takes them, or
        ``probabilities`` only; with None probabilities before the decision function.
        """
        positive = positive_class(self._data, self._pos_label if pos_label is None else pos_label)
        return {
            name: [
                ranked(outcome, self._data, split.test, positive, probabilities=probabilities)
                for _, split, outcome in self._tested(name)
            ]
            for name in self.names
        }

    def roc(self, *, pos_label: Any = None) -> Any:
        """Points of the ROC curve of each test set as a frame: split, fpr, tpr, threshold; a dict with several.

        Test sets are not pooled. Thresholds are probabilities where the estimator predicts them, and otherwise values
        of its decision function.

        Parameters
        ----------
        pos_label : label, optional
            The positive class; by default that of the assessment, or the second in order.
        """
        import pandas as pd
        from sklearn.metrics import roc_curve

        frames = {}
        for name, folds in self.ranked(pos_label=pos_label, probabilities=None).items():
            parts = []
            for i, (y01, scores) in enumerate(folds):
                if 0 < y01.sum() < len(y01):
                    fpr, tpr, threshold = roc_curve(y01, scores)
                    parts.append(pd.DataFrame({"split": i, "fpr": fpr, "tpr": tpr, "threshold": threshold}))
            frames[name] = pd.concat(parts, ignore_index=True)
        return self._one_or_all(frames)

    def metrics(self, names: Sequence[str] | None = None, *, pos_label: Any = None) -> pd.DataFrame:
        """Return the estimates under many metrics: one row per estimator, a column per metric.

        Parameters
        ----------
        names : sequence of str, optional
            By default all metrics of truefit that suit the task, the classes and the responses of the estimators.
        pos_label : label, optional
            The positive class. By default that of the assessment, or the second class in sorted order.
        """
        import pandas as pd

        columns = {}
        for name in metric_names(self.task) if names is None else names:
            try:
                found = self.under(name, pos_label=pos_label).estimates
            except InvalidInput:
                if names is not None:
                    raise
                continue  # not for these classes, or not by these responses
            columns[name] = {estimator: each.value for estimator, each in found.items()}
        return pd.DataFrame(columns, index=pd.Index(self.names, name="estimator"))

    def _tested(self, name: str) -> Iterator[tuple[int, Split, Outcome]]:
        """Yield the splits with their outcomes, without those that failed or were not run."""
        for i, (split, outcome) in enumerate(zip(self.splits, self._outcomes[name], strict=True)):
            if outcome is not None and outcome.error is None:
                yield i, split, outcome

    def confusion(self) -> Any:
        """Counts of true labels (lines) against predicted ones (columns), pooled over all test sets.

        :meth:`per_class` has the shares with their intervals.
        """
        import pandas as pd

        if self._data.classes is None:
            raise InvalidInput("A confusion matrix needs a classification. This is a regression; use .predictions.")
        tables = {}
        for name in self.names:
            found = held_out_frame(self._tested(name), self._data)
            tables[name] = pd.crosstab(found["y"], found["prediction"]).reindex(
                index=self._data.classes, columns=self._data.classes, fill_value=0
            )
        return self._one_or_all(tables)

    def _line(self, name: str) -> dict[str, Any]:
        """Return estimate, interval, spread over the splits, failed fits and seconds."""
        each = self.estimates[name]
        low, high = each.interval or (float("nan"), float("nan"))
        seconds = sum(outcome.fit_seconds for outcome in self._outcomes[name] if outcome is not None)
        line = {"estimate": each.value, "low": low, "high": high, "sd": each.sd}
        return line | {"failed": self.failed(name), "fit_seconds": seconds}

    @property
    def heading(self) -> str:
        """What was measured, and how."""
        return f"{MetricText.from_name(self.metric).name} by {self.splits.description} on {self._data.n:,} rows"

    def _text(self, name: str) -> str:
        return self.estimates[name].text(self.level)

    def _remarks(self) -> list[str]:
        return [f"Estimated: {self.estimand}."]

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        notes = dict.fromkeys(each.note for each in self.estimates.values() if each.note)
        missing = sum(self.missing(name) for name in self.names)
        if missing:
            notes[f"time budget exhausted: {missing} of the fits were not run."] = None
        return list(notes)

    @plot_method(*KINDS)
    def plot(self, kind: str | None = None, *, ax: Axes | None = None, pos_label: Any = None) -> Axes:
        """Draw the assessment.

        Parameters
        ----------
        kind : str, optional
            By default the scores on the splits of one estimator, or the estimates of several with their intervals.
            "roc", "precision_recall": the mean curve over the test sets. "calibration", "decision_curve", "confusion",
            "residuals", "predicted": of the rows of all test sets pooled. "time": the score on each period, for rows in
            time order.
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        pos_label : label, optional
            The positive class of a curve; by default that of the assessment, or the second in order.
        """
        if kind is not None:
            return KINDS[kind](self, pos_label, ax)
        percent = is_share(self.metric)
        if self.single:
            scores = list(self.split_scores().values())
            return fold_scores(
                self.names, scores, xlabel=MetricText.from_name(self.metric).name, percent=percent, ax=ax
            )
        names = self.from_best_to_worst
        intervals = [self.estimates[name].interval or (np.nan, np.nan) for name in names]
        lows, highs = zip(*intervals, strict=True)
        values = [self.estimates[name].value for name in names]
        return forest(
            names,
            values,
            lows,
            highs,
            xlabel=MetricText.from_name(self.metric).name,
            best=self.best,
            percent=percent,
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        scores = self.split_scores()
        return {
            "kind": "assessment",
            "version": 1,
            "metric": self.metric,
            "design": self.splits.description,
            "rows": self._data.n,
            "level": self.level,
            "estimand": self.estimand,
            "estimators": [
                {"name": name, **self.estimates[name].to_dict(), "scores": plain(scores[name])} for name in self.names
            ],
            "notes": self.notes,
            **({"time": self.time_name, "periods": plain_spans(self.periods)} if self.periods else {}),
        }


def time_spans(data: Data, splits: Splits) -> list[tuple[Any, Any]]:
    """Return the first and the last time of each test set of chronological splits; nothing for others."""
    if data.time is None or not splits.chronological:
        return []
    times = (data.time[split.test.index] for split in splits)
    return [(each.min(), each.max()) for each in times]


def plain_spans(spans: Sequence[tuple[Any, Any]]) -> list[dict[str, str]]:
    """Return the first and the last time of periods as text."""
    return [{"from": str(first), "to": str(last)} for first, last in spans]


def _linearised_root(squares: npt.NDArray[Any]) -> npt.NDArray[Any]:
    root = float(np.sqrt(squares.mean()))
    return np.zeros_like(squares) if root == 0 else (root + squares / root) / 2
