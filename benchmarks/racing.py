"""A search among 100 candidates, whole and as a race: fit time, and how much worse the race's choice is on new rows.

    python -m benchmarks.racing --data FOLDER --out docs/performance-racing.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last; without it two sets of scikit-learn's own
stand in.

All fits of a sample are made once, for the whole search, and the races look into the same engine: the seconds of a
search are those that its own fits took, one by one, wherever they were made. So whole and race differ by which fits
they ask for, and by nothing else. Predicting is not counted.
"""

from __future__ import annotations

import argparse
import os
import platform
import sys
import warnings
from dataclasses import dataclass
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import ParameterGrid, train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, Race
from truefit._core.data import Data
from truefit._core.errors import FitError
from truefit._methods.selection.plan import inner_splits, search_plan
from truefit._methods.splitting.splits import make_splits
from truefit._metrics.metric import get_metric

TABLES = ("adult", "bank_marketing", "connect4", "letter", "spambase")
BUILT_IN = {"digits": (load_digits, 1_000), "breast_cancer": (load_breast_cancer, 350)}
#: Rows that a choice is made on, and at most so many that it is judged by.
ROWS, TEST_ROWS = 1_000, 8_000
REPETITIONS = 10
#: Of how many folds, and over what. All but the first are measured on the first few samples.
RACES = {(10, "folds"): Race(), (10, "sizes"): Race(over="sizes"), (5, "folds"): Race()}
NESTED_FOLDS, FEW = 5, 1

#: Learners that are quick on a thousand rows: what counts is how much of the work is left out.
GRIDS = (
    (LogisticRegression(max_iter=1000), {"C": np.logspace(-3, 1, 9).tolist()}),
    (LinearDiscriminantAnalysis("lsqr"), {"shrinkage": [0.001, 0.003, *np.linspace(0.01, 0.9, 10).tolist()]}),
    (GaussianNB(), {"var_smoothing": [1e-9, 1e-5, 1e-3, 1e-2, 1e-1]}),
    (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 10, 15, 25, 50], "weights": ["uniform", "distance"]}),
    (SVC(), {"C": [0.1, 1.0, 10.0, 100.0], "gamma": [1e-3, 1e-2, 1e-1]}),
    (
        DecisionTreeClassifier(random_state=0),
        {
            "max_depth": [2, 4, 6, 8, 12, None],
            "min_samples_leaf": [1, 5, 20],
            "criterion": ["gini", "entropy"],
        },
    ),
    (
        ExtraTreesClassifier(10, random_state=0),
        {"max_features": ["sqrt", 0.2, 0.4, 0.8], "min_samples_leaf": [1, 3, 10]},
    ),
)
CANDIDATES = [clone(learner).set_params(**point) for learner, grid in GRIDS for point in ParameterGrid(grid)]

ABOUT = """\
{candidates} candidates (decision tree 36, nearest neighbours 14, RBF support vector machine 12, extra trees 12,
linear discriminant 12, logistic regression 9, Gaussian naive Bayes 5; columns are scaled beforehand) are
compared by cross-validated error on {rows:,} rows. The selected candidate is evaluated on up to {others:,}
held-out rows, in {samples} samples of each table ({few} of them for sizes and 5 folds). *Whole* fits every
candidate on every fold. Seconds are those of the fits alone, one at a time, in the mean over the samples, those
on parts of the rows included; the ratio is of their sums. Regret is the error of the race's choice less that of
the whole search's choice, each fitted on all rows that it was chosen on, in points, mean ± standard error. The
chance of 5% below which a candidate is dropped was found on other tables (wine quality, bike sharing, diamonds,
German credit, digits)."""


@dataclass(frozen=True)
class Ran:
    """One search on one sample: what its fits took, how many they were, what it chose, and the error of that."""

    seconds: float
    fits: int
    best: int
    error: float
    honest: float


def drawn(name, folder, seed):
    """Return rows to choose on and rows to judge by, X and y of each."""
    if folder is None:
        load, rows = BUILT_IN[name]
        X, y = load(return_X_y=True)
    else:
        frame, rows = pd.read_parquet(folder / f"{name}.parquet"), ROWS
        y = frame.pop(frame.columns[-1]).astype(str).to_numpy()
        X = pd.get_dummies(frame).to_numpy(float)
    chosen, rest = train_test_split(np.arange(len(y)), train_size=rows, random_state=seed, stratify=y)
    rest = rest[:TEST_ROWS]
    scaler = StandardScaler().fit(X[chosen])
    return (scaler.transform(X[chosen]), y[chosen]), (scaler.transform(X[rest]), y[rest])


def counted(plan, seconds):
    """Pass a plan on, and write down what each distinct fit took."""
    step = partial(next, plan)
    while True:
        try:
            tasks = step()
        except StopIteration as stop:
            return stop.value
        try:
            outcomes = yield tasks
        except FitError as error:
            step = partial(plan.throw, error)
        else:
            seconds.update({outcome.key: outcome.fit_seconds for outcome in outcomes if outcome.model is None})
            step = partial(plan.send, outcomes)


