"""How often the intervals of ``truefit.evaluate`` hold the metric of the same models on all rows there could be.

    python -m benchmarks.evaluate_coverage --repetitions 500 --workers 2 --out evaluate_coverage.jsonl \
        --page docs/coverage-evaluate.md

Predictions are simulated, nothing is fitted. A setting says how many rows there are, whether they come in groups, and
how frequent the positive class is. Two models of equal quality are evaluated; the true difference of any metric is 0.
Every finished sample is a line of the file: the same command goes on from there, and ``--minutes`` ends it early.
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

from benchmarks.coverage_runs import command, covers, how_made, versions
from truefit import evaluate

CLASSES = ("error", "f1", "auc", "average_precision", "brier", "log_loss")
NUMBERS = ("rmse", "mae", "r2", "explained_variance")
METRICS = CLASSES + NUMBERS
#: Rows from which the true values are computed.
ALL_ROWS = 1_000_000
#: Standard deviations of a group's offsets: in the log odds of its rows, and in the models' errors.
ODDS_SD, ERROR_SD = 1.0, 0.7
WANTED = (0.93, 0.97)


@dataclass(frozen=True)
class Setting:
    """Rows or groups of a sample, the mean size of a group, and how the log odds lie."""

    label: str
    count: int
    size: int = 1
    uneven: bool = False
    intercept: float = 0.0

    @property
    def name(self):
        return self.label

    @property
    def grouped(self):
        return self.size > 1


SETTINGS = [
    Setting("100 rows", 100),
    Setting("400 rows", 400),
    Setting("400 rows, 1 in 10 positive", 400, intercept=-3.2),
    Setting("2,000 rows", 2000),
    Setting("15 groups of 10", 15, 10),
    Setting("30 groups of 10", 30, 10),
    Setting("30 uneven groups", 30, 10, True),
    Setting("100 groups of 5", 100, 5),
    Setting("100 uneven groups", 100, 5, True),
]


def drawn(setting, count, random):
    """Draw rows of so many groups: group, truth and predictions of two models, of classes and of numbers."""
    sizes = np.full(count, setting.size)
    if setting.uneven:
        sizes = 1 + np.floor((setting.size - 0.5) * random.lognormal(-0.5, 1.0, count)).astype(int)
    group = np.repeat(np.arange(count), sizes)
    n, spread = len(group), float(setting.grouped)
    odds = setting.intercept + 2 * random.standard_normal(n)
    odds += spread * ODDS_SD * random.standard_normal(count)[group]
    y = (random.random(n) < expit(odds)).astype(int)
    number = odds + random.standard_normal(n)
    noises = []
    for _ in range(2):
        offset, scale = spread * ERROR_SD * random.standard_normal((2, count))
        noises.append(np.exp(0.5 * scale[group]) * random.standard_normal(n) + offset[group])
    scores = {name: expit(0.8 * (odds + noise)) for name, noise in zip("ab", noises, strict=True)}
    return group, (y, scores), (number, {name: odds + noise for name, noise in zip("ab", noises, strict=True)})


def evaluations(setting, sample):
    """Yield the metrics with the evaluation under each."""
    group, classes, numbers = sample
    groups = group if setting.grouped else None
    for metrics, (truth, predictions), kind in ((CLASSES, classes, "probability"), (NUMBERS, numbers, "number")):
        first = evaluate(truth, predictions, groups=groups, kind=kind, metric=metrics[0])
        yield from ((metric, first.under(metric)) for metric in metrics)


@cache
def truths(setting):
    """Metrics of the first model on as many rows as there could be, the same for all samples of a setting."""
    random = np.random.default_rng([1, SETTINGS.index(setting)])
    _, *parts = drawn(setting, ALL_ROWS // setting.size, random)
    found = {}
    for metrics, (truth, predictions), kind in zip((CLASSES, NUMBERS), parts, ("probability", "number"), strict=True):
        result = evaluate(truth, predictions["a"], kind=kind, metric=metrics[0])
        found |= {metric: float(result.split_scores(metric)["model"][0]) for metric in metrics}
    return found


def measured(place, repetition):
    """Draw one sample, and return a line of the file: the intervals of each metric, and the truth."""
    warnings.simplefilter("ignore")
    began, setting = time.process_time(), SETTINGS[place]
    found = {}
    for metric, result in evaluations(
        setting, drawn(setting, setting.count, np.random.default_rng([0, place, repetition]))
    ):
        own, (pair,) = result.estimates["a"], result.comparison.pairs
        found[metric] = {"estimate": own.value, "truth": truths(setting)[metric], "interval": own.interval}
        found[f"difference of {metric}"] = {
            "estimate": None if pair.found is None else pair.found.mean,
            "truth": 0.0,
            "interval": pair.interval(0.95),
        }
    line = {"setting": setting.name, "repetition": repetition, "metrics": found}
    return line | {"cpu_seconds": round(time.process_time() - began, 3), "versions": versions()}


@dataclass(frozen=True)
class Cell:
    """One interval in one setting: coverage and mean width over the samples that have it."""

    setting: Setting
    metric: str
    coverage: float
    width: float
    missing: int


def cells(lines):
    """Return a cell for every setting and interval that has samples."""
    found = []
    for setting, metric in product(SETTINGS, [*METRICS, *(f"difference of {metric}" for metric in METRICS)]):
        own = [line["metrics"][metric] for line in lines if line["setting"] == setting.name]
        covered, width, missing = covers(own, "interval")
        if missing < len(own):
            found.append(Cell(setting, metric, covered, width, missing))
    return found


_INTRODUCTION = """\
# Coverage of the intervals of evaluate

