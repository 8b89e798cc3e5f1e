"""Statistics: the truth about each setting of a sample, and means over tables."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.linear_model import LinearRegression
from sklearn.metrics import roc_auc_score

from benchmarks.perturbed_diagnosis.settings import POINT, SHARE, TABLES

#: Diagnostics that are undefined for some settings.
DEFINED = ["memorisation", "variance"]
#: Whether a more rigid setting of the family has a smaller test error, or a more flexible one.
GAINS = ("regularising", "richer")


def read(lines):
    """Return one row per setting of a sample, with its truth, and one per sample: the selected setting."""
    rows, selected = [], []
    for line in lines:
        found = line["settings"]
        for name, each in found.items():
            siblings = [other for other in found.values() if other["family"] == each["family"]]
            rigid = [other for other in siblings if other["place"] < each["place"]]
            rich = [other for other in siblings if other["place"] > each["place"]]
            row = {key: line[key] for key in ("table", "rows", "seed")} | each | {"name": name, "settings": found}
            row |= {"learned": 1 - each["training"] / line["baseline"]}
            row |= {"task": TABLES[line["table"]], "gap": each["cv"] - each["training"]}
            row |= {"true_gap": each["test"] - each["training"], "relative_gap": 1 - each["training"] / each["cv"]}
            for gain, others in zip(GAINS, (rigid, rich), strict=True):
                row[gain] = each["test"] - min(other["test"] for other in others) if others else math.nan
                row[f"cv_{gain}"] = each["cv"] - min(other["cv"] for other in others) if others else math.nan
                row[f"{gain}_helps"] = large(row[gain], row) if others else math.nan
                row[f"{gain}_relative"] = row[gain] > SHARE * row["test"] if others else math.nan
            row |= {key: math.nan for key in DEFINED if each[key] is None}
            rows.append(row)
            if name == line["study"]["best"]:
                selected.append(row | {"study": line["study"]})
    return pd.DataFrame(rows), selected


def large(gain, row, share=SHARE):
    """Whether a gain counts: in points for a classification, as a share of the error for a regression."""
    return gain > (POINT if row["task"] == "classification" else share * row["test"])


def over_tables(frame, statistic):
    """Return a statistic within each table and size, as its mean by table."""
    found = {}
    for (table, _), part in frame.groupby(["table", "rows"], sort=False):
        value = statistic(part)
        if value is not None and not math.isnan(value):
            found.setdefault(table, []).append(value)
    return pd.Series({table: float(np.mean(values)) for table, values in found.items()}, dtype=float)


def spread(values):
    """Return the mean over tables and its standard error."""
    values = values.dropna()
    return values.mean(), values.std() / math.sqrt(len(values)) if len(values) > 1 else math.nan


def cell(values, digits=2, sign=False):
    mean, error = spread(values)
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {error:.{digits}f}"


def share(values):
    """Return a share with its count."""
    values = np.asarray([each for each in values if each == each], dtype=float)
    return f"{100 * values.mean():.0f}% of {len(values)}" if len(values) else "–"


def helps(frame):
    """Return in what share of settings regularising helps, and a richer one."""
    return [share(frame[f"{gain}_helps"]) for gain in GAINS]


def rank_correlation(one, other):
    if len(one) < 5 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def partial(one, other, given):
    """Return the rank correlation that is left where the ranks of others are known."""
    ranks = np.column_stack([rankdata(each) for each in given])
    left = []
    for each in (one, other):
        rank = rankdata(each)
        left.append(rank - LinearRegression().fit(ranks, rank).predict(ranks))
    if any(each.std() < 1e-9 for each in left):
        return None
    return float(np.corrcoef(*left)[0, 1])


def auc(truth, score):
    truth = np.asarray(truth, dtype=bool)
    return None if truth.all() or not truth.any() else float(roc_auc_score(truth, score))
