"""Learn the constants of the intervals from the reference curves, and see how well extrapolation does."""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from pathlib import Path

import numpy as np

from benchmarks.lcdb.calibrate import VIEWS, learn
from benchmarks.lcdb.curves import read_curves
from benchmarks.lcdb.observed import observe
from benchmarks.lcdb.page import page
from benchmarks.lcdb.trial import Trial
from truefit import extrapolate
from truefit.stats.curve_interval import Calibration

#: What the targets are about: curves as they are, seen up to these shares.
SHARES = (0.164, 0.05)


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.lcdb", description=__doc__)
    parser.add_argument("--data", default=os.environ.get("TRUEFIT_DATA"), help="folder with lcdb_curves.parquet")
    parser.add_argument("--table", type=Path, help="write the page")
    parser.add_argument("--constants", type=Path, help="write the constants, learnt from all curves")
    return parser.parse_args(arguments)


def main(arguments=None):
    options = parsed(arguments)
    if options.data is None:
        sys.exit("Say where lcdb_curves.parquet is: --data DIR, or TRUEFIT_DATA.")
    started = time.perf_counter()
    curves = read_curves(Path(options.data) / "lcdb_curves.parquet")
    observed = [observe(curves, view) for view in VIEWS]
    count = sum(len(each.curves) for each in observed)
    tell(f"{count:,} extrapolations of {len(curves):,} curves, {time.perf_counter() - started:.0f} s")
    if options.constants is not None:
        options.constants.write_text(json.dumps(rounded(learn(observed)), indent=1) + "\n")
        tell(f"wrote {options.constants}, {time.perf_counter() - started:.0f} s")
    if options.table is not None:
        options.table.parent.mkdir(parents=True, exist_ok=True)
        options.table.write_text(made_page(curves, observed))
        tell(f"wrote {options.table}, {time.perf_counter() - started:.0f} s")


def made_page(curves, observed):
    for_judged = Calibration.from_dict(learn(observed, lambda curve: not curve.judged))
    for_others = Calibration.from_dict(learn(observed, lambda curve: curve.judged))
    trials = [Trial(each, for_judged, for_others) for each in observed]
    plain = {trial.observed.view.share: trial for trial in trials if trial.observed.view.plain}
    main_trials = {share: plain[share] for share in SHARES}
    return page(curves, trials, main_trials, seconds_per_curve(plain[SHARES[0]].observed))


def seconds_per_curve(observed, count=300):
    """Return what one call of extrapolate with one prediction takes of a processor, over curves one by one."""
    chosen = np.linspace(0, len(observed.curves) - 1, count).astype(int)
    points = observed.points
    started = time.process_time()
    for i in chosen:
        used = points.used[i]
        result = extrapolate(points.sizes[i, used], points.errors[i, used], points.stderr[i, used])
        result.predict(observed.at[i])
    return (time.process_time() - started) / count


def rounded(kept):
    """Six digits are enough, and are the same on every machine."""
    if isinstance(kept, dict):
        return {key: rounded(value) for key, value in kept.items()}
    if isinstance(kept, list):
        return [rounded(value) for value in kept]
    return float(f"{kept:.6g}") if isinstance(kept, float) else kept


def tell(text):
    print(text, flush=True)


if __name__ == "__main__":
    main()
