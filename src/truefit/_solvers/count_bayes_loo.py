"""CountBayesLooSolver: leave-one-out of naive Bayes on counts, each row taken out of the counts of its class."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.naive_bayes import BernoulliNB, ComplementNB, MultinomialNB

from truefit._core.data import Data
from truefit._core.task import Fit
from truefit._core.typing import Floats, Positions
from truefit._solvers.class_loo import ClassLooSolver, LabelledTable, priors_fit
from truefit._solvers.parameters import is_size, is_switch
from truefit._solvers.rounding import UNIT, exact_sums, growth

#: What scikit-learn takes in the place of a smaller smoothing, unless it is told to keep that.
LEAST_SMOOTHING = 1e-10


class CountBayesLooSolver(ClassLooSolver):
    """Leave-one-out fits of ``MultinomialNB``, ``ComplementNB`` and ``BernoulliNB`` on whole numbers.

    The counts of a class without a row are its counts less the row: exact, for they are whole numbers. What is made of
    them is as in scikit-learn.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
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
        if not some or all(cut_of(group[0].estimator) is not None for group in some):
            return some
        counted = {binary: whole_counts(data.X, binary) for binary in (False, True)}
        return [
            group
            for group in some
            if cut_of(group[0].estimator) is not None or counted[type(group[0].estimator) is BernoulliNB]
        ]

    def serves(self, estimator: Any, data: Data) -> bool:
        """Whether the parameters are such as scikit-learn takes."""
        return is_usual_count_bayes(estimator, data)

    def scores(self, estimator: Any, table: LabelledTable, rows: Positions) -> tuple[Floats, Floats]:
        """Return the joint log-likelihoods."""
        cut = cut_of(estimator)
        whole = table.X if cut is None else np.greater(table.X, cut).astype(np.float64)
        X, codes, number = whole[rows], table.codes[rows], len(table.counts)
        counts = (table.codes == np.arange(number)[:, None]).astype(np.float64) @ whole
        everything, complement = counts.sum(axis=0), type(estimator) is ComplementNB
        scores, errors = np.empty((2, number, len(rows)))
        for code in range(number):
            for own in (False, True):
                some = np.flatnonzero((codes == code) == own)
                values, left = X[some], table.counts[code] - own
                seen = everything - counts[code] if complement else counts[code]
                given = count_weights(estimator, seen - values if own != complement else seen, left)
                scores[code, some], errors[code, some] = _scores(values, given)
        if not complement:
            uniform = np.full(number, 1 / number)
            given = estimator.class_prior
            shares = table.log_shares(given if given is not None else None if estimator.fit_prior else uniform, rows)
            scores += shares
            errors += 8 * UNIT * (np.abs(shares) + math.log(table.n))
        return scores, errors


@dataclass(frozen=True, slots=True, eq=False)
class CountWeights:
    """What the columns of a row count for in the score of a class, and what is added; with bounds on their errors."""

    weights: Floats
    off: Floats
    shift: Floats | float = 0.0
    shift_off: Floats | float = 0.0


def count_weights(estimator: Any, seen: Floats, rows: Any) -> CountWeights:
    """Return the weights of classes, any number at once: the last axis is that of the columns.

    ``seen`` are the counts of the class, or of all other classes where it is known by these; ``rows`` is how many rows
    the class has.
    """
    alpha = float(estimator.alpha)
    if type(estimator) is ComplementNB:
        return _complement(seen + alpha, bool(estimator.norm))
    if type(estimator) is MultinomialNB:
        return _multinomial(seen + alpha)
    return _bernoulli(seen + alpha, rows + 2 * alpha)


def _multinomial(counts: Floats) -> CountWeights:
    total = counts.sum(axis=-1, keepdims=True)
    logs, level = np.log(counts), np.log(total)
    return CountWeights(logs - level, 4 * UNIT * (np.abs(logs) + np.abs(level) + growth(counts.shape[-1])))


def _complement(others: Floats, norm: bool) -> CountWeights:
    logs = np.log(others / others.sum(axis=-1, keepdims=True))
    off = 4 * UNIT * (np.abs(logs) + growth(others.shape[-1]))
    if not norm:
        return CountWeights(-logs, off)
    total = logs.sum(axis=-1, keepdims=True)
    weights = logs / total
    shift = off.sum(axis=-1, keepdims=True) + UNIT * growth(others.shape[-1]) * np.abs(total)
    return CountWeights(weights, (off + np.abs(weights) * shift) / np.abs(total))


def _bernoulli(present: Floats, total: Any) -> CountWeights:
    logs = np.log(present) - np.log(total)
    off = 4 * UNIT * (np.abs(np.log(present)) + np.abs(np.log(total)))
    share = np.exp(logs)
    absent = np.log(1 - share)
    off_absent = (off * share + 4 * UNIT) / (1 - share) + 4 * UNIT * np.abs(absent)
    rounding = UNIT * growth(present.shape[-1]) * np.abs(absent).sum(axis=-1)
    return CountWeights(logs - absent, off + off_absent, absent.sum(axis=-1), off_absent.sum(axis=-1) + rounding)


def _scores(values: Floats, given: CountWeights) -> tuple[Floats, Floats]:
    scores, error = _product(values, given.weights, given.off)
    return scores + given.shift, error + given.shift_off


def _product(values: Floats, weights: Floats, off: Floats) -> tuple[Floats, Floats]:
    """Return the sums of values times weights, the same for all rows or each row's own, and a bound on their error."""
    rounding = off + UNIT * growth(values.shape[1]) * np.abs(weights)
    if weights.ndim == 1:
        return values @ weights, np.abs(values) @ rounding
    return np.einsum("ij,ij->i", values, weights), np.einsum("ij,ij->i", np.abs(values), rounding)


def cut_of(estimator: Any) -> float | None:
    """Return above which values count as 1, and otherwise 0; None where they stay what they are."""
    cut = getattr(estimator, "binarize", None)
    return None if cut is None else float(cut)


def _iscut_of(value: Any) -> bool:
    return value is None or is_size(value)


def whole_counts(X: Any, any_sign: bool = False) -> bool:
    """Whether a table has whole numbers only, from 0 on unless of ``any_sign``, that can be added up exactly."""
    values = np.asarray(X, dtype=np.float64)
    return bool(exact_sums(values).all()) and (any_sign or bool((values >= 0).all()))


def is_usual_count_bayes(estimator: Any, data: Data) -> bool:
    """Whether the parameters are such as scikit-learn takes."""
    switches = is_switch(estimator.force_alpha) and is_switch(estimator.fit_prior)
    own = is_switch(getattr(estimator, "norm", False)) and _iscut_of(getattr(estimator, "binarize", None))
    # Of a smaller smoothing scikit-learn warns, and takes another.
    smooth = is_size(estimator.alpha) and (estimator.force_alpha or estimator.alpha >= LEAST_SMOOTHING)
    return bool(switches and own and smooth and priors_fit(estimator.class_prior, data))
