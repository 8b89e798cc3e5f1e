"""Where rows come from: tables that constants are learnt on, and others that the intervals are checked on."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from functools import cache

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from benchmarks.coverage.generators import GENERATORS
from benchmarks.curve_intervals.generators import MADE
from benchmarks.skewed_losses.rows import encoded
from benchmarks.skewed_losses.settings import DRAWN, OWN

REGRESSORS = {
    "ridge": Ridge(alpha=1.0),
    "knn": KNeighborsRegressor(5, algorithm="brute"),
    "tree": DecisionTreeRegressor(min_samples_leaf=5, random_state=0),
}
CLASSIFIERS = {
    "logistic": LogisticRegression(max_iter=300),
    "knn": KNeighborsClassifier(5, algorithm="brute"),
    "tree": DecisionTreeClassifier(min_samples_leaf=5, random_state=0),
}
#: Rows of a table that are used at most, and rows that are drawn of a generator.
MOST_ROWS = 20_000
#: A sample has at most this share of the rows of its table.
SHARE = 12


@dataclass(frozen=True)
class Source:
    """A column of a table as the target, or a generator; and how many rows samples of it have."""

    name: str
    sizes: tuple[int, ...]
    classes: bool = False

    @property
    def learners(self):
        """The learners that are fitted."""
        return CLASSIFIERS if self.classes else REGRESSORS

    @property
    def metrics(self):
        """The losses that curves are measured in; all from the same fits."""
        return ("error",) if self.classes else ("mse", "rmse", "mae")


#: Generators of classes that can be learnt.
_WITH_CLASSES = ("gaussians", "moons", "blobs", "logit", "near_zero", "xor", "imbalanced")
LEARN_SIZES, CHECK_SIZES = (100, 200, 400), (200, 400)
#: Columns of the learning tables of which no value has 90% of the rows or more; without balance and previous, where 1%
#: of the rows have more than half of the sum of squares around the mean: a standard error of few rows says nothing.
_NUMBERS = {
    "adult": ("age", "fnlwgt", "hours_per_week", "education_num"),
    "bank_marketing": ("age", "day", "duration", "campaign", "pdays"),
}
_CLASSES = {
    "adult": ("workclass", "education", "marital_status", "occupation", "relationship", "race", "sex", "income"),
    "bank_marketing": ("job", "marital", "education", "housing", "loan", "contact", "month", "poutcome", "y"),
}
TABLES = tuple(_NUMBERS)
#: Whole tables are on one side: the constants are learnt on adult, bank_marketing and generators.
LEARN = (
    *(Source(f"{table}.{target}", LEARN_SIZES) for table, targets in _NUMBERS.items() for target in targets),
    # The squared errors of heavier_tails have no variance.
    *(Source(name, LEARN_SIZES) for name in (*OWN, "friedman", "sparse", *MADE) if name != "heavier_tails"),
    *(Source(f"{table}.{of}", LEARN_SIZES, classes=True) for table, targets in _CLASSES.items() for of in targets),
    *(Source(name, LEARN_SIZES, classes=True) for name in _WITH_CLASSES),
)
CHECK = (
    Source("wine_quality.quality", CHECK_SIZES),
    Source("wine_quality.colour", CHECK_SIZES, classes=True),
    Source("bike_sharing.cnt", CHECK_SIZES),
    Source("bike_sharing.weathersit", CHECK_SIZES, classes=True),
    Source("diamonds.price", CHECK_SIZES),
    Source("diamonds.cut", CHECK_SIZES, classes=True),
    Source("letter.onpix", CHECK_SIZES),
    Source("letter.letter", CHECK_SIZES, classes=True),
    Source("spambase.word_freq_you", CHECK_SIZES),
    Source("spambase.spam", CHECK_SIZES, classes=True),
    Source("connect4.outcome", CHECK_SIZES, classes=True),
    Source("mnist.y", CHECK_SIZES, classes=True),
    Source("german_credit.credit_amount", (83,)),
    Source("german_credit.class", (83,), classes=True),
)
PARTS = {"learn": LEARN, "check": CHECK}


def family_of(source):
    """Return what a source belongs to: its table, or the signal of a generator."""
    return source.partition("_")[2] if source in MADE else source.partition(".")[0]


_GENERATED = {name: each.sample for name, each in GENERATORS.items()} | DRAWN | MADE


@cache
def rows_of(source, folder):
    """Features and target of a source, its rows in random order."""
    random = np.random.default_rng(zlib.crc32(source.name.encode()))
    at, _, target = source.name.partition(".")
    if source.name in _GENERATED:
        return _GENERATED[source.name](random, MOST_ROWS)
    if at == "mnist":
        with np.load(folder / "mnist.npz") as found:
            chosen = random.permutation(len(found["y"]))[:MOST_ROWS]
            # Every other pixel of every other line.
            return found["x"][chosen, ::2, ::2].reshape(MOST_ROWS, -1) / 255.0, found["y"][chosen]
    frame = pd.read_parquet(folder / f"{at}.parquet").dropna(subset=[target])
    frame = frame.iloc[random.permutation(len(frame))[:MOST_ROWS]].reset_index(drop=True)
    y = frame.pop(target)
    if source.classes:
        return encoded(frame), y.astype(str).to_numpy()
    numbers = y.to_numpy(float)
    return encoded(frame), (numbers - numbers.mean()) / numbers.std()
