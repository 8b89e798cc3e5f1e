"""Generators: where samples come from. Each gives independent rows of one fixed distribution."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from scipy.special import expit


@dataclass(frozen=True)
class Generator:
    """A distribution of rows.

    For a regression the expected target and the variance around it are known, so that a model's true squared error
    does not have to be measured through the noise: that of heavy tails would take millions of rows.
    """

    sample: Callable
    what: str
    signal: Callable | None = None
    noise_variance: float = float("nan")

    @property
    def task(self):
        return "classification" if self.signal is None else "regression"


def two_gaussians(rng, n, *, distance=2.0, share=0.5, features=5):
    """Two classes of unit variance with means ``distance`` apart, ``share`` of the rows in class 1."""
    y = (rng.random(n) < share).astype(int)
    return rng.standard_normal((n, features)) + distance / np.sqrt(features) * y[:, None], y


def near_zero(rng, n):
    return two_gaussians(rng, n, distance=4.0, share=0.3)


def imbalanced(rng, n):
    return two_gaussians(rng, n, share=0.25)


def moons(rng, n):
    y = (rng.random(n) < 0.5).astype(int)
    angle = rng.uniform(0, np.pi, n)
    x0 = np.where(y == 0, np.cos(angle), 1 - np.cos(angle))
    x1 = np.where(y == 0, np.sin(angle), 0.5 - np.sin(angle))
    return np.column_stack([x0, x1]) + 0.3 * rng.standard_normal((n, 2)), y


def blobs(rng, n):
    corners = 2.2 * np.array([[0.0, 0.0], [1.0, 0.0], [0.5, np.sqrt(0.75)]])
    y = rng.integers(3, size=n)
    X = rng.standard_normal((n, 4))
    X[:, :2] += corners[y]
    return X, y


def logit(rng, n, *, intercept=0.0):
    X = rng.standard_normal((n, 10))
    for j in range(1, 10):
        X[:, j] = 0.5 * X[:, j - 1] + np.sqrt(0.75) * X[:, j]
    odds = X[:, :5] @ np.array([1.5, -1.0, 0.8, 0.5, -0.5]) + intercept
    return X, (rng.random(n) < expit(odds)).astype(int)


def imbalanced_logit(rng, n):
    return logit(rng, n, intercept=-1.75)


def xor(rng, n):
    X = rng.uniform(-1, 1, (n, 10))
    y = (X[:, 0] * X[:, 1] > 0) ^ (rng.random(n) < 0.05)
    return X, y.astype(int)


def no_signal(rng, n):
    return rng.standard_normal((n, 10)), (rng.random(n) < 0.5).astype(int)


def friedman_signal(X):
    return 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]


def friedman(rng, n):
    X = rng.random((n, 10))
    return X, friedman_signal(X) + rng.standard_normal(n)


def heavy_tails_signal(X):
    return X @ np.array([2.0, -1.0, 1.0, 0.5, 0.0])


def heavy_tails(rng, n):
    X = rng.standard_normal((n, 5))
    return X, heavy_tails_signal(X) + rng.standard_t(3, n)


def sparse_signal(X):
    return X[:, :5].sum(axis=1)


def sparse(rng, n):
    X = rng.standard_normal((n, 60))
    return X, sparse_signal(X) + rng.standard_normal(n)


GENERATORS = {
    "gaussians": Generator(two_gaussians, "two Gaussian classes in 5 features, best error 15.9%"),
    "moons": Generator(moons, "two half moons with noise of 0.3"),
    "blobs": Generator(blobs, "three Gaussian classes in 2 of 4 features"),
    "logit": Generator(logit, "log odds linear in 5 of 10 correlated features"),
    "near_zero": Generator(near_zero, "two Gaussian classes, 30% in the smaller, best error 2.1%"),
    "xor": Generator(xor, "sign of a product of 2 of 10 features, 5% of the labels flipped"),
    "friedman": Generator(friedman, "Friedman's first function of 5 of 10 features", friedman_signal, 1.0),
    "heavy_tails": Generator(
        heavy_tails,
        "linear in 5 features, noise of t with 3 degrees, whose squares have no finite variance",
        heavy_tails_signal,
        3.0,
    ),
    "sparse": Generator(sparse, "linear in 5 of 60 features", sparse_signal, 1.0),
    "no_signal": Generator(no_signal, "10 features unrelated to the two classes"),
    "imbalanced": Generator(imbalanced, "two Gaussian classes in 5 features, 25% in the smaller"),
    "imbalanced_logit": Generator(imbalanced_logit, "log odds linear in 5 of 10 features, 23% in the smaller class"),
}
