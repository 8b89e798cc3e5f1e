"""The selected model of a study against that of FLAML at equal seconds: its error, and what each reports of it.

    python -m benchmarks.against_flaml --flaml-python PYTHON --data FOLDER --store against_flaml.jsonl \\
        --out docs/against-flaml.md

PYTHON is the interpreter of an environment with ``flaml[automl]`` and pyarrow; nothing is installed. FOLDER (or
TRUEFIT_DATA) holds the tables as Parquet files, the target last. Both search the same sample, one after the other,
each in a process of its own on one core (``--cores``, on Linux: with several of them as many samples at a time). Every
finished sample is a line of the store: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import queue
import subprocess
import sys
import time
from concurrent.futures import FIRST_COMPLETED, ThreadPoolExecutor, wait
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pandas as pd
from scipy import stats
from sklearn.model_selection import train_test_split

from benchmarks.markdown import table
from benchmarks.real_table import table_file
from benchmarks.store import lines_of
from truefit._core.errors import InvalidInput

TABLES = {
    "german_credit": "classification",
    "spambase": "classification",
    "adult": "classification",
    "bank_marketing": "classification",
    "letter": "classification",
    "wine_quality": "regression",
    "bike_sharing": "regression",
    "diamonds": "regression",
}
#: Samples of a table: the first ones are small, the others large where that leaves as many test rows.
SAMPLES, FIRST, SMALL, LARGE, TEST_ROWS = 5, 3, 500, 1_000, 10_000
SECONDS = 30
#: Targets: the ratio of errors, the bias of the report against FLAML's, and how often the interval holds.
RATIO, BIAS, HOLDS = 0.98, 0.5, 0.9
#: A search that takes longer than this many times its budget has failed.
PATIENCE = 20
WORKER = Path(__file__).with_name("automl_worker.py")

ABOUT = """\
**{count} of {planned} samples were run ({rows}).** Tables, sizes and seeds were fixed beforehand: {samples} samples of
each table, the first {first} of {small:,} rows, the others of {large:,}, or of {small:,} where fewer than {large:,}
rows would be left (german_credit). They are run in the order of their seeds, one of each table before the next, and
every sample that was run is counted.

FLAML's `AutoML.fit(X, y, time_budget={seconds:g}, metric=...)` and `truefit.study(X, y, budget={seconds:g})` see the
same sample and have the same {seconds:g} seconds on the same core: FLAML first, then truefit. Each runs in a process of
its own, on one core, with one thread and one worker; everything else is default. FLAML has LightGBM and
XGBoost, which its installation brings; truefit has the learners of scikit-learn. Columns are renamed to x0, x1, ...,
because LightGBM rejects names with brackets, which spambase has.

*Error* is that of the final model, fitted on the whole sample, on up to {test:,} other rows of the table: the share of
wrong predictions, or the root mean squared error. *Ratio* is truefit's error over FLAML's, its geometric mean over
samples, with the t-interval of its logarithm. FLAML *reports* its best validation loss, by which it selected (accuracy,
or RMSE); truefit `study.estimate`, from nested cross-validation. *Bias* is the mean of reported over true error less
one, with its standard error; a negative bias is optimistic. *Holds* is how often the 95% interval of the study holds
the error on the test rows, whose own sampling error is ignored; a study without an interval counts as not holding.
*Seconds* are by the clock, with the final fit on all rows; imports and predictions are not counted. *CPU s* is the CPU
time in the same period."""

ENSEMBLE = """\
## The ensemble of the study

