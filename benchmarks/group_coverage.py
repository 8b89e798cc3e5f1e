"""How often the interval for the error on rows of new groups holds that error, over many samples.

    python -m benchmarks.group_coverage --repetitions 500 --workers 16 --out group_coverage.jsonl \
        --page docs/coverage-groups.md

A setting is a number of groups, even or uneven sizes, weak or strong effects of the groups, and a learner. In each
repetition a sample is drawn, ``truefit.assess`` gives the interval of each learner by 5-fold cross-validation with
``groups``, and the learner trained on all rows is measured on rows of many new groups. Every finished sample is a line
of the file: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache
from itertools import product

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from benchmarks.coverage_runs import command, covers, how_made, versions
from truefit import Engine, assess
from truefit._stats.intervals import corrected_t, pooled

#: Groups of a sample, each with the mean number of rows in a group.
GROUPS = {15: 10, 30: 8, 60: 5, 200: 3}
SIZES = ("even", "uneven")
#: Standard deviations of the groups' offsets: in every feature, and in the log odds.
EFFECTS = {"weak": (0.4, 0.6), "strong": (1.0, 3.0)}
LEARNERS = {
    "logistic": LogisticRegression(),
    "tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "knn": KNeighborsClassifier(algorithm="brute"),
    "forest": RandomForestClassifier(10, max_depth=6, random_state=0),
}
FRESH_GROUPS, FEATURES = 4_000, 5
_SLOPES = np.array([1.0, -0.8, 0.6, 0.0, 0.0])
#: What the mean coverage and the lowest must be.
MEAN, LOWEST = (0.93, 0.97), 0.88
METHODS = {
    "truefit": "truefit's default",
    "iid": "rows as if independent × 1.2",
    "corrected_t": "corrected t over 5 folds",
}


@dataclass(frozen=True)
class Setting:
    """How many groups, how large, and how much they differ."""

    groups: int
    sizes: str
    effect: str

    @property
    def name(self):
        return f"{self.groups}/{self.sizes}/{self.effect}"


SETTINGS = [Setting(*each) for each in product(GROUPS, SIZES, EFFECTS)]


def drawn(setting, groups, random):
    """Draw rows of so many groups: X, y, and the group of each row."""
    mean, (feature_sd, odds_sd) = GROUPS[setting.groups], EFFECTS[setting.effect]
    if setting.sizes == "even":
        sizes = np.full(groups, mean)
    else:
        # Log-normal with that mean: the largest of a hundred groups has about ten times the rows of the median one.
        sizes = 1 + np.floor((mean - 0.5) * random.lognormal(-0.5, 1.0, groups)).astype(int)
    group = np.repeat(np.arange(groups), sizes)
    X = random.standard_normal((len(group), FEATURES)) + feature_sd * random.standard_normal((groups, FEATURES))[group]
    odds = 1.5 * X @ _SLOPES + odds_sd * random.standard_normal(groups)[group]
    return X, (random.random(len(group)) < expit(odds)).astype(int), group


@cache
def fresh(setting):
    """Rows of many new groups, the same for all samples of a setting."""
    X, y, _ = drawn(setting, FRESH_GROUPS, np.random.default_rng([1, SETTINGS.index(setting)]))
    return X, y


def measured(place, repetition):
    """Draw one sample, and return a line of the file: the intervals of each learner, and the truth."""
    warnings.simplefilter("ignore")
    began, setting = time.process_time(), SETTINGS[place]
    X, y, groups = drawn(setting, setting.groups, np.random.default_rng([0, place, repetition]))
    with Engine(progress=False) as engine:
        result = assess(LEARNERS, X, y, cv=5, groups=groups, metric="error", engine=engine)
    scores, found = result.split_scores(), {}
    others, truths = fresh(setting)
    for name, learner in LEARNERS.items():
        losses = np.concatenate(result.row_losses(name))
        spread = np.ptp(scores[name]) > 0
        found[name] = {
            "estimate": result.estimate[name],
            "truth": float(np.mean(clone(learner).fit(X, y).predict(others) != truths)),
            "method": result.interval_method[name],
            "truefit": result.interval[name],
            "iid": pooled(losses, factor=1.2, zero_one=True),
            "corrected_t": corrected_t(scores[name], result.splits.share) if spread else None,
        }
    line = {"setting": setting.name, "repetition": repetition, "rows": len(y), "learners": found}
    return line | {"cpu_seconds": round(time.process_time() - began, 3), "versions": versions()}


@dataclass(frozen=True)
class Cell:
    """One interval of one learner in one setting: coverage and mean width, over the samples that have it."""

    setting: Setting
    learner: str
    method: str
    missing: int
    coverage: float
    width: float
    bias: float


def cells(lines):
    """Return a cell for every setting, learner and interval that has samples."""
    found = []
    for setting, learner, method in product(SETTINGS, LEARNERS, METHODS):
        own = [line["learners"][learner] for line in lines if line["setting"] == setting.name]
        covered, width, missing = covers(own, method)
        if missing < len(own):
            bias = float(np.mean([each["estimate"] - each["truth"] for each in own]))
            found.append(Cell(setting, learner, method, missing, covered, width, bias))
    return found


_INTRODUCTION = """\
# Coverage of the intervals with groups

