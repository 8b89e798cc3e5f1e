"""Smooth: a metric as a function of means over rows, for delta-method intervals."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats
from truefit._metrics.scorers import positive_label

#: The scale on which an interval is computed; ``truefit._stats.delta`` defines them.
Scale = Literal["plain", "square", "logit"]


class Smooth(ABC):
    """A metric as a smooth function of the means of p numbers per row.

    The value is that of all rows together, as if they were one test set.
    """

    @property
    @abstractmethod
    def scale(self) -> Scale:
        """The scale on which an interval is computed."""

    @abstractmethod
    def parts(self, y: Array, predicted: Array, data: Data) -> Floats:
        """Return what each row adds to the means, as an array of shape (m, p)."""

    @abstractmethod
    def value(self, means: Floats) -> float:
        """Return the metric, from the p means."""

    @abstractmethod
    def slopes(self, means: Floats) -> Floats:
        """Return the gradient of the value, from the p means; NaN where it has none."""

    def means(self, data: Data, index: Array, predicted: Array) -> Floats:
        """Return the means over the rows at ``index``, with the data's weights."""
        weight = data.weights_of(index)
        averaged: Floats = np.average(self.parts(data.y[index], predicted, data), axis=0, weights=weight)
        return averaged

    def shares(self, means: Floats) -> tuple[Floats, Floats] | None:
        """Return the shares whose mean the value is and the share of rows that each is among; None if it is not one."""
        return None

    def rows(self, outcome: Outcome, data: Data, rows: Rows) -> Floats:
        """Return what each of the rows adds to the means, by the predictions of a fit."""
        return self.parts(data.y[rows.index], outcome.answer(data, rows), data)


Ratio = Literal["recall", "precision", "f1", "jaccard", "miss"]


