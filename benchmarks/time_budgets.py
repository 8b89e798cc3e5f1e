"""What `truefit study FILE --budget` does with its time: which questions it answers, and how much it uses.

    python -m benchmarks.time_budgets --data FOLDER --store time_budgets.jsonl --out docs/time-budgets.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. Each run is the whole command in a process
of its own, one at a time. Every finished run is a line of the store: the same command goes on from there, and
``--minutes`` ends it early.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pyarrow.parquet

from benchmarks.markdown import table
from benchmarks.page import machine
from benchmarks.real_table import table_file
from benchmarks.store import lines_of

#: Tables of 150 to 54,000 rows; iris comes with scikit-learn.
TABLES = ("iris", "german_credit", "adult", "diamonds", "spambase", "letter")
BUDGETS = (60, 90)
#: The share of the budget by the study's own clock, unless everything was done.
LEAST, MOST = 0.85, 1.05
#: A command that takes longer than this many times its budget is stopped.
PATIENCE = 10
#: The command, with the clock of the study itself on standard error.
COMMAND = """
import importlib, sys, time
from truefit.__main__ import main
module = importlib.import_module("truefit._study.study")
run = module.study
def timed(*arguments, **options):
    began = time.monotonic()
    try:
        return run(*arguments, **options)
    finally:
        print("study seconds:", time.monotonic() - began, file=sys.stderr)
