"""The runner: repetitions in worker processes, each stored when it is done, until all are or the time is up."""

from __future__ import annotations

import multiprocessing
import os
import threading
import time
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from itertools import islice

from benchmarks.coverage.methods import methods_for
from benchmarks.coverage.repetition import Task, run_task

_SECONDS_BETWEEN_REPORTS = 20.0


def open_tasks(settings, done, *, repetitions, of_many_fits, wanted=None):
    """List what is to do, repetition by repetition, so that a study cut short is even over the settings."""
    tasks = []
    for repetition in range(max(repetitions, of_many_fits)):
        for setting in settings:
            names = tuple(
                method.name
                for method in methods_for(setting)
                if (wanted is None or method.name in wanted)
                and repetition < method.repetitions(setting.n, repetitions, of_many_fits)
                and (setting.name, repetition, method.name) not in done
            )
            if names:
                tasks.append(Task(setting.name, repetition, names))
    return tasks


def run(tasks, results, *, workers=1, seconds=None, report=print):
    """Run the tasks and store their lines; return how many were run."""
    start = time.monotonic()
    done, reported = 0, start

    def out_of_time():
        return seconds is not None and time.monotonic() - start > seconds

    for lines in _in_order_of_finish(tasks, workers, out_of_time):
        results.put(lines)
        done += 1
        now = time.monotonic()
        if now - reported > _SECONDS_BETWEEN_REPORTS:
            left = (now - start) / done * (len(tasks) - done)
            report(f"{done:,} of {len(tasks):,} repetitions in {now - start:.0f} s; about {left / 60:.0f} min left")
            reported = now
    return done


def _in_order_of_finish(tasks, workers, out_of_time):
    if workers == 1:
        for task in tasks:
            if out_of_time():
                return
            yield run_task(task)
        return
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    context = multiprocessing.get_context("spawn")
    waiting = iter(tasks)
    with ProcessPoolExecutor(workers, mp_context=context, initializer=_end_with_parent) as pool:
        # Few are handed out ahead, so that little is lost when the time is up.
        running = {pool.submit(run_task, task) for task in islice(waiting, 2 * workers)}
        while running:
            finished, running = wait(running, return_when=FIRST_COMPLETED)
            if not out_of_time():
                running |= {pool.submit(run_task, task) for task in islice(waiting, len(finished))}
            for future in finished:
                yield future.result()


def _end_with_parent():
    """A worker whose parent was killed would wait for work for ever."""

    def watch():
        multiprocessing.parent_process().join()
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
