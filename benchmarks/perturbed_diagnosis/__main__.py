"""Run what the store lacks, and write the page: python -m benchmarks.perturbed_diagnosis --help."""

from __future__ import annotations

import argparse
import math
import os
from pathlib import Path

from benchmarks.perturbed_diagnosis.page import page
from benchmarks.perturbed_diagnosis.sample import diagnosed, planned
from benchmarks.store import lines_of, run


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perturbed_diagnosis", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("perturbed_diagnosis.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf)
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("name the folder of tables: --data FOLDER, or TRUEFIT_DATA")
    folder = Path(options.data)
    known = {(line["table"], line["rows"], line["seed"]) for line in lines_of(options.store)}
    todo = [(*sample, folder) for sample in planned(folder) if sample not in known]
    run(todo, diagnosed, options.store, options.workers, options.minutes)
    text = page(lines_of(options.store))
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
