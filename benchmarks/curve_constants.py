"""Learn the constants of extrapolation from measured curves, and write them into the package.

    TRUEFIT_DATA=DIR python -m benchmarks.curve_intervals --part learn --repetitions 4 --store curves
    TRUEFIT_DATA=DIR python -m benchmarks.curve_constants --store curves

DIR holds ``lcdb_curves.parquet``, ``lcdb_datasets.parquet`` and the tables; the first command measures curves of the
tables. ``truefit reproduce lcdb`` and docs/coverage-curves.md say how well the constants do.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

import truefit
from benchmarks.curve_intervals.constants import reference_curves, table_curves
from benchmarks.curve_intervals.left_out import calibrated
from benchmarks.curve_intervals.reference import read_baselines
from papers.lcdb.constants import TAILS, VIEWS, learn, learn_gain
from papers.lcdb.curves import observe, read_curves
from truefit._stats.curve_single_runs import FEATURES


def main(arguments=()):
    folder = os.environ.get("TRUEFIT_DATA")
    parser = argparse.ArgumentParser(prog="python -m benchmarks.curve_constants")
    parser.add_argument("--data", type=Path, default=folder and Path(folder), help="folder with the curves")
    parser.add_argument("--store", type=Path, help="folder with learn.jsonl, for single runs")
    parser.add_argument("--only", choices=("extrapolate", "single_runs"), help="learn the constants of one kind alone")
    options = parser.parse_args(arguments)
    if options.data is None:
        sys.exit("Say where lcdb_curves.parquet is: TRUEFIT_DATA=DIR.")
    curves = read_curves(options.data / "lcdb_curves.parquet")
    room = Path(truefit.__file__).parent / "_stats"
    if options.only != "single_runs":
        write(room / "curve_interval.json", learn([observe(curves, view) for view in VIEWS]))
        write(room / "curve_gain.json", learn_gain(curves))
    if options.only != "extrapolate" and options.store is not None:
        reference = reference_curves(curves, read_baselines(options.data / "lcdb_datasets.parquet"))
        tables = table_curves(options.store / "learn.jsonl", "learn")
        # The reference curves and the tables of a kind come first; losses are learnt from shares too.
        parts = {"share": [reference, tables["share"]], "loss": [reference, tables["loss"], tables["share"]]}
        kinds = {kind: calibrated(each, kind) for kind, each in parts.items()}
        write(room / "curve_single_runs.json", {"features": list(FEATURES), "tails": list(TAILS), **kinds})


def write(path, kept):
    path.write_text(json.dumps(rounded(kept), indent=1) + "\n")
    print(f"wrote {path}", flush=True)


def rounded(kept):
    """Six digits are enough, and are the same on every machine."""
    if isinstance(kept, dict):
        return {key: rounded(value) for key, value in kept.items()}
    if isinstance(kept, list):
        return [rounded(value) for value in kept]
    return float(f"{kept:.6g}") if isinstance(kept, float) else kept


if __name__ == "__main__":
    main(sys.argv[1:])
