"""Tables with everything that makes exact answers hard, and label vectors for them, drawn at random."""

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np
from hypothesis import strategies as st
from tests.solvers.label_case import assert_sweep_equals_plain, sweep_fits

from truefit._core.data import Data
from truefit._core.rows import Rows


def offsets(X, rng):
    return X + 10 ** rng.uniform(0, 6) * rng.choice([-1, 0, 1], X.shape[1])


def scales(X, rng):
    return X * 10 ** rng.uniform(-5, 5, X.shape[1])


def tiny(X, rng):
    return X * 10 ** rng.uniform(-25, -5)


def huge(X, rng):
    return X * 10 ** rng.uniform(5, 120)


def collinear(X, rng):
    near = 10 ** rng.uniform(-16, 0) * np.abs(X).max() * rng.normal(size=len(X))
    return np.c_[X, X @ rng.normal(size=X.shape[1]) + rng.choice([0, 1]) * near]


def constant(X, rng):
    return np.c_[X, np.full(len(X), rng.choice([0, 1, 0.1, 1e6 / 3]))]


def outlier(X, rng):
    X[rng.integers(len(X))] *= 10 ** rng.uniform(0, 6)
    return X


def indicators(X, rng):
    X[:, : (X.shape[1] + 1) // 2] = X[:, : (X.shape[1] + 1) // 2] > rng.uniform(-1, 2)
    return X


def duplicates(X, rng):
    return X[rng.integers(len(X) // 2 + 1, size=len(X))]


def whole_numbers(X, rng):
    return np.round(X)


TROUBLES = [
    offsets, scales, tiny, huge, collinear, constant, outlier, indicators, duplicates, whole_numbers,
]  # fmt: skip


@st.composite
def troubled_tables(draw, most_rows=70, most_columns=12):
    """Draw a table."""
    n, p = draw(st.integers(12, most_rows)), draw(st.integers(1, most_columns))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, p))
    for trouble in draw(st.lists(st.sampled_from(TROUBLES), max_size=3, unique=True)):
        X = trouble(X, rng)
    return X


@dataclass(frozen=True)
class Sweep:
    """What is done with a table: label vectors drawn by chance, or more or less by its first column."""

    classes: int
    seed: int
    signal: float
    part: float
    smoothing: float

    def check(self, solver: Any, X: Any, estimator: Any, responses: Any) -> list[str]:
        rng = np.random.default_rng(self.seed)
        n = len(X)
        ranks = np.argsort(np.argsort(X[:, 0] * self.signal / (np.abs(X[:, 0]).max() or 1) + 0.1 * rng.normal(size=n)))
        y = ranks * self.classes // n
        data = Data(X, y, task="classification")
        other = np.where(rng.random(n) < 0.3, rng.integers(0, self.classes, n), y)
        train = Rows.of(rng.permutation(n)[: max(8, int(self.part * n))])
        fits = sweep_fits(data, estimator, [None, other, rng.permutation(y)], responses, train, Rows.all(n))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # of collinear columns, of numbers beyond bounds
            return assert_sweep_equals_plain(solver, fits, data) if solver.claim(fits, data) else []


def sweeps():
    """Draw what is done with a table."""
    return st.builds(
        Sweep,
        classes=st.integers(2, 4),
        seed=st.integers(0, 2**32),
        signal=st.sampled_from([0.0, 1.0, 1e3]),
        part=st.sampled_from([0.5, 1.0]),
        smoothing=st.sampled_from([1e-9, 0.0, 0.1]),
    )
