"""How often the interval for the error on the next period holds that error, over many samples.

    python -m benchmarks.time_coverage --repetitions 500 --workers 16 --out time_coverage.jsonl \
        --page docs/coverage-time.md

A setting is a process over time, a number of periods and a number of rows. In each repetition a path of the process is
drawn, and a row at each step of it. ``truefit.assess`` gives the interval of each learner with ``time``, and the
learner trained on all rows is measured on many rows of the next period of the same path. Every finished sample is a
line of the file: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import sys
import time
import warnings
from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.special import expit
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import root_mean_squared_error, zero_one_loss
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeClassifier

from benchmarks.coverage_runs import command, covers, how_made, versions
from truefit import Engine, assess
from truefit._stats.intervals import t_interval

PROCESSES = {
    "stable": "nothing changes",
    "walk": "the coefficients are random walks, which change by a standard deviation of 0.7 over the sample",
    "regimes": "the mean jumps to a new level, of standard deviation 1, 4 times in the sample on average",
    "season": "the mean has a trend, of 1.5 over the sample, and a season of amplitude 1, 2.5 times in the sample",
}
PERIODS, ROWS = (5, 10), (300, 1_000)
#: By metric: the function of it, and the learners.
LEARNERS = {
    "rmse": (root_mean_squared_error, {"ridge": Ridge(), "knn": KNeighborsRegressor(algorithm="brute")}),
    "error": (
        zero_one_loss,
        {"logistic": LogisticRegression(), "tree": DecisionTreeClassifier(max_depth=4, random_state=0)},
    ),
}
FRESH = 8_000
_SLOPES = np.array([1.0, -0.8, 0.6, 0.0, 0.0])
#: What the mean coverage and the lowest must at least be.
MEAN, LOWEST = 0.93, 0.85
METHODS = {
    "truefit": "truefit's default",
    "mean": "t of the mean over periods",
    "shuffled": "shuffled 5-fold CV",
}


@dataclass(frozen=True)
class Setting:
    """Which process, how many periods, and how many rows."""

    process: str
    periods: int
    rows: int

    @property
    def name(self):
        return f"{self.process}/{self.periods}/{self.rows}"


SETTINGS = [Setting(*each) for each in product(PROCESSES, PERIODS, ROWS)]


def path(setting, random):
    """Return the coefficients and the mean at each row, and at each of the next period."""
    n, steps = setting.rows, setting.rows + setting.rows // (setting.periods + 1)
    slopes, mean = np.tile(_SLOPES, (steps, 1)), np.zeros(steps)
    if setting.process == "walk":
        slopes = slopes + np.cumsum(random.standard_normal(slopes.shape) * 0.7 / np.sqrt(n), axis=0)
    elif setting.process == "regimes":
        regime = np.cumsum(random.random(steps) < 4 / n)
        mean = random.standard_normal(regime[-1] + 1)[regime]
    elif setting.process == "season":
        at = np.arange(steps) / n
        mean = 1.5 * at + np.sin(2 * np.pi * (2.5 * at + random.random()))
    return slopes, mean


def drawn(slopes, mean, at, random):
    """Draw rows at these steps of a path: X, and the target of a regression and of a classification."""
    X = random.standard_normal((len(at), len(_SLOPES)))
    signal = (X * slopes[at]).sum(axis=1) + mean[at]
    y = signal + random.standard_normal(len(at))
    return X, {"rmse": y, "error": (random.random(len(at)) < expit(1.5 * signal)).astype(int)}


def measured(place, repetition):
    """Draw one sample, and return a line of the file: the intervals of each learner, and the truth."""
    warnings.simplefilter("ignore")
    began, setting = time.process_time(), SETTINGS[place]
    random = np.random.default_rng([0, place, repetition])
    slopes, mean = path(setting, random)
    X, targets = drawn(slopes, mean, np.arange(setting.rows), random)
    others, truths = drawn(slopes, mean, random.integers(setting.rows, len(mean), FRESH), random)
    found = {}
    with Engine(progress=False) as engine:
        for metric, (value, learners) in LEARNERS.items():
            y = targets[metric]
            result = assess(learners, X, y, cv=setting.periods, time=np.arange(len(y)), metric=metric, engine=engine)
            shuffled = assess(learners, X, y, metric=metric, engine=engine)
            scores = result.split_scores()
            for name, learner in learners.items():
                spread = np.ptp(scores[name]) > 0
                found[name] = {
                    "estimate": result.estimate[name],
                    "shuffled_estimate": shuffled.estimate[name],
                    "truth": float(value(truths[metric], clone(learner).fit(X, y).predict(others))),
                    "method": result.interval_method[name],
                    "truefit": result.interval[name],
                    "mean": t_interval(scores[name]) if spread else None,
                    "shuffled": shuffled.interval[name],
                }
    line = {"setting": setting.name, "repetition": repetition, "learners": found}
    return line | {"cpu_seconds": round(time.process_time() - began, 3), "versions": versions()}


@dataclass(frozen=True)
class Cell:
    """One learner in one setting: mean truth, biases, and coverage and width of each interval."""

    setting: Setting
    learner: str
    truth: float
    bias: float
    shuffled_bias: float
    coverage: dict
    width: dict


def cells(lines):
    """Return a cell for every setting and learner that has samples."""
    found = []
    names = [name for _, learners in LEARNERS.values() for name in learners]
    for setting, learner in product(SETTINGS, names):
        own = [line["learners"][learner] for line in lines if line["setting"] == setting.name]
        if own:
            truth, estimate, shuffled = (
                float(np.mean([each[key] for each in own])) for key in ("truth", "estimate", "shuffled_estimate")
            )
            intervals = {method: covers(own, method)[:2] for method in METHODS}
            coverage, width = ({method: each[i] for method, each in intervals.items()} for i in (0, 1))
            found.append(Cell(setting, learner, truth, estimate - truth, shuffled - truth, coverage, width))
    return found


_INTRODUCTION = """\
# Coverage of the intervals with time

