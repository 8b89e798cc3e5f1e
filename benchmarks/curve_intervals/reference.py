"""Reference curves (LCDB) as single cross-validations in nested samples would measure them."""

from __future__ import annotations

import numpy as np
import pandas as pd

from papers.lcdb.curves import nested_correlation
from truefit._stats.curve_forecast import LEAST_POINTS

#: Families of data sets of the reference curves that are tables of the check.
TABLES_TOO = ("connect-4", "letter", "spambase", "wine-quality-white")
#: Largest size that is seen, where a curve goes on for at least a quarter more.
LASTS = (128, 256, 512, 1024, 2048, 4096, 8192)
#: First size of a schedule, and how many steps half of the schedules have; the sizes of the others double.
START, STEPS = 64, 8
MULTIPLES = (1.0, 1.25, 1.5, 2.0, 3.0, 4.0, 6.0, 8.0, 16.0, 20.0, 64.0)


def read_baselines(path):
    """Return the error of the majority class of each data set."""
    table = pd.read_parquet(path)
    return {str(name): 1 - share for name, share in zip(table.dataset, table.majority_share, strict=True)}


def seen(curve, last, random):
    """Return sizes, errors and covariance of a curve up to a size, as a schedule of cross-validations has them."""
    end = int(np.argmin(np.abs(curve.sizes - last)))
    first = max(min(START, last // 10), curve.sizes[0])
    steps = STEPS if random.random() < 0.5 else max(round(np.log2(curve.sizes[end] / first)), LEAST_POINTS - 1)
    wanted = np.geomspace(first, curve.sizes[end], steps + 1)
    at = np.unique([int(np.argmin(np.abs(np.log(curve.sizes / size)))) for size in wanted])
    sizes, errors = curve.sizes[at], curve.errors[at]
    noise = np.sqrt(np.maximum(errors * (1 - errors), 1e-4) / sizes)
    alike = nested_correlation(sizes, random)
    drawn = noise * (np.linalg.cholesky(alike) @ random.standard_normal(len(at)))
    # A cross-validation has a whole number of errors.
    measured = np.clip(np.round((errors + drawn) * sizes), 0, sizes) / sizes
    by_measured = np.sqrt(measured * (1 - measured) / sizes)
    return sizes, measured, alike * np.outer(by_measured, by_measured), end


def true_errors(curve, end):
    """Return the errors at the multiples of a size, NaN beyond the curve: means of three neighbouring sizes."""
    found = []
    for factor in MULTIPLES:
        at = end + round(8 * np.log2(factor))
        known = at < len(curve.sizes)
        found.append(curve.errors[max(at - 1, 0) : at + 2].mean() if known else np.nan)
    return np.array(found)
