"""Settings: where rows come from, what is fitted, how many rows. The judged ones were fixed before any coverage."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.ensemble import GradientBoostingRegressor, RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from benchmarks.coverage.generators import GENERATORS

SIZES = (60, 100, 400)
REPETITIONS = 400
#: A truth measured on few rows is itself uncertain: the rest of a table has at least so many times the sample's rows.
LEAST_REST = 5

REGRESSORS = {
    "ridge": Ridge(alpha=1.0),
    "tree": DecisionTreeRegressor(max_depth=5, random_state=0),
    "knn": KNeighborsRegressor(5, algorithm="brute"),
    "forest": RandomForestRegressor(10, random_state=0),
    "boosting": GradientBoostingRegressor(n_estimators=20, random_state=0),
}
CLASSIFIERS = {
    "logistic": LogisticRegression(),
    "knn": KNeighborsClassifier(15, algorithm="brute"),
    "forest": RandomForestClassifier(20, min_samples_leaf=5, random_state=0),
}
#: Learners whose fits are cheap enough for the designs of many fits.
CHEAP = ("ridge", "tree", "knn")


def linear(X):
    return X @ np.array([2.0, -1.0, 1.0, 0.5, 0.0])


def skewed_noise(rng, n):
    """Linear in 5 features, log-normal noise."""
    X = rng.standard_normal((n, 5))
    return X, linear(X) + np.exp(rng.standard_normal(n))


def uneven_noise(rng, n):
    """Linear in 5 features, noise that grows with the first."""
    X = rng.standard_normal((n, 5))
    return X, linear(X) + np.exp(0.7 * X[:, 0]) * rng.standard_normal(n)


def five_degrees(rng, n):
    """Linear in 5 features, noise of t with 5 degrees."""
    X = rng.standard_normal((n, 5))
    return X, linear(X) + rng.standard_t(5, n)


def heavier_tails(rng, n):
    """A wave of one of 5 features, noise of t with 2.5 degrees."""
    X = rng.standard_normal((n, 5))
    return X, np.sin(2 * X[:, 0]) + rng.standard_t(2.5, n)


def wide(rng, n):
    """Linear in all of 40 features."""
    X = rng.standard_normal((n, 40))
    return X, X.sum(axis=1) / 3 + 2 * rng.standard_normal(n)


def product(rng, n):
    """A product of two of 8 features, uniform noise."""
    X = rng.uniform(-1, 1, (n, 8))
    return X, 3 * X[:, 0] * X[:, 1] + rng.uniform(-1, 1, n)


@dataclass(frozen=True)
class Source:
    """Where rows come from: a column of a table as the target, or a generator."""

    name: str
    sizes: tuple[int, ...] = SIZES
    classes: bool = False
    designs: bool = False

    @property
    def table(self):
        return self.name.split(".")[0]

    @property
    def learners(self):
        return CLASSIFIERS if self.classes else REGRESSORS


OWN = {made.__name__: made for made in (skewed_noise, uneven_noise, five_degrees, heavier_tails, wide, product)}
#: Expected squared noise of the own generators is measured on fresh rows.
DRAWN = {name: GENERATORS[name].sample for name in ("friedman", "heavy_tails", "sparse")} | OWN

JUDGED = (
    Source("wine_quality.quality", designs=True),
    Source("bike_sharing.cnt", designs=True),
    Source("diamonds.price", designs=True),
    Source("auto_mpg.mpg", (60,)),
    Source("diabetes.progression", (60,)),
    Source("adult.hours_per_week"),
    Source("bank_marketing.balance", designs=True),
    Source("german_credit.credit_amount", (60, 100)),
    Source("letter.onpix"),
    Source("spambase.word_freq_you"),
    Source("friedman", designs=True),
    Source("heavy_tails", designs=True),
    Source("sparse", designs=True),
    Source("adult.income", (100, 400), classes=True),
    Source("bank_marketing.y", (100, 400), classes=True),
    Source("spambase.spam", (100, 400), classes=True),
)
CHOICE = (
    Source("adult.age"),
    Source("adult.education_num"),
    Source("bank_marketing.age"),
    Source("bank_marketing.campaign"),
    Source("bank_marketing.duration"),
    Source("letter.x_box"),
    Source("letter.y_ege"),
    Source("letter.x2bar"),
    Source("spambase.word_freq_your"),
    Source("spambase.capital_run_length_total"),
    *(Source(name) for name in OWN),
)
PARTS = {"judged": JUDGED, "choice": CHOICE}
