"""Run the study, or go on with it, and write its page: python -m benchmarks.coverage --help."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections import Counter
from fnmatch import fnmatch
from pathlib import Path

from benchmarks.coverage.cost import OF_MANY_FITS, REPETITIONS, core_seconds
from benchmarks.coverage.methods import METHODS
from benchmarks.coverage.page import page
from benchmarks.coverage.results import Results
from benchmarks.coverage.runner import open_tasks, run
from benchmarks.coverage.settings import SETTINGS


def parsed(arguments):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.coverage", description=__doc__)
    parser.add_argument("--store", default="coverage.db", help="where repetitions are kept; the same again goes on")
    parser.add_argument("--workers", type=int, default=1, help="processes")
    parser.add_argument("--minutes", type=float, help="stop after so many minutes")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--of-many-fits", type=int, default=OF_MANY_FITS, help="repetitions of methods with many fits")
    parser.add_argument("--only", nargs="+", metavar="SETTING", help="patterns such as 'moons/*' or '*/100'")
    parser.add_argument("--methods", nargs="+", metavar="METHOD", help="patterns such as 'triangle_*'")
    parser.add_argument("--table", type=Path, help="write the page of what the store holds of these methods")
    parser.add_argument("--list", action="store_true", help="name the settings and methods, and do nothing")
    return parser.parse_args(arguments)


def command_line(arguments):
    """Return the command as one would type it, the store without its folder."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    if "--store" in given:
        at = given.index("--store") + 1
        given[at] = Path(given[at]).name
    return shlex.join(["python", "-m", "benchmarks.coverage", *given])


def chosen(each, patterns):
    return [one for one in each if patterns is None or any(fnmatch(one.name, pattern) for pattern in patterns)]


def main(arguments=None):
    options = parsed(arguments)
    settings, methods = chosen(SETTINGS, options.only), chosen(METHODS, options.methods)
    if options.list:
        print(*(f"{setting.name}  ({setting.kind})" for setting in settings), sep="\n")
        print(*(f"{method.name}  {method.label} ({method.kind})" for method in methods), sep="\n")
        return
    if not settings or not methods:
        sys.exit("Nothing is called that: see --list.")
    often = min(options.of_many_fits, options.repetitions)
    counts = {"repetitions": options.repetitions, "of_many_fits": often}
    with Results(options.store) as results:
        tasks = open_tasks(settings, results.done(), **counts, wanted={method.name for method in methods})
        print(f"{len(tasks):,} repetitions to do on {options.workers} workers", flush=True)
        seconds = None if options.minutes is None else 60 * options.minutes
        try:
            done = run(tasks, results, workers=options.workers, seconds=seconds, report=tell)
        except KeyboardInterrupt:
            sys.exit(f"Stopped. What is done is kept in {options.store}; the same command goes on.")
        lines = results.lines()
        tell(f"{done:,} done, {len(tasks) - done:,} left")
        tell_cost(settings, lines, methods)
        refused = Counter(line.reason for each in lines.values() for line in each if line.low is None)
        for reason, count in refused.most_common(10):
            tell(f"no interval in {count:,} lines: {reason}")
        if options.table is not None:
            options.table.parent.mkdir(parents=True, exist_ok=True)
            wanted = {method.name for method in methods}
            of_these = {(setting, method): those for (setting, method), those in lines.items() if method in wanted}
            options.table.write_text(page(of_these, results.made_with(), command_line(arguments)))
            tell(f"wrote {options.table}")


def tell(text):
    print(text, flush=True)


def tell_cost(settings, lines, methods):
    spent, whole, unknown = core_seconds(settings, lines, methods)
    text = f"{spent / 3600:.2f} core-hours so far; all of it would take about {whole / 3600:.2f}"
    tell(text + (f", and what {unknown} methods take that have not run yet" if unknown else ""))


if __name__ == "__main__":
    main()
