"""Adult with a pruned CART: how many rows the curve takes, and how far off its forecast for all 48,842 rows is.

    TRUEFIT_DATA=DIR python -m benchmarks curve_adult

DIR holds ``adult.parquet``; without it the table comes from OpenML. The truth is the 10-fold error at all rows.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import numpy as np

from papers.brumen import PrunedTree
from papers.data import as_ordinal, frame_of
from truefit import Engine, assess, learning_curve
from truefit._stats.curve_paper import fit_paper

SEEDS, TOLERANCE = 12, 0.02


def table():
    folder = os.environ.get("TRUEFIT_DATA")
    frame, target = frame_of("adult", None if folder is None else Path(folder))
    return as_ordinal(frame), target


def main(seeds=SEEDS):
    X, y = table()
    engine = Engine()
    truth = assess(PrunedTree(), X, y, cv=10, engine=engine).estimate
    print(f"Adult, {len(y):,} rows; pruned CART; 10-fold error at all rows {truth:.4f}; tolerance {TOLERANCE}")
    print("  seed   rows  error  expected at all rows (95% interval)  off    paper's fit  rule")
    rows = []
    for seed in range(seeds):
        curve = learning_curve(PrunedTree(), X, y, tolerance=TOLERANCE, random_state=seed, engine=engine)
        value, low, high = curve.predict(len(y))
        paper = float(fit_paper(curve.sizes, curve.errors[None]).predict([len(y)])[0, 0])
        used = int(curve.sizes[-1])
        rows.append((used, abs(value - truth), low <= truth <= high, abs(paper - truth), curve.seconds))
        print(
            f"  {seed:4d} {used:6,d}  {curve.errors[-1]:.4f}  {value:.4f} ({low:.4f} to {high:.4f})"
            f"  {100 * (value - truth):+.2f}  {100 * (paper - truth):+.2f}  {curve.rule}",
            flush=True,
        )
    used, off, held, paper, _ = (np.array(column) for column in zip(*rows, strict=True))
    by = (used <= 10_000).sum()
    print(f"  rows used: median {np.median(used):,.0f}, most {used.max():,}; by 10,000: {by} of {seeds}")
    print(f"  off, in points: mean {100 * off.mean():.2f}, worst {100 * off.max():.2f}")
    print(f"  the paper's fit: mean {100 * paper.mean():.2f}, worst {100 * paper.max():.2f}")
    print(f"  95% intervals hold: {held.sum()} of {seeds}")


if __name__ == "__main__":
    sys.exit(main())
