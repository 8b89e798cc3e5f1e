"""How often prediction intervals and sets hold the target of new rows, beside MAPIE on the same folds.

    python -m benchmarks.prediction_coverage --repetitions 120 --workers 16 --out prediction_coverage.jsonl \
        --page docs/coverage-prediction-intervals.md

In each repetition a sample of the rows of a table is drawn, or of a distribution, and the intervals are checked on
other rows. ``TRUEFIT_DATA`` names the folder of the tables (Parquet; a CSV file of the same name is read in its place).
Where MAPIE is installed its cross-conformal intervals are made from the same folds. Every finished sample is a line of
the file: the same command goes on from there, and ``--minutes`` ends it early.
"""

from __future__ import annotations

import os
import sys
import time
import warnings
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.model_selection import PredefinedSplit
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.coverage_runs import command, versions
from truefit import IntervalClassifier, IntervalRegressor

LEVEL, TESTED = 0.95, 2_000
#: What the mean coverage of each setting must be.
COVERED = (0.93, 0.97)
_FOREST = {"n_estimators": 50, "min_samples_leaf": 3, "random_state": 0}
REGRESSORS = {"ridge": make_pipeline(StandardScaler(), Ridge()), "forest": RandomForestRegressor(**_FOREST)}
CLASSIFIERS = {
    "logistic": make_pipeline(StandardScaler(), LogisticRegression(max_iter=500)),
    "forest": RandomForestClassifier(**_FOREST),
}


@dataclass(frozen=True)
class Setting:
    """A table, of which so many rows are a sample, or a distribution."""

    name: str
    rows: int
    classes: bool = False
    draw: object = None

    @property
    def learners(self):
        return CLASSIFIERS if self.classes else REGRESSORS


@cache
def table(name):
    """Return the features of a table as numbers, and its target."""
    folder = Path(os.environ["TRUEFIT_DATA"])
    plain = folder / f"{name}.csv"
    frame = pd.read_csv(plain) if plain.is_file() else pd.read_parquet(folder / f"{name}.parquet")
    X = pd.get_dummies(frame.iloc[:, :-1], dtype=float)
    return X.fillna(X.median()).to_numpy(dtype=float), frame.iloc[:, -1].to_numpy()


def of_table(setting, random):
    """Return a sample of a table and other rows of it."""
    X, y = table(setting.name)
    order = random.permutation(len(y))
    sample, others = order[: setting.rows], order[setting.rows : setting.rows + TESTED]
    return (X[sample], y[sample], {}), (X[others], y[others])


def friedman(setting, random):
    def rows(n):
        X = random.uniform(size=(n, 8))
        mean = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
        return X, mean + 2 * random.standard_normal(n)

    return (*rows(setting.rows), {}), rows(TESTED)


def heavy(setting, random):
    """Noise with heavy tails, larger where the first column is."""

    def rows(n):
        X = random.standard_normal((n, 6))
        return X, X @ np.array([3.0, 2, 1, 1, 0, 0]) + np.exp(X[:, 0] / 2) * random.standard_t(3, n)

    return (*rows(setting.rows), {}), rows(TESTED)


