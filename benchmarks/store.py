"""Store: a file with one line of JSON for each finished repetition, which the same command resumes."""

from __future__ import annotations

import json
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait

from threadpoolctl import threadpool_limits


def lines_of(store):
    """Return the lines of a store; one that was cut short is left out, and run again."""
    lines = []
    for text in store.read_text().splitlines() if store.exists() else ():
        try:
            lines.append(json.loads(text))
        except json.JSONDecodeError:
            continue
    return lines


def run(jobs, function, store, workers, minutes):
    """Run jobs in worker processes, and append to the store what each returns; begin none when the time is up.

    ``jobs`` are the arguments of ``function``, in the order in which they are run.
    """
    end, todo = time.monotonic() + 60 * minutes, list(jobs)[::-1]
    cut_short = store.exists() and not store.read_text().endswith("\n")
    with ProcessPoolExecutor(workers, initializer=_quiet) as pool, store.open("a") as file:
        file.write("\n" if cut_short else "")
        running = set()
        while running or (todo and time.monotonic() < end):
            while todo and len(running) < workers and time.monotonic() < end:
                running.add(pool.submit(function, *todo.pop()))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                print(json.dumps(each.result()), file=file, flush=True)


def _quiet():
    """Keep a worker to one thread, and its warnings to itself."""
    threadpool_limits(1)
    warnings.simplefilter("ignore")