Coverage of the nominal 95% intervals of `truefit.evaluate(y, predictions, groups=...)`. Predictions are simulated:
log odds are normal, truth and predictions depend on them, and both models err with the same spread. In groups the log
odds and the models' errors have offsets (standard deviations {odds} and {error}), and the size of the errors differs.
Uneven groups have log-normal sizes: the largest of a hundred has about ten times the rows of the median one.

*Covered* is how often the interval of a metric holds its value on {rows:,} rows of the same kind. For the difference of
the two models, which is 0, one minus that is the rate of false positives of the paired test.

- Independent rows: Wilson for the error, the delta method for F1, RMSE and R², DeLong for the AUC, Student's t for
  other means, contributions of rows for average precision, a jackknife over 40 blocks for
  `explained_variance`.
- Groups: the standard error of whole groups (jackknife of the contributions), never below that of independent rows,
  with n²/Σn_g² − 1 degrees of freedom, on the scale of the metric."""


_OUTSIDE = """\
Outside of 93% to 97% there are two kinds of cells. Above: with few groups the standard error is never below that of
independent rows, and the jackknife is a little too large, so shares and their differences are covered too often. Below:
means of skewed values on few rows or groups (squared errors, average precision), whose spread is underestimated
together with their mean."""


def page(lines, repetitions):
    """The results as Markdown."""
    found = cells(lines)
    parts = [
        _INTRODUCTION.format(odds=ODDS_SD, error=ERROR_SD, rows=ALL_ROWS),
        "## How it was made",
        how_made("evaluate", lines, repetitions, len(SETTINGS), len(found)),
        "## Targets",
        "\n".join(_targets(found)),
        _OUTSIDE,
        "## Every setting",
        "Coverage of the metric in %; in parentheses how many samples had no interval.",
        "\n".join(_table(found, METRICS)),
        "Mean width of the interval.",
        "\n".join(_table(found, METRICS, lambda cell: f"{cell.width:.3g}")),
        "Coverage of the difference of two models in %.",
        "\n".join(_table(found, [f"difference of {metric}" for metric in METRICS])),
    ]
    return "\n\n".join(parts) + "\n"


def _targets(found):
    yield "| intervals | wanted | mean | lowest | within 93% to 97% |"
    yield "|---|---|---|---|---|"
    for label, wanted in (
        ("metrics, independent rows", lambda cell: not cell.setting.grouped and "difference" not in cell.metric),
        ("metrics, groups", lambda cell: cell.setting.grouped and "difference" not in cell.metric),
        ("differences, independent rows", lambda cell: not cell.setting.grouped and "difference" in cell.metric),
        ("differences, groups", lambda cell: cell.setting.grouped and "difference" in cell.metric),
    ):
        own = [cell.coverage for cell in found if wanted(cell)]
        if own:
            within = sum(WANTED[0] <= each <= WANTED[1] for each in own)
            yield f"| {label} | 93% to 97% | {np.mean(own):.1%} | {min(own):.1%} | {within} of {len(own)} |"


def _covered(cell):
    return f"{100 * cell.coverage:.1f}" + (f" ({cell.missing})" if cell.missing else "")


def _table(found, metrics, text=_covered):
    yield "| setting | " + " | ".join(metric.removeprefix("difference of ") for metric in metrics) + " |"
    yield "|---" * (1 + len(metrics)) + "|"
    by_key = {(cell.setting, cell.metric): cell for cell in found}
    for setting in SETTINGS:
        own = [by_key.get((setting, metric)) for metric in metrics]
        if any(own):
            yield f"| {setting.name} | " + " | ".join("" if cell is None else text(cell) for cell in own) + " |"


def main(arguments=()):
    command("evaluate", SETTINGS, measured, page, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
