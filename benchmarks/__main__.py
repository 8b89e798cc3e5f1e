"""Run the benchmarks one after the other: python -m benchmarks [NAME ...]."""

from __future__ import annotations

import importlib
import sys

NAMES = (
    "overhead",
    "all_metrics",
    "triangle",
    "agghoo_speed",
    "workers",
    "loo_ridge",
    "memory_of_fits",
    "memory_of_workers",
)


def main():
    for name in sys.argv[1:] or NAMES:
        print(f"== {name}", flush=True)
        importlib.import_module(f"benchmarks.{name}").main()
        print(flush=True)


if __name__ == "__main__":
    main()
