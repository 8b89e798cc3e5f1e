"""An adaptive learning curve against scikit-learn's at all 25 sizes of the paper, on Adult with a pruned CART.

    TRUEFIT_DATA=DIR python -m benchmarks curve_cost

Both are to say what the error at all rows is. scikit-learn's curve measures it outright in the end; before that, its
last value is what it has to say. So two ratios are given: of the whole runs, and with scikit-learn's run ended at the
first size from which on its last value is as near to the error at all rows as the adaptive curves' forecasts are.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.model_selection import learning_curve as peer_curve

from benchmarks.curve_adult import table
from papers.brumen import PrunedTree
from truefit import Engine, learning_curve
from truefit._methods.learning_curve.config import paper_schedule

K, SEEDS = 10, 5


def by_scikit_learn(X, y, sizes):
    """Return errors and seconds in fits by size, and seconds in all; sizes count the test fold, as the paper's do."""
    train = [int(size * (K - 1) / K) for size in sizes]
    folds = StratifiedKFold(K, shuffle=True, random_state=0)
    started = time.perf_counter()
    _, _, scores, seconds, _ = peer_curve(
        PrunedTree(), X, y, train_sizes=train, cv=folds, shuffle=True, random_state=0, return_times=True
    )
    return 1 - scores.mean(axis=1), seconds.sum(axis=1), time.perf_counter() - started


def main():
    X, y = table()
    n = len(y)
    sizes = paper_schedule(n)
    errors, by_size, peer_wall = by_scikit_learn(X, y, sizes)
    peer_fits = float(by_size.sum())
    truth = errors[-1]
    print(f"Adult, {n:,} rows, pruned CART, {K} folds; forecast of the error at all rows, measured {truth:.4f}")
    print(f"  scikit-learn, 25 sizes: {K * len(sizes)} fits, {peer_fits:.1f} s in fits, {peer_wall:.1f} s in all")
    spent, walls, off = [], [], []
    for seed in range(SEEDS):
        started = time.perf_counter()
        curve = learning_curve(PrunedTree(), X, y, cv=K, random_state=seed, engine=Engine())
        walls.append(time.perf_counter() - started)
        spent.append(curve.seconds)
        off.append(100 * (curve.predict(n)[0] - truth))
        print(
            f"  truefit, seed {seed}: {curve.fits} fits, {curve.seconds:.1f} s in fits, {walls[-1]:.1f} s in all, "
            f"{int(curve.sizes[-1]):,} rows, off by {off[-1]:+.2f} points",
            flush=True,
        )
    near = float(np.abs(off).mean())
    # From this size on the last value is never farther off again.
    far = np.flatnonzero(100 * np.abs(errors - truth) > near)
    enough = int(far[-1]) + 1 if far.size else 0
    until, own = float(by_size[: enough + 1].sum()), float(np.mean(spent))
    print(f"  mean distance of the forecasts {near:.2f} points, after {own:.1f} s in fits")
    print(f"  scikit-learn's last value is as near from {sizes[enough]:,} rows on, after {until:.1f} s in fits")
    print(f"  ratio of seconds in fits, all 25 sizes: {peer_fits / own:.1f}; in all: {peer_wall / np.mean(walls):.1f}")
    print(f"  ratio of seconds in fits, equally near: {until / own:.1f}")


if __name__ == "__main__":
    sys.exit(main())
