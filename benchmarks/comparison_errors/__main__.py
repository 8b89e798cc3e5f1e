"""Run what the store lacks, and write the page: python -m benchmarks.comparison_errors --help."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

from benchmarks.comparison_errors.check import check
from benchmarks.comparison_errors.page import page
from benchmarks.comparison_errors.simulation import jobs, line_of
from benchmarks.store import lines_of, run


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.comparison_errors", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("comparison_errors.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf)
    parser.add_argument("--check", action="store_true", help="only compare the tests with truefit.compare")
    options = parser.parse_args(arguments)
    if options.data is None and not options.check:
        parser.error("name the folder of tables: --data FOLDER, or TRUEFIT_DATA")
    checked = check()
    print(f"{checked:,} p-values are those of truefit.compare", flush=True)
    if options.check:
        return
    known = {(line["kind"], line["setting"], line["repetition"]) for line in lines_of(options.store)}
    todo = [(*job, Path(options.data)) for job in jobs() if job not in known]
    run(todo, line_of, options.store, options.workers, options.minutes)
    text = page(lines_of(options.store), checked)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
