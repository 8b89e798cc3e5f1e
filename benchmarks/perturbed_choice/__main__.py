"""Run both studies, or go on with them: python -m benchmarks.perturbed_choice --help."""

from __future__ import annotations

import argparse
import os
from pathlib import Path

from benchmarks.perturbed_choice.grids import GRIDS
from benchmarks.perturbed_choice.page import page
from benchmarks.perturbed_choice.regret import trial
from benchmarks.perturbed_choice.stability import RUNS, run
from benchmarks.perturbed_choice.tables import TABLES
from truefit import Engine


def main():
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perturbed_choice", description=__doc__)
    folder = os.environ.get("TRUEFIT_DATA")
    parser.add_argument("--data", type=Path, default=folder, required=folder is None, help="folder with the tables")
    parser.add_argument("--store", help="where fits are kept; the same again goes on")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--repetitions", type=int, default=10)
    parser.add_argument("--out", type=Path, help="write the page there")
    options = parser.parse_args()
    with Engine(store=options.store, workers=options.workers, progress=False) as engine:
        runs = [run(seed, engine) for seed in range(RUNS)]
        trials = []
        for table in TABLES:
            for grid, candidates in GRIDS.items():
                seeds = range(options.repetitions)
                trials.extend(trial(table, grid, candidates, seed, options.data, engine) for seed in seeds)
                print(table.name, grid, trials[-1].choice, flush=True)
    text = page(trials, runs)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
