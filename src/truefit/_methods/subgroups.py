"""Subgroups: a metric by the levels of a column, or by bins of a number, with simultaneous intervals."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.outcome import Predictions as Answer
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats, Positions
from truefit._methods.assessment.estimate import ONE_PARTITION, RANKED
from truefit._methods.predictions import ModelPredictions
from truefit._methods.result import EstimatorResult, frame, plain
from truefit._methods.text import MetricText, counted
from truefit._metrics.metric import Metric, get_metric
from truefit._metrics.row_loss import is_share
from truefit._metrics.scorers import is_auc, positive_class, ranked
from truefit._plots.forest import forest
from truefit._stats.auc import auc_interval, fold_mean_auc, placements
from truefit._stats.clustered import design_effect
from truefit._stats.delta import Linearised, delta_interval
from truefit._stats.intervals import Interval, equality_test, t_quantile, wilson

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Fewer rows, or fewer groups of rows, or fewer rows of a class for an AUC: no value is given.
LEAST_ROWS, LEAST_GROUPS, LEAST_OF_CLASS = 30, 10, 10
#: More levels than this are no subgroups.
MOST_LEVELS = 50


@dataclass(frozen=True, slots=True)
class Subgroup:
    """One subgroup: its name, its rows, and the value of the metric with its interval, or the reason for none."""

    name: str
    rows: int
    value: float
    interval: Interval | None
    reason: str | None = None


class Subgroups(EstimatorResult):
    """A metric in each subgroup of the rows, from held-out predictions.

    The intervals of one model hold simultaneously at the level given: each has the level 1 - (1 - level) / subgroups
    (Bonferroni). Subgroups of fewer than 30 rows have no value.

    Attributes
    ----------
    names : list of str
        Names of the models.
    metric : str
        Name of the metric.
    level : float
        Simultaneous level of the intervals.
    column : str
        Name of the column, where it has one.
    """

    title = "Subgroups"

    def __init__(
        self, found: dict[str, list[Subgroup]], metric: Metric, *, single: bool, level: float, column: str
    ) -> None:
        self.names = list(found)
        self.single = single
        self.metric = metric.name
        self.level = level
        self.column = column
        self._greater = metric.greater_is_better
        self._found = found

    def _known(self, name: str) -> list[Subgroup]:
        return [each for each in self._found[name] if each.reason is None]

    @property
    def estimate(self) -> Any:
        """Value by subgroup; with several models a dict of these by name."""
        return self._one_or_all(
            {name: {each.name: each.value for each in found} for name, found in self._found.items()}
        )

    @property
    def interval(self) -> Any:
        """Simultaneous interval by subgroup, None where there is none; with several models a dict of these by name."""
        return self._one_or_all({
            name: {each.name: each.interval for each in found} for name, found in self._found.items()
        })  # fmt: skip

    @property
    def worst(self) -> Any:
        """Name of the subgroup with the worst value, of those with enough rows; a dict by name with several models."""
        sign = 1 if self._greater else -1
        return self._one_or_all({
            name: min(self._known(name), key=lambda each: sign * each.value).name for name in self.names
        })  # fmt: skip

    @cached_property
    def p(self) -> Any:
        """p-value of the test that all subgroups have one value (Cochran's); None with fewer than 2 intervals."""
        found = {}
        for name in self.names:
            pairs = [(each.value, each.interval) for each in self._known(name) if each.interval is not None]
            level = 1 - (1 - self.level) / len(self._known(name))
            values, intervals = [value for value, _ in pairs], [ends for _, ends in pairs]
            found[name] = equality_test(values, intervals, level) if len(pairs) > 1 else None
        return self._one_or_all(found)

    @property
    def table(self) -> pd.DataFrame:
        """One row per model and subgroup: rows, value, interval, and why there is no value."""
        return frame(
            [
                {"estimator": name, "group": each.name, "rows": each.rows, "estimate": each.value}
                | dict(zip(("low", "high"), each.interval or (math.nan, math.nan), strict=True))
                | {"reason": each.reason}
                for name, found in self._found.items()
                for each in found
            ],
            "estimator",
        )

    @property
    def heading(self) -> str:
        """What was computed."""
        by = f" by {self.column}" if self.column else ""
        return f"{MetricText.from_name(self.metric).name}{by} in {counted(len(self._found[self.names[0]]), 'subgroup')}"

    def summary(self) -> str:
        """Return the value of each subgroup, the worst one, and whether they differ."""
        text = MetricText.from_name(self.metric)
        lines = [self.heading]
        for name in self.names:
            prefix = "" if self.single else f"{name}, "
            for each in self._found[name]:
                ends = "" if each.interval is None else f" ({text.between(each.interval)})"
                value = each.reason if each.reason else f"{text.value(each.value)}{ends}"
                lines.append(f"  {prefix}{each.name}: {value}, {each.rows:,} rows")
            worst, p = (found if self.single else found[name] for found in (self.worst, self.p))
            if p is not None:
                differ = "differ significantly" if p < 1 - self.level else "do not differ significantly"
                shown = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
                lines.append(f"{prefix}worst: {worst}. The subgroups {differ} ({shown}, Cochran's test).")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        return [
            f"the {self.level:.0%} intervals hold for all subgroups together (Bonferroni); subgroups of fewer than "
            f"{LEAST_ROWS} rows have no value."
        ]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the value of each subgroup with its simultaneous interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        found = self.table
        names = [group if self.single else f"{name}, {group}" for name, group in found["group"].items()]
        label = MetricText.from_name(self.metric).name
        columns = (found["estimate"], found["low"], found["high"])
        return forest(names, *columns, xlabel=label, percent=is_share(self.metric), ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "subgroups",
            "version": 1,
            "metric": self.metric,
            "column": self.column,
            "level": self.level,
            "worst": self.worst,
            "p": plain(self.p),
            "subgroups": plain(self.table.reset_index().to_dict("records")),
        }


def subgroups_of(
    predictions: Mapping[str, ModelPredictions], values: Array, column: str, *,
    metric: Metric, bins: int, single: bool, level: float,
) -> Subgroups:  # fmt: skip
    """Return a metric of one or several models by the levels of a column, or by bins of a number."""
    parts = levels_of(values, bins)
    found = {}
    for name, own in predictions.items():
        rows = _HeldOut(own, metric)
        enough = [rows.too_few(index) is None for index in parts.values()]
        if not any(enough):
            largest = max(parts.values(), key=len)
            raise InvalidInput(
                f"At least one subgroup must have {LEAST_ROWS} rows or more, of {LEAST_GROUPS} groups where rows come "
                f"in groups, and for an AUC {LEAST_OF_CLASS} of each class. The largest of {len(parts)} has "
                f"{len(largest)} rows: {rows.too_few(largest)}. Use fewer bins or levels, or more rows."
            )
        # The intervals of all subgroups with a value are to hold together.
        own_level = 1 - (1 - level) / sum(enough)
        found[name] = [rows.subgroup(label, index, own_level) for label, index in parts.items()]
    return Subgroups(found, metric, single=single, level=level, column=column)


def levels_of(values: Array, bins: int) -> dict[str, Positions]:
    """Return the rows of each level of a column; of a number with more than 10 values of bins of equally many rows."""
    import pandas as pd

    column = pd.Series(values)
    missing = column.isna().to_numpy()
    known = column[~missing]
    if not len(known):
        raise InvalidInput("The values of subgroups must not all be missing. Pass a column with values.")
    distinct = int(known.nunique())
    if pd.api.types.is_numeric_dtype(known) and not pd.api.types.is_bool_dtype(known) and distinct > 10:
        floats = known.astype(float)
        index = np.flatnonzero(~missing)
        finite = np.isfinite(floats.to_numpy())
        numbers = floats[finite]
        codes = pd.qcut(numbers, bins, labels=False, duplicates="drop")
        ends = numbers.groupby(codes).agg(["min", "max"])
        found = {
            name: index[finite][(codes == code).to_numpy()]
            for code, name in zip(ends.index, _ranges(ends.to_numpy()), strict=True)
        }
        for value in (-np.inf, np.inf):  # no bin has such an end
            if (floats == value).any():
                found[str(value)] = index[(floats == value).to_numpy()]
    else:
        if distinct > MOST_LEVELS:
            every = "a different value in every row" if distinct == len(known) else f"{distinct:,} different values"
            raise InvalidInput(
                f"The values of subgroups must have at most {MOST_LEVELS} levels, unless they are numbers. Got {every}."
                " Pass a column with fewer levels."
            )
        levels = sorted(known.unique(), key=lambda level: (str(type(level)), level))
        found = {}
        for level in levels:
            name = repr(level) if str(level) in found else str(level)  # the number 1 and the text "1"
            found[name] = np.flatnonzero((column == level).to_numpy() & ~missing)
    if missing.any():
        found["missing" if "missing" not in found else "no value"] = np.flatnonzero(missing)
    return found


def _ranges(ends: Floats) -> list[str]:
    """Return the least and the largest value of each bin, with as many digits as tell all of them apart.

    >>> _ranges(np.array([[70.0, 73.0], [74.0, 82.0]])), _ranges(np.array([[1000.01, 1000.02], [1000.03, 1000.04]]))
    (['70 to 73', '74 to 82'], ['1000.01 to 1000.02', '1000.03 to 1000.04'])
    """
    for digits in (4, 6, 9, 12, 17):
        texts = [[f"{end:.{digits}g}" for end in pair] for pair in ends.tolist()]
        if len({text for pair in texts for text in pair}) == len(np.unique(ends)):
            break
    return [" to ".join(dict.fromkeys(pair)) for pair in texts]


class _HeldOut:
    """Held-out predictions as a table of which some rows are evaluated."""

    def __init__(self, own: ModelPredictions, metric: Metric) -> None:
        self._own, self._metric = own, metric
        # The rows have no features here; their numbers tell them apart.
        self._data = Data(np.arange(len(own.y)).reshape(-1, 1), np.zeros(len(own.y)), task="regression")
        self._data.y, self._data.weight = own.y, own.weight
        if own.classes is not None:
            self._data.task, self._data.classes = "classification", own.classes
            self._data.codes = np.searchsorted(own.classes, own.y)
        metric.check(self._data)
        answers = {"predict": own.predicted, "predict_proba": own.probability}
        tokens = self._data.tokens
        self._outcome = Outcome(
            "held-out predictions",
            [Answer(name, tokens, values) for name, values in answers.items() if values is not None],  # type: ignore[arg-type]
            classes=own.classes,
        )

    def too_few(self, index: Positions) -> str | None:
        """Why some rows are too few for a value, or None."""
        if len(index) < LEAST_ROWS:
            return f"fewer than {LEAST_ROWS} rows"
        if self._own.groups is not None and len(np.unique(self._own.groups[index])) < LEAST_GROUPS:
            return f"fewer than {LEAST_GROUPS} groups"
        if is_auc(self._metric, self._data):
            assert self._data.codes is not None
            if np.bincount(self._data.codes[index], minlength=2).min() < LEAST_OF_CLASS:
                return f"fewer than {LEAST_OF_CLASS} rows of a class"
        return None

    def subgroup(self, label: str, index: Positions, level: float) -> Subgroup:
        """Evaluate the metric on some rows."""
        reason = self.too_few(index)
        if reason is not None:
            return Subgroup(label, len(index), math.nan, None, reason)
        rows, metric = Rows.of(index), self._metric
        if is_auc(metric, self._data) and self._own.weight is None:
            value, ends = self._ranked(rows, level)
        elif metric.row_loss is not None:
            value, ends = self._mean(rows, level)
        elif metric.smooth is not None and self._own.weight is None:
            value, ends = self._smooth(rows, level)
        else:
            value, ends = metric.value(self._outcome, self._data, rows), None
        return Subgroup(label, len(index), value, None if ends is None else metric.clipped(ends))

    def _factor(self, values: Floats, rows: Rows, of_models: float) -> float:
        """Factor on a standard error: of several models that share training rows, and of rows in groups."""
        factor = 1.0 if self._own.folds is None else of_models
        if self._own.groups is not None and np.ptp(values) > 0:
            factor *= math.sqrt(design_effect(values, self._own.groups[rows.index]))
        return factor

    def _degrees(self, rows: Rows) -> int:
        units = rows.index if self._own.groups is None else self._own.groups[rows.index]
        return len(np.unique(units)) - 1

    def _mean(self, rows: Rows, level: float) -> tuple[float, Interval | None]:
        each = self._metric.rows(self._outcome, self._data, rows)
        assert each is not None
        weight = np.ones(len(each)) if self._own.weight is None else self._own.weight[rows.index]
        value = self._metric.value(self._outcome, self._data, rows)
        size = float(weight.sum() ** 2 / np.square(weight).sum())
        factor = self._factor(np.asarray(each, dtype=np.float64), rows, ONE_PARTITION)
        if self._metric.zero_one:
            return value, wilson(value, size / factor**2, level, df=self._degrees(rows))
        spread = float(np.sqrt(np.average((each - value) ** 2, weights=weight)) / math.sqrt(size - 1))
        half = t_quantile(level, self._degrees(rows)) * factor * spread
        return value, (value - half, value + half) if half > 0 else None

    def _smooth(self, rows: Rows, level: float) -> tuple[float, Interval | None]:
        smooth = self._metric.smooth
        assert smooth is not None
        parts = smooth.rows(self._outcome, self._data, rows)
        near = Linearised(parts.mean(axis=0), smooth.value, smooth.slopes, smooth.scale)
        linear = near.rows(parts) if near.defined else np.zeros(len(parts))
        factor = self._factor(linear, rows, ONE_PARTITION)
        found = delta_interval(
            [parts], smooth.value, smooth.slopes, smooth.scale, factor=factor, level=level, shares=smooth.shares
        )
        return found.estimate, found.interval

    def _ranked(self, rows: Rows, level: float) -> tuple[float, Interval | None]:
        """AUC of the probabilities of all folds ranked together: a fold of a subgroup may have few rows of a class."""
        value, variance = fold_mean_auc([self._of(rows)])
        y01, scores = self._of(rows)
        positive, negative = placements(y01, scores)
        influence = np.empty(len(y01))
        influence[y01 == 1], influence[y01 == 0] = positive / y01.mean(), negative / (1 - y01.mean())
        factor = self._factor(influence, rows, RANKED)
        counts = int(y01.sum()), int(len(y01) - y01.sum())
        found = auc_interval(value, variance, factor, level, counts=counts)
        return found.estimate, found.interval

    def _of(self, rows: Rows) -> tuple[Array, Array]:
        positive = positive_class(self._data, self._own.pos_label)
        return ranked(self._outcome, self._data, rows, positive, probabilities=True)


def read_values(values: Any, count: int, rows: Positions | None) -> tuple[Array, str]:
    """Return one value for each of the predictions, and the name of the column.

    ``rows`` are those of the table that the predictions are of: values may be given for these or for the whole table.
    """
    name = getattr(values, "name", None)
    column = values.to_numpy() if hasattr(values, "to_numpy") else np.asarray(values)
    if column.ndim == 1 and rows is not None and len(column) > max(count, int(rows[-1])):
        column = column[rows]
    if column.ndim != 1 or len(column) != count:
        got = "a single value" if column.ndim == 0 else f"{len(column):,}" if column.ndim == 1 else "a table"
        raise InvalidInput(f"The values of subgroups must be one for each of the {count:,} rows. Got {got}.")
    return column, "" if name is None else str(name)


def read_bins(bins: Any) -> int:
    """Return the number of bins, or say what it must be."""
    if not isinstance(bins, int | np.integer) or isinstance(bins, bool) or bins < 2:
        raise InvalidInput(f"The 'bins' parameter must be a whole number of at least 2. Got {bins!r} instead.")
    return int(bins)


def metric_of(predictions: Mapping[str, ModelPredictions], metric: str | None) -> Metric:
    """Return the metric of that name for these predictions, with their positive class."""
    first = next(iter(predictions.values()))
    task = "regression" if first.classes is None else "classification"
    return get_metric(metric, task, pos_label=first.pos_label)  # type: ignore[arg-type]
