"""Kill a run with all its workers at random moments, again and again, and see that nothing is lost or done twice.

    python -m benchmarks.kill_and_resume --kills 50

A run of a few hundred fits on two workers is started, its whole process tree is killed with SIGKILL, and it is started
again on the same store. After the last resume its predictions must be those of an undisturbed run bit for bit, no fit
that was in the store when a run started may have been run again by it, and the store must pass SQLite's own check.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import random
import signal
import sqlite3
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import make_classification
from sklearn.ensemble import ExtraTreesClassifier

FOLDS = 10
SIZES = (3, 6, 9)


class Logged(ClassifierMixin, BaseEstimator):
    """A forest that writes a line to a log whenever a fit of it begins."""

    def __init__(self, trees=10, log=None, random_state=None):
        self.trees = trees
        self.log = log
        self.random_state = random_state

    def fit(self, X, y):
        with open(self.log, "a") as log:
            log.write(fit_name(self.trees, X, y) + "\n")
        self.forest_ = ExtraTreesClassifier(self.trees, random_state=self.random_state).fit(X, y)
        self.classes_ = self.forest_.classes_
        return self

    def predict(self, X):
        return self.forest_.predict(X)

    def predict_proba(self, X):
        return self.forest_.predict_proba(X)


def fit_name(trees, X, y):
    return hashlib.blake2b(np.ascontiguousarray(X).tobytes() + y.tobytes() + bytes([trees]), digest_size=12).hexdigest()


def table():
    return make_classification(600, 12, n_informative=6, random_state=7)


def candidates(log):
    return {f"{trees} trees": Logged(trees, log=str(log)) for trees in SIZES}


def work(store, log, workers, repeats):
    """Run the assessment; the predictions' digest tells one outcome from another."""
    from truefit import Engine, assess

    X, y = table()
    with Engine(store, workers=workers) as engine:
        result = assess(candidates(log), X, y, cv=FOLDS, repeats=repeats, engine=engine)
        digest = hashlib.blake2b(digest_size=16)
        for name, frame in result.predictions.items():
            digest.update(name.encode())
            for column in frame.columns:
                digest.update(np.ascontiguousarray(frame[column].to_numpy()).tobytes())
        return digest.hexdigest(), engine.stats.to_dict()


def names_by_key(log, repeats):
    """Map the key of every fit to the name under which it appears in the log."""
    from truefit._core.data import Data
    from truefit._core.identity import Keys
    from truefit._core.protocols import FitTask
    from truefit._methods.candidates import Candidates
    from truefit._methods.splitting.splits import make_splits

    X, y = table()
    chosen = Candidates(candidates(log), y)
    data = Data(X, y, task="classification")
    keys = Keys(data, stored=True)
    names = {}
    for split in make_splits(data, "kfold", k=FOLDS, repeats=repeats):
        index = split.train.index
        for _, estimator in chosen:
            names[keys.fit(FitTask(estimator, split.train)).key] = fit_name(estimator.trees, X[index], y[index])
    return names


def stored_keys(store):
    if not store.exists():
        return set()
    with sqlite3.connect(store) as connection:
        # A run that was killed just after it made the file has no tables in it yet.
        made = connection.execute("SELECT 1 FROM sqlite_master WHERE name = 'outcomes'").fetchone()
        found = {key for (key,) in connection.execute("SELECT key FROM outcomes")} if made else set()
    connection.close()
    return found


@dataclass
class Findings:
    kills: int
    fits: int
    run_again: int
    equal: bool
    integrity: str
    fits_begun: int
    left_for_last: int


def start(store, log, repeats):
    command = [sys.executable, "-m", "benchmarks.kill_and_resume", "--work", str(store), str(log), str(repeats)]
    return subprocess.Popen(command, start_new_session=True, stdout=subprocess.PIPE, text=True)


def await_fits(process, log, offset):
    """Wait until a fit of this run has begun, or the run is over."""
    while process.poll() is None and (log.stat().st_size if log.exists() else 0) <= offset:
        time.sleep(0.01)


def kill_tree(process):
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    process.stdout.close()


def kill_again_and_again(kills, folder, *, repeats=10, longest=0.4, seed=0):
    """Kill ``kills`` times, then let the run finish, and compare it with an undisturbed one."""
    store, log = folder / "runs.db", folder / "fits.log"
    names = names_by_key(log, repeats)
    chance = random.Random(seed)
    run_again = done = 0
    while done < kills:
        before, offset = stored_keys(store), log.stat().st_size if log.exists() else 0
        process = start(store, log, repeats)
        if chance.random() < 0.2:  # some kills hit the start-up, most hit the work
            time.sleep(chance.uniform(0.0, 2.0))
        else:
            await_fits(process, log, offset)
            time.sleep(chance.uniform(0.0, longest))
        if process.poll() is not None:  # finished before it could be killed: begin a new round of the same
            process.stdout.close()
            run_again += again(log, offset, before, names)
            store.unlink()
            continue
        kill_tree(process)
        done += 1
        run_again += again(log, offset, before, names)
    before, offset = stored_keys(store), log.stat().st_size if log.exists() else 0
    process = start(store, log, repeats)
    output, _ = process.communicate(timeout=600)
    run_again += again(log, offset, before, names)
    undisturbed, _ = work(None, log, 1, repeats)
    with sqlite3.connect(store) as connection:
        integrity = connection.execute("PRAGMA integrity_check").fetchone()[0]
    connection.close()
    begun = len(log.read_text().split()) - len(names)
    equal = output.strip() == undisturbed
    return Findings(kills, len(names), run_again, equal, integrity, begun, len(names) - len(before))


def again(log, offset, before, names):
    """Count the fits begun since ``offset`` that were in the store before."""
    if not log.exists():
        return 0
    with open(log) as lines:
        lines.seek(offset)
        begun = set(lines.read().split())
    return len(begun & {names[key] for key in before})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--kills", type=int, default=50)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--work", nargs=3, metavar=("STORE", "LOG", "REPEATS"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.work:
        store, log, repeats = options.work
        print(work(store, log, 2, int(repeats))[0])
        return
    with tempfile.TemporaryDirectory() as folder:
        found = kill_again_and_again(options.kills, Path(folder), seed=options.seed)
    print(f"{found.kills} kills of a run of {found.fits} fits on 2 workers; {found.left_for_last} left for the last")
    print(f"  equal to an undisturbed run, bit for bit: {found.equal}")
    print(f"  finished fits that were run again:        {found.run_again}")
    print(f"  fits begun in all, cut off ones included: {found.fits_begun}")
    print(f"  integrity check of the store:             {found.integrity}")
    sys.exit(0 if found.equal and not found.run_again and found.integrity == "ok" else 1)


if __name__ == "__main__":
    main()
