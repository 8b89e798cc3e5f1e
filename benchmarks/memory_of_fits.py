"""Memory of a run of 20,000 fits against one of 2,000: outcomes are where they are stored, not in the process."""

from __future__ import annotations

import subprocess
import sys

RUN = """
import resource, sys
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
result = assess(Mean(), X, y, design=splits, engine=Engine({store}))
value = result.score("mae")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024)
"""


def peak(fits, store="None"):
    done = subprocess.run(
        [sys.executable, "-c", RUN.format(fits=fits, store=store)], capture_output=True, text=True, check=True
    )
    return float(done.stdout)


def main():
    base, few, many = peak(5), peak(2_000), peak(20_000)
    print("Peak memory of assess with 200 predictions per fit, kept in memory with spilling to disk")
    print(f"  5 fits {base:.0f} MB, 2,000 fits {few:.0f} MB, 20,000 fits {many:.0f} MB")
    print(f"  the predictions of 20,000 fits alone are {20_000 * 200 * 8 / 2**20:.0f} MB")


if __name__ == "__main__":
    main()
