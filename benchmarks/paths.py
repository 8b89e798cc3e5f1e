"""Grids along a path, 20 values in 5 folds: candidates that one fit contains, against scikit-learn's grid search.

Both sides have the same folds and give the same score of each candidate in each fold. Times are CPU seconds of the
round with the median ratio.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_classification, make_regression
from sklearn.decomposition import PCA
from sklearn.ensemble import BaggingRegressor, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.feature_selection import SelectKBest, mutual_info_regression
from sklearn.linear_model import Ridge, RidgeClassifier
from sklearn.model_selection import GridSearchCV, KFold
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPClassifier, MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.table import Row, show
from truefit import Engine, assess

FOLDS = KFold(5, shuffle=True, random_state=0)


def classes(n, p):
    return make_classification(n, p, n_informative=p // 2, n_redundant=0, flip_y=0.1, random_state=0)


def numbers(n, p):
    return make_regression(n, p, n_informative=p // 2, noise=10.0, random_state=0)


def with_copies(table, share):
    """A table in which a share of the rows are copies of others, in random order."""
    X, y = table
    rng, n = np.random.default_rng(0), len(y)
    copies = int(share * n)
    source = np.r_[np.arange(n - copies), rng.integers(0, n - copies, copies)]
    order = rng.permutation(source)
    return X[order], y[order]


def spent(work):
    start = time.process_time()
    result = work()
    return result, time.process_time() - start


def grid_search(estimator, grid, X, y, scoring, metadata):
    search = GridSearchCV(estimator, grid, cv=FOLDS, scoring=scoring, refit=False).fit(X, y, **metadata)
    return np.array([search.cv_results_[f"split{k}_test_score"] for k in range(5)]).T, search.cv_results_["params"]


def by_engine(candidates, X, y, metric, metadata, solvers):
    engine = Engine(progress=False, solvers=solvers)
    result = assess(candidates, X, y, cv=FOLDS, metric=metric, engine=engine, **metadata)
    return result.split_scores(), engine.stats


def compare(name, estimator, grid, table, target, rounds=3, solvers="auto", **metadata):
    """``grid``: a parameter with its values, or several."""
    X, y = table
    labels = y.dtype.kind in "iu"
    scoring, metric, sign = ("accuracy", "accuracy", 1) if labels else ("neg_mean_squared_error", "mse", -1)
    seconds = []
    for _ in range(rounds + (rounds > 1)):
        (theirs, params), slow = spent(lambda: grid_search(estimator, grid, X, y, scoring, metadata))
        candidates = {str(i): _with(estimator, values) for i, values in enumerate(params)}
        (scores, stats), fast = spent(lambda c=candidates: by_engine(c, X, y, metric, metadata, solvers))
        seconds.append((slow, fast))
    # The first of several rounds has what a process does once: imports, and the search for replaced functions.
    seconds = seconds[-rounds:]
    ours = sign * np.array(list(scores.values()))
    difference = np.abs(ours - theirs).max() / np.abs(theirs).max()
    slow, fast = sorted(seconds, key=lambda pair: pair[0] / pair[1])[len(seconds) // 2]
    return Row(name, slow, fast, stats.asked, stats.run, difference, target)


def _with(estimator, values):
    return clone(estimator).set_params(**values)


def rows():
    warnings.simplefilter("ignore")
    with threadpool_limits(1):  # as an engine has it
        k = list(range(1, 41, 2))
        yield compare(
            "KNeighborsClassifier, n=2000, p=10", KNeighborsClassifier(), {"n_neighbors": k}, classes(2000, 10), 10
        )
        both = {"n_neighbors": k, "weights": ["uniform", "distance"]}
        yield compare("KNeighborsClassifier, both weights", KNeighborsClassifier(), both, classes(2000, 10), 10)
        yield compare("KNeighborsRegressor, n=2000, p=30", KNeighborsRegressor(), both, numbers(2000, 30), 10)
        for share in (0.1, 0.3):
            name, table = f"KNeighborsClassifier, {share:.0%} copied rows", with_copies(classes(2000, 10), share)
            yield compare(name, KNeighborsClassifier(), {"n_neighbors": k}, table, 6)
        table = with_copies(numbers(2000, 30), 0.1)
        yield compare("KNeighborsRegressor, 10% copied rows", KNeighborsRegressor(), both, table, 6)
        alpha = {"alpha": list(np.logspace(-3, 4, 20))}
        for n, p in ((2000, 50), (10_000, 50), (10_000, 100)):
            yield compare(f"Ridge, n={n}, p={p}", Ridge(), alpha, numbers(n, p), 10)
        weight = np.random.default_rng(0).random(10_000)
        yield compare("Ridge, n=10000, p=50, weighted", Ridge(), alpha, numbers(10_000, 50), 10, sample_weight=weight)
        yield compare("RidgeClassifier, n=10000, p=50", RidgeClassifier(), alpha, classes(10_000, 50), 10)
        size = {"n_estimators": list(range(5, 105, 5))}
        forest = RandomForestClassifier(random_state=0)
        yield compare("RandomForestClassifier, n=500, p=10", forest, size, classes(500, 10), 5, rounds=1)
        yield compare(
            "BaggingRegressor, n=300, p=10", BaggingRegressor(random_state=0), size, numbers(300, 10), None, rounds=1
        )
        stages = {"max_iter": list(range(5, 105, 5))}
        boosting = HistGradientBoostingClassifier(random_state=0)
        yield compare("HistGradientBoosting, n=500, p=10", boosting, stages, classes(500, 10), 6, rounds=1)
        network = MLPClassifier(hidden_layer_sizes=50, random_state=0)
        yield compare("MLPClassifier, n=500, p=20", network, stages, classes(500, 20), 8, rounds=1)
        scaled = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=50, random_state=0))
        epochs = {"mlpregressor__max_iter": stages["max_iter"]}
        yield compare("scaler, MLPRegressor, n=500, p=20", scaled, epochs, numbers(500, 20), 8, rounds=1)
        kept = {"pca__n_components": list(range(3, 63, 3))}
        for last in (Ridge(), KNeighborsRegressor()):
            pipeline = make_pipeline(StandardScaler(), PCA(svd_solver="full"), last)
            yield compare(
                f"scaler, PCA, {type(last).__name__}, n=3000, p=100", pipeline, kept, numbers(3000, 100), 4, rounds=1
            )
        best = {"selectkbest__k": list(range(1, 21))}
        ranked = make_pipeline(SelectKBest(mutual_info_regression), Ridge())
        yield compare("SelectKBest, Ridge, n=300, p=20", ranked, best, numbers(300, 20), None, rounds=1)


def main():
    show(rows())


if __name__ == "__main__":
    main()
