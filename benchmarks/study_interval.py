"""How often the interval that a study reports for its winner holds the winner's true error.

    python -m benchmarks.study_interval --data FOLDER --store study_interval.jsonl --out docs/study-interval.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. A study sees a sample of a table; what it
says of its winner is set against the error of that winner, fitted on the whole sample, on held-out rows. Every
finished study is a line of the store: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import platform
import sys
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np
import pandas as pd
import sklearn
from sklearn.model_selection import train_test_split

import truefit
from benchmarks.real_table import table_file
from benchmarks.store import lines_of
from truefit import Engine, study
from truefit._core.errors import InvalidInput
from truefit._methods.selection.default_candidates import default_candidates

#: Tables with many times the rows of a sample; bike sharing is the first such regression in the alphabet beside wine.
TABLES = {
    "adult": "classification",
    "bank_marketing": "classification",
    "letter": "classification",
    "wine_quality": "regression",
    "bike_sharing": "regression",
}
#: Rows that a study sees, and at most so many that its winner is judged by.
ROWS, TEST_ROWS = 1_000, 20_000
REPETITIONS = 10
#: Those of the default candidates that take well under a second on a sample.
CANDIDATES = ("dummy", "linear", "naive_bayes", "knn", "tree", "random_forest", "svm")
TARGET = 0.9

ABOUT = """\
In each of {repetitions} repetitions of a table, `truefit.study` is given {rows:,} rows drawn at random, and those of
{candidates} that it would itself choose for the task.
Its 95% confidence interval is for the {estimand}.
So that model, the winner fitted on all {rows:,} rows, is evaluated on held-out rows, up to {others:,}.
*Covered* is how often its error there lies in the interval. A study that gives no interval counts as not covered.
Errors of classifications are shares of wrong predictions, those of regressions root mean squared errors. The error on
the held-out rows has a sampling error, small compared with the intervals, which is ignored. Tables, sizes,
candidates and seeds were fixed before any coverage was computed, and every study that was run is counted."""


def drawn(name, folder, seed):
    """Return rows to study and rows to judge by, X and y of each."""
    frame = pd.read_parquet(table_file(folder, name))
    y = frame.pop(frame.columns[-1])
    y = y.astype(str) if TABLES[name] == "classification" else y.astype(float)
    kept, aside = train_test_split(np.arange(len(y)), train_size=ROWS, random_state=seed)
    kept, aside = np.sort(kept), aside[:TEST_ROWS]
    return (frame.iloc[kept], y.iloc[kept].to_numpy()), (frame.iloc[aside], y.iloc[aside].to_numpy())


def studied(name, folder, seed):
    """Study one sample, and judge the winner: a line of the store."""
    warnings.simplefilter("ignore")
    began = time.process_time()
    (X, y), (others, truths) = drawn(name, folder, seed)
    task = TABLES[name]
    known = default_candidates(X, task)
    models = {each: known[each] for each in CANDIDATES if each in known}
    with Engine(on_error="record", progress=False) as engine:
        result = study(X, y, models, task=task, random_state=seed, engine=engine)
        model = result.model
        fits = engine.stats.run
    took = time.process_time() - began
    predicted = model.predict(others)
    if task == "classification":
        truth = float(np.mean(predicted != truths))
    else:
        truth = math.sqrt(np.mean((predicted - truths) ** 2))
    low, high = result.interval or (None, None)
    return {
        "table": name,
        "seed": seed,
        "rows": len(y),
        "others": len(truths),
        "metric": result.metric,
        "best": result.best,
        "estimate": result.estimate,
        "low": low,
        "high": high,
        "truth": truth,
        "estimand": None if result.honest is None else result.honest.estimand,
        "fits": fits,
        "cpu_seconds": round(took, 1),
        "versions": versions(),
    }


def versions():
    """Return what a number may depend on."""
    return f"python {platform.python_version()}, scikit-learn {sklearn.__version__}, truefit {truefit.__version__}"


def finished(store):
    """Return the lines of a store, by table and seed."""
    return {(line["table"], line["seed"]): line for line in lines_of(store)}


def run(folder, store, repetitions, workers, minutes):
    """Run the studies that the store lacks, the first repetition of every table first."""
    known = finished(store)
    lacking = [(name, seed) for seed in range(repetitions) for name in TABLES if (name, seed) not in known]
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    cut_off = store.is_file() and not store.read_text().endswith("\n")
    with ProcessPoolExecutor(workers, max_tasks_per_child=1) as pool, store.open("a") as file:
        file.write("\n" if cut_off else "")
        running: set[Future] = set()
        # One at a time to each worker, so that none is begun when time is up.
        while lacking or running:
            while lacking and len(running) < workers and time.monotonic() < ends:
                name, seed = lacking.pop(0)
                running.add(pool.submit(studied, name, folder, seed))
            if not running:
                print(f"Time is up; {len(lacking)} studies are left. The same command goes on.")
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                line = future.result()
                print(json.dumps(line), file=file, flush=True)
                print(f"  {told(line)}", flush=True)


def covered(line):
    """Whether the interval holds the true error."""
    return line["low"] is not None and line["low"] <= line["truth"] <= line["high"]


def told(line):
    """Return one study in a line."""
    ends = "no interval" if line["low"] is None else f"{line['low']:.4g} to {line['high']:.4g}"
    verdict = "covered" if covered(line) else "not covered"
    return (
        f"{line['table']} {line['seed']}: {line['best']}, {line['estimate']:.4g} ({ends}), truly {line['truth']:.4g}: "
        f"{verdict}; {line['fits']} fits, {line['cpu_seconds']:.0f} s of CPU"
    )


def table(lines):
    """Return the rows of the page's table: one per data set, and one for all."""
    yield "| table | metric | winners | covered | mean width | mean estimate | mean truth | mean estimate less truth |"
    yield "|---|---|---|---|---|---|---|---|"
    for name in TABLES:
        own = [line for line in lines if line["table"] == name]
        if not own:
            continue
        widths = [line["high"] - line["low"] for line in own if line["low"] is not None]
        estimates, truths = (np.array([line[key] for line in own]) for key in ("estimate", "truth"))
        winners = pd.Series([line["best"] for line in own]).value_counts()
        yield (
            f"| {name} | {own[0]['metric']} | {', '.join(f'{best} {count}×' for best, count in winners.items())} | "
            f"{sum(map(covered, own))} of {len(own)} | {np.mean(widths) if widths else float('nan'):.3g} | "
            f"{estimates.mean():.4g} | {truths.mean():.4g} | {np.mean(estimates - truths):+.2g} |"
        )
    held = sum(map(covered, lines))
    yield f"| **all** | | | **{held} of {len(lines)}** | | | | |"


