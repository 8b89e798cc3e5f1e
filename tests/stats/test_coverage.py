"""How often the intervals hold the error of the model at hand, where that error is known."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np
import pytest
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.tree import DecisionTreeClassifier

from truefit._stats.bootstrap_error import OutOfBag, bootstrap_error, no_information_zero_one
from truefit._stats.triangle import triangle_tau

pytestmark = pytest.mark.slow

N, FOLDS = 100, 10
Array = np.ndarray


class World(NamedTuple):
    X: Array
    y: Array
    fit: Callable[[Array, Array], Any]
    error: float
    random: np.random.Generator


def gauss(n: int, random: np.random.Generator) -> tuple[Array, Array]:
    y = random.integers(0, 2, n)
    X = random.normal(size=(n, 10))
    X[:, :4] += 0.55 * (2 * y[:, None] - 1)
    return X, y


def xor(n: int, random: np.random.Generator) -> tuple[Array, Array]:
    X = random.uniform(-1, 1, size=(n, 5))
    return X, ((X[:, 0] > 0) ^ (X[:, 1] > 0) ^ (random.random(n) < 0.1)).astype(int)


def linear(X: Array, y: Array) -> Any:
    return LinearDiscriminantAnalysis().fit(X, y)


def tree(X: Array, y: Array) -> Any:
    return DecisionTreeClassifier(max_depth=4, random_state=0).fit(X, y)


def worlds(generator: Any, fit: Any, repetitions: int) -> Iterator[World]:
    for seed in range(repetitions):
        random = np.random.default_rng(seed)
        X, y = generator(N, random)
        X_new, y_new = generator(5000, random)
        yield World(X, y, fit, float((fit(X, y).predict(X_new) != y_new).mean()), random)


def losses(world: World, train: Array, test: Array) -> Array:
    wrong: Array = world.fit(world.X[train], world.y[train]).predict(world.X[test]) != world.y[test]
    return wrong.astype(float)


@pytest.mark.parametrize("generator", [gauss, xor])
@pytest.mark.parametrize("fit", [linear, tree])
def test_triangle_tau(generator: Any, fit: Any) -> None:
    held, widths = [], []
    for world in worlds(generator, fit, 100):
        folds = np.array_split(world.random.permutation(N), FOLDS)
        rows = np.arange(N)
        singles = [losses(world, np.setdiff1d(rows, fold), fold) for fold in folds]
        pairs: list[list[Any]] = [[None] * FOLDS for _ in folds]
        for a in range(FOLDS):
            for b in range(a):
                found = losses(
                    world,
                    np.setdiff1d(rows, np.concatenate([folds[a], folds[b]])),
                    np.concatenate([folds[a], folds[b]]),
                )
                pairs[a][b], pairs[b][a] = np.split(found, [len(folds[a])])
        interval = triangle_tau([(singles, pairs)], zero_one=True)
        held.append(interval.low <= world.error <= interval.high)
        every = np.concatenate(singles)
        widths.append((interval.high - interval.low) / (2 * 1.96 * every.std(ddof=1) / np.sqrt(N)))
    assert 0.89 <= np.mean(held) <= 0.995
    if fit is linear:
        assert np.mean(widths) <= 1.3


@pytest.mark.parametrize("fit", [linear, tree])
def test_bootstrap(fit: Any) -> None:
    held: dict[Any, list[bool]] = {"loo": [], ".632": [], ".632+": []}
    for world in worlds(gauss, fit, 100):
        bag = OutOfBag(N)
        for _ in range(50):
            drawn = world.random.integers(0, N, N)
            bag.add(losses(world, drawn, np.arange(N)), np.bincount(drawn, minlength=N))
        fitted = world.fit(world.X, world.y).predict(world.X)
        known = {
            "apparent": (fitted != world.y).astype(float),
            "no_information": no_information_zero_one(world.y, fitted),
        }
        for rule, found in held.items():
            interval = bootstrap_error(bag, rule=rule, zero_one=True, **known)
            found.append(interval.low <= world.error <= interval.high)
    assert min(np.mean(found) for found in held.values()) >= 0.90
