"""Which interval holds for the error of the selected model? Nested cross-validation, BBC and BBC-F at equal fits.

    python -m benchmarks.winner_intervals --data FOLDER --store winner_intervals.jsonl --out docs/winner-intervals.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. A study selects among candidates on a small
sample of a table or a generator; the truth is the error of the selected candidate, fitted on the whole sample, on
held-out rows. A line of the store holds the losses of all fits of a study, so that every interval is computed from the
same fits. The same command goes on from the store, and ``--minutes`` ends it early.
"""
