"""Assessment: how good learners are, by hold-out, k-fold, repeated k-fold, leave-one-out or any splitter."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import BudgetSpent, FitError, InvalidInput
from truefit.core.job import Plan
from truefit.core.metadata import check_takes_weights
from truefit.core.outcome import Outcome, grouped_failures
from truefit.core.task import Ask, FitTask
from truefit.methods.candidates import Candidates, default_responses
from truefit.methods.estimate import Estimate, IntervalChoice, RowValues, estimate_rows, estimate_scores
from truefit.methods.result import Result
from truefit.methods.splits import Splits
from truefit.metrics.metric import Metric, get_metric
from truefit.metrics.replay import Replay
from truefit.plots.folds import fold_scores
from truefit.plots.forest import forest

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

# A plan asks in portions of about this size, so that its open tasks do not grow with the number of fits.
_PORTION_BYTES = 8 << 20
_TASK_BYTES = 400

Scores = npt.NDArray[np.float64]


def assess_plan(
    candidates: Candidates,
    data: Data,
    splits: Splits,
    metric: Metric,
    *,
    interval: IntervalChoice,
    level: float,
) -> Plan[Assessment]:
    """Fit every candidate on every training set and ask for its predictions on the test set."""
    responses = {}
    for name, estimator in candidates:
        if data.weight is not None:
            check_takes_weights(estimator)
        wanted = (*default_responses(estimator, data.task), *metric.responses(estimator))
        responses[name] = tuple(dict.fromkeys(wanted))
    pairs = [(name, split) for split in splits for name in candidates.names]
    tasks = (
        FitTask(candidates.estimators[name], split.train, tuple(Ask(split.test, r) for r in responses[name]))
        for name, split in pairs
    )
    outcomes: list[Outcome | None] = []
    for portion in portions(tasks):
        try:
            outcomes += yield portion
        except BudgetSpent as spent:
            outcomes += spent.outcomes
            if all(outcome is None for outcome in outcomes):
                raise
            break
    outcomes += [None] * (len(pairs) - len(outcomes))
    by_name: dict[str, list[Outcome | None]] = {name: [] for name in candidates.names}
    for (name, _), outcome in zip(pairs, outcomes, strict=True):
        by_name[name].append(outcome)
    return Assessment(candidates, data, splits, metric, by_name, interval, level)


def portions(tasks: Iterator[FitTask]) -> Iterator[list[FitTask]]:
    """Tasks in portions of bounded size."""
    portion: list[FitTask] = []
    size = 0
    for task in tasks:
        portion.append(task)
        size += _TASK_BYTES + task.train.nbytes + sum(ask.rows.nbytes for ask in task.asks)
        if size > _PORTION_BYTES:
            yield portion
            portion, size = [], 0
    if portion:
        yield portion


class Assessment(Result):
    """Estimates with intervals, and every prediction behind them.

    With one estimator ``estimate`` is a float and ``interval`` a pair; with several each is a dict by name.
    """

    title = "Assessment"

    def __init__(
        self,
        candidates: Candidates,
        data: Data,
        splits: Splits,
        metric: Metric,
        outcomes: dict[str, list[Outcome | None]],
        interval: IntervalChoice,
        level: float,
    ) -> None:
        self.names = candidates.names
        self.metric = metric.name
        self.level = level
        self._single = candidates.single
        self._data = data.without_table()
        self._splits = splits
        self._metric = metric
        self._outcomes = outcomes
        self._interval = interval
        self._report_failures()

    def _report_failures(self) -> None:
        failures = [o.error for outcomes in self._outcomes.values() for o in outcomes if o and o.error]
        if not failures:
            return
        total = sum(len(outcomes) for outcomes in self._outcomes.values())
        text = grouped_failures(failures)
        if len(failures) == total:
            raise FitError(f"All {total} fits failed.\n\n{text}", failures)
        warnings.warn(f"{len(failures)} of {total} fits failed.\n\n{text}", stacklevel=2)

    def failed(self, name: str) -> int:
        """Return how many fits of an estimator have no answers."""
        return sum(o is not None and o.error is not None for o in self._outcomes[name])

    def missing(self, name: str) -> int:
        """Return how many fits of an estimator were not run for lack of time."""
        return sum(o is None for o in self._outcomes[name])

    def split_scores(self, metric: str | Metric | None = None, *, pos_label: Any = None) -> dict[str, Scores]:
        """Value of a metric on each test set, by estimator; NaN where the fit failed or was not run."""
        wanted = self._metric if metric is None else get_metric(metric, self._data.task, pos_label=pos_label)
        return {name: self._scores_of(name, wanted) for name in self.names}

    def _scores_of(self, name: str, metric: Metric) -> Scores:
        scores = np.full(len(self._splits), np.nan)
        for i, (split, outcome) in enumerate(zip(self._splits, self._outcomes[name], strict=True)):
            if outcome is not None and outcome.error is None:
                scores[i] = metric.value(outcome, self._data, split.test)
        return scores

    @cached_property
    def estimates(self) -> dict[str, Estimate]:
        """Estimate of each estimator, with its interval and how that was made."""
        return {name: self._estimate(name, self._metric) for name in self.names}

    def _estimate(self, name: str, metric: Metric) -> Estimate:
        outcomes = self._outcomes[name]
        if any(outcome is None or outcome.error is not None for outcome in outcomes):
            failed, missing = self.failed(name), self.missing(name)
            parts = ([f"{failed} of its fits failed"] if failed else []) + (
                [f"{missing} were not run"] if missing else []
            )
            return Estimate(float("nan"), None, None, f"{' and '.join(parts)}, and the rest alone would not be honest")
        options: dict[str, Any] = {"choice": self._interval, "level": self.level}
        if metric.row_loss is not None:
            rows = RowValues(partial(self._row_values, name, metric), self._splits, self._data.weight)
            independent = self._data.groups is None and self._data.weight is None
            return estimate_rows(rows, self._splits, metric, independent=independent, **options)
        if self._one_row_tests:
            pooled = _pooled_value(metric, self._data, self._splits, outcomes)
            return Estimate(pooled, None, None, f"{metric.name} of single rows has no spread to measure")
        return estimate_scores(self._scores_of(name, metric), self._splits, metric, **options)

    @property
    def _one_row_tests(self) -> bool:
        return all(len(split.test) == 1 for split in self._splits)

    def _row_values(self, name: str, metric: Metric, place: int) -> npt.NDArray[Any]:
        outcome = self._outcomes[name][place]
        assert outcome is not None
        each = metric.rows(outcome, self._data, self._splits.splits[place].test)
        assert each is not None
        return each

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

    def _one_or_all(self, by_name: dict[str, Any]) -> Any:
        return by_name[self.names[0]] if self._single else by_name

    @property
    def best(self) -> str:
        """Name of the estimator with the best estimate; of equal ones the first."""
        sign = -1 if self._metric.greater_is_better else 1
        values = [sign * self.estimates[name].value for name in self.names]
        return self.names[int(np.nanargmin(values))]

    @property
    def estimand(self) -> str:
        """What the estimate is an estimate of."""
        share = np.mean([len(split.train) for split in self._splits]) / self._data.n
        return (
            f"{self.metric} on new rows of the learner trained on these {self._data.n:,} rows, "
            f"as seen by models trained on {share:.0%} of them"
        )

    def score(self, metric: str, *, pos_label: Any = None) -> Any:
        """Return the estimate under another metric, from the stored predictions.

        Raises
        ------
        InvalidInput
            If the metric is unknown, or needs a response that the estimators do not have.
        """
        wanted = get_metric(metric, self._data.task, pos_label=pos_label)
        return self._one_or_all({name: self._estimate(name, wanted).value for name in self.names})

    @property
    def predictions(self) -> Any:
        """Out-of-fold predictions as a frame with a line per tested row; a dict with several estimators."""
        return self._one_or_all({name: self._predictions_of(name) for name in self.names})

    def _predictions_of(self, name: str) -> pd.DataFrame:
        import pandas as pd

        frames = []
        for i, (split, outcome) in enumerate(zip(self._splits, self._outcomes[name], strict=True)):
            if outcome is None or outcome.error is not None:
                continue
            rows = split.test.index
            replay = Replay.of(outcome, self._data, split.test)
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

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator: estimate, interval, spread over the splits, failed fits and seconds."""
        import pandas as pd

        lines = []
        for name in self.names:
            each = self.estimates[name]
            low, high = each.interval or (float("nan"), float("nan"))
            seconds = sum(outcome.fit_seconds for outcome in self._outcomes[name] if outcome is not None)
            lines.append(
                {"estimator": name, "estimate": each.value, "low": low, "high": high, "sd": each.sd}
                | {"failed": self.failed(name), "fit_seconds": seconds}
            )
        return pd.DataFrame(lines).set_index("estimator")

    @property
    def heading(self) -> str:
        """What was measured, and how."""
        return f"{self.metric} by {self._splits.description} on {self._data.n:,} rows"

    def summary(self) -> str:
        """Return each estimate with its interval, what it estimates, and what to know about it."""
        width = max(len(name) for name in self.names)
        lines = [self.heading]
        lines += [f"  {name:<{width}}  {self.estimates[name].text(self.level)}" for name in self.names]
        lines.append(f"Estimated: {self.estimand}.")
        lines += [f"Note: {note}" for note in self.notes]
        return "\n".join(lines)

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        notes = dict.fromkeys(each.note for each in self.estimates.values() if each.note)
        missing = sum(self.missing(name) for name in self.names)
        if missing:
            notes[f"the time budget was spent before {missing} of the fits were run."] = None
        return list(notes)

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the scores on the splits of one estimator, or the estimates of several with their intervals."""
        if self._single:
            return fold_scores(self.names, [self._scores_of(self.names[0], self._metric)], xlabel=self.metric, ax=ax)
        intervals = [self.estimates[name].interval or (np.nan, np.nan) for name in self.names]
        lows, highs = zip(*intervals, strict=True)
        values = [self.estimates[name].value for name in self.names]
        return forest(self.names, values, lows, highs, xlabel=self.metric, best=self.best, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        scores = self.split_scores()
        return {
            "kind": "assessment",
            "version": 1,
            "metric": self.metric,
            "design": self._splits.description,
            "rows": self._data.n,
            "level": self.level,
            "estimand": self.estimand,
            "estimators": [
                {"name": name, **self.estimates[name].to_dict(), "scores": [_plain(v) for v in scores[name]]}
                for name in self.names
            ],
            "notes": self.notes,
        }


def _plain(value: float) -> float | None:
    return None if np.isnan(value) else float(value)


def _pooled_value(metric: Metric, data: Data, splits: Splits, outcomes: Sequence[Outcome | None]) -> float:
    """Metric over all test rows at once, for metrics that single rows do not have."""
    parts = []
    for split, outcome in zip(splits, outcomes, strict=True):
        assert outcome is not None
        parts.append(Replay.of(outcome, data, split.test))
    return metric.of(Replay.joined(parts, data), data, np.concatenate([split.test.index for split in splits]))
