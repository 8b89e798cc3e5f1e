"""All metrics of 20 candidates by 10-fold cross-validation, against one cross_validate per candidate."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_validate
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeClassifier

from benchmarks.table import Row, show
from truefit import Engine, assess

#: truefit's name and scikit-learn's for the same metric.
METRICS = {
    "accuracy": "accuracy",
    "balanced_accuracy": "balanced_accuracy",
    "precision": "precision",
    "recall": "recall",
    "f1": "f1",
    "auc": "roc_auc",
    "average_precision": "average_precision",
    "log_loss": "neg_log_loss",
    "brier": "neg_brier_score",
}
ROUNDS = 3


def candidates():
    trees = {f"tree {d}": DecisionTreeClassifier(max_depth=d, random_state=0) for d in range(1, 9)}
    near = {f"{k} neighbours": make_pipeline(StandardScaler(), KNeighborsClassifier(k)) for k in (1, 3, 5, 9, 15, 25)}
    linear = {f"C={c:g}": make_pipeline(StandardScaler(), LogisticRegression(C=c)) for c in np.logspace(-3, 2, 6)}
    return trees | near | linear


def theirs(models, X, y, folds):
    scoring = list(METRICS.values())
    found = {}
    for name, model in models.items():
        scores = cross_validate(model, X, y, cv=folds, scoring=scoring)
        found[name] = {ours: abs(scores[f"test_{scorer}"].mean()) for ours, scorer in METRICS.items()}
    return found


def ours(models, X, y, folds):
    engine = Engine(progress=False)
    result = assess(models, X, y, cv=folds, engine=engine)
    result.metrics(list(METRICS))  # the table with the intervals
    per_split = {metric: result.split_scores(metric) for metric in METRICS}
    return engine, {name: {metric: per_split[metric][name].mean() for metric in METRICS} for name in models}


def rows():
    X, y = load_breast_cancer(return_X_y=True)
    models, folds = candidates(), StratifiedKFold(10)
    seconds = {"scikit-learn": [], "truefit": []}
    for _ in range(ROUNDS):
        start = time.perf_counter()
        expected = theirs(models, X, y, folds)
        middle = time.perf_counter()
        engine, found = ours(models, X, y, folds)
        seconds["scikit-learn"].append(middle - start)
        seconds["truefit"].append(time.perf_counter() - middle)
    apart = max(abs(found[name][metric] - expected[name][metric]) for name in models for metric in METRICS)
    peer, own = (float(np.median(each)) for each in seconds.values())
    case = f"{len(models)} candidates, 10 folds, {len(METRICS)} metrics, intervals"
    yield Row(case, peer, own, engine.stats.asked, engine.stats.run, apart)


def main():
    show(rows())


if __name__ == "__main__":
    main()
