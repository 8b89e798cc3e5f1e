"""How often the intervals of diagnostics of predictions hold what they are for, over many samples.

    python -m benchmarks.predictions_coverage --repetitions 500 --workers 16 --out predictions_coverage.jsonl \
        --page docs/coverage-predictions.md

A setting is a law of the rows, a learner and a number of rows. In each repetition a sample is drawn, the learner is
cross-validated, and the calibration slope, the rates at a threshold chosen by a rule, the net benefit at two thresholds
and a metric in three subgroups are computed with their intervals. What they are for is measured with the learner
trained on all rows, at the threshold chosen on all rows, on many fresh rows. Every finished sample is a line of the
file: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass

import numpy as np
from scipy.special import expit
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import GroupKFold, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier

from benchmarks.coverage_runs import command, covers, how_made, versions
from truefit._methods.diagnostics import PredictionDiagnostics
from truefit._methods.predictions import ModelPredictions
from truefit._stats.calibration import calibration
from truefit._stats.thresholds import contributions

FRESH = 20_000
RULES = {"sensitivity ≥ 90%": {"sensitivity": 0.9}, "Youden": "youden", "cost 5 : 1": {"cost": (5, 1)}}
THRESHOLDS = (0.2, 0.5)
#: Groups in each sample of rows with groups.
SIZE = 4


@dataclass(frozen=True)
class Setting:
    """A law of the rows, a learner, and a number of rows."""

    name: str
    rows: int
    #: Length of the coefficients, and the intercept.
    strength: float
    intercept: float
    learner: str = "logistic"
    #: Standard deviation of the groups' effects; None without groups.
    groups: float | None = None
    #: Whether the model is trained on rows of their own, and its predictions are of one test set.
    holdout: bool = False


SETTINGS = [
    Setting("weak, 200 rows", 200, 1.0, 0.0),
    Setting("weak, 400 rows", 400, 1.0, 0.0),
    Setting("strong, 200 rows", 200, 2.5, 0.0),
    Setting("strong, 400 rows", 400, 2.5, 0.0),
    Setting("18% positive, 400 rows", 400, 1.5, -2.0),
    Setting("naive Bayes, 400 rows", 400, 1.5, 0.0, "bayes"),
    Setting("tree, 400 rows", 400, 1.5, 0.0, "tree"),
    Setting("100 groups of 4 rows", 400, 1.5, 0.0, groups=1.0),
    Setting("one test set, 400 rows", 400, 1.5, 0.0, holdout=True),
]
QUANTITIES = (
    "calibration slope",
    "calibration in the large",
    *(f"{rate} at {rule}" for rule in RULES for rate in ("sensitivity", "specificity", "precision")),
    *(f"net benefit at {threshold:g}" for threshold in THRESHOLDS),
    "accuracy in 3 subgroups",
    "AUC in 3 subgroups",
)


class Given(PredictionDiagnostics):
    """Diagnostics of predictions that are at hand."""

    def __init__(self, predictions):
        self.names, self.level, self.single, self.predictions = ["model"], 0.95, True, predictions

    def _predictions_of(self, name):
        return self.predictions


def drawn(setting, rows, random):
    """Draw rows: X, y, their groups and their level of a column on which the noise depends."""
    size = 1 if setting.groups is None else SIZE
    groups = np.arange(rows) // size
    X = random.standard_normal((rows, 5))
    if setting.learner == "bayes":
        X[:, 1] = X[:, 0] + 0.5 * X[:, 1]
    if setting.groups is not None:
        X[:, 0] = random.standard_normal(rows // size)[groups]  # rows of a group are alike in a feature too
    slopes = setting.strength * np.array([1.0, -0.8, 0.6, 0.0, 0.0]) / np.sqrt(2)
    effect = (setting.groups or 0.0) * random.standard_normal(groups[-1] + 1)[groups]
    level = random.choice(3, rows, p=[0.5, 0.3, 0.2])
    odds = (X @ slopes) * np.array([1.3, 1.0, 0.6])[level] + setting.intercept + effect
    y = (random.random(rows) < expit(odds)).astype(int)
    return X, y, (groups if setting.groups is not None else None), level


def learner_of(setting):
    if setting.learner == "tree":
        return DecisionTreeClassifier(min_samples_leaf=15, random_state=0)
    return GaussianNB() if setting.learner == "bayes" else LogisticRegression(max_iter=1000)


def predicted(setting, X, y, groups, random):
    """Return the held-out probabilities, the fold of each row, and the model that the numbers are for."""
    if setting.holdout:
        X_other, y_other, *_ = drawn(setting, setting.rows, random)
        model = learner_of(setting).fit(X_other, y_other)
        return model.predict_proba(X)[:, 1], None, model
    splitter = (GroupKFold if groups is not None else StratifiedKFold)(5, shuffle=True, random_state=0)
    p, folds = np.empty(len(y)), np.empty(len(y), dtype=int)
    for fold, (train, test) in enumerate(splitter.split(X, y, groups)):
        p[test] = learner_of(setting).fit(X[train], y[train]).predict_proba(X[test])[:, 1]
        folds[test] = fold
    return p, folds, learner_of(setting).fit(X, y)


@dataclass(frozen=True)
class Sample:
    """Held-out predictions of a sample, the level of each row, and many fresh rows with the model's probabilities."""

    own: ModelPredictions
    level: np.ndarray
    y_fresh: np.ndarray
    p_fresh: np.ndarray
    level_fresh: np.ndarray


