"""Perturbed diagnosis: does Perturbed Model Validation show where regularising would lower the error?

    python -m benchmarks.perturbed_diagnosis --data FOLDER --store perturbed_diagnosis.jsonl \\
        --out docs/perturbed-diagnosis.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. Each setting of each learner is diagnosed
on a small sample of a table: by memorisation, by the gap between training and cross-validation error, by bias and
variance. The truth is its error on the other rows, and that of the more and less flexible settings of its family.
Every finished sample is a line of the store: the same command goes on from there, and ``--minutes`` ends it early.
"""
