"""Assessment: how good learners are, by hold-out, k-fold, nesting, leave-one-out, bootstrap or any splitter."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, cast

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data, Task
from truefit._core.errors import InvalidInput
from truefit._core.outcome import LeftOutOutcomes, Outcome
from truefit._methods.assessment.estimate import Estimate, estimate, winner_estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.assessment.plot import draw
from truefit._methods.candidates import Candidates
from truefit._methods.result import EstimatorResult, plain, report_failures
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Split
from truefit._metrics.metric import Metric, get_metric, metric_names
from truefit._metrics.scorers import StoredPredictor, positive_class, ranked
from truefit._plots.forest import fold_scores, forest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Scores = npt.NDArray[np.float64]


class Assessment(EstimatorResult):
    """Estimates with intervals, and every prediction behind them.

    With one estimator ``estimate`` is a float and ``interval`` a pair; with several each is a dict by name.
    """

    title = "Assessment"

    def __init__(
        self,
        candidates: Candidates,
        data: Data,
        design: Design,
        metric: Metric,
        outcomes: Mapping[str, Sequence[Outcome | None]],
        level: float,
        *,
        best: str | None = None,
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
        """Return how many fits of an estimator have no answers."""
        return sum(o is not None and o.error is not None for o in self._uncertain(name))

    def missing(self, name: str) -> int:
        """Return how many fits of an estimator were not run for lack of time."""
        return sum(o is None for o in self._uncertain(name))

    def _uncertain(self, name: str) -> Sequence[Outcome | None]:
        """Return the outcomes among which some may have failed, or be missing: a closed form answers all or none."""
        found = self._all[name]
        return () if isinstance(found, LeftOutOutcomes) else found

    def split_scores(self, metric: str | Metric | None = None, *, pos_label: Any = None) -> dict[str, Scores]:
        """Value of a metric on each test set, by estimator; NaN where the fit failed or was not run."""
        wanted = self._metric if metric is None else get_metric(metric, self._data.task, pos_label=pos_label)
        scores = {name: np.full(len(self.splits), np.nan) for name in self.names}
        # Split by split: its rows are looked up once for all estimators.
        by_split = zip(*(self._outcomes[name] for name in self.names), strict=True)
        for i, (split, outcomes) in enumerate(zip(self.splits, by_split, strict=True)):
            for own, outcome in zip(scores.values(), outcomes, strict=True):
                if outcome is not None and outcome.error is None:
                    own[i] = wanted.value(outcome, self._data, split.test)
        return scores

    def row_losses(self, name: str) -> list[npt.NDArray[Any]] | None:
        """Values of the rows of each test set under the metric; None where it is no mean over rows, or fits failed."""
        if self._metric.row_loss is None or self._incomplete(name):
            return None
        return list(self._evidence(name, self._metric).rows())

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Estimate of each estimator, with its interval and how that was made."""
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
        return f"{' and '.join(parts)}, and the rest alone would not be honest"

    def _evidence(self, name: str, metric: Metric) -> Evidence:
        count = len(self.splits)
        found = cast("Sequence[Outcome]", self._all[name])
        design = self._design if self._design.suits(metric) else replace(self._design, interval="auto")
        return Evidence(found[:count], found[count:], self._data, design, metric)

    @property
    def estimate(self) -> Any:
        """The estimate; a dict by name with several estimators."""
        return self._one_or_all({name: each.value for name, each in self.estimates.items()})

    @property
    def interval(self) -> Any:
        """The interval as (low, high), or None where none can be given honestly; a dict with several estimators."""
        return self._one_or_all({name: each.interval for name, each in self.estimates.items()})

    @property
    def interval_reason(self) -> Any:
        """Why there is no interval, or None."""
        return self._one_or_all({name: each.reason for name, each in self.estimates.items()})

    @property
    def interval_method(self) -> Any:
        """How the interval was made."""
        return self._one_or_all({name: each.method for name, each in self.estimates.items()})

    @cached_property
    def best(self) -> str:
        """Name of the best estimator, by the estimate or by the rows that are for choosing; of equal ones the first."""
        if self._best is not None:
            return self._best
        sign = -1 if self._metric.greater_is_better else 1
        if self._design.kind == "threeway":
            values = [self._validation(name) for name in self.names]
        else:
            values = [self.estimates[name].value for name in self.names]
        if np.isnan(values).all():
            return self.names[0]
        return self.names[int(np.nanargmin(sign * np.array(values)))]

    def _validation(self, name: str) -> float:
        return np.nan if self._incomplete(name) else float(self._evidence(name, self._metric).extra_scores()[0])

    @cached_property
    def winner(self) -> Estimate:
        """How good the best of these is, now that it was picked for being the best.

        Its own estimate is the best of several and too good on average. Here the choice is made anew on bootstrap
        samples of the rows and judged on the rest of them, from the same fits. With one estimator, or where the
        choice was made on rows of their own, it is the plain estimate.
        """
        if len(self.names) == 1 or self._design.kind == "threeway":
            return self.estimates[self.best]
        complete = [name for name in self.names if not self._incomplete(name)]
        evidence = [self._evidence(name, self._metric) for name in complete]
        return winner_estimate(evidence, level=self.level)

    @property
    def estimand(self) -> str:
        """What the estimate is an estimate of."""
        what = f"{self.metric} on new rows of the learner trained on these {self._data.n:,} rows"
        if self._design.kind in (".632", ".632+"):
            return f"{what}, between that on rows left out of bootstrap samples and that on its own training rows"
        if self._design.kind == "bootstrap":
            return f"{what}, as seen by models trained on samples that hold about 63% of them"
        share = self.splits.mean_train_rows / self._data.n
        return f"{what}, as seen by models trained on {share:.0%} of them"

    def score(self, metric: str, *, pos_label: Any = None) -> Any:
        """Return the estimate under another metric, from the stored predictions.

        Raises
        ------
        InvalidInput
            If the metric is unknown, or needs a response that the estimators do not have.
        """
        wanted = get_metric(metric, self._data.task, pos_label=pos_label)
        wanted.check(self._data)
        return self._one_or_all({name: self._estimate(name, wanted).value for name in self.names})

    def under(self, metric: str, *, pos_label: Any = None) -> Assessment:
        """Return this assessment under another metric, with its intervals, from the stored predictions."""
        wanted = get_metric(metric, self._data.task, pos_label=pos_label)
        wanted.check(self._data)
        other = copy(self)
        for cached in ("estimates", "best", "winner", "table"):
            other.__dict__.pop(cached, None)
        other._metric, other.metric = wanted, wanted.name
        if not self._design.suits(wanted):
            other._design = replace(self._design, interval="auto")
        return other

    @property
    def predictions(self) -> Any:
        """Out-of-fold predictions as a frame with a line per tested row; a dict with several estimators."""
        return self._one_or_all({name: self._predictions_of(name) for name in self.names})

    def _predictions_of(self, name: str) -> pd.DataFrame:
        import pandas as pd

        frames = []
        for i, (split, outcome) in enumerate(zip(self.splits, self._outcomes[name], strict=True)):
            if outcome is None or outcome.error is not None:
                continue
            rows = split.test.index
            replay = StoredPredictor.of(outcome, self._data, split.test)
            columns: dict[str, Any] = {
                "row": rows,
                "split": i,
                "repeat": split.repeat,
                "y": self._data.y[rows],
            }
            columns["prediction"] = replay.predict(None)  # type: ignore[attr-defined]
            if hasattr(replay, "predict_proba") and self._data.classes is not None:
                proba = replay.predict_proba(None)
                columns |= {f"p({label})": proba[:, j] for j, label in enumerate(self._data.classes)}
            frames.append(pd.DataFrame(columns))
        return pd.concat(frames, ignore_index=True) if frames else pd.DataFrame(columns=["row", "split", "repeat", "y"])

    @property
    def task(self) -> Task:
        """Whether this is a classification or a regression."""
        return self._data.task

    def ranked(
        self, *, pos_label: Any = None, probabilities: bool = False
    ) -> dict[str, list[tuple[npt.NDArray[Any], npt.NDArray[Any]]]]:
        """Whether rows are of the positive class, and how strongly they are taken to be, per test set, by estimator."""
        positive = positive_class(self._data, pos_label)
        return {
            name: [
                ranked(outcome, self._data, split.test, positive, probabilities=probabilities)
                for split, outcome in self._tested(name)
            ]
            for name in self.names
        }

    def roc(self, *, pos_label: Any = None) -> Any:
        """Points of the ROC curve of each test set as a frame: split, fpr, tpr, threshold; a dict with several.

        Parameters
        ----------
        pos_label : label, optional
            The positive class; by default the second in order.
        """
        import pandas as pd
        from sklearn.metrics import roc_curve

        frames = {}
        for name, folds in self.ranked(pos_label=pos_label).items():
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
            By default all of truefit's that suit the task and the classes, and that the estimators can answer.
        pos_label : label, optional
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

    def _tested(self, name: str) -> Iterator[tuple[Split, Outcome]]:
        for split, outcome in zip(self.splits, self._outcomes[name], strict=True):
            if outcome is not None and outcome.error is None:
                yield split, outcome

    def confusion(self) -> Any:
        """Counts of true labels (lines) against predicted ones (columns), over all test sets."""
        import pandas as pd

        if self._data.classes is None:
            raise InvalidInput("A confusion matrix is for a classification. This is a regression; see .predictions.")
        tables = {}
        for name in self.names:
            found = self._predictions_of(name)
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
        return f"{self.metric} by {self.splits.description} on {self._data.n:,} rows"

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
            notes[f"the time budget was spent before {missing} of the fits were run."] = None
        return list(notes)

    def plot(self, ax: Axes | None = None, *, kind: str | None = None, pos_label: Any = None) -> Axes:
        """Draw the assessment.

        Parameters
        ----------
        ax : matplotlib Axes, optional
        kind : {"roc", "precision_recall", "calibration", "confusion", "residuals", "predicted"}, optional
            By default the scores on the splits of one estimator, or the estimates of several with their intervals.
        pos_label : label, optional
            The positive class of a curve; by default the second in order.
        """
        if kind is not None:
            return draw(self, kind, pos_label=pos_label, ax=ax)
        if self.single:
            return fold_scores(self.names, list(self.split_scores().values()), xlabel=self.metric, ax=ax)
        names = self.from_best_to_worst
        intervals = [self.estimates[name].interval or (np.nan, np.nan) for name in names]
        lows, highs = zip(*intervals, strict=True)
        values = [self.estimates[name].value for name in names]
        return forest(names, values, lows, highs, xlabel=self.metric, best=self.best, ax=ax)

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
                {"name": name, **self.estimates[name].to_dict(), "scores": [plain(v) for v in scores[name]]}
                for name in self.names
            ],
            "notes": self.notes,
        }
