"""Agghoo with its cross-test against loops written one by one, in the same run and with equal results.

The triangle: k-fold cross-validation of every candidate, Agghoo and its cross-test, sharing an Engine, against the
three written separately. A fit without two folds serves both of them.

The epochs: a network whose hundred epochs are a hundred candidates, one run per split, against one run per candidate.

Times are CPU seconds.
"""

from __future__ import annotations

import time
import warnings

import numpy as np
from sklearn.base import clone
from sklearn.datasets import make_friedman1
from sklearn.ensemble import RandomForestRegressor
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import mean_squared_error
from sklearn.model_selection import KFold
from sklearn.neural_network import MLPRegressor

from benchmarks.table import Row, show
from truefit import AgghooRegressor, Engine, assess, cross_test

K, EPOCHS = 5, 100
GRID = {"max_features": [1, 3, 10], "min_samples_leaf": [1, 5]}
FOREST = RandomForestRegressor(40, random_state=0)


class Counted:
    """Fits candidates one by one, and counts."""

    def __init__(self, candidates):
        self.candidates = candidates
        self.fits = 0

    def fitted(self, X, y, rows):
        self.fits += len(self.candidates)
        return [clone(candidate).fit(X[rows], y[rows]) for candidate in self.candidates]

    def k_fold(self, X, y, splits):
        return np.mean(
            [[risk(m, X[test], y[test]) for m in self.fitted(X, y, train)] for train, test in splits],
            axis=0,
        )

    def agghoo(self, X, y, splits):
        members = []
        for train, validation in splits:
            models = self.fitted(X, y, train)
            members.append(models[int(np.argmin([risk(m, X[validation], y[validation]) for m in models]))])
        return members

    def cross_test(self, X, y, splits):
        risks = []
        for learning, test in splits:
            inner = [(np.setdiff1d(learning, other), other) for _, other in splits if other is not test]
            members = self.agghoo(X, y, inner)
            risks.append(mean_squared_error(y[test], np.mean([m.predict(X[test]) for m in members], axis=0)))
        return np.array(risks)


def risk(model, X, y):
    return mean_squared_error(y, model.predict(X))


def timed(call):
    """Return what a call returns, and its seconds of the processor: others may use it too."""
    start = time.process_time()
    found = call()
    return found, time.process_time() - start


def triangle():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    splits = list(KFold(K, shuffle=True, random_state=0).split(X))
    loops = Counted([clone(FOREST).set_params(max_features=m, min_samples_leaf=leaf)
                     for m in GRID["max_features"] for leaf in GRID["min_samples_leaf"]])  # fmt: skip
    n = len(loops.candidates)
    named = {str(place): candidate for place, candidate in enumerate(loops.candidates)}

    def separately():
        members = loops.agghoo(X, y, splits)
        predicted = np.mean([m.predict(X) for m in members], axis=0)
        return loops.k_fold(X, y, splits), predicted, loops.cross_test(X, y, splits)

    engine = Engine(progress=False)

    def together():
        agghoo = AgghooRegressor(FOREST, GRID, cv=splits, engine=engine).fit(X, y)
        found = assess(named, X, y, cv=splits, metric="mse", engine=engine)
        risks = cross_test(agghoo, X, y, cv=splits).fold_risks
        return np.array([each.value for each in found.estimates.values()]), agghoo.predict(X), risks

    (theirs, peer), (ours, own) = timed(separately), timed(together)
    apart = max(float(np.abs(a / b - 1).max()) for a, b in zip(theirs, ours, strict=True))
    print(
        f"  K(K-1)/2 × N = {K * (K - 1) // 2 * n} fits without two folds, and K × N = {K * n} without one: "
        f"{engine.stats.run == (K * (K - 1) // 2 + K) * n}; {engine.stats.refitted} refitted"
    )
    case = f"k-fold, Agghoo, cross-test, N={n} forests, {loops.fits} fits by hand"
    return Row(case, peer, own, engine.stats.asked, engine.stats.run, apart)


def epochs():
    X, y = make_friedman1(400, noise=1.0, random_state=0)
    splits = list(KFold(K, shuffle=True, random_state=0).split(X))
    network = MLPRegressor(hidden_layer_sizes=(50,), max_iter=EPOCHS, random_state=0)
    fits = 0

    def one_by_one():
        nonlocal fits
        predicted = []
        for train, validation in splits:
            models = []
            for epoch in range(1, EPOCHS + 1):
                model = clone(network)
                for _ in range(epoch):
                    model.partial_fit(X[train], y[train])
                models.append(model)
                fits += 1
            scores = [risk(model, X[validation], y[validation]) for model in models]
            predicted.append(models[int(np.argmin(scores))].predict(X))
        return np.mean(predicted, axis=0)

    engine = Engine(progress=False)
    theirs, peer = timed(one_by_one)
    ours, own = timed(lambda: AgghooRegressor(network, cv=splits, engine=engine).fit(X, y).predict(X))
    asked, before = engine.stats.asked, engine.stats.run
    _, tested = timed(lambda: cross_test(AgghooRegressor(network, engine=engine), X, y, cv=splits))
    print(
        f"  the cross-test of the epochs: {engine.stats.run - before} runs more, of which the {K} for mean validation "
        f"are shared: K(K-1)/2 = {K * (K - 1) // 2}; {tested:.1f} s"
    )
    apart = float(np.abs(theirs / ours - 1).max())
    return Row(f"Agghoo over {EPOCHS} epochs, {fits} fits by hand", peer, own, asked, before, apart)


def rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        yield triangle()
        yield epochs()


def main():
    show(rows())


if __name__ == "__main__":
    main()
