"""A finished study, asked again: its seconds beside those that it took first. Each runs in a process of its own.

    python -m benchmarks study_replay

With TRUEFIT_DATA=FOLDER the table is ``german_credit.parquet`` there, else a built-in one. Asked again, a study is
answered by the report that the store keeps. Models of one's own may have changed, so with them its plan is run again,
and every fit is read from the store: the last two lines.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

TARGET = 0.05

MODELS = """
from skrub import tabular_pipeline
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC

MODELS = {
    "forest": tabular_pipeline(RandomForestClassifier()),
    "linear": tabular_pipeline(LogisticRegression(max_iter=1000)),
    "svm": tabular_pipeline(SVC()),
}
"""


def table():
    """Return the arguments that name the table."""
    folder = os.environ.get("TRUEFIT_DATA")
    file = None if folder is None else Path(folder).absolute() / "german_credit.parquet"
    return ["breast_cancer"] if file is None or not file.is_file() else [str(file), "--target", "class"]


def ran(folder, *options):
    """Study the table in a fresh process; return the seconds by the clock and of CPU, and how it ended."""
    command = [sys.executable, "-m", "truefit", "study", *table(), "--no-tune", "--store", "runs.db"]
    command += ["--out", "report.html"]
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run([*command, *options], cwd=folder, check=True, capture_output=True, text=True)
    took, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    busy = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return took, busy, done.stdout.splitlines()[-2]


def main():
    print(f"truefit study {table()[0].rpartition(os.sep)[2]}, in seconds by the clock (of CPU)")
    for kind, options in (("", ()), (", own models", ("--model", "models.py:MODELS"))):
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / "models.py").write_text(MODELS)
            first, cpu, said = ran(folder, *options)
            print(f"  first{kind:<19} {first:6.1f} ({cpu:.1f})  {said}", flush=True)
            took, busy, said = ran(folder, *options)
            print(f"  again{kind:<19} {took:6.1f} ({busy:.1f})  {said}")
            print(
                f"    share of the first: {took / first:.1%} ({busy / cpu:.1%}); wanted: below {TARGET:.0%}", flush=True
            )


if __name__ == "__main__":
    main()
