"""How often paired tests find two equally good learners different, when rows come in groups.

    python -m benchmarks.group_comparison --repetitions 200

The two learners are the same one, on two sets of features that are drawn alike. Samples are those of
``benchmarks.group_coverage`` with twice the features. Each line is a setting, with the share of samples in which each
test is significant at the 5% level, and the mean width of its 95% interval.
"""

from __future__ import annotations

import argparse
import sys
from itertools import product

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.model_selection import StratifiedGroupKFold

from benchmarks.group_coverage import _SLOPES, EFFECTS, FEATURES, LEARNERS, SIZES
from truefit._stats.clustered import clustered_paired_t, clustered_se
from truefit._stats.paired import PairedDifference, corrected_paired_t, pooled_paired_t

#: Groups of a sample, each with the mean number of rows in a group.
GROUPS = {20: 9, 30: 8, 60: 5}
TESTED = ("logistic", "tree", "knn")
FOLDS = 5
TESTS = {
    "truefit": "jackknife over groups × 1.2, effective number of groups",
    "robust": "cluster-robust × 1.2, G − 1",
    "iid": "independent rows × 1.2",
    "corrected_t": "corrected t over 5 folds",
}


def drawn(groups, sizes, effect, random):
    """Draw X with two sets of features, y, and the group of each row."""
    mean, (feature_sd, odds_sd) = GROUPS[groups], EFFECTS[effect]
    count = np.full(groups, mean)
    if sizes == "uneven":
        count = 1 + np.floor((mean - 0.5) * random.lognormal(-0.5, 1.0, groups)).astype(int)
    group = np.repeat(np.arange(groups), count)
    offsets = random.standard_normal((groups, 2 * FEATURES))
    X = random.standard_normal((len(group), 2 * FEATURES)) + feature_sd * offsets[group]
    odds = 1.06 * (X @ np.tile(_SLOPES, 2)) + odds_sd * random.standard_normal(groups)[group]
    return X, (random.random(len(group)) < expit(odds)).astype(int), group


def differences(X, y, group, learner, seed):
    """Return the difference of the 0-1 losses on each row, and the fold of each row."""
    found, fold = np.zeros(len(y)), np.empty(len(y), dtype=int)
    splits = StratifiedGroupKFold(FOLDS, shuffle=True, random_state=seed).split(X, y, group)
    for place, (train, test) in enumerate(splits):
        fold[test] = place
        for sign, part in ((1, slice(FEATURES)), (-1, slice(FEATURES, None))):
            model = clone(learner).fit(X[train, part], y[train])
            found[test] += sign * (model.predict(X[test, part]) != y[test])
    return found, fold


def tests(difference, fold, group):
    """Return what each test finds."""
    pooled = pooled_paired_t([difference], factor=1.2)
    robust = max(pooled.se, 1.2 * clustered_se(difference, group))
    scores = [difference[fold == place].mean() for place in range(FOLDS)]
    return {
        "truefit": clustered_paired_t([difference], [group], factor=1.2),
        "robust": PairedDifference(pooled.mean, robust, len(np.unique(group)) - 1),
        "iid": pooled,
        "corrected_t": corrected_paired_t(scores, 1 / (FOLDS - 1)),
    }


def measured(groups, sizes, effect, repetitions):
    """Return, by learner and test, the share of significant differences and the mean width."""
    found = {(learner, test): [] for learner, test in product(TESTED, TESTS)}
    for repetition in range(repetitions):
        seed = [2, groups, SIZES.index(sizes), list(EFFECTS).index(effect), repetition]
        X, y, group = drawn(groups, sizes, effect, np.random.default_rng(seed))
        for learner in TESTED:
            for test, each in tests(*differences(X, y, group, LEARNERS[learner], repetition), group).items():
                low, high = each.interval()
                found[learner, test].append((each.p <= 0.05, high - low))
    return {key: np.mean(values, axis=0) for key, values in found.items()}


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_comparison")
    parser.add_argument("--repetitions", type=int, default=200)
    options = parser.parse_args(arguments)
    print("| groups | sizes | effects | learner | " + " | ".join(TESTS.values()) + " |")
    print("|---" * (4 + len(TESTS)) + "|")
    for groups, sizes, effect in product(GROUPS, SIZES, EFFECTS):
        found = measured(groups, sizes, effect, options.repetitions)
        for learner in TESTED:
            cells = " | ".join(
                f"{100 * share:.1f}% ({width:.2f})" for share, width in (found[learner, t] for t in TESTS)
            )
            print(f"| {groups} | {sizes} | {effect} | {learner} | {cells} |", flush=True)


if __name__ == "__main__":
    main(sys.argv[1:])
