"""The model of one fold with its held-out rows: what happens to the metric when columns are permuted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Response
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.importance.columns import Permutations, Permuter
from truefit._methods.importance.result import Measured
from truefit._methods.splitting.splits import Split
from truefit._metrics.metric import get_metric
from truefit._metrics.smooth import RootMeanSquare
from truefit._stats.permutation import influence

if TYPE_CHECKING:
    from truefit._methods.importance.plan import ImportanceConfig

#: Cells of the copies of one fold's rows that are predicted at once.
_CELLS: Final = 20_000_000
#: Predictions of the same row may differ by so many units of the last place.
_ROUNDING: Final = 1_000


def measured_columns(
    columns: Sequence[Sequence[int]], folds: Sequence[FoldModel], config: ImportanceConfig
) -> list[Measured]:
    """Return what was measured for each column or set of columns, as many as the time allowed."""
    found: list[Measured] = []
    for each in columns:
        if config.stop():
            break
        found.append(Measured.of([fold.permuted(each) for fold in folds]))
    return found


class FoldModel:
    """The model of one fold and its held-out rows: what happens to the metric when columns are permuted."""

    def __init__(
        self, outcome: Outcome, split: Split, response: Response, data: Data, config: ImportanceConfig, place: int
    ) -> None:
        self._model, self._classes = outcome.model, outcome.classes
        self._rows: Rows = split.test
        self._response: Response = response
        self._data = data
        self._metric = config.metric
        self._permutations = permutations_of(len(split.test), config.repeats, (config.seed or 0) + place)
        self._plain = np.asarray(outcome.answer(data, split.test, response))
        # RMSE has row values too, those of its square: see _linear.
        squares = isinstance(config.metric.smooth, RootMeanSquare)
        self._by_row = get_metric("mse", data.task) if squares else config.metric
        self._sign = 1.0 if not config.metric.greater_is_better else -1.0
        self._squares = squares
        self.base, self._base_rows = self._scored(self._plain)
        self._parts: list[tuple[Permuter, Permutations]] = []

    def permuted(self, columns: Sequence[int]) -> tuple[Floats, Floats | None, float]:
        """Return the increase of the loss per permutation, the influence of each row, and the variance of changes."""
        predicted = []
        for permuter, places in self._copies():
            values = getattr(self._model, self._response)(permuter.permuted(columns))
            predicted += list(np.asarray(values).reshape(len(places), len(self._rows), *self._plain.shape[1:]))
        if all(self._is_unchanged(values) for values in predicted):
            predicted = [self._plain] * len(predicted)
        return self._compared(predicted)

    def _is_unchanged(self, values: Any) -> bool:
        """Whether predictions are those of the rows as they are, up to rounding: it varies with the number of rows."""
        if values.dtype.kind != "f":
            return bool((values == self._plain).all())
        rounding = _ROUNDING * np.finfo(values.dtype).eps * np.abs(self._plain).max(initial=0)
        return bool((np.abs(values - self._plain) <= rounding).all())

    def shuffled(self) -> tuple[Floats, Floats | None, float]:
        """Return the same with all columns permuted together: each row gets the prediction of another one."""
        return self._compared([self._plain[places] for places in self._permutations])

    def _copies(self) -> list[tuple[Permuter, Permutations]]:
        if not self._parts:
            X = self._data.take(self._rows.index)
            cells = max(1, int(np.prod(X.shape)))
            at_once = max(1, min(len(self._permutations), _CELLS // cells))
            for start in range(0, len(self._permutations), at_once):
                places = self._permutations[start : start + at_once]
                self._parts.append((Permuter(X, places), places))
        return self._parts

    def _compared(self, predicted: Sequence[Any]) -> tuple[Floats, Floats | None, float]:
        scored = [self._scored(values) for values in predicted]
        increase = self._sign * np.array([value - self.base for value, _ in scored])
        rows = [row for _, row in scored if row is not None]
        if self._base_rows is None or not rows:
            return increase, None, 0.0
        changes = self._sign * (np.array(rows) - self._base_rows)
        weight = self._data.weights_of(self._rows.index)
        if weight is not None:  # what a row contributes to the weighted mean, the mean weight being 1
            mean = float(np.average(changes.mean(axis=0), weights=weight))
            changes = (changes - mean) * (weight / weight.mean()) + mean
        return increase, influence(changes, self._permutations), float(changes.var())

    def _scored(self, values: Any) -> tuple[float, Floats | None]:
        """Return the metric of predictions, and its value for each row where it has one."""
        answer = Predictions(self._response, self._data.tokens_of(self._rows), np.asarray(values))
        outcome = Outcome("permuted", (answer,), classes=self._classes)
        rows = self._by_row.rows(outcome, self._data, self._rows)
        if rows is None:
            return self._metric.value(outcome, self._data, self._rows), None
        weight = self._data.weights_of(self._rows.index)
        mean = float(rows.mean() if weight is None else np.average(rows, weights=weight))
        if not self._squares:
            return mean, np.asarray(rows, dtype=np.float64)
        root = mean**0.5
        # The delta method: the mean of (m + s) / (2 √m) over squared errors s with mean m is √m.
        linear = np.zeros_like(rows) if root == 0 else (root + rows / root) / 2
        sign = -1.0 if self._metric.greater_is_better else 1.0
        return sign * root, sign * linear


def permutations_of(rows: int, repeats: int, seed: int) -> Permutations:
    """Return the permutations that scikit-learn's ``permutation_importance`` makes with ``random_state=seed``."""
    random = np.random.RandomState(np.random.RandomState(seed).randint(np.iinfo(np.int32).max + 1))
    found = np.empty((repeats, rows), dtype=np.intp)
    shuffled, places = np.arange(rows), np.arange(rows)
    for each in found:
        random.shuffle(shuffled)
        places = places[shuffled]  # each permutation is of the rows as the one before left them
        each[:] = places
    return found