Coverage of truefit's nominal 95% interval for the error on rows of new groups. Rows come in groups, such as the visits
of patients. Each group has an offset of its own in every one of {features} features and in the log odds of the two
classes, normal with standard deviations of {weak[0]} and {weak[1]} (weak effects), or of {strong[0]} and {strong[1]}
(strong effects). Within a group the standard deviation of a feature is 1. Groups are of even size, or of log-normal
sizes with about the same mean (uneven).

In each repetition a sample of 15, 30, 60 or 200 groups is drawn, and `truefit.assess(..., cv=5, groups=...)` computes
the interval of the error of four learners. *Covered* is how often that interval holds the error of the learner trained
on all rows of the sample, measured on the rows of {fresh:,} new groups.

- **{truefit}**: from 20 groups on, Wilson's interval at the number of rows divided by the design effect and by 1.2²,
  with Student's quantile of G − 1 degrees of freedom; below 20 groups, the corrected t.
- **{iid}**: Wilson's interval at the number of rows divided by 1.2², from the same losses.
- **{corrected_t}**: from the scores of the same folds.

Settings, learners and sizes were fixed before any coverage was computed, and all are reported."""


def page(lines, repetitions):
    """The results as Markdown."""
    found = cells(lines)
    own = [cell for cell in found if cell.method == "truefit"]
    mean, lowest = np.mean([cell.coverage for cell in own]), min(cell.coverage for cell in own)
    parts = [
        _INTRODUCTION.format(features=FEATURES, fresh=FRESH_GROUPS, **EFFECTS, **METHODS),
        "## How it was made",
        how_made("group", lines, repetitions, len(SETTINGS), len(own)),
        "## Targets",
        "\n".join(_targets(mean, lowest)),
        "## By number of groups",
        "Coverage in %, mean [lowest] over the settings, and mean width.",
        "\n".join(_summary(found)),
        "## Every setting",
        "Coverage in % and mean width; *bias* is the mean of estimate less truth; *none* counts samples without the "
        "default interval, since all folds had the same error.",
        "\n".join(_every_setting(found)),
    ]
    return "\n\n".join(parts) + "\n"


def _targets(mean, lowest):
    yield "| target | wanted | seen | |"
    yield "|---|---|---|---|"
    met = {True: "met", False: "**missed**"}
    low, high = MEAN
    yield f"| mean coverage | {low:.0%} to {high:.0%} | {mean:.1%} | {met[bool(low <= mean <= high)]} |"
    yield f"| lowest | at least {LOWEST:.0%} | {lowest:.1%} | {met[bool(lowest >= LOWEST)]} |"


def _summary(found):
    yield "| groups | " + " | ".join(f"{label} | width" for label in METHODS.values()) + " |"
    yield "|---" + "|---|---" * len(METHODS) + "|"
    for groups in (*GROUPS, None):
        texts = []
        for method in METHODS:
            own = [cell for cell in found if cell.method == method and groups in (None, cell.setting.groups)]
            if not own:
                continue
            coverage = [100 * cell.coverage for cell in own]
            texts.append(f"{np.mean(coverage):.1f} [{min(coverage):.1f}] | {np.mean([c.width for c in own]):.3f}")
        if texts:
            yield f"| {'all' if groups is None else groups} | {' | '.join(texts)} |"


def _every_setting(found):
    yield (
        "| groups | sizes | effects | learner | "
        + " | ".join(METHODS.values())
        + " | width | iid width | bias | none |"
    )
    yield "|---" * (8 + len(METHODS)) + "|"
    by_key = {(cell.setting, cell.learner, cell.method): cell for cell in found}
    for setting, learner in product(SETTINGS, LEARNERS):
        own = [by_key.get((setting, learner, method)) for method in METHODS]
        if None in own:
            continue
        first, iid, _ = own
        covered = " | ".join(f"{100 * cell.coverage:.1f}" for cell in own)
        yield (
            f"| {setting.groups} | {setting.sizes} | {setting.effect} | {learner} | {covered} | {first.width:.3f} | "
            f"{iid.width:.3f} | {first.bias:+.3f} | {first.missing or ''} |"
        )


def main(arguments=()):
    command("group", SETTINGS, measured, page, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
