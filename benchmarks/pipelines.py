"""Learners behind a StandardScaler, leave-one-out and 10 folds: the solvers against scikit-learn's own loop.

scikit-learn's side is ``cross_val_predict`` with the same splits in one process. Ours is the claim and the solution of
all fits, from keyed fits to outcomes. Seconds are those of the processor; the difference is the largest of any
prediction or probability, relative to the largest of the table.
"""

from __future__ import annotations

import os
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.datasets import make_classification, make_regression
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.linear_model import LinearRegression, Ridge
from sklearn.model_selection import KFold, LeaveOneOut, cross_val_predict
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from threadpoolctl import threadpool_limits

from benchmarks.table import Row, show
from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows
from truefit._solvers.registry import all_solvers

#: Learners, and how many times faster leave-one-out and 10 folds are to be.
REGRESSORS = ((Ridge(), 10, 2), (LinearRegression(), 10, 2), (KNeighborsRegressor(), 10, None))
CLASSIFIERS = ((LinearDiscriminantAnalysis(), 10, 2), (GaussianNB(), 10, 2), (KNeighborsClassifier(), 10, None))
N = 1000


def made(task, n=N, p=20):
    """A table made up, its columns of different scales and far from 0."""
    scales = np.random.default_rng(0).uniform(0.1, 10.0, p)
    if task == "classification":
        X, y = make_classification(n, p, n_informative=p // 2, n_redundant=0, flip_y=0.1, random_state=0)
    else:
        X, y = make_regression(n, p, n_informative=p // 2, noise=10.0, random_state=0)
        y = y / y.std() + 3
    return Data(X * scales + 5, y, task=task)


def wine(task, n=N):
    """A thousand wines by the numbers of their chemistry; None where the table is not at hand."""
    path = Path(os.environ.get("TRUEFIT_DATA", ""), "wine_quality.parquet")
    if not path.is_file():
        return None
    frame = pd.read_parquet(path).select_dtypes("number").dropna()
    frame = frame.sample(n, random_state=0)
    quality = frame["quality"].to_numpy()
    X = np.ascontiguousarray(frame.drop(columns="quality").to_numpy(dtype=np.float64))
    return Data(X, (quality > 5).astype(int) if task == "classification" else quality.astype(float), task=task)


def predictions(pipeline, splits, response, data):
    """What all fits predict of the rows that they leave out, and how many were fitted plainly."""
    keys, n = Keys(data), data.n
    left = [keys.fit(FitTask(pipeline, Rows.without(n, t), (Ask(Rows.of(t), response),))) for _, t in splits]
    found = None
    plain = 0
    for solver in all_solvers():
        for job in solver.claim(left, data):
            for fit, outcome in zip(job.fits, job.run(data), strict=True):
                rows = fit.asks[0].rows
                values = outcome.answer(data, rows, response)
                found = np.empty((n, *values.shape[1:])) if found is None else found
                found[rows.index] = values
                plain += outcome.solver == "plain"
            done = {fit.key for fit in job.fits}
            left = [fit for fit in left if fit.key not in done]
    return found, plain


def compare(learner, data, table, design, target):
    pipeline = make_pipeline(StandardScaler(), learner)
    response = "predict_proba" if data.task == "classification" else "predict"
    splits = list(design.split(data.X))
    start = time.process_time()
    theirs = cross_val_predict(pipeline, data.X, data.y, cv=splits, method=response)
    slow = time.process_time() - start
    fast = np.inf
    for _ in range(3):
        start = time.process_time()
        ours, plain = predictions(pipeline, splits, response, data)
        fast = min(fast, time.process_time() - start)
    apart = float(np.abs(ours - theirs).max() / np.abs(theirs).max())
    name = "leave-one-out" if isinstance(design, LeaveOneOut) else "10 folds"
    return Row(f"{type(learner).__name__}, {table}, {name}", slow, fast, len(splits), plain, apart, target)


def rows():
    warnings.simplefilter("ignore")
    with threadpool_limits(1):  # as an engine has it
        for task, learners in (("regression", REGRESSORS), ("classification", CLASSIFIERS)):
            tables = {"made up": made(task), "wine": wine(task)}
            for learner, alone, folds in learners:
                for table, data in tables.items():
                    if data is not None:
                        real = table == "wine"
                        yield compare(learner, data, table, LeaveOneOut(), None if real else alone)
                        yield compare(learner, data, table, KFold(10), None if real else folds)


def main():
    show(rows())


if __name__ == "__main__":
    main()
