"""Ordinary use, where there is nothing to share and no solver helps: truefit against scikit-learn with the same fits.

Both sides run the same fits on the same splits and give the mean of the same score. truefit also computes
probabilities, if a classifier has them, and an interval. Times are CPU seconds, the minimum of several alternating
rounds. The target is at most 1/0.9 times scikit-learn's time.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
import pandas as pd
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.compose import make_column_transformer
from sklearn.datasets import (
    load_breast_cancer,
    load_diabetes,
    load_digits,
    load_iris,
    make_classification,
    make_friedman1,
)
from sklearn.ensemble import AdaBoostClassifier, HistGradientBoostingClassifier, RandomForestRegressor
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    KFold,
    LeaveOneOut,
    ParameterGrid,
    RepeatedStratifiedKFold,
    StratifiedKFold,
    cross_validate,
)
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import LinearSVC
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

from benchmarks.table import Row, show
from truefit import Engine, assess

TARGET, ROUNDS = 0.9, 5


class Nearest(ClassifierMixin, BaseEstimator):
    """A user's own: the class whose mean is nearest."""

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        self.means_ = np.array([X[y == label].mean(axis=0) for label in self.classes_])
        return self

    def predict(self, X):
        return self.classes_[((X[:, None] - self.means_) ** 2).sum(axis=2).argmin(axis=1)]


def frame(n=1000):
    """A table as it comes: numbers with gaps, and words."""
    rng = np.random.default_rng(0)
    X, y = make_classification(n, 10, n_informative=5, random_state=0)
    table = pd.DataFrame(X, columns=[f"x{j}" for j in range(10)])
    for j in range(0, 10, 3):
        table[f"x{j}"] = pd.qcut(table[f"x{j}"], 8, labels=list("abcdefgh")).astype(object)
    table.loc[rng.random(n) < 0.1, "x1"] = np.nan
    return table, y


def encoded(last):
    words = (OneHotEncoder(handle_unknown="ignore"), [f"x{j}" for j in range(0, 10, 3)])
    rest = make_pipeline(SimpleImputer(), StandardScaler())
    return make_pipeline(make_column_transformer(words, remainder=rest), last)


def texts(n=1000):
    """Texts of two kinds, which prefer different words."""
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(2000)])
    share = rng.dirichlet(np.full(2000, 0.1), size=2)
    y = np.arange(n) % 2
    return [" ".join(rng.choice(words, 80, p=0.5 * share[label] + 0.5 / 2000)) for label in y], y


def shuffled(k, stratified=True):
    return (StratifiedKFold if stratified else KFold)(k, shuffle=True, random_state=0)


def cases():
    """Name, estimator, grid or None, X, y, splits."""
    tree = DecisionTreeClassifier(random_state=0)
    iris, cancer, digits = (load(return_X_y=True) for load in (load_iris, load_breast_cancer, load_digits))
    diabetes = load_diabetes(return_X_y=True)
    yield "a tree on iris, 5 folds", tree, None, *iris, shuffled(5)
    yield "a tree on iris, leave-one-out", tree, None, *iris, LeaveOneOut()
    yield (
        "a user-defined class, 10 times 10 folds",
        Nearest(),
        None,
        *cancer,
        RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0),
    )
    scaled = make_pipeline(StandardScaler(), LogisticRegression())
    yield "scaler and logistic regression, 10 folds", scaled, None, *cancer, shuffled(10)
    yield "pandas, encoder and logistic regression, 5 folds", encoded(LogisticRegression()), None, *frame(), shuffled(5)
    yield (
        "regression trees, 10 depths, 5 folds",
        DecisionTreeRegressor(random_state=0),
        {"max_depth": list(range(1, 11))},
        *make_friedman1(500, random_state=0),
        shuffled(5, False),
    )
    yield (
        "a forest for numbers, 3 folds",
        RandomForestRegressor(50, random_state=0),
        None,
        *diabetes,
        shuffled(3, False),
    )
    yield "ten classes, logistic regression, 5 folds", LogisticRegression(max_iter=50), None, *digits, shuffled(5)
    words = make_pipeline(TfidfVectorizer(), LinearSVC(random_state=0))
    yield "text, TF-IDF and linear SVM, 5 folds", words, None, *texts(), shuffled(5)
    grid = {"C": [0.01, 0.1, 1.0, 10.0]}
    yield "linear SVM, 4 penalties, 5 folds", LinearSVC(random_state=0), grid, *cancer, shuffled(5)
    yield "AdaBoost, 2 folds", AdaBoostClassifier(random_state=0), None, *cancer, shuffled(2)
    boosting = HistGradientBoostingClassifier(max_iter=30, random_state=0)
    large = make_classification(20_000, 20, n_informative=10, random_state=0)
    yield "histogram boosting, 20,000 rows, 5 folds", boosting, None, *large, shuffled(5)
    network = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(50,), max_iter=100, random_state=0))
    yield "a network for numbers, 5 folds", network, None, *diabetes, shuffled(5, False)


def by_scikit_learn(estimator, grid, X, y, splits, scoring):
    if grid is None:
        return cross_validate(estimator, X, y, cv=splits, scoring=scoring)["test_score"].mean()
    search = GridSearchCV(estimator, grid, cv=splits, scoring=scoring, refit=False).fit(X, y)
    return search.cv_results_["mean_test_score"]


def by_truefit(estimator, grid, X, y, splits, metric, engine):
    points = [{}] if grid is None else ParameterGrid(grid)
    several = {str(place): clone(estimator).set_params(**point) for place, point in enumerate(points)}
    scores = assess(several, X, y, cv=splits, metric=metric, engine=engine).split_scores()
    return np.array([each.mean() for each in scores.values()])


def timed(work):
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def compare(name, estimator, grid, X, y, splits):
    labels = np.asarray(y).dtype.kind in "iu"
    scoring, metric, sign = ("accuracy", "accuracy", 1) if labels else ("neg_mean_squared_error", "mse", -1)
    peers, owns = [], []
    while len(peers) < ROUNDS or (sum(peers) < 1.0 and len(peers) < 40):
        theirs, peer = timed(lambda: by_scikit_learn(estimator, grid, X, y, splits, scoring))
        engine = Engine(progress=False)
        ours, own = timed(lambda engine=engine: by_truefit(estimator, grid, X, y, splits, metric, engine))
        peers.append(peer)
        owns.append(own)
    difference = float(np.max(np.abs(sign * ours - theirs)) / max(1.0, np.max(np.abs(theirs))))
    return Row(name, min(peers), min(owns), engine.stats.asked, engine.stats.run, difference, TARGET)


def rows():
    with warnings.catch_warnings(), threadpool_limits(1):  # as an engine has it
        warnings.simplefilter("ignore")
        for case in cases():
            yield compare(*case)


def main():
    show(rows())


if __name__ == "__main__":
    main()