module.study = timed
main()
"""

ABOUT = """\
**{count} of {planned} runs were made.** Tables, budgets and their order were fixed beforehand; every run is counted.
Each is the whole command, `truefit study FILE --target COLUMN --budget 60s --seed 0 --json`, in a process of its own,
without a store. *Study s* is the clock of `truefit.study` inside of it, *used* its share of the budget, *command s* the
wall time of the whole command, with the start of Python, reading the file and the diagnostics of the result. A question
is *answered* unless its answer is "Not run" or "No forecast is possible". *Nested* says whether the estimate is from
nested cross-validation, *searched* how many of all settings were in the selection, *for time* how many were left out to
keep to the budget; others were stopped by racing. *Noise* and *bootstrap* are the repeats of these parts, of
{repeats} and {rounds} without a budget. *Everything done* is a study with all repeats, no part that was not run and no
setting left out."""

#: Repeats of the most thorough perturbed validation, and bootstrap samples.
REPEATS, ROUNDS = 10, 100
#: In the first answer: settings that the budget stopped.
LEFT_OUT = re.compile(r"([\d,]+) left out to keep to the time budget")


def command_of(name, folder, budget):
    """Return the arguments of a run, and the number of rows of its table."""
    if name == "iris":
        return ["study", "iris", "--budget", f"{budget}s", "--seed", "0", "--json"], 150
    file = table_file(folder, name)
    with pyarrow.parquet.ParquetFile(file) as table:
        target, rows = table.schema_arrow.names[-1], table.metadata.num_rows
    return ["study", str(file), "--target", target, "--budget", f"{budget}s", "--seed", "0", "--json"], rows


def measured(name, folder, budget):
    """Run the command once: a line of the store."""
    arguments, rows = command_of(name, folder, budget)
    load, began = getattr(os, "getloadavg", lambda: [math.nan])()[0], time.monotonic()
    line = {"table": name, "rows": rows, "budget": budget, "load": round(load, 1)}
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    line |= {"cores": cores, "machine": machine()}
    try:
        ran = subprocess.run(
            [sys.executable, "-c", COMMAND, *arguments], capture_output=True, text=True, timeout=PATIENCE * budget,
            check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return line | {"command_seconds": time.monotonic() - began, "failed": f"stopped after {PATIENCE} budgets"}
    line["command_seconds"] = time.monotonic() - began
    seconds = [text for text in ran.stderr.splitlines() if text.startswith("study seconds:")]
    line["study_seconds"] = float(seconds[-1].split()[-1]) if seconds else math.nan
    if ran.returncode:
        return line | {"failed": (ran.stderr.strip().splitlines() or ["no message"])[-1]}
    found = json.loads(ran.stdout)
    parts, left_out = found["parts"], LEFT_OUT.search(" ".join(found["answers"][0]["sentences"]))
    return line | {
        "answers": [each["headline"] for each in found["answers"]],
        "not_run": found["not_run"],
        "nested": "honest" in parts,
        "settings": len(found["settings"]),
        "searched": found["searched"],
        "left_out": int(left_out[1].replace(",", "")) if left_out else 0,
        "repeats": parts.get("perturbation", {}).get("repeats", 0),
        "rounds": parts.get("bias_variance", {}).get("rounds", 0),
        "parts": sorted(parts),
        "fits": found["fits"],
        "best": found["best"],
    }


def run(folder, store, minutes, budgets):
    """Run what is missing; every finished run is appended to the store."""
    end = time.monotonic() + 60 * minutes
    done = {(each["table"], each["budget"]) for each in lines_of(store)}
    for name, budget in [(name, budget) for budget in budgets for name in TABLES if (name, budget) not in done]:
        if time.monotonic() > end:
            break
        line = measured(name, folder, budget)
        with store.open("a") as file:
            file.write(f"{json.dumps(line)}\n")
        print(name, budget, f"{line['command_seconds']:.1f} s", line.get("failed", ""), file=sys.stderr, flush=True)


def unanswered(answers):
    """Return how many questions have no answer."""
    return sum(each.startswith(("Not run", "No forecast is possible")) for each in answers)


def is_everything_done(line):
    """Whether a study had nothing left to do."""
    repeated = line["repeats"] >= REPEATS and line["rounds"] >= ROUNDS
    return repeated and not line["not_run"] and not line["left_out"]


def verdict(line):
    """Return whether a run meets the target, and why."""
    if "failed" in line:
        return "missed: failed"
    share = line["study_seconds"] / line["budget"]
    if unanswered(line["answers"]):
        return "missed: not all answered"
    if LEAST <= share <= MOST:
        return "met"
    if share < LEAST and is_everything_done(line):
        return "met: everything done"
    return "missed: time left" if share < LEAST else "missed: too long"


def row_of(line):
    """Return a row of the table."""
    cells = [line["table"], f"{line['rows']:,}", f"{line['budget']} s", f"{line['cores']}", f"{line['load']:.1f}"]
    if "failed" in line:
        return [*cells, f"{line.get('study_seconds', math.nan):.1f}", "–", f"{line['command_seconds']:.1f}",
                *["–"] * 7, verdict(line)]  # fmt: skip
    answered = len(line["answers"]) - unanswered(line["answers"])
    return [
        *cells, f"{line['study_seconds']:.1f}", f"{line['study_seconds'] / line['budget']:.0%}",
        f"{line['command_seconds']:.1f}", f"{answered} of {len(line['answers'])}", "yes" if line["nested"] else "no",
        f"{line['searched']} of {line['settings']}", f"{line['left_out']}", f"{line['repeats']}", f"{line['rounds']}",
        "yes" if is_everything_done(line) else "no", verdict(line),
    ]  # fmt: skip


def page(store, load=""):
    """Return the page."""
    lines = lines_of(store)
    header = ["table", "rows", "budget", "cores", "load before", "study s", "used", "command s", "answered", "nested"]
    header += ["searched", "for time", "noise", "bootstrap", "everything done", "target"]
    met = sum(verdict(line).startswith("met") for line in lines)
    about = ABOUT.format(count=len(lines), planned=len(TABLES) * len(BUDGETS), repeats=REPEATS, rounds=ROUNDS)
    command = (
        "    python -m benchmarks.time_budgets --data FOLDER --store time_budgets.jsonl --out docs/time-budgets.md"
    )
    wanted = (
        f"Target: all four questions answered, and {LEAST:.0%} to {MOST:.0%} of the budget used by the study's clock, "
        f"less only where everything was done. Met in {met} of {len(lines)}."
    )
    apart = pd.Series([line["command_seconds"] - line["study_seconds"] for line in lines if "failed" not in line])
    beside = f"The command takes {apart.mean():.1f} s more than the study in the mean, {apart.max():.1f} s at most."
    rest = [
        f"- {line['table']}, {line['budget']} s: " + (
            line["failed"] if "failed" in line else " ".join(line["answers"]) + _not_run(line)
        ) for line in lines
    ]  # fmt: skip
    parts = ["# What a study does with a time budget", command, about, *([load] if load else []), wanted]
    parts += [table(header, [row_of(line) for line in lines]), beside, "## What was answered", "\n".join(rest)]
    machines = sorted({line["machine"] for line in lines})
    return "\n\n".join([*parts, f"Made on {'; '.join(machines)}."]) + "\n"


def _not_run(line):
    skipped = "; ".join(f"{each['what']} ({each['why'].rstrip('.')})" for each in line["not_run"])
    return f" *Not run:* {skipped}." if skipped else ""


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.time_budgets", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("time_budgets.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--budget", type=int, action="append", help="seconds; repeatable (default: 60 and 90)")
    parser.add_argument("--core", type=int, help="run on this core only (Linux)")
    parser.add_argument("--load", default="", help="a sentence for the page: what else ran on the machine")
    parser.add_argument("--minutes", type=float, default=math.inf, help="0: only write the page")
    options = parser.parse_args(arguments)
    if options.minutes > 0:
        if options.data is None:
            parser.error("name the folder of tables: --data FOLDER, or TRUEFIT_DATA")
        if options.core is not None:
            os.sched_setaffinity(0, {options.core})
        run(Path(options.data), options.store, options.minutes, options.budget or BUDGETS)
    text = page(options.store, options.load)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