def page(lines, repetitions):
    """The results as Markdown."""
    share = np.mean([covered(line) for line in lines])
    estimand = next((line["estimand"] for line in lines if line["estimand"]), "error of the choice")
    missed = [line for line in lines if not covered(line)]
    unfinished = len(TABLES) * repetitions - len(lines)
    parts = [
        "# Coverage of a study's interval on held-out rows",
        "    python -m benchmarks.study_interval --data FOLDER --store study_interval.jsonl --out "
        "docs/study-interval.md",
        ABOUT.format(
            repetitions=repetitions,
            rows=ROWS,
            candidates=", ".join(CANDIDATES),
            estimand=estimand.replace("rmse", "error", 1),
            others=TEST_ROWS,
        ),
        "\n".join(table(lines)),
        f"Wanted: at least {TARGET:.0%}. Seen: {share:.0%}, {'met' if share >= TARGET else '**missed**'}."
        + (f" {unfinished} of {len(TABLES) * repetitions} studies have not been run." if unfinished > 0 else ""),
    ]
    if missed:
        parts += ["Not covered:", "\n".join(f"- {told(line)}" for line in missed)]
    seconds = [line["cpu_seconds"] for line in lines]
    parts.append(
        f"A study took {np.mean(seconds):.0f} s of CPU in the mean and {max(seconds):.0f} s at most, everything "
        f"that it answers included. Made with {'; '.join(sorted({line['versions'] for line in lines}))}."
    )
    return "\n\n".join(parts) + "\n"


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.study_interval")
    folder = os.environ.get("TRUEFIT_DATA")
    parser.add_argument("--data", type=Path, default=folder and Path(folder), help="folder with the tables")
    parser.add_argument("--store", type=Path, default=Path("study_interval.jsonl"), help="one line per finished study")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--workers", type=int, default=1, help="studies at a time")
    parser.add_argument("--minutes", type=float, help="begin no study after so many")
    parser.add_argument("--out", type=Path, help="write the page there")
    options = parser.parse_args(arguments)
    if options.data is None:
        raise InvalidInput("The folder of the tables must be known. Name it by --data or TRUEFIT_DATA.")
    run(options.data, options.store, options.repetitions, options.workers, options.minutes)
    known = finished(options.store)
    lines = [known[name, seed] for name in TABLES for seed in range(options.repetitions) if (name, seed) in known]
    if not lines:
        print("No study is finished yet.")
        return
    text = page(lines, options.repetitions)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