def sampled(setting, random):
    """Draw one sample, and what is true of its model."""
    X, y, groups, level = drawn(setting, setting.rows, random)
    p, folds, model = predicted(setting, X, y, groups, random)
    X_fresh, y_fresh, _, level_fresh = drawn(setting, FRESH, random)
    called, both = (p >= 0.5).astype(int), np.column_stack([1 - p, p])
    own = ModelPredictions(y, called, both, np.array([0, 1]), groups, None, folds)
    return Sample(own, level, y_fresh, model.predict_proba(X_fresh)[:, 1], level_fresh)


def measured(place, repetition):
    """Draw one sample, and return a line of the file: the intervals and the truth of each quantity."""
    warnings.simplefilter("ignore")
    began, setting = time.process_time(), SETTINGS[place]
    random = np.random.default_rng([1, place, repetition])
    sample = sampled(setting, random)
    given, groups = Given(sample.own), sample.own.groups
    found = {
        **calibrated(given, sample),
        **chosen(given, sample),
        **by_threshold(given, sample),
        **by_level(given, sample),
    }
    # A column that has nothing to do with anything, and that is alike for all rows of a group.
    rows = len(sample.own.y)
    units = np.arange(rows) if groups is None else groups
    null = given.by(random.integers(0, 3, rows)[units], "accuracy").p
    line = {"setting": setting.name, "repetition": repetition, "found": found, "null": null}
    return line | {"cpu_seconds": round(time.process_time() - began, 3), "versions": versions()}


def calibrated(given, sample):
    """Calibration slope, and calibration in the large."""
    own = given.calibration()
    truth = calibration(sample.y_fresh, sample.p_fresh, probabilities=True)
    return {
        "calibration slope": [_case(own.slope, truth.slope, own.slope_interval)],
        "calibration in the large": [_case(own.in_the_large, truth.in_the_large, own.in_the_large_interval)],
    }


def chosen(given, sample):
    """The rates at a threshold by each rule."""
    found, y = {}, sample.y_fresh
    for name, rule in RULES.items():
        own = given.threshold(rule)
        called = sample.p_fresh >= own.threshold
        truths = {
            "sensitivity": float(called[y == 1].mean()),
            "specificity": float(1 - called[y == 0].mean()),
            "precision": float(y[called].mean()),
        }
        for rate, truth in truths.items():
            found[f"{rate} at {name}"] = [_case(getattr(own, rate), truth, getattr(own, f"{rate}_interval"))]
    return found


def by_threshold(given, sample):
    """Net benefit at each threshold."""
    curve, found = given.decision_curve(THRESHOLDS), {}
    for i, threshold in enumerate(THRESHOLDS):
        truth = float(contributions(sample.y_fresh, sample.p_fresh, threshold).mean())
        line = curve.table.iloc[i]
        ends = None if np.isnan(line["low"]) else (line["low"], line["high"])
        found[f"net benefit at {threshold:g}"] = [_case(line["net_benefit"], truth, ends)]
    return found


def by_level(given, sample):
    """Accuracy and AUC in each subgroup."""
    y, p, found = sample.y_fresh, sample.p_fresh, {}
    truths = {
        "accuracy": lambda at: float(np.mean((p[at] >= 0.5) == y[at])),
        "auc": lambda at: float(roc_auc_score(y[at], p[at])),
    }
    for metric, truth_of in truths.items():
        by = given.by(sample.level, metric)
        label = "AUC" if metric == "auc" else metric
        found[f"{label} in 3 subgroups"] = [
            _case(by.estimate[name], truth_of(sample.level_fresh == int(name)), ends)
            for name, ends in by.interval.items()
        ]
    return found


def _case(estimate, truth, ends):
    given = None if ends is None else [float(end) for end in ends]
    return {"estimate": float(estimate), "truth": truth, "truefit": given}


@dataclass(frozen=True)
class Cell:
    """One quantity in one setting: mean truth, bias, coverage, width, and samples without an interval."""

    setting: str
    quantity: str
    truth: float
    bias: float
    coverage: float
    width: float
    without: int


def cells(lines, method="truefit"):
    """Return a cell for every setting and quantity; of several subgroups all intervals must hold."""
    found = []
    for setting in SETTINGS:
        own = [line["found"] for line in lines if line["setting"] == setting.name]
        for quantity in QUANTITIES if own else ():
            samples = [each[quantity] for each in own]
            flat = [case for cases in samples for case in cases]
            _, width, without = covers(flat, method)
            held = [
                all(case[method][0] <= case["truth"] <= case[method][1] for case in cases if case[method])
                for cases in samples
            ]
            truth = float(np.mean([case["truth"] for case in flat]))
            bias = float(np.nanmean([case["estimate"] - case["truth"] for case in flat]))
            found.append(Cell(setting.name, quantity, truth, bias, float(np.mean(held)), width, without))
    return found


