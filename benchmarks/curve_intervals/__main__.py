from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from benchmarks.curve_intervals.constants import reference_curves, table_curves
from benchmarks.curve_intervals.left_out import section
from benchmarks.curve_intervals.measure import DRAWS, FOLDS, TEST_ROWS, run
from benchmarks.curve_intervals.page import HEAD, by_group, checked, table, targets
from benchmarks.curve_intervals.reference import read_baselines
from benchmarks.curve_intervals.sources import PARTS
from papers.lcdb.curves import read_curves
from truefit._core.errors import InvalidInput

TITLES = {"share": "tables, classification", "loss": "tables, regression (MSE, RMSE, MAE)"}


def page(folder, store):
    """Return the page."""
    curves = read_curves(folder / "lcdb_curves.parquet")
    reference = reference_curves(curves, read_baselines(folder / "lcdb_datasets.parquet"))
    judged = {curve.family for curve in curves if curve.judged}
    measured = [("reference", reference.chosen([family in judged for family in reference.sources]))]
    measured += [(TITLES[kind], each) for kind, each in table_curves(store / "check.jsonl", "check").items()]
    sets = [(title, each.kind, checked(each)) for title, each in measured]
    learnt = section(reference, table_curves(store / "learn.jsonl", "learn"), sets)
    head = HEAD.format(folds=FOLDS, draws=DRAWS, tests=f"{TEST_ROWS:,}")
    parts = [head, "## Targets\n", targets(sets), "\n## Coverage, width and bias\n", table(sets)]
    return "\n".join([*parts, "\n## By kind of learner\n", by_group(sets), "\n" + learnt])


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curve_intervals")
    folder = os.environ.get("TRUEFIT_DATA")
    parser.add_argument("--data", type=Path, default=folder and Path(folder), help="folder with tables and curves")
    parser.add_argument("--store", type=Path, default=Path("curves"), help="folder of the measured curves")
    parser.add_argument("--part", choices=PARTS, default="check")
    parser.add_argument("--repetitions", type=int, default=None, help="samples of each size")
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--out", type=Path, help="write the page there")
    options = parser.parse_args(arguments)
    if options.data is None:
        raise InvalidInput("The folder of the tables must be known. Name it by --data or TRUEFIT_DATA.")
    options.store.mkdir(parents=True, exist_ok=True)
    more = {} if options.repetitions is None else {"repetitions": options.repetitions}
    run(options.part, options.store / f"{options.part}.jsonl", options.data, minutes=options.minutes, **more)
    if options.out is not None:
        options.out.write_text(page(options.data, options.store))


if __name__ == "__main__":
    main(sys.argv[1:])
