"""Coverage of intervals for losses that are not 0-1: fits once, intervals from the stored losses.

    python -m benchmarks.skewed_losses --data FOLDER --store skewed_losses --workers 16 --out docs/coverage-skewed.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. Every finished piece of work is a file of
the store: the same command goes on from there. The intervals are computed from the stored losses, so that a change of
their formula needs no fit. ``--part choice`` runs the settings on which the formula was chosen, which are others.
"""
