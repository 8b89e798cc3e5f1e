"""ClassLooSolver: leave-one-out of classifiers that know a class by moments, from which one row is taken out."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.task import Fit, Response
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_scores import ClassScores
from truefit._solvers.label_sweep import coded
from truefit._solvers.left_out import LeftOut, LeftOutSolver, labels_of
from truefit._solvers.parameters import are_priors
from truefit._solvers.rounding import UNIT, column_growth
from truefit._solvers.same_rows import WORK_BYTES, as_floats, full_precision

#: A class whose score is behind by this much has a probability that is 0 in floating point.
UNTHINKABLE = 800.0


class LabelledTable:
    """Rows with their classes, and what is known of each class: how many rows it has, and their mean.

    ``codes`` has the class of each row, ``counts`` and ``means`` a row for each class.
    """

    def __init__(self, X: Floats, codes: Positions, counts: npt.NDArray[np.intp]) -> None:
        self.X, self.codes = X, codes
        self.n, self.p = X.shape
        self.counts = counts.astype(np.float64)
        order = np.argsort(codes, kind="stable")
        self._members = np.split(order, np.cumsum(counts)[:-1])
        self.means = np.array([_mean(X[members]) for members in self._members])

    def members(self, code: int) -> Floats:
        """Return the rows of a class, counted from its mean."""
        return np.asarray(self.X[self._members[code]] - self.means[code])

    @cached_property
    def rounding(self) -> Floats:
        """How far a mean or a sum of squares of each column may be off, relative to what was added up."""
        return np.asarray(UNIT * column_growth(self.X))

    def log_shares(self, priors: Any, rows: Positions) -> Floats:
        """Return the logarithms of the classes' shares without each row: given ones, or those of the others."""
        if priors is not None:
            return np.asarray(np.log(np.asarray(priors, dtype=np.float64)))[:, None]
        counts = self.counts[:, None] - (np.arange(len(self.counts))[:, None] == self.codes[rows])
        return np.asarray(np.log(counts / (self.n - 1)))


class ClassLooSolver(LeftOutSolver):
    """Leave-one-out of classifiers by scores of the classes: the labels of those that lead, and their probabilities.

    A subclass gives the scores of each class, as logarithms of probabilities up to what they have in common, with a
    bound on how far they may be from those of plain fitting. Rows whose label or probabilities are not certain, and
    those that are all there is of a class, are fitted plainly.
    """

    responses: frozenset[Response] = frozenset({"predict", "predict_proba"})

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those of a classification whose parameters are such as scikit-learn takes, on a table that can be used."""
        if data.classes is None:
            return []
        some = [
            group
            for group in groups
            if self.serves(group[0].estimator, data) and coded(labels_of(group[0], data), data.classes)[1].all()
        ]
        return some if some and full_precision(data) else []

    @abstractmethod
    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""

    @abstractmethod
    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the scores of the classes for each row without it, and a bound on their error: (classes, rows)."""

    def label_scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats] | None:
        """Return the scores that labels go by, where these are others."""
        return None

    def probabilities(self, scores: ClassScores) -> tuple[Floats, npt.NDArray[np.bool_]]:
        """Return probabilities as scikit-learn makes them of scores."""
        return scores.probabilities()

    def left_out(self, estimator: Any, labels: npt.NDArray[Any], data: Data, rows: Positions) -> LeftOut:
        """Take each row out of its class, and let the classes say how likely it is."""
        known = data.classes
        assert known is not None  # or it would not have been claimed
        codes, counts = coded(labels, known)
        with np.errstate(all="ignore"):  # what comes out as NaN or infinite is not trusted
            table = LabelledTable(as_floats(data.X), codes.astype(np.intp), counts)
            step = max(1, WORK_BYTES // (8 * len(known) * table.p))
            parts = [self._part(estimator, table, rows[start : start + step]) for start in range(0, len(rows), step)]
        if len(parts) > 1:
            columns = zip(*parts, strict=True)
            labelled, shares, trusted = (np.concatenate(column) for column in columns)
        else:
            labelled, shares, trusted = parts[0]
        classes = known.astype(labels.dtype, copy=False)
        return LeftOut({"predict": labelled, "predict_proba": shares}, trusted, classes)

    def _part(
        self, estimator: Any, table: LabelledTable, rows: Positions
    ) -> tuple[npt.NDArray[Any], Floats, npt.NDArray[np.bool_]]:
        leads = _leads(*self.scores(estimator, table, rows))
        others = self.label_scores(estimator, table, rows)
        labels, certain = (leads if others is None else _leads(*others)).labels()
        shares, near = self.probabilities(leads)
        alone = table.counts[table.codes[rows]] < 2
        return labels[:, 0], shares[:, 0], certain & near & ~alone


def _leads(scores: Floats, error: Floats) -> ClassScores:
    # A class that is out of the question has a probability of 0, however far off its score is. Others must not be
    # measured from there.
    hopeless = scores + error < (scores - error).max(axis=0) - UNTHINKABLE
    error = np.where(hopeless, 0.0, error)
    scores = np.where(hopeless, scores.max(axis=0) - 2 * UNTHINKABLE, scores)
    return ClassScores((scores[1:] - scores[0])[:, :, None], error[0] + error[1:].max(axis=0))


def priors_fit(priors: Any, data: Data) -> bool:
    """Whether priors are not given, or are those of the table's classes."""
    return priors is None or (data.classes is not None and are_priors(priors, len(data.classes)))


def _mean(values: Floats) -> Floats:
    mean = np.ones(len(values)) @ values / len(values)
    return np.asarray(mean + np.ones(len(values)) @ (values - mean) / len(values))
