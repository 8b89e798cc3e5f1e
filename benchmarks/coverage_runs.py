"""Samples of a coverage study, measured one by one into a file that the same command resumes."""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice
from pathlib import Path

import numpy as np
import sklearn

import truefit
from benchmarks.store import lines_of

REPETITIONS = 500


def versions():
    """Return what a number may depend on."""
    return f"python {platform.python_version()}, scikit-learn {sklearn.__version__}, truefit {truefit.__version__}"


def finished(store):
    """Return the lines of a file, by setting and repetition."""
    return {(line["setting"], line["repetition"]): line for line in lines_of(store)}


def run(store, settings, measured, repetitions, workers, minutes):
    """Measure the samples that the file lacks, repetition by repetition, so that a run cut short is even."""
    known = finished(store)
    lacking = [
        (place, repetition)
        for repetition in range(repetitions)
        for place, setting in enumerate(settings)
        if (setting.name, repetition) not in known
    ]
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    print(f"{len(lacking):,} samples to measure on {workers} workers", flush=True)
    cut_off = store.is_file() and not store.read_text().endswith("\n")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    waiting, done = iter(lacking), 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool, store.open("a") as file:
        file.write("\n" if cut_off else "")
        # Few are handed out ahead, so that little is lost when the time is up.
        running = {pool.submit(measured, *each) for each in islice(waiting, 2 * workers)}
        while running:
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            if time.monotonic() < ends:
                running |= {pool.submit(measured, *each) for each in islice(waiting, len(ready))}
            for future in ready:
                print(json.dumps(future.result()), file=file, flush=True)
            done += len(ready)
            if done // 500 > (done - len(ready)) // 500:
                print(f"{done:,} of {len(lacking):,} samples", flush=True)
    print(f"{done:,} measured, {len(lacking) - done:,} left")


def covers(own, method):
    """Return coverage and mean width of an interval over its samples that have it, and how many have none."""
    given = [each for each in own if each[method] is not None]
    if not given:
        return math.nan, math.nan, len(own)
    low, high = np.array([each[method] for each in given]).T
    truth = np.array([each["truth"] for each in given])
    return float(np.mean((low <= truth) & (truth <= high))), float(np.mean(high - low)), len(own) - len(given)


def how_made(name, lines, repetitions, settings, cells):
    """Return the section of a page that says how to make it again."""
    seconds = sum(line["cpu_seconds"] for line in lines)
    unfinished = repetitions * settings - len(lines)
    return (
        f"    python -m benchmarks.{name}_coverage --repetitions {repetitions} --workers 16 "
        f"--out {name}_coverage.jsonl --page docs/coverage-{name}{'s' * (name == 'group')}.md\n\n"
        f"{repetitions} repetitions of {cells} settings: the Monte-Carlo standard error of a coverage is "
        f"{100 * math.sqrt(0.95 * 0.05 / repetitions):.1f} points at 95%. {seconds / 60:.0f} minutes of CPU. Made with "
        f"{'; '.join(sorted({line['versions'] for line in lines}))}."
        + (f" {unfinished} of {repetitions * settings} samples have not been measured." if unfinished > 0 else "")
    )


def command(name, settings, measured, page, arguments):
    """Read the options, measure, and write the page that ``page(lines, repetitions)`` returns."""
    parser = argparse.ArgumentParser(prog=f"python -m benchmarks.{name}_coverage")
    default = Path(f"{name}_coverage.jsonl")
    parser.add_argument("--out", type=Path, default=default, help="one line per measured sample")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--workers", type=int, default=1, help="samples at a time")
    parser.add_argument("--minutes", type=float, help="begin no sample after so many")
    parser.add_argument("--page", type=Path, help="write the page there")
    options = parser.parse_args(arguments)
    run(options.out, settings, measured, options.repetitions, options.workers, options.minutes)
    known = finished(options.out)
    lines = [line for (_, repetition), line in known.items() if repetition < options.repetitions]
    if not lines:
        print("No sample is measured yet.")
        return
    text = page(lines, options.repetitions)
    print(text.partition("## Every setting")[0])
    print(f"{np.mean([line['cpu_seconds'] for line in lines]):.2f} s of CPU per sample")
    if options.page is not None:
        options.page.write_text(text)
