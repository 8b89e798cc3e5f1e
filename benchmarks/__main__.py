"""Run the benchmarks one after the other: python -m benchmarks [NAME ...] [--page docs/performance.md]."""

from __future__ import annotations

import argparse
import importlib
from pathlib import Path

from benchmarks.page import NAMES as SPEED
from benchmarks.page import Page, measured
from truefit._core.errors import InvalidInput

NAMES = (
    *SPEED,
    *("loo_ridge", "row_sets", "racing", "study_replay"),
    *("memory_of_fits", "memory_of_workers", "rows_on_demand"),
    *("curve_coverage", "curve_adult", "curve_cost"),
)


def names_for(page, options):
    """Return what to run: what is named; for a page what it lacks, or all benchmarks of speed with --rerun."""
    if options.names:
        return options.names
    if page is None:
        return NAMES
    return SPEED if options.rerun else page.missing()


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"by default all: {', '.join(NAMES)}")
    parser.add_argument("--page", type=Path, help="write what the benchmarks of speed find there, after each of them")
    parser.add_argument("--rerun", action="store_true", help="run again what the page has already")
    options = parser.parse_args(arguments)
    page = None if options.page is None else Page(options.page)
    lacking = sorted(set(options.names) - set(NAMES if page is None else SPEED))
    if lacking:
        parser.error(f"no such benchmark{' of speed' if page is not None else ''}: {', '.join(lacking)}")
    for name in names_for(page, options):
        print(f"== {name}", flush=True)
        try:
            if page is None:
                importlib.import_module(f"benchmarks.{name}").main()
            else:
                page.add(name, measured(name))
        except InvalidInput as missing:  # a table that is not at hand: the others need not go without
            print(f"left out: {missing}")
        print(flush=True)


if __name__ == "__main__":
    main()
