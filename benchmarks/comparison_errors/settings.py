"""Settings: where candidates have equal or known true errors, and with how many of them. All were fixed beforehand."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.generators import two_gaussians

LEVEL = 0.05
#: Name: number of folds, number of partitions.
DESIGNS = {"5-fold": (5, 1), "10-fold": (10, 1), "3 × 10-fold": (10, 3)}
#: Number of folds: number of partitions that are drawn; the designs use the first of them.
PARTITIONS = {5: 1, 10: 3}
TESTS = {"corrected_t": "corrected t", "pooled": "pooled"}
SIZES = (100, 400)
#: Every so many repetitions have the larger number of candidates; the tests of fewer use the first of them.
COUNTS, OFTEN, MOST = (2, 10, 70), 10, 70
ROPE = 0.01


def linear_rows(rng, n):
    """Draw hidden columns and a target that is linear in them, with normal noise."""
    Z = rng.standard_normal((n, 5))
    return Z, Z @ np.ones(5) / math.sqrt(5) + rng.standard_normal(n)


def heavy_rows(rng, n):
    Z = rng.standard_normal((n, 5))
    return Z, Z @ np.ones(5) / math.sqrt(5) + rng.standard_t(3, n)


def scaled_rows(rng, n):
    """Draw the two classes so that most values are between -1 and 1."""
    Z, y = two_gaussians(rng, n)
    return (Z - 1 / math.sqrt(5)) / 2.5, y


def xor_rows(rng, n):
    Z = rng.uniform(-1, 1, (n, 2))
    return Z, (Z[:, 0] * Z[:, 1] > 0).astype(int)


@dataclass(frozen=True)
class Setting:
    """Rows, a learner, the noise of every other candidate; ``worse`` is the planned true difference of the rest."""

    name: str
    rows: object
    learner: str
    n: int
    noise: float
    repetitions: int
    many: int
    metrics: tuple[str, ...] = ("error",)
    worse: float = 0.0

    @property
    def task(self):
        return "classification" if self.metrics == ("error",) else "regression"

    @property
    def key(self):
        return f"{self.name}/{self.n}" + (f"/{self.worse:g}" if self.worse else "")


_EQUAL = (
    ("LDA, similar candidates", two_gaussians, "lda", 0.3, ("error",)),
    ("LDA, different candidates", two_gaussians, "lda", 1.0, ("error",)),
    ("nearest neighbours", two_gaussians, "knn", 0.5, ("error",)),
    ("tree", scaled_rows, "tree", 0.2, ("error",)),
    ("tree on XOR", xor_rows, "tree", 0.1, ("error",)),
    ("ridge", linear_rows, "ridge", 0.5, ("mse", "rmse")),
    ("ridge, heavy tails", heavy_rows, "ridge", 0.5, ("mse", "rmse")),
    ("nearest neighbours, regression", linear_rows, "knn_regression", 0.5, ("mse", "rmse")),
)
#: Planned true differences: of the error, and as a share of the mean squared error.
_WORSE = (0.005, 0.01, 0.02, 0.05, 0.10)
EQUAL = tuple(Setting(*each[:3], n, each[3], 600, 2, each[4]) for each in _EQUAL for n in SIZES)
UNEQUAL = tuple(
    Setting(name, rows, learner, n, 0.5, 300, 3, metrics, worse)
    for name, rows, learner, metrics in (
        ("LDA", two_gaussians, "lda", ("error",)),
        ("ridge", linear_rows, "ridge", ("mse", "rmse")),
    )
    for n in SIZES
    for worse in (_WORSE if learner == "lda" else tuple(2 * each for each in _WORSE))
)