_INTRODUCTION = """\
# Coverage of the diagnostics of predictions

How often truefit's nominal 95% intervals of diagnostics hold what they are for. Rows have 5 normal features and a class
whose log odds depend on them linearly; a column with three levels makes this dependence stronger or weaker. In each
repetition a sample is drawn, and the out-of-fold probabilities of 5-fold cross-validation are diagnosed by
`calibration()`, `threshold(rule)`, `decision_curve()` and `by(column)`. What the intervals are for is measured with the
learner trained on all rows of the sample (for *one test set*: on other rows), at the threshold chosen on all rows, on
{fresh:,} fresh rows. The learner is a logistic regression, except for *naive Bayes*, two of whose features are
correlated, and for *tree*, with leaves of at least 15 rows. Rows of a group share a feature and a random effect.

Of the three subgroups all intervals must hold at once."""

_REASONS = """\
The factor of 1.1 for rates at a chosen threshold, and the extension of their intervals, were set after a first run of
eight of these settings (with 1.2 and without the extension a sensitivity at cost 5 : 1 was covered
in 71% at worst), six of them with the samples below.

Where the coverage is outside 93% to 97%, the reasons. Those of coverage above were
[measured on other samples](coverage-reasons.md) of the same settings (49 of each), where the intervals cover alike; the
others are likely ones.

- *Above, calibration in the large, net benefit, subgroups.* Standard errors of out-of-fold predictions are multiplied
  by 1.2, as everywhere in truefit, since models of the folds share training rows. The learners here are stable, apart
  from the tree, and need less. By 1.1 instead, these intervals cover 96.4%, 95.9% and 94.6% (net benefit at 0.2 and
  0.5), 97.5% (accuracy, where Bonferroni's inequality adds its part) and 96.1% (AUC); without a factor 95.5%, 94.6%,
  92.7%, 95.9% and 93.9%. Of one test set there is no factor. The test for differences, too, rejects less often with
  the factor.
- *Above, rates at a chosen threshold.* Intervals are extended to what the thresholds of bootstrap samples reach.
  Where that is not needed they are too wide: without it sensitivity and specificity at Youden's index are covered in
  96.6% and 98.4%, the specificity at a required sensitivity in 95.2%. At the cost 5 : 1 it is needed: without it a
  sensitivity is covered in 90.7% (at worst 79.6%), a specificity in 92.7% (71.4%). A precision hardly changes with
  the extension; without it and without the factor of 1.1 it is covered in 95.0% to 98.0%.
- *Below, a tree.* Its slope differs from tree to tree, which one partition does not show, and it has few different
  probabilities to set a threshold at.
- *Below, the slope of naive Bayes.* Nearly all intervals that miss the slope lie below it: models of the folds are
  trained on fewer rows, and their slope is lower."""


def page(lines, repetitions):
    """The results as Markdown."""
    found = cells(lines)
    parts = [
        _INTRODUCTION.format(fresh=FRESH),
        "## How it was made",
        how_made("predictions", lines, repetitions, len(SETTINGS), len(SETTINGS)),
        "## By quantity",
        "Coverage in %, mean [lowest, highest] over the settings, and mean width.",
        "\n".join(_summary(found)),
        _REASONS,
        "## The test for differences between subgroups",
        "How often it rejects at 5% where a column has nothing to do with the rows, in %.",
        "\n".join(_null(lines)),
        "## Every setting",
        "\n".join(_every_setting(found)),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(found):
    yield "| quantity | coverage | width | bias |"
    yield "|---|---|---|---|"
    for quantity in QUANTITIES:
        own = [cell for cell in found if cell.quantity == quantity]
        covered = [100 * cell.coverage for cell in own]
        spread = f"{np.mean(covered):.1f} [{min(covered):.1f}, {max(covered):.1f}]"
        width, bias = (np.mean([getattr(cell, key) for cell in own]) for key in ("width", "bias"))
        yield f"| {quantity} | {spread} | {width:.3f} | {bias:+.3f} |"


def _null(lines):
    yield "| setting | rejected |"
    yield "|---|---|"
    for setting in SETTINGS:
        own = [line["null"] for line in lines if line["setting"] == setting.name and line["null"] is not None]
        if own:
            yield f"| {setting.name} | {100 * np.mean(np.array(own) < 0.05):.1f} |"


def _every_setting(found):
    yield "| setting | quantity | truth | bias | coverage | width | without an interval |"
    yield "|---|---|---|---|---|---|---|"
    for cell in found:
        yield (
            f"| {cell.setting} | {cell.quantity} | {cell.truth:.3f} | {cell.bias:+.3f} | {100 * cell.coverage:.1f} | "
            f"{cell.width:.3f} | {cell.without} |"
        )


def main(arguments=None):
    command("predictions", SETTINGS, measured, page, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
