"""Importance: how much worse a model gets when a column is permuted, with intervals and ranks."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.typing import Floats, Positions
from truefit._methods.importance.columns import is_constant
from truefit._methods.result import Result, frame, plain, plot_method
from truefit._methods.text import MetricText, counted, listed, new_rows, percent
from truefit._plots.forest import differences
from truefit._stats.clustered import LEAST_GROUPS
from truefit._stats.intervals import t_quantile
from truefit._stats.permutation import covariance_of_means

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from truefit._methods.importance.fewest import FewestColumns
    from truefit._methods.importance.plan import ImportanceConfig

#: Factor on the standard error of one partition: its models are not the one trained on all rows.
PARTITION: Final = 1.2
#: A column carries nearly everything with this share of the importance of all columns, the others below 1 minus it.
NEARLY_ALL: Final = 0.9
#: A model knows little that avoids less than this share of the errors that it makes with all columns permuted.
LITTLE: Final = 0.5
#: The plot and the summary show this many columns.
DRAWN, NAMED = 20, 5


@dataclass(frozen=True, slots=True, eq=False)
class Measured:
    """What was measured for one column or set: the increase per fold and permutation, the influence of each row."""

    increases: Floats
    influences: Floats | None
    change_variance: float

    @classmethod
    def of(cls, folds: Sequence[tuple[Floats, Floats | None, float]]) -> Measured:
        """Join what was measured on each fold."""
        increases = np.array([increase for increase, _, _ in folds])
        parts = [part for _, part, _ in folds if part is not None]
        if len(parts) < len(folds):
            return cls(increases, None, 0.0)
        sizes = [len(part) for part in parts]
        variance = float(np.average([each for _, _, each in folds], weights=sizes))
        return cls(increases, np.concatenate(parts), variance)


class Importance(Result):
    """How much worse the metric gets on held-out rows when a column is permuted.

    Attributes
    ----------
    table : DataFrame
        One row per column, the most important first: ``importance``, its interval ``low`` to ``high``, ``important``
        (the interval is above 0), ``rank`` with the ranks ``rank_low`` to ``rank_high`` that are not significantly
        different, and the columns that it is ``correlated_with``.
    sets : DataFrame
        The same for sets of correlated columns that were permuted together.
    estimate : float
        The metric on held-out rows as they are.
    everything : float
        Importance of all columns together: how much worse the metric gets when each row has the prediction of another.
    values : array of shape (columns, folds, repeats)
        The increase of the loss in each permutation, in the order of the table's columns.
    estimand : str
        What is estimated.
    interval_method : str
        How the intervals were computed.
    not_run : list of str
        Columns for which the time was not enough.
    fewest : FewestColumns or None
        With ``fewest=True``: the fewest columns that do as well as all, and how well they do.
    dominant : tuple of (str, float) or None
        Of a model that knows much: the column that carries nearly everything, and its share of the importance of all
        columns. None where the others are constant.
    """

    title = "Which columns matter"

    def __init__(
        self,
        config: ImportanceConfig,
        data: Data,
        names: Sequence[str],
        columns: Sequence[Measured],
        together: tuple[Sequence[Sequence[int]], Sequence[Measured]],
        whole: Measured,
        base: Sequence[float],
    ) -> None:
        self.name = config.name
        self.metric = config.metric.name
        self.metric_text = MetricText.of(config.metric)
        self.level = config.level
        self.repeats = config.repeats
        self.folds = len(config.splits)
        self.correlated = config.correlated
        self.greater_is_better = config.metric.greater_is_better
        self.names = list(names[: len(columns)])
        self.not_run = list(names[len(columns) :])
        self._share = config.splits.share
        self._sizes = np.array([len(split.test) for split in config.splits], dtype=np.float64)
        self._by_rows, self._groups, self.interval_method = _interval_method(config, data, columns)
        self.estimate = float(np.average(base, weights=self._weights))
        self.everything = self._mean(whole)
        self.values = np.array([each.increases for each in columns])
        share = config.splits.mean_train_rows / data.n
        self.estimand = (
            f"{'decrease' if self.greater_is_better else 'increase'} of the {self.metric_text.name} on "
            f"{new_rows(data)} when the column is permuted, for models trained on {share:.0%} of these {data.n:,} rows"
        )
        self._columns = self._inference(columns)
        sets, measured = together
        self._sets = [[names[place] for place in each] for each in sets[: len(measured)]]
        self._of_sets = self._inference(measured)
        self.dominant = self._dominant(config.metric.bounds[1 if self.greater_is_better else 0], data.X)
        self.fewest: FewestColumns | None = None

    @property
    def _weights(self) -> Floats:
        """Weights of the folds: their rows, where the metric is a mean over rows."""
        return self._sizes if self._by_rows else np.ones_like(self._sizes)

    def _mean(self, measured: Measured) -> float:
        return float(np.average(measured.increases.mean(axis=1), weights=self._weights))

    def _inference(self, measured: Sequence[Measured]) -> Inference:
        means = np.array([self._mean(each) for each in measured])
        parts = [each.influences for each in measured if each.influences is not None]
        if self._by_rows and parts:
            influences = np.stack(parts, axis=1)
            variances = [each.change_variance for each in measured]
            covariance = PARTITION**2 * covariance_of_means(influences, variances, self.repeats, self._groups)
            units = len(influences) if self._groups is None else int(self._groups.max()) + 1
            return Inference(means, covariance, units - 1, self.level)
        if not measured or self.folds < 2:
            return Inference(means, np.full((len(measured), len(measured)), np.nan), 1, self.level)
        scores = np.array([each.increases.mean(axis=1) for each in measured])
        covariance = np.atleast_2d(np.cov(scores)) * (1 / self.folds + self._share)
        return Inference(means, covariance, self.folds - 1, self.level)

    def _dominant(self, perfect: float, X: Any) -> tuple[str, float] | None:
        """Return the column that alone carries nearly everything the model knows, where that is much."""
        if len(self.names) < 2 or self.everything <= 0 or self.not_run:
            return None
        permuted = self.estimate + (-1 if self.greater_is_better else 1) * self.everything
        if self.everything < LITTLE * abs(permuted - perfect):  # never of a metric without a perfect value
            return None
        means = self._columns.means
        order = np.argsort(-means)
        first, second = means[order[0]] / self.everything, means[order[1]] / self.everything
        if first < NEARLY_ALL or second > 1 - NEARLY_ALL or self._columns.low[order[0]] <= 0:
            return None
        if all(is_constant(X, int(place)) for place in order[1:]):
            return None  # the only column that a model could use
        return self.names[int(order[0])], float(min(first, 1.0))

    @property
    def unused(self) -> list[str]:
        """Columns that changed no prediction: constant ones, and those that no model uses."""
        return [name for name, values in zip(self.names, self.values, strict=True) if not values.any()]

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per column, the most important first."""
        found = self._columns
        others = {
            name: ", ".join(each for each in members if each != name) for members in self._sets for name in members
        }
        lines = [
            {"column": name, **found.line(place), "rank": found.rank[place]}
            | {"rank_low": found.ranks[0][place], "rank_high": found.ranks[1][place]}
            | {"correlated_with": others.get(name, "")}
            for place, name in enumerate(self.names)
        ]
        lines.sort(key=lambda line: int(line["rank"]))
        return frame(lines, "column")

    @cached_property
    def sets(self) -> pd.DataFrame:
        """One row per set of correlated columns that were permuted together."""
        import pandas as pd

        names = [" + ".join(members) for members in self._sets]
        lines = [{"columns": name, **self._of_sets.line(place)} for place, name in enumerate(names)]
        lines.sort(key=lambda line: -line["importance"])
        columns = ["columns", "importance", "low", "high", "important"]
        return pd.DataFrame(lines, columns=columns).set_index("columns")

    def summary(self) -> str:
        """Return the most important columns with their intervals, and what else to know."""
        fmt, table = self.metric_text, self.table
        lines = [
            f"{fmt.name} of {self.name} on held-out rows: {fmt.value(self.estimate)}. By how much worse it gets when a "
            f"column is permuted ({self.folds} folds, {counted(self.repeats, 'permutation')} each):"
        ]
        width = max((len(str(name)) for name in table.index[:NAMED]), default=0)
        for name, line in table.head(NAMED).iterrows():
            ranks = f"rank {line['rank_low']} to {line['rank_high']}"
            if line["rank_low"] == line["rank_high"]:
                ranks = f"rank {line['rank']}"
            change = fmt.difference(line["importance"], (line["low"], line["high"]))
            lines.append(f"  {name!s:<{width}}  {change}  {ranks}")
        if len(table) > NAMED:
            lines.append(f"  and {len(table) - NAMED} more columns in .table")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        count, fmt = int(self.table["important"].sum()), self.metric_text
        important = "is important: its" if count == 1 else "are important: their"
        notes = [f"{count} of {counted(len(self.names), 'column')} {important} interval is above 0."]
        if len(self.names) == 1 and not self.not_run:
            notes = ["the table has one column, so its importance is that of everything the model knows."]
        if self.unused:
            named = listed([repr(name) for name in self.unused[:NAMED]])
            more = f" and {len(self.unused) - NAMED} more" if len(self.unused) > NAMED else ""
            notes.append(
                f"no prediction changed when {named}{more} {'was' if len(self.unused) == 1 else 'were'} permuted."
            )
        for name, line in self.sets.head(NAMED).iterrows():
            change = fmt.difference(line["importance"], (line["low"], line["high"]))
            notes.append(f"correlated columns {name}, permuted together: {change}.")
        if self.dominant is not None:
            name, share = self.dominant
            notes.append(f"column {name!r} carries {percent(share)} of what the model knows: possible target leakage.")
        if self.fewest is not None:
            few = self.fewest
            notes.append(
                f"{counted(len(few.columns), 'column')} of {len(self.names)} suffice, within one standard error: "
                f"{', '.join(few.columns[:NAMED])}{', ...' if len(few.columns) > NAMED else ''}. Chosen and judged by "
                f"nested cross-validation: {fmt.named(few.estimate)}, with all columns {fmt.value(few.full)}; "
                f"{fmt.named_difference(few.difference, few.interval)}."
            )
        if self.not_run:
            notes.append(f"time budget exhausted: {len(self.not_run)} columns were not permuted.")
        return notes

    @plot_method()
    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the importance of each column with its interval, the most important first; at most 20 of them.

        Sets of correlated columns that were permuted together are below the columns.
        """
        columns, sets = self.table.head(DRAWN), self.sets.head(NAMED)
        names = [str(name) for name in columns.index] + [str(name) for name in sets.index]
        drawn = {key: [*columns[key], *sets[key]] for key in ("importance", "low", "high", "important")}
        label = f"increase of {self.metric_text.name}" if not self.greater_is_better else self.metric_text.name
        if self.greater_is_better:
            label = f"decrease of {label}"
        return differences(
            names, drawn["importance"], drawn["low"], drawn["high"], significant=[bool(x) for x in drawn["important"]],
            xlabel=f"{label} when the column is permuted", percent=self.metric_text.percent, ax=ax,
        )  # fmt: skip

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "importance",
            "version": 1,
            **self._values("name", "metric", "level", "repeats", "folds", "correlated", "greater_is_better"),
            **self._values("estimate", "everything", "estimand", "interval_method", "not_run", "dominant"),
            "columns": plain(self.table.reset_index().to_dict("records")),
            "sets": plain(self.sets.reset_index().to_dict("records")),
            "fewest": None if self.fewest is None else plain(asdict(self.fewest)),
            "notes": self.notes,
        }


class Inference:
    """Means with their covariance: intervals, and ranks that hold all ranks that are not significantly different."""

    def __init__(self, means: Floats, covariance: Floats, degrees: int, level: float) -> None:
        self.means = means
        error = np.sqrt(np.clip(np.diagonal(covariance), 0, None))
        half = t_quantile(level, degrees) * error
        self.low, self.high = means - half, means + half
        self.important = self.low > 0
        self.rank = np.empty(len(means), dtype=int)
        self.rank[np.argsort(-means, kind="stable")] = np.arange(1, len(means) + 1)
        self.ranks = _rank_ranges(means, covariance, degrees, level)

    def line(self, place: int) -> dict[str, Any]:
        """Return the row of a table."""
        return {
            "importance": float(self.means[place]),
            "low": float(self.low[place]),
            "high": float(self.high[place]),
            "important": bool(self.important[place]),
        }


def _rank_ranges(
    means: Floats, covariance: Floats, degrees: int, level: float
) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.intp]]:
    """Return the lowest and highest rank of each column, by paired tests against the others with Bonferroni.

    M. Mogstad, J. P. Romano, A. M. Shaikh, D. Wilhelm (2024), Inference for ranks, Review of Economic Studies 91.
    """
    p = len(means)
    if p < 2:
        return np.ones(p, dtype=np.intp), np.ones(p, dtype=np.intp)
    variance = np.diagonal(covariance)
    error = np.sqrt(np.clip(variance[:, None] + variance - 2 * covariance, 0, None))
    # Columns that say the same, such as a city and its code, differ by rounding alone, and always in the same way.
    rounding = 1e-9 * np.abs(means).max()
    larger = means - means[:, None] > t_quantile(1 - (1 - level) / (p - 1), degrees) * error + rounding
    np.fill_diagonal(larger, val=False)
    return 1 + larger.sum(axis=1), p - larger.sum(axis=0)


def _interval_method(
    config: ImportanceConfig, data: Data, columns: Sequence[Measured]
) -> tuple[bool, Positions | None, str]:
    """Return whether rows give the intervals, the number of each row's group there, and the name of the method."""
    splits = config.splits
    name = "corrected t over the folds"
    if not columns or any(each.influences is None for each in columns) or data.time is not None:
        return False, None, name if len(splits) > 1 else "none: one fold"
    rows = np.concatenate([split.test.index for split in splits])
    if data.groups is not None:
        if data.n_groups < LEAST_GROUPS:
            return False, None, name
        return True, np.unique(data.group_codes[rows], return_inverse=True)[1], "influence of groups × 1.2"
    if len(np.unique(rows)) < len(rows):  # a row that is tested several times is a group of its own
        return True, np.unique(rows, return_inverse=True)[1], "influence of rows × 1.2"
    return True, None, "influence of rows × 1.2"
