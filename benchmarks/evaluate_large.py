"""Seconds and memory of ``truefit evaluate`` on a million rows and five models.

    python -m benchmarks.evaluate_large [--rows 1000000]

Each command runs in a process of its own, from the file to the printed result: reading, estimates, intervals and paired
tests. The target is 30 s and 2 GB on an otherwise idle machine.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import numpy as np
import pandas as pd
from scipy.special import expit

MODELS = 5
SECONDS, MEGABYTES = 30, 2000
#: Arguments by case, after the file.
CASES = {
    "probabilities, error": ("classes.parquet", "--drop", "site", "--metric", "error"),
    "probabilities, AUC": ("classes.parquet", "--drop", "site", "--metric", "auc"),
    "probabilities, Brier, 50,000 groups": ("classes.parquet", "--groups", "site", "--metric", "brier"),
    "probabilities, AUC, 50,000 groups": ("classes.parquet", "--groups", "site", "--metric", "auc"),
    "probabilities, error, from CSV": ("classes.csv", "--drop", "site", "--metric", "error"),
    "numbers, RMSE": ("numbers.parquet", "--drop", "site"),
    "numbers, RMSE, 50,000 groups": ("numbers.parquet", "--groups", "site"),
    "numbers, RMSE, from CSV": ("numbers.csv", "--drop", "site"),
}


def write_tables(folder, rows):
    random = np.random.default_rng(0)
    odds = 2 * random.standard_normal(rows)
    site = random.integers(0, max(rows // 20, 2), rows)
    noisy = {f"model {i}": odds + (1 + i / 10) * random.standard_normal(rows) for i in range(MODELS)}
    y = (random.random(rows) < expit(odds)).astype(int)
    classes = pd.DataFrame({"truth": y, "site": site, **{name: expit(each).round(6) for name, each in noisy.items()}})
    numbers = pd.DataFrame({"truth": odds, "site": site, **noisy})
    for name, frame in (("classes", classes), ("numbers", numbers)):
        frame.to_parquet(folder / f"{name}.parquet")
        frame.to_csv(folder / f"{name}.csv", index=False)


def measured(folder, arguments):
    """Return seconds, CPU seconds and the largest memory in MB of one command."""
    began = time.perf_counter()
    command = [sys.executable, "-m", "truefit", "evaluate", *arguments, "--truth", "truth"]
    running = subprocess.Popen(command, cwd=folder, stdout=subprocess.DEVNULL)
    _, status, usage = os.wait4(running.pid, 0)
    running.returncode = os.waitstatus_to_exitcode(status)
    if running.returncode:
        raise subprocess.CalledProcessError(running.returncode, command)
    cpu = usage.ru_utime + usage.ru_stime
    unit = 2**20 if sys.platform == "darwin" else 2**10
    return time.perf_counter() - began, cpu, usage.ru_maxrss / unit


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.evaluate_large")
    parser.add_argument("--rows", type=int, default=1_000_000)
    options = parser.parse_args(arguments)
    print(f"{options.rows:,} rows x {MODELS} models\n")
    print("| case | s | CPU s | MB | |\n|---|---|---|---|---|")
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tables(folder, options.rows)
        for case, given in CASES.items():
            seconds, cpu, megabytes = measured(folder, given)
            met = "met" if seconds < SECONDS and megabytes < MEGABYTES else "missed"
            print(f"| {case} | {seconds:.1f} | {cpu:.1f} | {megabytes:,.0f} | {met} |", flush=True)
    print(f"\nTarget: under {SECONDS} s and {MEGABYTES:,} MB each.")


if __name__ == "__main__":
    main(sys.argv[1:])
