"""How the cost grows with rows, candidates and folds, beside scikit-learn's for the same fits; and memory with fits.

Trees, so that no solver helps, in one process: of depth 3 on 5 columns in 5 folds for the rows; of up to 1,000 sizes of
leaves on 300 rows in 5 folds for the candidates; of depth 3 on 1,000 rows for the folds. truefit predicts
labels and probabilities, scikit-learn labels. Times are CPU seconds, for short runs the minimum of three. Memory is the
peak of a process that moves predictions to disk.
"""

from __future__ import annotations

import time

import numpy as np
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks import memory_of_fits
from benchmarks.table import Row, show
from truefit import Engine, assess

COUNTS = {
    "rows": (1_000, 10_000, 100_000, 1_000_000),
    "candidates": (1, 10, 100, 1_000),
    "folds": (2, 5, 10, 20, 50, 100),
}
FITS = (2_000, 20_000, 40_000)
TREE = DecisionTreeClassifier(random_state=0)
SHORT = 1.0


def table(n):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 5))
    return X, (X[:, 0] + X[:, 1] * X[:, 2] + rng.normal(size=n) > 0).astype(int)


def both(along, count):
    """Return who does the work: scikit-learn, and we with an Engine; each returns mean accuracies."""
    X, y = table({"rows": count, "candidates": 300, "folds": 1_000}[along])
    folds = StratifiedKFold(count if along == "folds" else 5, shuffle=True, random_state=0)
    if along == "candidates":
        grid = {"max_depth": [None], "min_samples_leaf": (np.arange(1, count + 1) / (3 * count)).tolist()}
    else:
        grid = {"max_depth": [3]}
    search = GridSearchCV(TREE, grid, cv=folds, refit=False)
    trees = {str(place): clone(TREE).set_params(**point) for place, point in enumerate(ParameterGrid(grid))}

    def ours(engine):
        scores = assess(trees, X, y, cv=folds, metric="accuracy", engine=engine).split_scores()
        return np.array([each.mean() for each in scores.values()])

    return lambda: search.fit(X, y).cv_results_["mean_test_score"], ours


def timed(work):
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def compare(along, count):
    theirs, ours = both(along, count)
    peers, owns = [], []
    while not peers or (len(peers) < 3 and max(peers[-1], owns[-1]) < SHORT):
        expected, peer = timed(theirs)
        engine = Engine(progress=False)
        found, own = timed(lambda engine=engine: ours(engine))
        peers.append(peer)
        owns.append(own)
    stats = engine.stats
    apart = float(np.abs(found - expected).max())
    return Row(f"{count:,} {along}", min(peers), min(owns), stats.asked, stats.run, apart)


def rows():
    with threadpool_limits(1):  # as an engine has it
        for along, counts in COUNTS.items():
            for count in counts:
                yield compare(along, count)
    peaks = {fits: memory_of_fits.peak(fits) for fits in FITS}
    print("  peak memory: " + ", ".join(f"{fits:,} fits {used:.0f} MB" for fits, used in peaks.items()))
    print(f"  predictions of the last alone are {FITS[-1] * 200 * 8 / 2**20:.0f} MB")


def picture(found, path):
    """Draw seconds against counts, a panel for each of what grows."""
    from matplotlib.figure import Figure

    from truefit._plots.canvas import SERIES, STROKES, style_axes

    figure = Figure(figsize=(9.6, 3.2), layout="constrained", facecolor="white")
    axes = figure.subplots(1, len(COUNTS))
    for ax, along in zip(axes, COUNTS, strict=True):
        here = [(int(row.case.split()[0].replace(",", "")), row) for row in found if row.case.endswith(f" {along}")]
        counts = [count for count, _ in here]
        lines = {"scikit-learn": [row.peer for _, row in here], "truefit": [row.own for _, row in here]}
        for (name, seconds), colour, stroke in zip(lines.items(), SERIES[1::-1], STROKES[1::-1], strict=True):
            ax.plot(counts, seconds, color=colour, linestyle=stroke, marker="o", markersize=4, label=name)
        ax.set(xscale="log", yscale="log", xlabel=along)
        style_axes(ax, grid="both")
    axes[0].set_ylabel("seconds of the processor")
    axes[0].legend(frameon=False)
    figure.savefig(path)


def main():
    show(rows())


if __name__ == "__main__":
    main()
