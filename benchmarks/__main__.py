"""Run the benchmarks one after the other: python -m benchmarks [NAME ...]."""

from __future__ import annotations

import importlib
import sys

from truefit.core.errors import InvalidInput

NAMES = (
    *(
        "overhead",
        "all_metrics",
        "triangle",
        "honest_tuned",
        "raw_adult",
        "ordinary",
        "workers",
        "unlocked",
        "loo_ridge",
        "loo",
        "paths",
        "same_rows",
        "agghoo_speed",
        "racing",
        "by_hand",
        "study_replay",
    ),
    *("memory_of_fits", "memory_of_workers", "rows_on_demand"),
    *("curve_coverage", "curve_adult", "curve_cost"),
)


def main():
    for name in sys.argv[1:] or NAMES:
        print(f"== {name}", flush=True)
        try:
            importlib.import_module(f"benchmarks.{name}").main()
        except InvalidInput as lacking:  # a table that is not at hand: the others need not go without
            print(f"left out: {lacking}")
        print(flush=True)


if __name__ == "__main__":
    main()
