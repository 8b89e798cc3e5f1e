"""Generators of regression rows for learning the constants: signals, each with several kinds of noise and target."""

from __future__ import annotations

from functools import partial

import numpy as np


def _linear(X):
    return X @ np.array([1.0, -0.7, 0.5, 0.3, 0.2, 0.1, 0.0, 0.0])


def _wave(X):
    return np.sin(2 * X[:, 0]) + 0.5 * np.sin(3 * X[:, 1])


def _steps(X):
    return (X[:, 0] > 0) + 2.0 * ((X[:, 1] > 0.5) & (X[:, 2] > -0.5)) + 0.5 * (X[:, 3] > 1)


def _additive(X):
    return np.abs(X[:, 0]) + 0.5 * X[:, 1] ** 2 + np.tanh(2 * X[:, 2]) + 0.5 * X[:, 3]


def _pairs(X):
    return X[:, 0] * X[:, 1] + X[:, 2] * X[:, 3] + 0.5 * X[:, 4]


def _quiet(rng, signal):
    return signal + 0.3 * rng.standard_normal(len(signal))


def _noisy(rng, signal):
    return signal + rng.standard_normal(len(signal))


def _long(rng, signal):
    return signal + 0.6 * rng.standard_t(5, len(signal))


def _skewed(rng, signal):
    return signal + 0.4 * np.exp(rng.standard_normal(len(signal)))


def _zeros(rng, signal):
    return np.maximum(signal + rng.standard_normal(len(signal)) - 0.5, 0.0)


def _money(rng, signal):
    return np.exp(0.6 * (signal + 0.5 * rng.standard_normal(len(signal))))


def _rows(rng, n, *, signal, target):
    X = rng.standard_normal((n, 8))
    found = signal(X)
    return X, target(rng, (found - found.mean()) / found.std())


_SIGNALS = (_linear, _wave, _steps, _additive, _pairs)
_TARGETS = (_quiet, _noisy, _long, _skewed, _zeros, _money)
#: Functions of a random state and a number of rows that return features and target, by name.
MADE = {
    f"{target.__name__[1:]}_{signal.__name__[1:]}": partial(_rows, signal=signal, target=target)
    for signal in _SIGNALS
    for target in _TARGETS
}
