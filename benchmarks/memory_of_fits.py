"""Memory of a run against the number of its fits: outcomes are where they are stored, not in the process."""

from __future__ import annotations

import subprocess
import sys

RUN = """
import re
from pathlib import Path
import numpy as np
from sklearn.model_selection import RepeatedKFold
from sklearn.base import BaseEstimator, RegressorMixin
from truefit import Engine, assess
class Mean(RegressorMixin, BaseEstimator):
    def fit(self, X, y):
        self.mean_ = y.mean()
        return self
    def predict(self, X):
        return self.mean_ + X[:, 0]
rng = np.random.default_rng(0)
X, y = rng.normal(size=(1000, 3)), rng.normal(size=1000)
splits = RepeatedKFold(n_splits=5, n_repeats={fits} // 5, random_state=0)
result = assess(Mean(), X, y, cv=splits, engine=Engine({store}))
value = result.score("mae")
# Not getrusage, which counts in what the process was before it became this one.
print(int(re.search(r"VmHWM:\\s+(\\d+) kB", Path("/proc/self/status").read_text())[1]) / 1024)
"""


def peak(fits, store="None"):
    """Peak memory in MB of a process that makes so many fits."""
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(fits=fits, store=store)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main():
    print("Peak memory of assess with 200 predictions per fit, kept in memory with spilling to disk")
    peaks = {fits: peak(fits) for fits in (5, 2_000, 20_000, 40_000)}
    print("  " + ", ".join(f"{fits:,} fits {used:.0f} MB" for fits, used in peaks.items()))
    for few, many in ((2_000, 20_000), (20_000, 40_000)):
        slope = (peaks[many] - peaks[few]) * 2**20 / (many - few)
        print(f"  from {few:,} to {many:,}: {slope:.0f} bytes per fit")
    print(f"  the predictions of 20,000 fits alone are {20_000 * 200 * 8 / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