def groups(setting, random):
    """Groups of 2 to 14 rows with offsets; new rows are of new groups."""

    def rows(count):
        group = np.repeat(np.arange(count), random.integers(2, 15, count))
        X = random.standard_normal((len(group), 6)) + random.standard_normal((count, 6))[group]
        offset = 2 * random.standard_normal(count)[group]
        return X, X[:, 0] + X[:, 1] + offset + random.standard_normal(len(group)), group

    X, y, group = rows(setting.rows // 8)
    X_new, y_new, new = rows(TESTED)
    _, one_of_each = np.unique(new, return_index=True)  # a row of each new group
    return (X, y, {"groups": group}), (X_new[one_of_each], y_new[one_of_each])


def weighted(setting, random):
    """Rows with a large first column, which vary more, are sampled seldom and weigh more."""

    def rows(n):
        X = random.uniform(size=(n, 4))
        return X, 3 * X[:, 0] + X[:, 1] + (0.3 + 2 * X[:, 0]) * random.standard_normal(n)

    X, y = rows(6 * setting.rows)
    share = 0.05 + 0.5 * (1 - X[:, 0])
    sample = np.flatnonzero(random.random(len(y)) < share)[: setting.rows]
    return (X[sample], y[sample], {"sample_weight": 1 / share[sample]}), rows(TESTED)


SETTINGS = [
    Setting("auto_mpg", 200),
    Setting("wine_quality", 500),
    Setting("bike_sharing", 500),
    Setting("diamonds", 500),
    Setting("german_credit", 500, classes=True),
    Setting("adult", 500, classes=True),
    Setting("Friedman", 300, draw=friedman),
    Setting("heavy tails, uneven variance", 300, draw=heavy),
    Setting("60 groups", 480, draw=groups),
    Setting("weights", 500, draw=weighted),
]


def measured(place, repetition):
    """Draw one sample, and return a line of the file: coverage and width of each learner."""
    warnings.simplefilter("ignore")
    began, setting = time.process_time(), SETTINGS[place]
    random = np.random.default_rng([place, repetition])
    (X, y, given), (X_new, y_new) = (setting.draw or of_table)(setting, random)
    found = {}
    for name, learner in setting.learners.items():
        kind = IntervalClassifier if setting.classes else IntervalRegressor
        params = given
        if "sample_weight" in given and hasattr(learner, "steps"):
            learner = learner.steps[-1][1]  # a pipeline would need routing of weights
        model = kind(learner, level=LEVEL, random_state=repetition).fit(X, y, **params)
        found[name] = {"truefit": _judged(model, X_new, y_new), "own": model.coverage_.iloc[-1].tolist()}
        if given:
            plain = kind(learner, level=LEVEL, random_state=repetition).fit(X, y)
            found[name]["plain"] = _judged(plain, X_new, y_new)
        else:
            found[name]["mapie"] = _mapie(setting, learner, X, y, X_new, y_new, repetition)
    line = {"setting": setting.name, "repetition": repetition, "learners": found}
    return line | {"cpu_seconds": round(time.process_time() - began, 3), "versions": versions()}


def _judged(model, X, y):
    """Return coverage and mean width, or mean number of classes."""
    if hasattr(model, "predict_set"):
        sets = model.predict_set(X)
        return [
            float(sets[np.arange(len(y)), np.searchsorted(model.classes_, y)].mean()),
            float(sets.sum(axis=1).mean()),
        ]
    low, high = model.predict_interval(X).T
    return [float(((low <= y) & (y <= high)).mean()), float((high - low).mean())]


def _mapie(setting, learner, X, y, X_new, y_new, seed):
    """Return the same of MAPIE's cross-conformal intervals on the same folds; None where it is not installed."""
    try:
        from mapie.classification import CrossConformalClassifier
        from mapie.regression import CrossConformalRegressor
    except ImportError:
        return None
    from truefit._core.data import Data
    from truefit._methods.splitting.splits import cv_splits

    task = "classification" if setting.classes else "regression"
    fold = np.empty(len(y), dtype=int)
    for number, split in enumerate(cv_splits(Data(X, y, task=task), 5, random_state=seed)):
        fold[split.test.index] = number
    options = {"confidence_level": LEVEL, "cv": PredefinedSplit(fold)}
    if setting.classes:
        labels = np.unique(y, return_inverse=True)[1]
        model = CrossConformalClassifier(clone(learner), conformity_score="lac", **options).fit_conformalize(X, labels)
        sets = np.asarray(model.predict_set(X_new)[1])[:, :, 0]
        truth = np.searchsorted(np.unique(y), y_new)
        return [float(sets[np.arange(len(truth)), truth].mean()), float(sets.sum(axis=1).mean())]
    model = CrossConformalRegressor(clone(learner), method="plus", **options).fit_conformalize(X, y)
    ends = np.asarray(model.predict_interval(X_new)[1])[:, :, 0]
    return [float(((ends[:, 0] <= y_new) & (y_new <= ends[:, 1])).mean()), float((ends[:, 1] - ends[:, 0]).mean())]


_INTRODUCTION = """\
# Coverage of prediction intervals

Coverage of the nominal 95% intervals of `IntervalRegressor` (CV+) and sets of `IntervalClassifier` (cross-conformal,
with the predicted class always in the set), from 5 folds. In each repetition they are made on a sample of a real table,
or of a distribution, and checked on up to {tested:,} other rows of it. *Width* is the mean width, or the mean number of
classes.

For exchangeable rows the theory guarantees somewhat less than 90%; the column shows what is seen. With groups each
counts once, and new rows are a row of each new group: the quantile of 60 groups is that of 95% × 61 / 60 = 96.6%, since
the new one counts too, so these settings cover more. With weights rows count by weight, which is approximate. *MAPIE*
is its cross-conformal method on the same folds (`method="plus"`; `conformity_score="lac"`); *without* is the same model
that is not told of groups or weights. *Own estimate* is `coverage_` of the model: what it says of itself from held-out
rows. With weights that is the share of the rows, not of their weights.

## How it was made

    python -m benchmarks.prediction_coverage --repetitions {repetitions} --workers 16 \\
        --out prediction_coverage.jsonl --page docs/coverage-prediction-intervals.md

{repetitions} repetitions of {settings} settings with 2 learners. The Monte-Carlo standard error of a coverage is at
most {error:.2f} points. {minutes:.0f} minutes of CPU. Made with {versions}."""


def page(lines, repetitions):
    """The results as Markdown."""
    rows, ours, errors = [], [], []
    for setting in SETTINGS:
        own = [line["learners"] for line in lines if line["setting"] == setting.name]
        for name in setting.learners if own else ():
            means = {
                method: np.mean([each[name][method] for each in own], axis=0)
                for method in ("truefit", "mapie", "plain")
                if own[0][name].get(method) is not None
            }
            estimate = float(np.mean([each[name]["own"][1] for each in own]))
            ours.append(float(means["truefit"][0]))
            errors.append(np.std([each[name]["truefit"][0] for each in own]) / len(own) ** 0.5)
            cells = [f"{means[m][0]:.1%} | {means[m][1]:.4g}" if m in means else " | " for m in ("mapie", "plain")]
            rows.append(
                f"| {setting.name} | {setting.rows} | {name} | {means['truefit'][0]:.1%} | {means['truefit'][1]:.4g} | "
                f"{estimate:.1%} | {' | '.join(cells)} |"
            )
    within = sum(COVERED[0] <= each <= COVERED[1] for each in ours)
    parts = [
        _INTRODUCTION.format(
            tested=TESTED,
            repetitions=repetitions,
            settings=len(SETTINGS),
            error=100 * max(errors),
            minutes=sum(line["cpu_seconds"] for line in lines) / 60,
            versions="; ".join(sorted({line["versions"] for line in lines})),
        ),
        "## Every setting",
        f"Mean coverage {np.mean(ours):.1%}; {within} of {len(ours)} within {COVERED[0]:.0%} to {COVERED[1]:.0%}; "
        f"lowest {min(ours):.1%}, highest {max(ours):.1%}.",
        "| data | rows | learner | covered | width | own estimate | MAPIE | width | without | width |\n"
        + "|---" * 10
        + "|\n"
        + "\n".join(rows),
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments=()):
    command("prediction", SETTINGS, measured, page, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
