"""One test set: the interval of any metric, of rows that come in groups or have weights too.

Everything follows from the contributions of the rows, one value per row: their mean is the metric, and the standard
error of that mean, for independent rows or for whole groups, is that of the metric by the delta method. So is that of
the difference of two models.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn import metrics as sk

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats, Positions
from truefit._methods.assessment.evidence import Evidence
from truefit._metrics.metric import Metric
from truefit._metrics.scorers import StoredPredictor, is_auc, positive_label
from truefit._metrics.smooth import Smooth
from truefit._stats.auc import auc_contributions, auc_interval, average_precision_contributions
from truefit._stats.clustered import clustered_mean
from truefit._stats.delta import BoundedScale, Estimated, interval_on_scale
from truefit._stats.intervals import normal_quantile, t_quantile, wilson
from truefit._stats.paired import PairedDifference, pooled_paired_t

#: A metric without known contributions is computed so many times, each time without another block of rows.
BLOCKS = 40


@dataclass(frozen=True, slots=True)
class Contributions:
    """Values whose mean is a metric, one per row or per block of rows, with the groups and weights of the rows."""

    values: Floats
    method: str
    groups: Array | None = None
    weight: Floats | None = None

    @property
    def mean(self) -> PairedDifference:
        """Their mean with its standard error and degrees of freedom."""
        if self.groups is not None:
            return clustered_mean(self.values, self.groups, self.weight)
        found = pooled_paired_t([self.values], factor=1.0)
        return found if self.weight is None else PairedDifference(found.mean, found.se, max(int(self._rows) - 1, 1))

    def minus(self, other: Contributions) -> Contributions:
        """Return the contributions to the difference of two metrics on the same rows, 0 where it is rounding alone."""
        difference = self.values - other.values
        size = np.mean(np.abs(self.values) + np.abs(other.values))
        small = np.abs(difference) <= 1e-8 * size
        return Contributions(np.where(small, 0.0, difference), self.method, self.groups, self.weight)

    @property
    def _rows(self) -> float:
        """Number of rows; with weights that of as many rows of equal weight (Kish)."""
        if self.weight is None:
            return float(self.values.size)
        return float(self.weight.sum() ** 2 / np.square(self.weight).sum())

    def effective_rows(self, mean: PairedDifference) -> float:
        """Number of independent rows of equal weight with the same standard error."""
        if mean.se == 0:
            return mean.df + 1.0
        independent = float(self.values.var(ddof=1)) / self.values.size
        return self._rows * min(1.0, independent / mean.se**2)


def contributions_of(evidence: Evidence) -> Contributions | str:
    """Return what the rows of the only test set contribute to the metric, or why there is nothing to be had."""
    if evidence.contributions is None:
        evidence.contributions = _contributions(evidence)
    return evidence.contributions


def _contributions(evidence: Evidence) -> Contributions | str:
    data, metric = evidence.data, evidence.metric
    index, replay = evidence.only_test
    groups = None if data.groups is None else data.groups[index]
    weight = None if data.weight is None else data.weight[index]
    if len(index) < 2:
        return "a single row shows no spread"
    if groups is not None and (groups == groups[0]).all():
        return "all test rows are of one group"
    values = row_contributions(metric, replay, data, index)
    if values is None:
        return _by_blocks(evidence, replay, index)
    if not np.isfinite(values).all():
        return f"{metric.name} is the same for all rows"
    method = "hold-out" if groups is None else "hold-out, clustered by group"
    return Contributions(values, method if weight is None else f"{method}, weighted", groups, weight)


def row_contributions(metric: Metric, replay: StoredPredictor, data: Data, index: Positions) -> Floats | None:
    """Return the contributions of the rows at ``index``; None for a metric that has no known ones.

    Weights are in the values: their plain mean is the weighted metric. NaN where the metric has no slope, such as the
    RMSE of predictions without an error.

    Examples
    --------
    >>> from truefit._metrics.metric import get_metric
    >>> data = Data([[0.0], [1.0], [2.0]], [1.0, 2.0, 3.0], task="regression")
    >>> replay = StoredPredictor({"predict": np.array([1.0, 2.0, 5.0])}, data)
    >>> row_contributions(get_metric("mse", "regression"), replay, data, np.arange(3)).tolist()
    [0.0, 0.0, 4.0]
    """
    weight = data.weights_of(index)
    if metric.row_loss is not None:
        each = metric.rows_of(replay, data, index)
        centre = float(np.average(each, weights=weight))
        return each if weight is None else centre + weight * (each - centre) / weight.mean()
    if metric.smooth is not None:
        return _of_means(metric.smooth, replay, data, index, weight)
    function, options = getattr(metric.scorer, "_score_func", None), getattr(metric.scorer, "_kwargs", {})
    sign = metric.sign * getattr(metric.scorer, "_sign", 1)
    if function is sk.roc_auc_score and data.classes is not None:
        found = _of_auc(options, replay, data, index, weight)
        return None if found is None else sign * found
    if function is sk.average_precision_score and data.classes is not None and len(data.classes) == 2:
        positive = positive_label(data, options.get("pos_label"))
        scores = replay.response_values(("decision_function", "predict_proba"), positive)
        return sign * average_precision_contributions(data.y[index] == positive, scores, weight)
    return None


def _of_means(smooth: Smooth, replay: StoredPredictor, data: Data, index: Positions, weight: Floats | None) -> Floats:
    """Linearise a function of means: its value, plus its slope times what a row adds to each mean."""
    parts = smooth.parts(data.y[index], replay.answer("predict"), data)
    means: Floats = np.average(parts, axis=0, weights=weight)
    linear = (parts - means) @ np.asarray(smooth.slopes(means), dtype=np.float64)
    if weight is not None:
        linear *= weight / weight.mean()
    linear += smooth.value(means)
    return linear


def _of_auc(
    options: dict[str, object], replay: StoredPredictor, data: Data, index: Positions, weight: Floats | None
) -> Floats | None:
    """Placements of the rows; of several classes the mean over each class against the others."""
    assert data.classes is not None
    assert data.codes is not None
    codes = data.codes[index]
    if len(data.classes) == 2:
        return auc_contributions(codes == 1, replay.response_values(("decision_function", "predict_proba")), weight)
    present = np.unique(codes)
    average = options.get("average", "macro")
    if options.get("multi_class") != "ovr" or average != "macro" or len(present) < 2:
        return None
    proba = replay.answer("predict_proba")
    total = np.zeros(len(index))
    for code in present:
        total += auc_contributions(codes == code, proba[:, code], weight)
    return total / len(present)


def _by_blocks(evidence: Evidence, replay: StoredPredictor, index: Positions) -> Contributions | str:
    """Return the jackknife's pseudo-values: the metric with and without each of some random blocks of rows."""
    data, metric = evidence.data, evidence.metric
    if getattr(metric.scorer, "_score_func", None) is sk.max_error:
        return "the largest error is that of a single row, so other rows do not show its spread"
    whole = np.arange(len(index)) if data.groups is None else np.unique(data.group_codes[index], return_inverse=True)[1]
    units = int(whole.max()) + 1
    blocks = min(BLOCKS, units)
    block = np.random.default_rng(0).permutation(np.arange(units) % blocks)[whole]
    value, without = float(evidence.scores[0]), np.empty(blocks)
    try:
        for each in range(blocks):
            kept = block != each
            without[each] = metric.of(replay.subset(kept, data), data, index[kept])
    except InvalidInput:
        return f"{metric.name} is not defined without some of the rows"
    pseudo = (blocks - 1) * (value - without)
    rows = "groups" if data.groups is not None else "rows"
    return Contributions(value + pseudo - pseudo.mean(), f"jackknife over {blocks} blocks of {rows}")


