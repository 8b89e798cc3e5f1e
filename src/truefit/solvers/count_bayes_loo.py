"""CountBayesLooSolver: leave-one-out of naive Bayes on counts, each row taken out of the counts of its class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from truefit.core.data import Data
from truefit.core.task import Fit
from truefit.solvers.class_loo import ClassLooSolver, LabelledTable, priors_fit
from truefit.solvers.left_out import Index
from truefit.solvers.parameters import is_size, is_switch
from truefit.solvers.rounding import UNIT, exact_sums, growth

Floats = npt.NDArray[np.float64]

#: What scikit-learn takes in the place of a smaller smoothing, unless it is told to keep that.
LEAST_SMOOTHING = 1e-10


class CountBayesLooSolver(ClassLooSolver):
    """Leave-one-out fits of ``MultinomialNB``, ``ComplementNB`` and ``BernoulliNB`` on whole numbers.

    The counts of a class without a row are its counts less the row: exact, for they are whole numbers. What is made of
    them is as in scikit-learn.

    Examples
    --------
    >>> from truefit.core.key import Keys
    >>> from truefit.core.rows import Rows
    >>> from truefit.core.task import Ask, FitTask
    >>> X = np.array([[3, 0], [2, 1], [4, 1], [5, 2], [1, 3], [0, 4], [1, 1], [0, 2]])
    >>> data = Data(X, [0, 0, 0, 0, 1, 1, 1, 1], task="classification")
    >>> keys, bayes = Keys(data), MultinomialNB()
    >>> tasks = [FitTask(bayes, Rows.without(8, i), (Ask(Rows.of([i])),)) for i in range(8)]
    >>> [job] = CountBayesLooSolver().claim([keys.fit(task) for task in tasks], data)
    >>> [int(outcome.answer(data, Rows.of([i]))[0]) for i, outcome in enumerate(job.run(data))]
    [0, 0, 0, 0, 1, 1, 0, 1]
    """

    name = "count bayes loo"
    kinds = (MultinomialNB, ComplementNB, BernoulliNB)

    def served(self, groups: Sequence[Sequence[Fit]], data: Data) -> Sequence[Sequence[Fit]]:
        """Those on whole numbers, or on what is made of 0 and 1."""
        some = super().served(groups, data)
        if not some or all(_cut(group[0].estimator) is not None for group in some):
            return some
        X = np.asarray(data.X, dtype=np.float64)
        counts, positive = bool(exact_sums(X).all()), bool((X >= 0).all())
        return [
            group
            for group in some
            if _cut(group[0].estimator) is not None
            or (counts and (positive or type(group[0].estimator) is BernoulliNB))
        ]

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        switches = is_switch(estimator.force_alpha) and is_switch(estimator.fit_prior)
        own = is_switch(getattr(estimator, "norm", False)) and _is_cut(getattr(estimator, "binarize", None))
        # Of a smaller smoothing scikit-learn warns, and takes another.
        smooth = is_size(estimator.alpha) and (estimator.force_alpha or estimator.alpha >= LEAST_SMOOTHING)
        return bool(switches and own and smooth and priors_fit(estimator.class_prior, data))

    def scores(self, estimator: Any, table: LabelledTable, rows: Index) -> tuple[Floats, Floats]:
        """Return the joint log-likelihoods."""
        cut = _cut(estimator)
        whole = table.X if cut is None else np.greater(table.X, cut).astype(np.float64)
        alpha = float(estimator.alpha)
        X, codes, number = whole[rows], table.codes[rows], len(table.counts)
        counts = (table.codes == np.arange(number)[:, None]).astype(np.float64) @ whole
        scores, errors = np.empty((2, number, len(rows)))
        for code in range(number):
            for own in (False, True):
                some = np.flatnonzero((codes == code) == own)
                values, left = X[some], table.counts[code] - own
                if type(estimator) is ComplementNB:
                    others = counts.sum(axis=0) - counts[code] + alpha
                    said = _complement(values, others if own else others - values, bool(estimator.norm))
                elif type(estimator) is MultinomialNB:
                    said = _multinomial(values, counts[code] - values + alpha if own else counts[code] + alpha)
                else:
                    present = counts[code] - values + alpha if own else counts[code] + alpha
                    said = _bernoulli(values, present, left + 2 * alpha)
                scores[code, some], errors[code, some] = said
        if type(estimator) is not ComplementNB:
            uniform = np.full(number, 1 / number)
            given = estimator.class_prior
            shares = table.log_shares(given if given is not None else None if estimator.fit_prior else uniform, rows)
            scores += shares
            errors += 8 * UNIT * (np.abs(shares) + math.log(table.n))
        return scores, errors


def _multinomial(values: Floats, counts: Floats) -> tuple[Floats, Floats]:
    total = counts.sum(axis=-1, keepdims=True)
    logs, level = np.log(counts), np.log(total)
    return _product(values, logs - level, 4 * UNIT * (np.abs(logs) + np.abs(level) + growth(values.shape[1])))


def _complement(values: Floats, others: Floats, norm: bool) -> tuple[Floats, Floats]:
    logs = np.log(others / others.sum(axis=-1, keepdims=True))
    off = 4 * UNIT * (np.abs(logs) + growth(values.shape[1]))
    if not norm:
        return _product(values, -logs, off)
    total = logs.sum(axis=-1, keepdims=True)
    weights = logs / total
    shift = off.sum(axis=-1, keepdims=True) + UNIT * growth(values.shape[1]) * np.abs(total)
    return _product(values, weights, (off + np.abs(weights) * shift) / np.abs(total))


def _bernoulli(values: Floats, present: Floats, total: float) -> tuple[Floats, Floats]:
    logs = np.log(present) - np.log(total)
    off = 4 * UNIT * (np.abs(np.log(present)) + abs(math.log(total)))
    share = np.exp(logs)
    absent = np.log(1 - share)
    off_absent = (off * share + 4 * UNIT) / (1 - share) + 4 * UNIT * np.abs(absent)
    scores, error = _product(values, logs - absent, off + off_absent)
    rounding = UNIT * growth(values.shape[1]) * np.abs(absent).sum(axis=-1)
    return scores + absent.sum(axis=-1), error + off_absent.sum(axis=-1) + rounding


def _product(values: Floats, weights: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Return the sums of values times weights, the same for all rows or each row's own, and a bound on their error."""
    rounding = off + UNIT * growth(values.shape[1]) * np.abs(weights)
    if weights.ndim == 1:
        return values @ weights, np.abs(values) @ rounding
    return np.einsum("ij,ij->i", values, weights), np.einsum("ij,ij->i", np.abs(values), rounding)


def _cut(estimator: Any) -> float | None:
    """Return above which values count as 1, and otherwise 0; None where they stay what they are."""
    cut = getattr(estimator, "binarize", None)
    return None if cut is None else float(cut)


def _is_cut(value: Any) -> bool:
    return value is None or is_size(value)
