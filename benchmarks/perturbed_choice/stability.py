"""Stability: which depths of a tree PMV cannot tell apart, run after run, beside what grid search picks."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier

import truefit

RUNS = 20
DEPTHS = tuple(range(1, 11))


@dataclass(frozen=True)
class Run:
    """One run: its noise and its folds have a seed of their own."""

    ties: tuple[int, ...]
    largest: int
    grid_search: int


def run(seed, engine):
    X, y = load_breast_cancer(return_X_y=True)
    trees = {str(depth): DecisionTreeClassifier(max_depth=depth) for depth in DEPTHS}
    found = truefit.perturb(trees, X, y, cv=None, random_state=seed, engine=engine)
    search = GridSearchCV(
        DecisionTreeClassifier(random_state=seed),
        {"max_depth": list(DEPTHS)},
        cv=StratifiedKFold(10, shuffle=True, random_state=seed),
    )
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        search.fit(X, y)
    largest = max(DEPTHS, key=lambda depth: found.rate[str(depth)])
    return Run(tuple(int(name) for name in found.ties), largest, search.best_params_["max_depth"])