def hold_out_interval(evidence: Evidence, found: Contributions, *, level: float) -> Estimated:
    """Return the interval of a metric from the contributions, on the metric's own scale."""
    metric, mean = evidence.metric, found.mean
    value, rows, t = float(evidence.scores[0]), found.effective_rows(found.mean), t_quantile(level, found.mean.df)
    if metric.zero_one:
        if mean.se > 0 and 0 < value < 1:
            rows = min(rows, value * (1 - value) / mean.se**2)
        return Estimated(value, wilson(value, rows, level, df=mean.df))
    if is_auc(metric, evidence.data):
        counts = np.bincount(evidence.tested_codes(), minlength=2) * rows / found.values.size
        factor = t / normal_quantile(level)
        return auc_interval(value, mean.se**2, factor, level, counts=(float(counts[1]), float(counts[0])))
    if metric.smooth is not None:
        index, replay = evidence.only_test
        edges = metric.smooth.shares(metric.smooth.means(evidence.data, index, replay.answer("predict")))
        return interval_on_scale(value, t * mean.se, metric.smooth.scale, level=level, rows=rows, edges=edges)
    scales: dict[tuple[float, float], BoundedScale] = {
        (0.0, 1.0): "logit", (0.0, np.inf): "log", (-np.inf, 0.0): "log", (-np.inf, 1.0): "log_gap"
    }  # fmt: skip
    return interval_on_scale(value, t * mean.se, scales.get(metric.bounds, "plain"), level=level, rows=rows)
