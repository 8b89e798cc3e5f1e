"""Comparison errors: how often paired tests find equally good learners different, and the differences that exist.

    python -m benchmarks.comparison_errors --data FOLDER --store comparison_errors.jsonl --out docs/comparison-errors.md

Candidates are the same learner on columns of their own, which measure the same hidden columns with noise. With equal
noise all are equally good in the average over training sets; with more noise for some the true difference is known.
FOLDER (or TRUEFIT_DATA) holds the real tables as Parquet files, the target last. The tests are computed for all
candidates at once; ``--check`` compares them with ``truefit.compare``, and every run begins with it. Every finished
repetition is a line of the store: the same command goes on from there, and ``--minutes`` ends it early.
"""
