"""Run the benchmarks one after the other: python -m benchmarks [NAME ...]."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    *("overhead", "all_metrics", "triangle", "workers", "loo_ridge", "memory_of_fits", "memory_of_workers"),
    *("curve_coverage", "curve_adult", "curve_cost", "rows_on_demand"),
)


def main():
    for name in sys.argv[1:] or NAMES:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
        print(flush=True)


if __name__ == "__main__":
    main()