@dataclass(frozen=True)
class Ratios(Smooth):
    """Rates of a confusion matrix: of one class, or their mean over all classes.

    A class has three means: the rows found (of this class, and predicted so), the rows that are of it, and those that
    are predicted to be. A rate with denominator 0 is 0, as with scikit-learn's ``zero_division=0``; "miss", which is
    1 - recall, is then 1. With ``actual_only`` the mean over classes leaves out those without a row, as balanced
    accuracy does; otherwise those that are neither in y nor predicted.
    """

    ratio: Ratio
    classes: Literal["positive", "negative", "all"] = "positive"
    pos_label: Any = None
    actual_only: bool = False

    scale = "logit"

    def parts(self, y: Array, predicted: Array, data: Data) -> Floats:
        """Found, actual and predicted: a column for each class in each of the three."""
        assert data.classes is not None
        if self.classes == "all":
            actual, assigned = y[:, None] == data.classes, predicted[:, None] == data.classes
        else:
            positive = positive_label(data, self.pos_label)
            actual, assigned = (y == positive)[:, None], (predicted == positive)[:, None]
            if self.classes == "negative":
                actual, assigned = ~actual, ~assigned
        return np.hstack([actual & assigned, actual, assigned]).astype(np.float64)

    def means(self, data: Data, index: Array, predicted: Array) -> Floats:
        """Return the means of the parts by counting, which takes no column for each class."""
        if self.classes != "all":
            return super().means(data, index, predicted)
        assert data.classes is not None
        assert data.codes is not None
        actual, assigned = data.codes[index], np.searchsorted(data.classes, predicted)
        weight = np.ones(len(index)) if data.weight is None else data.weight[index]
        rows = (weight * (actual == assigned), actual), (weight, actual), (weight, assigned)
        counts = [np.bincount(codes, weights, minlength=len(data.classes)) for weights, codes in rows]
        averaged: Floats = np.concatenate(counts) / weight.sum()
        return averaged

    def value(self, means: Floats) -> float:
        """Return the mean of the rates."""
        return float(self._rates(means)[0].mean())

    def slopes(self, means: Floats) -> Floats:
        """Return the gradient by found, actual and predicted; a rate without rows has none and adds nothing."""
        counted = self._counted(means)
        found, actual, assigned = means.reshape(3, -1)[:, counted]
        with np.errstate(divide="ignore", invalid="ignore"):
            if self.ratio == "precision":
                each = [1 / assigned, np.zeros_like(assigned), -found / assigned**2]
            elif self.ratio == "f1":
                both = actual + assigned
                each = [2 / both, -2 * found / both**2, -2 * found / both**2]
            elif self.ratio == "jaccard":
                union = actual + assigned - found
                each = [(actual + assigned) / union**2, -found / union**2, -found / union**2]
            else:
                sign = -1 if self.ratio == "miss" else 1
                each = [sign / actual, -sign * found / actual**2, np.zeros_like(actual)]
        gradient = np.zeros((3, means.size // 3))
        gradient[:, counted] = np.nan_to_num(each, nan=0.0, posinf=0.0, neginf=0.0) / max(len(found), 1)
        return gradient.reshape(-1)

    def shares(self, means: Floats) -> tuple[Floats, Floats]:
        """Return the rates, and the share of rows that each is among."""
        rates, found, actual, assigned = self._rates(means)
        if self.ratio == "precision":
            return rates, assigned
        if self.ratio == "f1":
            # F1 is 2J/(1 + J) of the plain share J = found/(actual or predicted). Wilson's end for J = 1, taken through
            # that, is his end for a share among twice as many rows; for J = 0 among half as many.
            return rates, found + (actual + assigned) / 2
        return rates, actual + assigned - found if self.ratio == "jaccard" else actual

    def _counted(self, means: Floats) -> npt.NDArray[np.bool_]:
        """Return which classes take part in the mean."""
        _, actual, assigned = means.reshape(3, -1)
        if self.classes != "all":
            return np.ones(len(actual), dtype=bool)
        counted: npt.NDArray[np.bool_] = actual > 0 if self.actual_only else actual + assigned > 0
        return counted

    def _rates(self, means: Floats) -> tuple[Floats, Floats, Floats, Floats]:
        found, actual, assigned = means.reshape(3, -1)[:, self._counted(means)]
        top = 2 * found if self.ratio == "f1" else found
        below = {"precision": assigned, "f1": actual + assigned, "jaccard": actual + assigned - found}
        bottom = below.get(self.ratio, actual)
        rates = np.divide(top, bottom, out=np.zeros_like(top), where=bottom > 0)
        return 1 - rates if self.ratio == "miss" else rates, found, actual, assigned


@dataclass(frozen=True)
class RootMeanSquare(Smooth):
    """RMSE, with a sign; of several outputs the mean of theirs."""

    sign: int = 1

    scale = "square"

    def parts(self, y: Array, predicted: Array, data: Data) -> Floats:
        """Squared residuals, a column for each output."""
        return _columns(y - predicted) ** 2

    def value(self, means: Floats) -> float:
        """Return the mean of the roots."""
        return self.sign * float(np.sqrt(means).mean())

    def slopes(self, means: Floats) -> Floats:
        """Return the gradient, infinite where there is no residual at all."""
        with np.errstate(divide="ignore"):
            gradient: Floats = self.sign * 0.5 / np.sqrt(means) / len(means)
        return gradient


@dataclass(frozen=True)
class Total(Smooth):
    """RSS: the sum of the squared residuals over as many rows as the table has."""

    scale = "plain"

    def parts(self, y: Array, predicted: Array, data: Data) -> Floats:
        """Squared residuals, as many times as the table has rows."""
        squares: Floats = (_columns(y - predicted) ** 2).sum(axis=1, keepdims=True)
        return data.n * squares

    def value(self, means: Floats) -> float:
        """Return the sum."""
        return float(means[0])

    def slopes(self, means: Floats) -> Floats:
        """Return the gradient."""
        return np.ones(1)


@dataclass(frozen=True)
class Explained(Smooth):
    """R², or with ``relative`` the relative squared error 1 - R²; of several outputs the mean of theirs."""

    relative: bool = False

    scale = "plain"

    def parts(self, y: Array, predicted: Array, data: Data) -> Floats:
        """Squared residuals, targets and squared targets, a column for each output in each of the three."""
        # Around the mean of the table no digits are lost where the target is far from 0.
        target = _columns(y - data.y.mean(axis=0))
        return np.hstack([_columns(y - predicted) ** 2, target, target**2])

    def value(self, means: Floats) -> float:
        """Return 1 - squared residuals / variance; for a target without variance as in scikit-learn."""
        residual, variance = self._split(means)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = np.where(variance > 0, residual / variance, (residual > 0).astype(np.float64))
        return float(each.mean() if self.relative else 1 - each.mean())

    def slopes(self, means: Floats) -> Floats:
        """Return the gradient, NaN for a target without variance."""
        residual, variance = self._split(means)
        _, centre, _ = means.reshape(3, -1)
        with np.errstate(divide="ignore", invalid="ignore"):
            each = [1 / variance, 2 * centre * residual / variance**2, -residual / variance**2]
        gradient = np.where(variance > 0, each, np.nan).reshape(-1) / len(variance)
        return gradient if self.relative else -gradient

    def _split(self, means: Floats) -> tuple[Floats, Floats]:
        residual, centre, square = means.reshape(3, -1)
        variance = square - centre**2
        # What rounding leaves of a constant target is no variance.
        return residual, np.where(variance > 1e-14 * square, variance, 0.0)


def _columns(values: Array) -> Floats:
    columns: Floats = np.asarray(values, dtype=np.float64).reshape(len(values), -1)
    return columns