Coverage of truefit's nominal 95% interval for the error on the next period. Rows come one after the other, with 5
normal features, and a target that depends on them linearly, with normal noise (RMSE), or a class whose log odds do so
(error). Over time

{processes}

In each repetition a path of the process is drawn with one row per step, and `truefit.assess(..., cv=K, time=...)` tests
K periods by forward-chaining. *Covered* is how often the interval holds the error of the learner trained on all rows,
measured on {fresh:,} rows of the next period of the same path, which is as long as the others.

- **{truefit}**: Student's interval for one more period, mean ± t(K − 1) · s · √(1 + 1/K).
- **{mean}**: mean ± t(K − 1) · s / √K, from the same scores.
- **{shuffled}**: truefit's interval without `time`.

*Bias* is the mean of the estimate less the truth, in % of the truth: of forward-chaining, and of shuffled CV."""


def page(lines, repetitions):
    """The results as Markdown."""
    found = cells(lines)
    own = [cell.coverage["truefit"] for cell in found]
    processes = "\n".join(f"- *{name}*: {text};" for name, text in PROCESSES.items())
    parts = [
        _INTRODUCTION.format(processes=processes[:-1] + ".", fresh=FRESH, **METHODS),
        "## How it was made",
        how_made("time", lines, repetitions, len(SETTINGS), len(found)),
        "## Targets",
        "\n".join(_targets(float(np.mean(own)), min(own))),
        "## By process",
        "Coverage in %, mean [lowest] over the settings, and mean width in % of the truth.",
        "\n".join(_summary(found)),
        "## Every setting",
        "\n".join(_every_setting(found)),
    ]
    return "\n\n".join(parts) + "\n"


def _targets(mean, lowest):
    yield "| target | wanted | seen | |"
    yield "|---|---|---|---|"
    met = {True: "met", False: "**missed**"}
    yield f"| mean coverage | at least {MEAN:.0%} | {mean:.1%} | {met[mean >= MEAN]} |"
    yield f"| lowest | at least {LOWEST:.0%} | {lowest:.1%} | {met[lowest >= LOWEST]} |"


def _summary(found):
    yield "| process | " + " | ".join(f"{label} | width" for label in METHODS.values()) + " | bias | shuffled bias |"
    yield "|---" + "|---|---" * len(METHODS) + "|---|---|"
    for process in (*PROCESSES, None):
        own = [cell for cell in found if process in (None, cell.setting.process)]
        if not own:
            continue
        texts = []
        for method in METHODS:
            coverage = [100 * cell.coverage[method] for cell in own]
            width = np.mean([100 * cell.width[method] / cell.truth for cell in own])
            texts.append(f"{np.mean(coverage):.1f} [{min(coverage):.1f}] | {width:.0f}")
        biases = (np.mean([100 * each / cell.truth for cell, each in zip(own, values, strict=True)]) for values in (
            [cell.bias for cell in own], [cell.shuffled_bias for cell in own]
        ))  # fmt: skip
        yield f"| {process or 'all'} | {' | '.join(texts)} | {' | '.join(f'{each:+.1f}' for each in biases)} |"


def _every_setting(found):
    yield (
        "| process | periods | rows | learner | truth | bias | shuffled bias | "
        + " | ".join(METHODS.values())
        + " | width |"
    )
    yield "|---" * (8 + len(METHODS)) + "|"
    for cell in found:
        covered = " | ".join(f"{100 * each:.1f}" for each in cell.coverage.values())
        yield (
            f"| {cell.setting.process} | {cell.setting.periods} | {cell.setting.rows} | {cell.learner} | "
            f"{cell.truth:.3f} | {100 * cell.bias / cell.truth:+.1f} | {100 * cell.shuffled_bias / cell.truth:+.1f} | "
            f"{covered} | {cell.width['truefit']:.3f} |"
        )


def main(arguments=()):
    command("time", SETTINGS, measured, page, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