def ran(data, test, folds, race, engine, *, nested=False):
    """Search, whole or as a race, and judge the choice."""
    metric = get_metric("error", "classification")
    splits = make_splits(data, "kfold", k=folds)

    def choose(scores):
        means = scores["error"].mean(axis=1)
        return int(np.argmin(np.where(np.isnan(means), np.inf, means)))

    plan = search_plan(
        CANDIDATES,
        data,
        splits,
        responses=[("predict",)] * len(CANDIDATES),
        judge=lambda outcome, rows: {"error": metric.value(outcome, data, rows)},
        choose=choose,
        inner=inner_splits(data, splits, folds) if nested else None,
        race=race,
        metric=metric,
    )
    seconds = {}
    found = engine.run(counted(plan, seconds), data)
    X, y = test
    error = float(np.mean(found.model.predict(X) != y))
    honest = float("nan") if found.nested is None else float(found.nested.scores["error"].mean())
    return Ran(sum(seconds.values()), len(seconds), found.best, error, honest)


def sampled(name, folder, seed, wanted, engine):
    """Searches on one sample: by the number of folds, or "nested", and the kind of race."""
    (X, y), test = drawn(name, folder, seed)
    data = Data(X, y, task="classification")
    found = {}
    for folds, kind in wanted:
        number = NESTED_FOLDS if folds == "nested" else folds
        found[folds, kind] = ran(data, test, number, RACES.get((number, kind)), engine, nested=folds == "nested")
    return found


def lines(found, folds, kind):
    """Table of one kind of race: a row per data set, and one for all."""
    yield "| table | error of the whole search's choice, % | whole, s | race, s | ratio | fits | same choice | regret |"
    yield "|---|---|---|---|---|---|---|---|"
    everything = []
    for name, samples in found.items():
        pairs = [(each[folds, "whole"], each[folds, kind]) for each in samples if (folds, kind) in each]
        everything.append(pairs)
        yield line(name, pairs)
    yield line("all", [pair for pairs in everything for pair in pairs])


def line(name, pairs):
    """Return one row of the table: the means over pairs of a whole search and a race."""
    whole, race = zip(*pairs, strict=True)
    taken, needed = (sum(each.seconds for each in side) for side in (whole, race))
    regret = 100 * np.array([b.error - a.error for a, b in pairs])
    spread = regret.std(ddof=1) / np.sqrt(len(regret)) if len(regret) > 1 else float("nan")
    same = sum(a.best == b.best for a, b in pairs)
    return (
        f"| {name} | {100 * np.mean([each.error for each in whole]):.1f} | {taken / len(pairs):.1f} | "
        f"{needed / len(pairs):.1f} | **{taken / needed:.2f}** | {np.mean([each.fits for each in race]):.0f} of "
        f"{np.mean([each.fits for each in whole]):.0f} | {same} of {len(pairs)} | {regret.mean():+.2f} ± {spread:.2f} |"
    )


def nested_lines(found):
    """Table of the searches with their assessment: a row per data set."""
    yield "| table | whole, s | race, s | ratio | fits | whole, nested, % | race, nested, % | race, new rows, % |"
    yield "|---|---|---|---|---|---|---|---|"
    for name, samples in found.items():
        pairs = [(each["nested", "whole"], each["nested", "folds"]) for each in samples if ("nested", "whole") in each]
        whole, race = zip(*pairs, strict=True)
        taken, needed = (np.mean([each.seconds for each in side]) for side in (whole, race))
        fits = " of ".join(f"{np.mean([each.fits for each in side]):.0f}" for side in (race, whole))
        shares = [np.mean([each.honest for each in side]) for side in (whole, race)]
        shares.append(np.mean([each.error for each in race]))
        told = " | ".join(f"{100 * share:.1f}" for share in shares)
        yield f"| {name} | {taken:.1f} | {needed:.1f} | **{taken / needed:.2f}** | {fits} | {told} |"


def page(found, command):
    """The results as Markdown."""
    repetitions = len(next(iter(found.values())))
    parts = [
        "# Racing: savings and costs",
        f"    {command}",
        ABOUT.format(candidates=len(CANDIDATES), rows=ROWS, others=TEST_ROWS, samples=repetitions, few=FEW),
    ]
    for folds, kind in RACES:
        parts += [f"## {folds} folds, `race={kind!r}`", "\n".join(lines(found, folds, kind))]
    parts += [
        f"## {NESTED_FOLDS} folds with the assessment, `race='folds'`",
        "The race is repeated without each of the outer folds.",
        "\n".join(nested_lines(found)),
        f"{platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}.",
    ]
    return "\n\n".join(parts) + "\n"


def main(arguments=()):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.racing")
    folder = os.environ.get("TRUEFIT_DATA")
    parser.add_argument("--data", type=Path, default=folder and Path(folder), help="folder with the tables")
    parser.add_argument("--repetitions", type=int, default=REPETITIONS)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--store", help="where fits are kept; the same again goes on")
    parser.add_argument("--out", type=Path, help="write the page there")
    options = parser.parse_args(arguments)
    warnings.simplefilter("ignore", ConvergenceWarning)
    tables = TABLES if options.data is not None else tuple(BUILT_IN)
    found = {name: [{} for _ in range(options.repetitions)] for name in tables}
    with Engine(options.store, workers=options.workers, solvers="plain", progress=False) as engine:
        first = [(10, "whole"), (10, "folds")]
        others = [(10, "sizes"), (5, "whole"), (5, "folds"), ("nested", "whole"), ("nested", "folds")]
        for count, wanted in ((options.repetitions, first), (min(options.repetitions, FEW), others)):
            for seed, name in product(range(count), tables):
                searches = sampled(name, options.data, seed, wanted, engine)
                found[name][seed].update(searches)
                print(f"  {name} {seed}:", {key: (round(each.seconds, 2), each.best) for key, each in searches.items()})
    data = " --data FOLDER" if options.data is not None else ""
    text = page(found, f"python -m benchmarks.racing{data}")
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main(sys.argv[1:])
