"""Run the studies, or go on with them, and write the page: python -m benchmarks.winner_intervals --help."""

from __future__ import annotations

import argparse
import json
import math
import os
import time
from concurrent.futures import FIRST_COMPLETED, Future, ProcessPoolExecutor, wait
from pathlib import Path

import benchmarks.winner_intervals as this
from benchmarks.winner_intervals.page import page
from benchmarks.winner_intervals.sources import DRAWN, MANY_SOURCES, ROWS, SOURCES
from benchmarks.winner_intervals.studies import study

#: Samples of each table and size with few candidates, of each generator, and of each source with many.
SEEDS, DRAWN_SEEDS, MANY_SEEDS = 40, 80, 20


def planned():
    """Return all studies, in the order of their seeds."""
    found = []
    for seed in range(DRAWN_SEEDS):
        found += [("few", source, rows, seed) for source in (SOURCES if seed < SEEDS else DRAWN) for rows in ROWS]
        if seed % 2 and seed // 2 < MANY_SEEDS:
            found += [("many", source, ROWS[0], seed // 2) for source in MANY_SOURCES]
    return found


def finished(store):
    """Return the lines of a store; one that was cut off by a crash is left out."""
    found = {}
    for text in store.read_text().splitlines() if store.is_file() else ():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        found[line["arm"], line["source"], line["rows"], line["seed"]] = line
    return found


def run(folder, store, workers, minutes):
    """Run the studies that the store lacks; every finished one is appended."""
    end = time.monotonic() + 60 * minutes
    known = finished(store)
    lacking = [each for each in planned() if each not in known]
    cut_off = store.is_file() and not store.read_text().endswith("\n")
    with ProcessPoolExecutor(workers) as pool, store.open("a") as lines:
        lines.write("\n" if cut_off else "")
        running: set[Future] = set()
        while lacking or running:
            while lacking and len(running) < workers and time.monotonic() < end:
                running.add(pool.submit(study, *lacking.pop(0), folder))
            if not running:
                print(f"Time is up; {len(lacking)} studies are left. The same command goes on.")
                return
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for future in done:
                print(json.dumps(future.result()), file=lines, flush=True)


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.winner_intervals", description=this.__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("winner_intervals.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf)
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("name the folder of tables: --data FOLDER, or TRUEFIT_DATA")
    run(Path(options.data), options.store, options.workers, options.minutes)
    text = page(list(finished(options.store).values()), len(planned()))
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
