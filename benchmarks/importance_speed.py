"""Seconds of ``truefit.importance`` beside scikit-learn's ``permutation_importance`` on the same models, in one run.

    python -m benchmarks.importance_speed

30 columns, 5 permutations of each on 5 folds of 5,000 rows. truefit's time includes the fits of the folds and the
intervals; scikit-learn's does not include the fits. The values are checked to be equal.
"""

from __future__ import annotations

import time

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import KFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import importance

LEARNERS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression()),
    "forest": RandomForestClassifier(20, random_state=0),
    "boosting": HistGradientBoostingClassifier(max_iter=30, early_stopping=False, random_state=0),
}
METRICS = {"accuracy": "accuracy", "auc": "roc_auc"}


def main():
    X, y = make_classification(5_000, 30, random_state=0)
    X = pd.DataFrame(X, columns=[f"x{place}" for place in range(30)])
    folds = list(KFold(5).split(X))
    print("| learner | metric | scikit-learn | truefit | ratio |\n|---|---|---|---|---|")
    for name, learner in LEARNERS.items():
        models = [clone(learner).fit(X.iloc[train], y[train]) for train, _ in folds]
        for metric, scoring in METRICS.items():
            began = time.perf_counter()
            theirs = [
                permutation_importance(
                    model, X.iloc[test], y[test], scoring=scoring, n_repeats=5, random_state=seed
                ).importances
                for seed, (model, (_, test)) in enumerate(zip(models, folds, strict=True))
            ]
            between = time.perf_counter()
            ours = importance(learner, X, y, metric=metric, cv=folds, correlated=None).values
            ended = time.perf_counter()
            np.testing.assert_allclose(ours.transpose(1, 0, 2), theirs, atol=1e-12)
            first, second = between - began, ended - between
            print(f"| {name} | {metric} | {first:.1f} s | {second:.1f} s | {second / first:.2f} |")


if __name__ == "__main__":
    main()
