"""How often the interval for the error on rows of new groups holds that error, over many samples.

    python -m benchmarks.group_coverage --repetitions 500 --workers 16 --out group_coverage.jsonl \
        --page docs/coverage-groups.md

A setting is a number of groups, even or uneven sizes, weak or strong effects of the groups, and a learner. In each
repetition a sample is drawn, ``truefit.assess`` gives the interval of each learner by 5-fold cross-validation with
``groups``, and the learner trained on all rows is measured on rows of many new groups. Every finished sample is a line
of the file: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import argparse
import json
import math
import multiprocessing
import os
import platform
import sys
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from dataclasses import dataclass
from functools import cache
from itertools import islice, product
from pathlib import Path

import numpy as np
import sklearn
from scipy.special import expit
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

import truefit
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
REPETITIONS, FRESH_GROUPS, FEATURES = 500, 4_000, 5
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


def versions():
    """Return what a number may depend on."""
    return f"python {platform.python_version()}, scikit-learn {sklearn.__version__}, truefit {truefit.__version__}"


def finished(store):
    """Return the lines of a file, by setting and repetition; one that was cut off by a crash is left out."""
    found = {}
    for text in store.read_text().splitlines() if store.is_file() else ():
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            continue
        found[line["setting"], line["repetition"]] = line
    return found


def run(store, repetitions, workers, minutes):
    """Measure the samples that the file lacks, repetition by repetition, so that a run cut short is even."""
    known = finished(store)
    lacking = [
        (place, repetition)
        for repetition in range(repetitions)
        for place, setting in enumerate(SETTINGS)
        if (setting.name, repetition) not in known
    ]
    ends = math.inf if minutes is None else time.monotonic() + 60 * minutes
    print(f"{len(lacking):,} samples to measure on {workers} workers", flush=True)
    cut_off = store.is_file() and not store.read_text().endswith("\n")
    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", MKL_NUM_THREADS="1")
    waiting, done = iter(lacking), 0
    context = multiprocessing.get_context("spawn")
    with ProcessPoolExecutor(workers, mp_context=context) as pool, store.open("a") as file:
        file.write("\n" if cut_off else "")
        # Few are handed out ahead, so that little is lost when the time is up.
        running = {pool.submit(measured, *each) for each in islice(waiting, 2 * workers)}
        while running:
            ready, running = wait(running, return_when=FIRST_COMPLETED)
            if time.monotonic() < ends:
                running |= {pool.submit(measured, *each) for each in islice(waiting, len(ready))}
            for future in ready:
                print(json.dumps(future.result()), file=file, flush=True)
            done += len(ready)
            if done // 500 > (done - len(ready)) // 500:
                print(f"{done:,} of {len(lacking):,} samples", flush=True)
    print(f"{done:,} measured, {len(lacking) - done:,} left")


@dataclass(frozen=True)
class Cell:
    """One interval of one learner in one setting: coverage and mean width, over the samples that have it."""

    setting: Setting
    learner: str
    method: str
    given: int
    missing: int
    coverage: float
    width: float
    bias: float


def cells(lines):
    """Return a cell for every setting, learner and interval that has samples."""
    found = []
    for setting, learner, method in product(SETTINGS, LEARNERS, METHODS):
        own = [line["learners"][learner] for line in lines if line["setting"] == setting.name]
        given = [each for each in own if each[method] is not None]
        if not given:
            continue
        low, high = np.array([each[method] for each in given]).T
        truth, estimate = (np.array([each[key] for each in given]) for key in ("truth", "estimate"))
        covered = float(np.mean((low <= truth) & (truth <= high)))
        numbers = covered, float(np.mean(high - low)), float(np.mean(estimate - truth))
        found.append(Cell(setting, learner, method, len(given), len(own) - len(given), *numbers))
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
    seconds = sum(line["cpu_seconds"] for line in lines)
    unfinished = repetitions * len(SETTINGS) - len(lines)
    parts = [
        _INTRODUCTION.format(features=FEATURES, fresh=FRESH_GROUPS, **EFFECTS, **METHODS),
        "## How it was made",
        f"    python -m benchmarks.group_coverage --repetitions {repetitions} --workers 16 --out group_coverage.jsonl "
        "--page docs/coverage-groups.md",
        f"{repetitions} repetitions of {len(own)} settings: the Monte-Carlo standard error of a coverage is "
        f"{100 * math.sqrt(0.95 * 0.05 / repetitions):.1f} points at 95%. {seconds / 60:.0f} minutes of CPU. Made with "
        f"{'; '.join(sorted({line['versions'] for line in lines}))}."
        + (f" {unfinished} of {repetitions * len(SETTINGS)} samples have not been measured." if unfinished > 0 else ""),
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
    parser = argparse.ArgumentParser(prog="python -m benchmarks.group_coverage")
    parser.add_argument("--out", type=Path, default=Path("group_coverage.jsonl"), help="one line per measured sample")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--workers", type=int, default=1, help="samples at a time")
    parser.add_argument("--minutes", type=float, help="begin no sample after so many")
    parser.add_argument("--page", type=Path, help="write the page there")
    options = parser.parse_args(arguments)
    run(options.out, options.repetitions, options.workers, options.minutes)
    known = finished(options.out)
    lines = [line for (_, repetition), line in known.items() if repetition < options.repetitions]
    if not lines:
        print("No sample is measured yet.")
        return
    text = page(lines, options.repetitions)
    print(text.partition("## Every setting")[0])
    print(f"{np.mean([line['cpu_seconds'] for line in lines]):.2f} s of CPU per sample")
    if options.page is not None:
        options.page.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
