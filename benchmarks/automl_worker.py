"""One search of ``against_flaml``, in a process and with an interpreter of its own.

    python automl_worker.py flaml|truefit FOLDER

FOLDER has ``training.parquet`` and ``test.parquet``, the target last, and ``options.json``; the result goes to
``result.json``. Neither package needs the other one to be installed.
"""

import json
import math
import os
import sys
import time
import warnings
from importlib.metadata import version
from pathlib import Path

import numpy as np
import pandas as pd


class Clock:
    """Seconds by the clock and of CPU time, those of ended child processes included."""

    def __init__(self):
        self.began, self.used = time.monotonic(), sum(os.times()[:4])

    @property
    def seconds(self):
        return time.monotonic() - self.began

    @property
    def cpu_seconds(self):
        return sum(os.times()[:4]) - self.used


def read(file, task):
    """Return X and y of a table."""
    frame = pd.read_parquet(file)
    y = frame.pop(frame.columns[-1])
    return frame, y.astype(str).to_numpy(dtype=object) if task == "classification" else y.astype(float).to_numpy()


def wrong(model, X, y, task):
    """Return the error on test rows: the share of wrong predictions, or the root mean squared error."""
    predicted = np.asarray(model.predict(X))
    if task == "classification":
        return float(np.mean(predicted.astype(str) != y.astype(str)))
    return float(math.sqrt(np.mean((predicted - y) ** 2)))


def flaml(X, y, others, truths, options):
    """Search with FLAML, its defaults but for the metric and one core."""
    import lightgbm
    import xgboost
    from flaml import AutoML

    task, clock, model = options["task"], Clock(), AutoML()
    model.fit(
        X, y, task=task, metric="rmse" if task == "regression" else "accuracy", time_budget=options["seconds"],
        n_jobs=1, seed=options["seed"], verbose=0,
    )  # fmt: skip
    line = {"seconds": clock.seconds, "cpu_seconds": clock.cpu_seconds}
    packages = f"lightgbm {lightgbm.__version__}, xgboost {xgboost.__version__}"
    return line | {
        "reported": float(model.best_loss),
        "best": str(model.best_estimator),
        "evaluation": str(model._state.eval_method),
        "error": wrong(model, others, truths, task),
        "versions": f"FLAML {version('flaml')}, {packages}, scikit-learn {version('scikit-learn')}",
    }


def truefit(X, y, others, truths, options):
    """Run a study, fit the selected model on all rows, and the ensemble where there is one."""
    from truefit import study

    task, clock = options["task"], Clock()
    result = study(X, y, budget=options["seconds"], task=task, random_state=options["seed"])
    line = {"study_seconds": clock.seconds}
    model = result.model
    line |= {"seconds": clock.seconds, "cpu_seconds": clock.cpu_seconds}
    headline, tested = result.answers[0].headline, result.averaged
    line |= {
        "reported": float(result.estimate),
        "interval": ends_of(result.interval),
        "nested": result.honest is not None,
        "best": result.best,
        "searched": [result._found.n_searched, result._found.n_candidates],
        "headlines": [each.headline for each in result.answers],
        "recommended": "none" if headline.startswith("None") else "selected",
        "not_run": result.not_run,
        "error": wrong(model, others, truths, task),
        "versions": f"truefit {version('truefit')}, scikit-learn {version('scikit-learn')}",
    }
    if tested is not None:
        clock = Clock()
        ensemble = result.ensemble
        line |= {
            "ensemble_seconds": clock.seconds,
            "ensemble_reported": float(tested.estimate),
            "ensemble_interval": ends_of(tested.interval),
            "ensemble_members": tested.members,
            "ensemble_error": wrong(ensemble, others, truths, task),
        }
        line["recommended"] = "ensemble" if tested.recommended else line["recommended"]
    return line


def ends_of(interval):
    """Return an interval as plain numbers."""
    return None if interval is None else [float(end) for end in interval]


def main(which, folder):
    warnings.simplefilter("ignore")
    folder = Path(folder)
    options = json.loads((folder / "options.json").read_text())
    if options["core"] is not None:
        os.sched_setaffinity(0, {options["core"]})
    training = read(folder / "training.parquet", options["task"])
    test = read(folder / "test.parquet", options["task"])
    found = {"flaml": flaml, "truefit": truefit}[which](*training, *test, options)
    (folder / "result.json").write_text(json.dumps(found))


if __name__ == "__main__":
    main(*sys.argv[1:])
