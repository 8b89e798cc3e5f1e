from __future__ import annotations

import argparse
import os
import sys
import time
import warnings
from concurrent.futures import ProcessPoolExecutor, as_completed
from pathlib import Path

import numpy as np

from benchmarks.skewed_losses.fits import CHUNK, chunk, file_of
from benchmarks.skewed_losses.page import page
from benchmarks.skewed_losses.rows import table
from benchmarks.skewed_losses.settings import DRAWN, PARTS, REPETITIONS
from truefit._core.errors import InvalidInput


def work(task):
    """Run one piece of work in a worker."""
    warnings.simplefilter("ignore")
    return chunk(*task)


def lacking(part, repetitions, folder, store):
    """Pieces of work that the store lacks, the first repetitions of every setting first."""
    return [
        (source, n, start, min(CHUNK, repetitions - start), folder, store)
        for start in range(0, repetitions, CHUNK)
        for source in PARTS[part]
        for n in source.sizes
        if not file_of(store, source, n, start).is_file()
    ]


def run(part, repetitions, folder, store, workers, minutes):
    """Fit what the store lacks."""
    store.mkdir(parents=True, exist_ok=True)
    tasks = lacking(part, repetitions, folder, store)
    began = time.monotonic()
    if workers == 1:
        for place, task in enumerate(tasks, 1):
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                break
            print(f"{place} of {len(tasks)}: {work(task)}, {time.monotonic() - began:.0f} s", flush=True)
        return
    with ProcessPoolExecutor(workers) as pool:
        futures = [pool.submit(work, task) for task in tasks]
        for place, future in enumerate(as_completed(futures), 1):
            print(f"{place} of {len(tasks)}: {future.result()}, {time.monotonic() - began:.0f} s", flush=True)
            if minutes is not None and time.monotonic() - began > 60 * minutes:
                pool.shutdown(wait=False, cancel_futures=True)
                return


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.skewed_losses")
    folder = os.environ.get("TRUEFIT_DATA")
    parser.add_argument("--data", type=Path, default=folder and Path(folder), help="folder with the tables")
    parser.add_argument("--store", type=Path, default=Path("skewed_losses"), help="folder of the finished fits")
    parser.add_argument("--part", choices=PARTS, default="judged", help="the settings")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, help="begin nothing after so many")
    parser.add_argument("--encode", type=Path, help="write the encoded tables to this folder, for --data, and stop")
    parser.add_argument("--out", type=Path, help="write the page there")
    options = parser.parse_args(arguments)
    if options.data is None:
        raise InvalidInput("The folder of the tables must be known. Name it by --data or TRUEFIT_DATA.")
    if options.encode is not None:
        options.encode.mkdir(parents=True, exist_ok=True)
        for name in sorted({source.name for source in PARTS[options.part]} - set(DRAWN)):
            X, y = table(name, options.data)
            np.savez_compressed(options.encode / f"{name}.npz", X=X.astype(np.float32), y=y)
        return
    run(options.part, options.repetitions, options.data, options.store, options.workers, options.minutes)
    if options.out is not None:
        options.out.write_text(page(options.part, options.store, options.data))


if __name__ == "__main__":
    main(sys.argv[1:])
