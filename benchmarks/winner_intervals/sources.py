"""Sources of samples, and the candidates to select among; all were fixed before any coverage was computed."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge, RidgeClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.coverage.generators import GENERATORS
from truefit._core.errors import InvalidInput

#: Name: file, task. ``wine_6`` is the grade of at least 6 as two classes.
TABLES = {
    "adult": ("adult", "classification"),
    "bank_marketing": ("bank_marketing", "classification"),
    "spambase": ("spambase", "classification"),
    "letter": ("letter", "classification"),
    "connect4": ("connect4", "classification"),
    "german_credit": ("german_credit", "classification"),
    "wine_6": ("wine_quality", "classification"),
    "wine_quality": ("wine_quality", "regression"),
    "bike_sharing": ("bike_sharing", "regression"),
    "diamonds": ("diamonds", "regression"),
}
DRAWN = ("moons", "no_signal", "xor", "friedman", "sparse")
SOURCES = (*TABLES, *DRAWN)
#: Those with many candidates, on the smaller number of rows.
MANY_SOURCES = ("adult", "spambase", "wine_6", "wine_quality", "diamonds", "no_signal", "friedman")
ROWS, TEST_ROWS = (200, 400), 20_000


@dataclass(frozen=True)
class Sample:
    """Rows to study, rows to judge by, and what is added to the squared errors of the latter."""

    X: np.ndarray
    y: np.ndarray
    others: np.ndarray
    truths: np.ndarray
    noise_variance: float = 0.0


def task_of(source):
    return TABLES[source][1] if source in TABLES else GENERATORS[source].task


def drawn(source, rows, seed, folder):
    """Return a sample; every source, size and seed has random numbers of its own."""
    rng = np.random.default_rng([SOURCES.index(source), rows, seed])
    if source in TABLES:
        X, y = table(source, folder)
        order = rng.permutation(len(y))
        kept, aside = order[:rows], order[rows : rows + TEST_ROWS]
        return Sample(X[kept].astype(float), y[kept], X[aside].astype(float), y[aside])
    generator = GENERATORS[source]
    X, y = generator.sample(rng, rows)
    others, truths = generator.sample(rng, TEST_ROWS)
    if generator.signal is None:
        return Sample(X, y, others, truths)
    return Sample(X, y, others, generator.signal(others), generator.noise_variance)


@cache
def table(source, folder):
    """Return the features of a whole table as numbers, and its target."""
    name, task = TABLES[source]
    file = folder / f"{name}.parquet"
    if not file.is_file():
        raise InvalidInput(f"The folder of tables must hold {file.name}. There is none in {folder}. Check --data.")
    frame = pd.read_parquet(file)
    target = frame.pop(frame.columns[-1])
    if source == "wine_6":
        target = target >= 6
    y = pd.factorize(target, sort=True)[0] if task == "classification" else target.to_numpy(float)
    numeric = list(frame.select_dtypes("number"))
    frame[numeric] = frame[numeric].fillna(frame[numeric].median())
    frame = frame.astype(dict.fromkeys(numeric, float))
    frame[numeric] = (frame[numeric] - frame[numeric].mean()) / frame[numeric].std()
    # A missing category is a row of zeros.
    return pd.get_dummies(frame).to_numpy(np.float32), y


def candidates(task, many):
    """Return the candidates, the simpler ones of a family first."""
    if task == "classification":
        return _many_classifiers() if many else _classifiers()
    return _many_regressors() if many else _regressors()


def _classifiers():
    return [
        *(LogisticRegression(C=c, max_iter=200) for c in (0.01, 0.1, 1.0)),
        GaussianNB(),
        *(KNeighborsClassifier(k) for k in (31, 11, 3)),
        *(DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in (2, 6)),
        RandomForestClassifier(20, random_state=0),
    ]


def _regressors():
    return [
        *(Ridge(alpha) for alpha in (300.0, 30.0, 3.0)),
        *(KNeighborsRegressor(k) for k in (31, 11, 3)),
        *(DecisionTreeRegressor(max_depth=depth, random_state=0) for depth in (3, 7)),
        GradientBoostingRegressor(n_estimators=40, max_depth=2, random_state=0),
        RandomForestRegressor(20, max_features=0.5, random_state=0),
    ]


_NEIGHBOURS = (61, 41, 31, 25, 19, 15, 11, 9, 7, 5, 3, 1)
_DEPTHS, _LEAVES = (1, 2, 3, 4, 5, 6, 8, 12), (10, 4, 1)


def _many_classifiers():
    return [
        *(LogisticRegression(C=c, max_iter=200) for c in np.logspace(-3, 1, 6)),
        *(RidgeClassifier(alpha) for alpha in np.logspace(3, -1, 8)),
        *(GaussianNB(var_smoothing=share) for share in (1.0, 0.1, 1e-3, 1e-9)),
        *(KNeighborsClassifier(k, weights=by) for k in _NEIGHBOURS for by in ("uniform", "distance")),
        *(
            DecisionTreeClassifier(max_depth=depth, min_samples_leaf=leaf, random_state=0)
            for depth in _DEPTHS
            for leaf in _LEAVES
        ),
        *(RandomForestClassifier(20, max_features=share, random_state=0) for share in (0.1, "sqrt", 0.5, 0.9)),
    ]


def _many_regressors():
    return [
        *(Ridge(alpha) for alpha in np.logspace(4, -2, 16)),
        *(KNeighborsRegressor(k, weights=by) for k in _NEIGHBOURS for by in ("uniform", "distance")),
        *(
            DecisionTreeRegressor(max_depth=depth, min_samples_leaf=leaf, random_state=0)
            for depth in _DEPTHS
            for leaf in _LEAVES
        ),
        GradientBoostingRegressor(n_estimators=20, max_depth=2, random_state=0),
        GradientBoostingRegressor(n_estimators=40, max_depth=2, random_state=0),
        *(RandomForestRegressor(20, max_features=share, random_state=0) for share in (0.1, 0.3, 0.5, 0.9)),
    ]
