"""Regret: how much worse, on held-out rows, a rule's choice is than the best candidate of the grid."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone

import truefit

FOLDS, REPEATS = 10, 5
RULES = {
    "cv": f"{FOLDS}-fold CV",
    "one_se": "one-SE rule",
    "pmv": "PMV",
    "pmv_cv": "PMV, ties by CV",
}


@dataclass(frozen=True)
class Trial:
    """One sample of one table with one grid."""

    table: str
    grid: str
    seed: int
    best: float
    regret: dict[str, float]
    choice: dict[str, str]


def trial(table, grid, candidates, seed, folder, engine):
    """Choose by every rule on the same rows, with shared fits, and judge the choices."""
    (X, y), (X_test, y_test) = table.drawn(folder, seed)
    compared = truefit.compare(candidates, X, y, cv=FOLDS, random_state=seed, engine=engine)
    perturbed = truefit.perturb(candidates, X, y, repeats=REPEATS, cv=FOLDS, random_state=seed, engine=engine)
    by_cv = {name: compared.assessment.estimates[name].value for name in candidates}
    choice = {
        "cv": compared.best,
        "one_se": compared.simplest_within_one_se(),
        "pmv": max(candidates, key=lambda name: perturbed.rate[name]),
        "pmv_cv": min(perturbed.ties, key=lambda name: by_cv[name]),
    }
    truth = {
        name: float(np.mean(clone(estimator).fit(X, y).predict(X_test) != y_test))
        for name, estimator in candidates.items()
    }
    best = min(truth.values())
    return Trial(table.name, grid, seed, best, {rule: truth[name] - best for rule, name in choice.items()}, choice)
