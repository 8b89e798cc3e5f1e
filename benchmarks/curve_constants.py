"""Learn the constants of extrapolation from the reference curves, and write them into the package.

    TRUEFIT_DATA=DIR python -m benchmarks.curve_constants

DIR holds ``lcdb_curves.parquet``. ``truefit reproduce lcdb`` says how well they do.
"""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import truefit
from papers.lcdb.constants import VIEWS, learn, learn_gain
from papers.lcdb.curves import observe, read_curves


def main():
    folder = os.environ.get("TRUEFIT_DATA")
    if folder is None:
        sys.exit("Say where lcdb_curves.parquet is: TRUEFIT_DATA=DIR.")
    curves = read_curves(Path(folder) / "lcdb_curves.parquet")
    room = Path(truefit.__file__).parent / "_stats"
    write(room / "curve_interval.json", learn([observe(curves, view) for view in VIEWS]))
    write(room / "curve_gain.json", learn_gain(curves))


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
    main()
