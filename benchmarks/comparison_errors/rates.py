"""Rates: what the lines of the store say, over settings, designs and tests."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import product

import numpy as np

from benchmarks.comparison_errors.settings import DESIGNS, EQUAL, LEVEL, TESTS
from benchmarks.comparison_errors.tables import NAMES

#: Learners, by how much their fits vary with the training rows.
GROUPS = {"linear, neighbours": "lda, ridge, knn, knn_regression", "tree": "tree", "tree on XOR": "tree on XOR"}
#: What is counted of equally good candidates.
WHAT = {
    "pair": "one comparison",
    "best 2": "best of 2",
    "best 10": "best of 10",
    "best 70": "best of 70",
    "holm 10": "best of 10, Holm",
    "holm 70": "best of 70, Holm",
    "strict 10": "best of 10, Bonferroni",
    "strict 70": "best of 70, Bonferroni",
    "fixed 10": "fixed, 10",
    "fixed 70": "fixed, 70",
    "all 10": "all pairs of 10",
    "all 70": "all pairs of 70",
}
#: True differences of pairs: below the first they are equally good; from the second on they differ, or clearly differ.
NEAR, MIDDLE, CLEAR = 0.002, 0.02, 0.05


class Rates:
    """Values by setting, design, metric, test and what was counted."""

    def __init__(self, lines):
        self.values = defaultdict(list)
        for line in lines:
            for key, own in line.items():
                if "|" not in key or line["kind"] == "real":
                    continue
                items = own.items() if isinstance(own, dict) else [("", own)]
                for what, value in items:
                    self.values[line["setting"], *key.split("|"), what].append(value)

    def of(self, *key):
        """Return the mean, its standard error, and the number of repetitions."""
        found = np.array(self.values.get(key, []), dtype=float)
        if not len(found):
            return math.nan, math.nan, 0
        return float(found.mean(axis=0)), float(found.std(axis=0)) / math.sqrt(len(found)), len(found)


def cases(settings):
    return [(setting, metric) for setting in settings for metric in setting.metrics]


def exceeds(rates, *key):
    """Whether a rate is above 5% by more than two standard errors of a rate of 5%."""
    rate, se, count = rates.of(*key)
    return count > 0 and rate > LEVEL + 2 * (se if key[-1] == "pair" else math.sqrt(LEVEL * (1 - LEVEL) / count))


def keys_of(group, what, tests=TESTS, designs=DESIGNS):
    """Return the keys of what is counted of equally good candidates of a group of learners."""
    own = [
        (each, metric)
        for each, metric in cases(EQUAL)
        if (each.name if each.learner == "tree" else each.learner) in GROUPS[group].split(", ")
    ]
    return [
        (each.key, design, metric, test, what)
        for (each, metric), design, test in product(own, designs, tests)
    ]  # fmt: skip


def overall(rates, *args, **options):
    """Return the mean and the highest rate over settings."""
    found = [rates.of(*key)[0] for key in keys_of(*args, **options)]
    return float(np.mean(found)), max(found)


def true_difference(rates, setting):
    good, bad = np.mean(rates.values[setting.key, "10-fold", "true", ""], axis=0)
    return (bad - good) / (1 if setting.learner == "lda" else good)


def mean_of(values):
    return float(np.mean(values)) if np.size(values) else math.nan


def real_rates(lines, name, design, test):
    """Return what a test finds in the samples of a real table, by the true errors of the pair."""
    true = [line["errors"] for line in lines if line["kind"] == "truth" and line["setting"] == name]
    own = [
        line[f"{design}|error|{test}"] for line in lines if line["kind"] == "real" and line["setting"] == name
    ]  # fmt: skip
    mean, (i, j) = np.mean(true, axis=0), np.triu_indices(len(NAMES), 1)
    difference, signs = mean[i] - mean[j], np.array([each["signs"] for each in own])
    near, clear = np.abs(difference) < NEAR, np.abs(difference) >= CLEAR
    middle = (np.abs(difference) >= MIDDLE) & ~clear
    shares, right = (signs[:, near] != 0).mean(axis=1), signs * np.sign(difference)
    return {
        "near": int(near.sum()), "significant": float(shares.mean()), "se": float(shares.std() / math.sqrt(len(own))),
        "highest": float((signs[:, near] != 0).mean(axis=0).max()),
        "middle": int(middle.sum()), "middle found": mean_of(right[:, middle] > 0),
        "clear": int(clear.sum()), "clear found": mean_of(right[:, clear] > 0),
        "wrong": mean_of(right[:, middle | clear] < 0),
    } | {
        rule: mean_of([any(mean[each["best"]] >= mean[worse] for worse in each[rule]) for each in own])
        for rule in ("worse", "holm", "strict")
    }  # fmt: skip