A tuned study also cross-tests a weighted average of settings (`study.ensemble`), from fits of the same search; its
members are fitted on all rows on request, which is not part of the {seconds:g} seconds. *Ratio* is the error over
FLAML's, *to selected* the error over that of the selected model of the same study. *Recommended* is the ensemble where
the study recommends it, otherwise the selected model."""


def size_of(seed, rows):
    """Return the size of a sample."""
    return LARGE if seed >= FIRST and rows >= 2 * LARGE else SMALL


def drawn(name, folder, seed):
    """Return the rows of a sample and the test rows, the target last."""
    frame = pd.read_parquet(table_file(folder, name))
    # LightGBM takes no brackets in names, which spambase has: both get the same plain names.
    frame.columns = [*(f"x{place}" for place in range(frame.shape[1] - 1)), "target"]
    kept, aside = train_test_split(np.arange(len(frame)), train_size=size_of(seed, len(frame)), random_state=seed)
    return frame.iloc[np.sort(kept)].reset_index(drop=True), frame.iloc[aside[:TEST_ROWS]].reset_index(drop=True)


def searched(which, python, folder, seconds):
    """Run one search in a process of its own; return what it wrote, or how it failed."""
    one = {f"{library}_NUM_THREADS": "1" for library in ("OMP", "OPENBLAS", "MKL", "NUMEXPR")}
    result = folder / "result.json"
    result.unlink(missing_ok=True)
    environment = {**os.environ, **one, "PYTHONSAFEPATH": "1"}
    try:
        ran = subprocess.run(
            [str(python), str(WORKER), which, str(folder)], env=environment, capture_output=True, text=True,
            timeout=PATIENCE * seconds, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return {"failed": f"stopped after {PATIENCE} times its budget"}
    if ran.returncode or not result.exists():
        return {"failed": (ran.stderr.strip().splitlines() or [f"exit code {ran.returncode}"])[-1]}
    return json.loads(result.read_text())


def compared(name, seed, folder, python, seconds, cores):
    """Search one sample with both, on one of the cores that are free: a line of the store."""
    core = cores.get()
    try:
        return compared_on(core, name, seed, folder, python, seconds)
    finally:
        cores.put(core)


def compared_on(core, name, seed, folder, python, seconds):
    """Search one sample with both on a core, or on any where it is None: a line of the store."""
    training, test = drawn(name, folder, seed)
    line = {"table": name, "seed": seed, "rows": len(training), "test_rows": len(test), "budget": seconds}
    with TemporaryDirectory() as scratch:
        place = Path(scratch)
        training.to_parquet(place / "training.parquet")
        test.to_parquet(place / "test.parquet")
        (place / "options.json").write_text(
            json.dumps({"task": TABLES[name], "seconds": seconds, "seed": seed, "core": core})
        )
        for which, interpreter in (("flaml", python), ("truefit", sys.executable)):
            line[which] = searched(which, interpreter, place, seconds)
    return line


def run(folder, store, python, seconds, minutes, cores=(None,)):
    """Run what is missing, one of each table before the next; every finished sample is appended to the store."""
    end = time.monotonic() + 60 * minutes
    known = lines_of(store)
    if store.is_file():
        store.write_text("".join(f"{json.dumps(each)}\n" for each in known))
    if other := {each["budget"] for each in known} - {seconds}:
        raise InvalidInput(f"The store {store} has samples with {other.pop():g} seconds. Use --seconds or --store.")
    done = {(each["table"], each["seed"]) for each in known}
    todo = [(name, seed) for seed in range(SAMPLES) for name in TABLES if (name, seed) not in done]
    free = queue.SimpleQueue()
    for core in cores:
        free.put(core)
    running = set()
    with ThreadPoolExecutor(len(cores)) as pool, store.open("a") as file:
        while todo or running:
            while todo and len(running) < len(cores) and time.monotonic() < end:
                running.add(pool.submit(compared, *todo.pop(0), folder, python, seconds, free))
            if not running:
                break
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            for line in (each.result() for each in finished):
                print(json.dumps(line), file=file, flush=True)
                shown = [f"{way} {line[way].get('error', line[way].get('failed'))}" for way in ("flaml", "truefit")]
                print(time.strftime("%H:%M:%S"), line["table"], line["seed"], *shown, file=sys.stderr, flush=True)


def frame_of(lines):
    """Return one row per sample; nan where a search failed."""
    rows = []
    for line in lines:
        row = {each: line[each] for each in ("table", "seed", "rows")}
        for which in ("flaml", "truefit"):
            found = line[which]
            for each in ("error", "reported", "seconds", "cpu_seconds"):
                row[f"{which}_{each}"] = found.get(each, math.nan)
        found = line["truefit"]
        row["holds"] = holds(found.get("interval"), found.get("error"))
        row["recommended"] = found.get("recommended", "failed")
        row["ensemble_error"] = found.get("ensemble_error", math.nan)
        row["ensemble_reported"] = found.get("ensemble_reported", math.nan)
        row["ensemble_holds"] = holds(found.get("ensemble_interval"), found.get("ensemble_error"))
        row["advised_error"] = row["ensemble_error" if row["recommended"] == "ensemble" else "truefit_error"]
        row["advised_reported"] = row["ensemble_reported" if row["recommended"] == "ensemble" else "truefit_reported"]
        row["advised_holds"] = row["ensemble_holds" if row["recommended"] == "ensemble" else "holds"]
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame["ratio"] = np.log(frame["truefit_error"] / frame["flaml_error"])
    for which in ("flaml", "truefit", "ensemble", "advised"):
        frame[f"{which}_bias"] = 100 * (frame[f"{which}_reported"] / frame[f"{which}_error"] - 1)
    return frame


def holds(interval, error):
    """Whether an interval holds an error."""
    return interval is not None and error is not None and interval[0] <= error <= interval[1]


def ratio_cells(logs):
    """Return the geometric mean of ratios and its t-interval, given their logarithms."""
    logs = np.asarray(logs, dtype=float)
    logs = logs[np.isfinite(logs)]
    if not len(logs):
        return ["–", "–"]
    mean = logs.mean()
    if len(logs) < 2:
        return [f"{math.exp(mean):.3f}", "–"]
    half = stats.t.ppf(0.975, len(logs) - 1) * logs.std(ddof=1) / math.sqrt(len(logs))
    return [f"{math.exp(mean):.3f}", f"{math.exp(mean - half):.3f} to {math.exp(mean + half):.3f}"]


def bias_cell(shares):
    """Return a mean bias in percent with its standard error."""
    shares = np.asarray(shares, dtype=float)
    shares = shares[np.isfinite(shares)]
    if not len(shares):
        return "–"
    spread = f" ± {shares.std(ddof=1) / math.sqrt(len(shares)):.1f}" if len(shares) > 1 else ""
    return f"{shares.mean():+.1f}{spread}"


def main_table(frame):
    """Return the table of both searches, by table."""
    header = ["table", "samples", "FLAML error", "truefit error", "ratio", "95% interval", "FLAML bias %"]
    header += ["truefit bias %", "holds", "FLAML s", "truefit s", "FLAML CPU s", "truefit CPU s"]

    def row(name, part):
        one = part["table"].nunique() == 1  # errors of different tables have no common mean
        errors = [f"{part[f'{how}_error'].mean():.4g}" if one else "–" for how in ("flaml", "truefit")]
        times = [
            f"{part[f'{how}_{each}'].mean():.1f}" for each in ("seconds", "cpu_seconds") for how in ("flaml", "truefit")
        ]
        biases = [bias_cell(part[f"{how}_bias"]) for how in ("flaml", "truefit")]
        return [name, f"{len(part)}", *errors, *ratio_cells(part["ratio"]), *biases, f"{part['holds'].sum()}", *times]

    rows = [row(name, frame[frame["table"] == name]) for name in TABLES if (frame["table"] == name).any()]
    return table(header, [*rows, row("all", frame)])


def ensemble_table(frame):
    """Return the table of what else the study offers."""
    header = ["model", "samples", "ratio", "95% interval", "to selected", "95% interval", "bias %", "holds"]
    rows = []
    for title, which, part in (
        ("ensemble, where there is one", "ensemble", frame[frame["ensemble_error"].notna()]),
        ("recommended", "advised", frame),
    ):
        held = part["ensemble_holds" if which == "ensemble" else "advised_holds"].sum()
        cells = [each for how in ("flaml", "truefit") for each in ratio_cells(log_ratio(part, which, how))]
        rows.append([title, f"{len(part)}", *cells, bias_cell(part[f"{which}_bias"]), f"{held}"])
    return table(header, rows)


def log_ratio(part, one, other):
    """Return logarithms of ratios of errors."""
    return np.log(part[f"{one}_error"] / part[f"{other}_error"])


def targets(frame):
    """Return each target and whether it was met."""
    biases = {which: frame[f"{which}_bias"].mean() for which in ("flaml", "truefit")}
    ratio, held, count = math.exp(frame["ratio"].mean()), int(frame["holds"].sum()), len(frame)
    total = SAMPLES * len(TABLES)
    wanted = [
        (f"Ratio of errors at most {RATIO}", f"{ratio:.3f}", ratio <= RATIO),
        (
            "Bias of the reported error at most half of FLAML's, either sign",
            f"{biases['truefit']:+.1f}% against {biases['flaml']:+.1f}%",
            abs(biases["truefit"]) <= BIAS * abs(biases["flaml"]),
        ),
        (
            f"The interval holds in at least {HOLDS:.0%} of samples ({HOLDS * total:.0f} of {total})",
            f"{held} of {count}",
            held >= HOLDS * count,
        ),
    ]
    return table(["target", "found", ""], [[what, got, "met" if met else "missed"] for what, got, met in wanted])


def notes(frame, lines):
    """Return what else was counted: tables as units, recommendations, missed intervals, failures."""
    by_table = frame.groupby("table", sort=False)
    ratio, ends = ratio_cells(by_table["ratio"].mean())
    units = [f"{title} {bias_cell(by_table[f'{which}_bias'].mean())}%" for title, which in
             (("FLAML", "flaml"), ("truefit", "truefit"))]  # fmt: skip
    said = frame["recommended"].value_counts()
    missed = [
        f"{line['table']} {line['seed']}: estimate {found['reported']:.4g} {between(found)}, true {found['error']:.4g}"
        for line in lines
        if (found := line["truefit"]).get("error") is not None and not holds(found["interval"], found["error"])
    ]
    failed = [
        f"{which} on {line['table']} {line['seed']}: {line[which]['failed']}"
        for line in lines for which in ("flaml", "truefit") if "failed" in line[which]
    ]  # fmt: skip
    unnested = sum(line["truefit"].get("nested") is False for line in lines)
    searched = [line["truefit"]["searched"] for line in lines if "searched" in line["truefit"]]
    wins = int((frame["ratio"] < 0).sum())
    kinds = pd.Series([line["flaml"].get("evaluation", "failed") for line in lines]).value_counts()
    versions = sorted({line[which]["versions"] for line in lines for which in ("flaml", "truefit")
                       if "versions" in line[which]})  # fmt: skip
    found = [
        f"With the means of tables as units ({len(by_table)} tables): ratio {ratio} ({ends}); bias {', '.join(units)}.",
        f"truefit's error is lower in {wins} of {len(frame)} samples.",
        f"FLAML evaluated by: {', '.join(f'{name} {count}×' for name, count in kinds.items())}.",
        f"Settings in the selection of the study: {median(searched, 0):.0f} of {median(searched, 1):.0f} in the "
        "median; others were stopped by racing or for lack of time.",
        f"The study recommends: {', '.join(f'{name} {count}×' for name, count in said.items())}. Its estimate was not "
        f"from nested cross-validation in {unnested}.",
        f"Intervals that do not hold: {'; '.join(missed) or 'none'}.",
        f"Searches that failed, which have no errors in the means: {'; '.join(failed) or 'none'}.",
        f"Made with {'; '.join(versions)}.",
    ]
    return "\n".join(f"- {each}" for each in found)


def median(pairs, place):
    """Return the median of the first or the second of pairs."""
    return float(np.median([each[place] for each in pairs])) if pairs else math.nan


def between(found):
    """Return an interval as text."""
    return "without an interval" if found["interval"] is None else "({:.4g} to {:.4g})".format(*found["interval"])


def page(store, seconds, load=""):
    """Return the page."""
    lines = lines_of(store)
    frame = frame_of(lines)
    counts = frame["rows"].value_counts().sort_index()
    about = ABOUT.format(
        count=len(frame), planned=SAMPLES * len(TABLES), samples=SAMPLES, first=FIRST, small=SMALL, large=LARGE,
        test=TEST_ROWS, seconds=seconds,
        rows=" and ".join(f"{count} of {rows:,} rows" for rows, count in counts.items()),
    )  # fmt: skip
    command = (
        "    python -m benchmarks.against_flaml --flaml-python PYTHON --data FOLDER --store against_flaml.jsonl "
        "--out docs/against-flaml.md"
    )
    parts = ["# A study against FLAML at equal seconds", command, about, *([load] if load else []), targets(frame)]
    parts += ["## By table", main_table(frame), notes(frame, lines)]
    parts += [ENSEMBLE.format(seconds=seconds), ensemble_table(frame)]
    return "\n\n".join(parts) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.against_flaml", description=__doc__)
    parser.add_argument("--flaml-python", type=Path, help="interpreter of an environment with flaml[automl]")
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("against_flaml.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--seconds", type=float, default=SECONDS)
    parser.add_argument("--cores", type=int, nargs="+", default=[None], help="a sample at a time on each (Linux)")
    parser.add_argument("--load", default="", help="a sentence for the page: what else ran on the machine")
    parser.add_argument("--minutes", type=float, default=math.inf, help="0: only write the page")
    options = parser.parse_args(arguments)
    if options.minutes > 0:
        if options.data is None or options.flaml_python is None:
            parser.error("name the folder of tables (--data or TRUEFIT_DATA) and the interpreter (--flaml-python)")
        folder, python = Path(options.data), options.flaml_python
        run(folder, options.store, python, options.seconds, options.minutes, options.cores)
    text = page(options.store, options.seconds, options.load)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
