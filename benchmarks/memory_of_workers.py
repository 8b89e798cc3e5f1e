"""Memory of a run with two workers on an X of one gigabyte, held as an array or as a memory-mapped file.

Each training set is a tenth of the rows; the model predicts another tenth, or the nine tenths that are left. What is
summed is the proportional set size (PSS) of the parent and its workers, sampled throughout the run: shared pages count
once. What the interpreters and their libraries take is measured in the same way with a small X.

Usage: python benchmarks/memory_of_workers.py [gigabytes]
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

import numpy as np
from sklearn.linear_model import SGDClassifier
from sklearn.model_selection import ShuffleSplit

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.protocols import Ask, FitTask, Job
from truefit._core.rows import Rows
from truefit._executors.processes import ProcessExecutor
from truefit._solvers.plain import PlainSolver

COLUMNS = 500
LIMIT_GB = 1.5


def pss(pid: int | str) -> int:
    """Proportional set size of a process in bytes."""
    try:
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    except OSError:  # it has just ended
        pass
    return 0


class Sampler(threading.Thread):
    """Largest sum of PSS over the parent and its workers."""

    def __init__(self, executor: ProcessExecutor) -> None:
        super().__init__(daemon=True)
        self.executor = executor
        self.peak = self.workers = self.samples = 0
        self.over = threading.Event()

    def run(self) -> None:
        while not self.over.wait(0.01):
            workers = [pss(hand.process.pid) for hand in list(self.executor._crew.hands)]
            self.peak = max(self.peak, pss("self") + sum(workers))
            self.workers = max([self.workers, *workers])
            self.samples += 1


def table(kind: str, gigabytes: float, folder: Path) -> np.ndarray:
    rows = 2_000 if kind == "small" else int(gigabytes * 1e9 / 8 / COLUMNS)
    rng = np.random.default_rng(0)
    if kind != "mapped":
        return rng.random((rows, COLUMNS))
    path = folder / "X.npy"
    X = np.lib.format.open_memmap(path, mode="w+", dtype=np.float64, shape=(rows, COLUMNS))
    for start in range(0, rows, 10_000):
        X[start : start + 10_000] = rng.random((min(10_000, rows - start), COLUMNS))
    X.flush()
    del X
    return np.load(path, mmap_mode="r")


def jobs(data: Data) -> list[Job]:
    keys, fits = Keys(data), []
    for i, (train, test) in enumerate(ShuffleSplit(6, train_size=0.1, test_size=0.1, random_state=0).split(data.y)):
        asked = Rows.of(test) if i % 2 else Rows.without(data.n, train)
        task = FitTask(
            SGDClassifier(max_iter=3, tol=None), Rows.of(train), (Ask(asked), Ask(asked, "decision_function"))
        )
        fits.append(keys.fit(task))
    return PlainSolver().claim(fits, data)


def measure(kind: str, gigabytes: float) -> dict[str, float]:
    with tempfile.TemporaryDirectory() as folder, ProcessExecutor(2) as executor:
        X = table(kind, gigabytes, Path(folder))
        data = Data(X, (X[:, 0] > 0.5).astype(int), task="classification")
        sampler = Sampler(executor)
        sampler.start()
        start = time.perf_counter()
        outcomes = [outcome for [outcome] in executor.map(jobs(data), data)]
        seconds = time.perf_counter() - start
        sampler.over.set()
        sampler.join()
        assert all(outcome.error is None for outcome in outcomes), outcomes[0].error
        return {
            "x": X.nbytes / 1e9,
            "peak": sampler.peak / 1e9,
            "worker": sampler.workers / 1e9,
            "seconds": seconds,
            "samples": sampler.samples,
        }


def main(gigabytes: float = 1.0) -> None:
    print("X         GB of X   peak PSS of all   less interpreters   largest worker   seconds   samples")
    interpreters = 0.0
    for kind in ("small", "array", "mapped"):
        told = subprocess.run(
            [sys.executable, __file__, kind, str(gigabytes)], check=True, capture_output=True, text=True
        )
        found = json.loads(told.stdout)
        interpreters = interpreters or found["peak"]
        less = found["peak"] - interpreters
        print(
            f"{kind:8}  {found['x']:7.3f}   {found['peak']:12.3f} GB   {less:14.3f} GB   {found['worker']:11.3f} GB"
            f"   {found['seconds']:7.1f}   {found['samples']:7}"
        )
        if kind != "small":
            verdict = "holds" if less < LIMIT_GB * gigabytes else "does NOT hold"
            print(f"          under {LIMIT_GB * gigabytes:g} GB plus the interpreters: {verdict}")


if __name__ == "__main__":
    if len(sys.argv) > 2:  # one measurement, in a process of its own
        print(json.dumps(measure(sys.argv[1], float(sys.argv[2]))))
    else:
        main(*map(float, sys.argv[1:]))
