"""Check: whether the tests are those of ``truefit.compare``, on the same rows and folds."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.base import BaseEstimator, clone

from benchmarks.comparison_errors.learners import Tree, predictions
from benchmarks.comparison_errors.settings import DESIGNS, EQUAL, LEVEL
from benchmarks.comparison_errors.simulation import drawn
from benchmarks.comparison_errors.statistics import adjusted_for_selection, all_tests, losses_of, scored
from benchmarks.coverage.learners import Discriminant, NeighbourClassifier, NeighbourRegressor, RidgeRegressor
from truefit import compare
from truefit._stats.paired import holm

LEARNERS = {
    "lda": Discriminant(),
    "knn": NeighbourClassifier(),
    "tree": Tree(),
    "ridge": RidgeRegressor(),
    "knn_regression": NeighbourRegressor(),
}
#: Candidates of the check.
CHECKED = 4


class OnColumns(BaseEstimator):
    """A learner on some of the columns."""

    def __init__(self, learner=None, start=0, stop=1):
        self.learner = learner
        self.start = start
        self.stop = stop

    def fit(self, X, y):
        self.model_ = clone(self.learner).fit(X[:, self.start : self.stop], y)
        if hasattr(self.model_, "classes_"):
            self.classes_ = self.model_.classes_
        return self

    def predict(self, X):
        return self.model_.predict(X[:, self.start : self.stop])

    def __sklearn_tags__(self):
        return self.learner.__sklearn_tags__()


def check():
    """Compare the tests with those of ``truefit.compare`` on the same rows and folds; return how many p-values."""
    compared, cases = 0, {(each.learner, each.n, each.metrics): each for each in EQUAL}
    for setting in cases.values():
        X, y, _ = drawn(setting, 0, CHECKED)
        width = X.shape[2]
        models = {f"{c}": OnColumns(LEARNERS[setting.learner], c * width, (c + 1) * width) for c in range(CHECKED)}
        for (k, repeats), metric in product(DESIGNS.values(), setting.metrics):
            compared += _checked(setting, models, X, y, k, repeats, metric)
    return compared


def _checked(setting, models, X, y, k, repeats, metric):
    table, names, compared, tests = np.hstack(list(X)), list(models), 0, None
    for test, reference in product(("corrected_t", "auto", "pooled"), (None, "all", "0")):
        found = compare(models, table, y, cv=k, repeats=repeats, metric=metric, test=test, reference=reference)
        if tests is None:
            partitions = np.empty((repeats, len(y)), dtype=int)
            for place, split in enumerate(found.assessment.splits):
                partitions[place // k, split.test.index] = place % k
            predicted, _ = predictions(setting.learner, X, y, list(partitions))
            scores, rows = scored(losses_of(predicted, y, setting.task), partitions, k, metric)
            tests = all_tests(scores, rows, k, metric)
        means = scores.mean(axis=1)
        assert means[names.index(found.best)] <= means.min() * (1 + 1e-12), "another candidate is the best"
        tested = tests["pooled" if test == "pooled" else "corrected_t"]
        i = [names.index(pair.candidate) for pair in found.pairs]
        j = [names.index(pair.reference) for pair in found.pairs]
        p = tested.p(i, j)
        theirs = np.array([[pair.found.p, pair.p_adjusted, pair.found.mean] for pair in found.pairs]).T
        # The exact p-value is computed where a difference may be significant; elsewhere it is at most the exact one.
        exact = (p <= LEVEL) | (metric == "error") | (test != "pooled")
        ours = (p[exact], tested.means[i, j])
        for one, other in zip(ours, (theirs[0][exact], theirs[2]), strict=True):
            np.testing.assert_allclose(one, other, rtol=1e-6, atol=1e-12)
        assert (theirs[0][~exact] > LEVEL).all(), "a significant difference was missed"
        adjusted = adjusted_for_selection(tested, names.index(found.best)) if reference is None else holm(p)
        assert ((adjusted <= LEVEL) == (theirs[1] <= LEVEL)).all(), "adjusted p-values differ"
        compared += len(p)
    return compared
