"""Extrapolation of real learning curves (LCDB): the constants of its intervals, and how well it does.

    python -m benchmarks.lcdb --data DIR --table docs/reproduction/lcdb.md

DIR, or the environment's TRUEFIT_DATA, holds ``lcdb_curves.parquet``.
"""
