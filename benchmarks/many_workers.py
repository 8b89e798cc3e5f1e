"""Forest fits on many workers: how much of each worker's time is spent fitting.

    python -m benchmarks.many_workers --workers 16

The same splits are fitted in three ways: some of them one after the other in this process, all of them by a plain pool
of processes with the rows already in place, and all of them by an engine with as many workers, which also evaluates and
stores each fit. Efficiency is the seconds of one core for all fits over the seconds of all workers.
"""

from __future__ import annotations

import argparse
import json
import os
import time
from concurrent.futures import ProcessPoolExecutor

import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import RandomForestClassifier
from sklearn.model_selection import ShuffleSplit

from truefit import Engine, assess

FITS, ROWS, COLUMNS, TREES = 181, 10_000, 20, 40
#: Fits in one process that tell what a fit costs when nothing else runs.
ALONE = 8


class Rows:
    """The rows and the splits, made once in each process."""

    def __init__(self):
        self.X, self.y = make_classification(ROWS, COLUMNS, n_informative=10, random_state=0)
        splitter = ShuffleSplit(FITS, train_size=0.9, test_size=0.1, random_state=0)
        self.splits = list(splitter.split(self.X))

    def error(self, place):
        """Fit on one split; return its error."""
        training, test = map(np.sort, self.splits[place])  # the order of the engine
        model = RandomForestClassifier(TREES, random_state=0).fit(self.X[training], self.y[training])
        return float(np.mean(model.predict(self.X[test]) != self.y[test]))


_rows: list[Rows] = []


def start():
    _rows.append(Rows())


def error(place):
    return _rows[0].error(place)


def measured(workers):
    """Return seconds: of one fit alone, of all fits by a pool, and of all fits by an engine; and the errors."""
    start()
    rows = _rows[0]
    rows.error(0)
    began = time.perf_counter()
    for place in range(ALONE):
        rows.error(place)
    line = {"workers": workers, "fit": (time.perf_counter() - began) / ALONE}
    with ProcessPoolExecutor(workers, initializer=start) as pool:
        list(pool.map(time.sleep, [0.5] * workers))  # every process has started
        began = time.perf_counter()
        plain = list(pool.map(error, range(FITS)))
        line["pool"] = time.perf_counter() - began
    model = RandomForestClassifier(TREES, random_state=0)
    with Engine(workers=workers, progress=False) as engine:
        assess(RandomForestClassifier(1), rows.X[:200], rows.y[:200], cv=workers, engine=engine)
        began = time.perf_counter()
        found = assess(model, rows.X, rows.y, cv=rows.splits, metric="error", engine=engine)
        line["engine"] = time.perf_counter() - began
    line["pool_error"] = float(np.mean(plain))
    line["engine_error"] = float(np.mean(next(iter(found.split_scores().values()))))
    return line


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.many_workers", description=__doc__)
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    line = measured(parser.parse_args(arguments).workers)
    for way in ("pool", "engine"):
        line[f"{way}_efficiency"] = FITS * line["fit"] / (line["workers"] * line[way])
    line["engine_to_pool"] = line["pool"] / line["engine"]
    print(json.dumps({name: round(value, 4) for name, value in line.items()}, indent=1))


if __name__ == "__main__":
    main()
