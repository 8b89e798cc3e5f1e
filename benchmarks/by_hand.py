"""One study against the same questions answered by hand with scikit-learn: fits and seconds, in one run.

    python -m benchmarks by_hand

With TRUEFIT_DATA=FOLDER, where FOLDER holds ``german_credit.parquet``, a table with categories is included.

The study runs first, as by default. What it requested is then run by hand: the candidates, its folds, the
noise levels and repeats, the bootstrap samples, the sizes of its learning curves. By hand that is GridSearchCV,
GridSearchCV inside cross_validate, learning_curve, and loops for Agghoo, noise, and bias and variance.

Times are wall-clock seconds. On one core both have one process and one thread. On two the study has two workers, and
by hand n_jobs is 2, with the loops in joblib's processes.

Differences:

- By hand there are numbers only. The study also has intervals, tests, an extrapolated curve and the text.
- The folds of the search are the same. Inside them GridSearchCV selects on 5 new folds, as is
  usual, while the study uses the other 4 of its own. The case with 4 inner folds, which have training
  sets of the same sizes, is measured too.
- A point of the study's curve is 5-fold cross-validation in a sample of that size. learning_curve trains on as many
  rows and tests on the folds of the whole table; it also scores training rows.
- If its search would take more than 30 s of fitting, the study stops candidates by racing, and cross-tests only those
  with all fits; the loop by hand is over these. GridSearchCV fits all.
- By hand nothing is shared between the questions: the unperturbed table is fitted again in each repeat of the noise,
  the selected model again for its training rows, and the folds of the search again for the last point of a curve.
- The ensemble by hand is drawn from the settings that the study's has as members without any of the folds, fewer than
  the study draws from.
- The noise is drawn by another generator, and so are the bootstrap samples.
"""

from __future__ import annotations

import os
import time
import warnings
from dataclasses import dataclass
from functools import cached_property, partial
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from sklearn.base import clone
from sklearn.compose import make_column_selector, make_column_transformer
from sklearn.datasets import load_breast_cancer
from sklearn.ensemble import GradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import (
    GridSearchCV,
    ParameterGrid,
    StratifiedKFold,
    cross_validate,
    learning_curve,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.svm import SVC
from threadpoolctl import threadpool_limits

from benchmarks.table import Row, show
from truefit import Engine, study
from truefit._core.data import Data
from truefit._methods.selection.default_candidates import default_candidates
from truefit._methods.selection.families import default_families, settings_of
from truefit._methods.splitting.splits import make_splits
from truefit._study.result import Study

K, TARGET, TUNED_TARGET = 5, 3.0, 5.0

#: What somebody would search who uses GridSearchCV.
GRIDS = (
    ("linear", LogisticRegression(max_iter=1000), {"C": [0.01, 0.1, 1.0, 10.0]}),
    ("knn", KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 10, 20, 40]}),
    ("forest", RandomForestClassifier(), {"n_estimators": [25, 50, 100], "min_samples_leaf": [1, 5]}),
    ("boosting", GradientBoostingClassifier(), {"n_estimators": [25, 50, 100], "max_depth": [2, 3]}),
    ("svm", SVC(), {"C": [0.1, 1.0, 10.0], "gamma": ["scale", 0.001]}),
)


def grid_candidates(X):
    """Every point of the grids, behind scaling and, where the table has categories, one-hot encoding."""
    columns = make_column_transformer(
        (OneHotEncoder(handle_unknown="ignore", sparse_output=False), make_column_selector(dtype_exclude="number")),
        remainder=StandardScaler(),
    )
    prepared = columns if isinstance(X, pd.DataFrame) else StandardScaler()
    return {
        f"{name} {', '.join(f'{key}={value}' for key, value in point.items())}": Pipeline(
            [("prepared", clone(prepared)), ("model", clone(learner).set_params(**point))]
        )
        for name, learner, grid in GRIDS
        for point in ParameterGrid(grid)
    }


def tables():
    """Tables at hand: name, X and y."""
    yield "breast_cancer", *load_breast_cancer(return_X_y=True)
    folder = os.environ.get("TRUEFIT_DATA")
    if folder is not None and (Path(folder) / "german_credit.parquet").is_file():
        frame = pd.read_parquet(Path(folder) / "german_credit.parquet")
        y = frame.pop(frame.columns[-1]).astype(str).to_numpy()
        yield "german_credit", frame, y
    else:
        print("german_credit is left out: TRUEFIT_DATA names no folder with german_credit.parquet")


class Counted(Pipeline):
    """A pipeline of one candidate that counts how often any of them was fitted."""

    fits = 0

    def fit(self, X, y=None, **params):
        Counted.fits += 1
        return super().fit(X, y, **params)


class ByHand:
    """The questions of a study, answered with scikit-learn on the same table, so many fits at a time."""

    def __init__(self, X, y, candidates, asked, jobs=1):
        self.X, self.y = X, np.asarray(y)
        self.models = {name: Counted([("candidate", each)]) for name, each in candidates.items()}
        self.asked = Asked.by(asked)
        self.jobs = jobs
        self.random = np.random.default_rng(0)

    def fits(self, inside):
        """How many fits the answers take; those in other processes are not counted where they are run."""
        asked, count = self.asked, len(self.models)
        selection = count * K + 1 + K * (count * inside + 1) + K * inside * len(asked.members)
        noise = sum(repeats * len(levels) for repeats, levels in asked.disturbed.values())
        curves = K * sum(map(len, asked.grown.values()))
        selection += K * (inside + 1) * len(asked.averaged)  # members for the ensemble, but for their last fits
        return selection + len(asked.trained) + noise + asked.rounds * len(asked.decomposed) + curves

    def rows(self, index):
        return self.X.iloc[index] if isinstance(self.X, pd.DataFrame) else self.X[index]

    def fitted(self, name, rows, labels=None):
        return clone(self.models[name]).fit(self.rows(rows), (self.y if labels is None else labels)[rows])

    def each(self, ask, several):
        """Ask once for each of several, in as many processes as there are."""
        if self.jobs == 1:
            return [ask(*each) for each in several]
        return Parallel(n_jobs=self.jobs)(delayed(ask)(*each) for each in several)

    @cached_property
    def folds(self):
        """The folds of the study: they depend on the rows alone."""
        splits = make_splits(Data(self.X, self.y, task="classification"), "kfold", k=K)
        return [(split.train.index, split.test.index) for split in splits]

    def grid(self, cv, jobs=None):
        one = next(iter(self.models.values()))
        every = {"candidate": [model.named_steps["candidate"] for model in self.models.values()]}
        return GridSearchCV(clone(one), every, cv=cv, scoring="accuracy", n_jobs=jobs)

    def which(self):
        search = self.grid(self.folds, self.jobs).fit(self.X, self.y)
        return list(self.models)[search.best_index_], 1 - search.best_score_

    def how_good(self, inside):
        inner = StratifiedKFold(inside, shuffle=True, random_state=0)
        found = cross_validate(
            self.grid(inner), self.X, self.y, cv=self.folds, scoring="accuracy", n_jobs=self.jobs
        )  # fmt: skip
        return 1 - found["test_score"].mean()

    def agghoo(self, inside):
        """Without each fold: the best on each of the inner folds, and the error of their average."""
        return np.mean(self.each(self._aggregated, [(inside, train, test) for train, test in self.folds]))

    def _aggregated(self, inside, train, test):
        votes = []
        for fit, validate in StratifiedKFold(inside, shuffle=True, random_state=0).split(train, self.y[train]):
            rows, others = train[fit], train[validate]
            best, least = None, np.inf
            for name in self.asked.members:
                model = self.fitted(name, rows)
                error = self._error(model, others)
                if error < least:
                    best, least = model, error
            votes.append(self._voted(best, test))
        labels = np.unique(self.y)[np.mean(votes, axis=0).argmax(axis=1)]
        return np.mean(labels != self.y[test])

    def ensemble(self, inside):
        """Without each fold: the error of an average of settings whose weights the inner folds tell."""
        self._drawn(K, np.arange(len(self.y)))
        return np.mean(self.each(self._averaged, [(inside, train, test) for train, test in self.folds]))

    def _averaged(self, inside, train, test):
        drawn = self._drawn(inside, train)
        fitted = {name: self.fitted(name, train) for name in set(drawn)}
        total = sum(drawn.count(name) * self._probabilities(each, test) for name, each in fitted.items())
        return np.mean(np.unique(self.y)[total.argmax(axis=1)] != self.y[test])

    def _drawn(self, inside, rows):
        """Ten draws, each of the setting that gives the least Brier score together with those before."""
        inner, truth = StratifiedKFold(inside, shuffle=True, random_state=0), self.y[rows][:, None] == np.unique(self.y)
        found = {name: np.zeros(truth.shape) for name in self.asked.averaged}
        for fit, validate in inner.split(rows, self.y[rows]):
            for name, each in found.items():
                each[validate] = self._probabilities(self.fitted(name, rows[fit]), rows[validate])
        drawn = []
        for size in range(1, 11):
            together = sum((found[each] for each in drawn), np.zeros(truth.shape))
            drawn.append(min(found, key=lambda name: np.square((together + found[name]) / size - truth).sum()))
        return drawn

    def _probabilities(self, model, rows):
        if hasattr(model, "predict_proba"):
            return model.predict_proba(self.rows(rows))
        return (model.predict(self.rows(rows))[:, None] == np.unique(self.y)).astype(float)

    def _voted(self, model, rows):
        if self.asked.soft:
            return self._probabilities(model, rows)
        return (model.predict(self.rows(rows))[:, None] == np.unique(self.y)).astype(float)

    def trained(self):
        everything = np.arange(len(self.y))
        return {name: self._error(self.fitted(name, everything), everything) for name in self.asked.trained}

    def _error(self, model, rows):
        return float(np.mean(model.predict(self.rows(rows)) != self.y[rows]))

    def noise(self):
        """Train on flipped labels, and return how fast the agreement with them falls."""
        rates = {}
        for name, (repeats, levels) in self.asked.disturbed.items():
            rows = self._sampled(self.asked.disturbed_rows)
            draws = [(name, rows, self._flipped(level)) for _ in range(repeats) for level in levels]
            agreement = np.reshape(self.each(self._agreement, draws), (repeats, len(levels)))
            rates[name] = float(np.mean([-np.polyfit(levels, each, 1)[0] for each in agreement]))
        return rates

    def _agreement(self, name, rows, labels):
        return np.mean(self.fitted(name, rows, labels).predict(self.rows(rows)) == labels[rows])

    def _sampled(self, count):
        """The rows themselves where a question was put to all of them, else as many."""
        if count >= len(self.y):
            return np.arange(len(self.y))
        return np.sort(self.random.choice(len(self.y), count, replace=False))

    def _flipped(self, level):
        labels, classes = self.y.copy(), np.unique(self.y)
        for each in classes:
            own = np.flatnonzero(self.y == each)
            flipped = self.random.choice(own, round(level * len(own)), replace=False)
            labels[flipped] = self.random.choice(classes[classes != each], len(flipped))
        return labels

    def bias_variance(self):
        """Share of rows whose most frequent prediction is wrong, and what the expected error is beyond it."""
        classes, count = np.unique(self.y), len(self.y)
        samples = [np.sort(self.random.integers(0, count, self.asked.drawn_rows)) for _ in range(self.asked.rounds)]
        others = [np.setdiff1d(np.arange(count), sample) for sample in samples]
        found = {}
        for name in self.asked.decomposed:
            votes = np.zeros((count, len(classes)))
            several = [(name, sample, rest) for sample, rest in zip(samples, others, strict=True)]
            for rest, predicted in zip(others, self.each(self._predicted, several), strict=True):
                votes[rest, np.searchsorted(classes, predicted)] += 1
            seen = votes.sum(axis=1) > 1
            votes, truth = votes[seen], np.searchsorted(classes, self.y[seen])
            loss = 1 - (votes[np.arange(len(truth)), truth] / votes.sum(axis=1)).mean()
            bias = np.mean(votes.argmax(axis=1) != truth)
            found[name] = (float(bias), float(loss - bias))
        return found

    def _predicted(self, name, sample, others):
        return self.fitted(name, sample).predict(self.rows(others))

    def curves(self):
        found = {}
        for name, wanted in self.asked.grown.items():
            sizes = np.maximum(np.floor(np.asarray(wanted) * (K - 1) / K), K).astype(int)
            sizes = np.minimum(sizes, min(len(train) for train, _ in self.folds))
            _, _, scores = learning_curve(
                clone(self.models[name]), self.X, self.y, cv=self.folds, train_sizes=sizes, shuffle=True,
                random_state=0, scoring="accuracy", n_jobs=self.jobs,
            )  # fmt: skip
            found[name] = float(1 - scores.mean(axis=1)[-1])
        return found

    def answers(self, *insides):
        """Ask everything that the study asked; return by question what was found, with what it took."""
        questions = {"which model": self.which, "training rows": self.trained}
        for inside in insides:
            questions[f"how good, {inside} inside"] = partial(self.how_good, inside)
            if self.asked.members:
                questions[f"Agghoo, {inside} inside"] = partial(self.agghoo, inside)
            if self.asked.averaged:
                questions[f"ensemble, {inside} inside"] = partial(self.ensemble, inside)
        further = {
            "noise": (self.asked.disturbed, self.noise),
            "bias and variance": (self.asked.decomposed, self.bias_variance),
            "learning curves": (self.asked.grown, self.curves),
        }
        questions |= {name: ask for name, (done, ask) in further.items() if done}
        found = {}
        for name, ask in questions.items():
            fits, start = Counted.fits, time.perf_counter()
            answer = ask()
            found[name] = answer, Took(Counted.fits - fits, time.perf_counter() - start)
        return found


@dataclass(frozen=True)
class Asked:
    """What a study really asked for."""

    trained: list
    members: list
    soft: bool
    averaged: list
    disturbed: dict
    disturbed_rows: int
    decomposed: list
    rounds: int
    drawn_rows: int
    grown: dict

    @classmethod
    def by(cls, study):
        aggregate, noise, parts, curves = study.cross_test, study.perturbation, study.bias_variance, study.curves
        averaged = study.averaged
        weights = [] if averaged is None or averaged.aggregate != "soft" else averaged.chosen
        return cls(
            trained=list(study.training),
            members=[] if aggregate is None else list(aggregate.candidates),
            soft=aggregate is not None and aggregate.aggregate == "soft",
            averaged=list(dict.fromkeys(name for each in weights for name in each)),
            disturbed={}
            if noise is None
            else {name: (each.repeats, each.levels) for name, each in noise.by_name.items()},
            disturbed_rows=0 if noise is None else noise.rows,
            decomposed=[] if parts is None else list(parts.names),
            rounds=0 if parts is None else parts.rounds,
            drawn_rows=0 if parts is None else parts.rows,
            grown={} if curves is None else {name: list(curve.sizes) for name, curve in curves.curves.items()},
        )


class Took(NamedTuple):
    """What an answer took: fits, and seconds by the clock."""

    fits: int
    seconds: float

    @classmethod
    def sum(cls, several):
        return cls(*map(sum, zip(*several, strict=True)))


def said(answer):
    """An answer in a few characters."""
    if isinstance(answer, dict):
        return "; ".join(f"{name} {said(each)}" for name, each in answer.items())
    if isinstance(answer, tuple):
        return ", ".join(map(said, answer))
    return answer if isinstance(answer, str) else f"{answer:.3f}"


def answers_of(result):
    """What the study found, as the questions by hand are answered."""
    found = {
        "which model": (result.best, result.assessment.estimates[result.best].value),
        "training rows": result.training,
    }
    for inside in (K, K - 1):
        found[f"how good, {inside} inside"] = result.estimate
        if result.cross_test is not None:
            found[f"Agghoo, {inside} inside"] = float(result.cross_test.fold_risks.mean())
        if result.averaged is not None:
            found[f"ensemble, {inside} inside"] = result.averaged.estimate
    if result.perturbation is not None:
        found["noise"] = {name: rated.rate for name, rated in result.perturbation.by_name.items()}
    if result.bias_variance is not None:
        parts = result.bias_variance
        found["bias and variance"] = {name: (parts.bias[name], parts.variance[name]) for name in parts.names}
    if result.curves is not None:
        found["learning curves"] = {name: curve.errors[-1] for name, curve in result.curves.curves.items()}
    return found


class Studied(NamedTuple):
    """A study, and what it took."""

    result: Study
    seconds: float
    fitting: float
    asked: int
    run: int

    @classmethod
    def with_workers(cls, workers, X, y, candidates):
        """Study candidates; for None the families that a study tunes by default."""
        with Engine(on_error="record", progress=False, workers=workers) as engine:
            start = time.perf_counter()
            result = study(X, y, candidates, engine=engine)
            stats = engine.stats
            return cls(result, time.perf_counter() - start, stats.seconds, stats.asked, stats.run)


def compared(title, X, y, candidates):
    """Study a table, then answer the same by hand, on one core and on two; print both, and yield the seconds."""
    with threadpool_limits(1):
        own = Studied.with_workers(1, X, y, candidates)
        theirs, ours = ByHand(X, y, candidates, own.result).answers(K, K - 1), answers_of(own.result)
    print(f"{title}: {len(y):,} rows, {len(candidates)} candidates; seconds on one core")
    print(f"  {'':<20} {'fits':>6} {'s':>7}  answer by hand | of the study")
    for name, (answer, took) in theirs.items():
        print(f"  {name:<20} {took.fits:6,d} {took.seconds:7.1f}  {said(answer)} | {said(ours[name])}")
    print(f"  {'the study':<20} {own.run:6,d} {own.seconds:7.1f}  ({own.asked:,} fits requested)")
    if own.result.dropped:
        print(f"  the study let go on the way: {', '.join(each.name for each in own.result.dropped)}")
    fits = {}
    for inside, other in ((K, K - 1), (K - 1, K)):
        peer = Took.sum(took for name, (_, took) in theirs.items() if not name.endswith(f"{other} inside"))
        fits[inside] = f"{inside} inside of {K}, {peer.fits:,} fits by hand"
        print(
            f"  by hand, {inside} inside of {K}: {peer.fits:,} fits, {peer.seconds:.1f} s; the study's own fits alone "
            f"take {own.fitting:.1f} s, so that at most {peer.seconds / own.fitting:.2f} times as fast can be had by "
            "sharing"
        )
        yield Row(f"{title}, one core, {fits[inside]}", peer.seconds, own.seconds, own.asked, own.run, None, TARGET)
    yield on_two_cores(title, X, y, candidates, candidates, TARGET)


def on_two_cores(title, X, y, studied, candidates, target):
    """Study a table, then answer the same by hand with all candidates that were searched, each on two cores."""
    two = Studied.with_workers(2, X, y, studied)
    by_hand = ByHand(X, y, candidates, two.result, jobs=2)
    peer = Took.sum(took for _, took in by_hand.answers(K).values())
    print(
        f"{title}, two cores: the study's own fits take {two.fitting / 2:.1f} s on each, so that at most "
        f"{2 * peer.seconds / two.fitting:.2f} times as fast can be had by sharing"
    )
    title = f"{title}, two cores, {K} inside of {K}, {by_hand.fits(K):,} fits by hand"
    return Row(title, peer.seconds, two.seconds, two.asked, two.run, None, target)


def tuned(name, X, y):
    """The default study of a table, whose candidates are all settings of all families."""
    settings = settings_of(default_families(X, "classification", y))
    candidates = {each: setting.estimator for each, setting in settings.items()}
    return on_two_cores(f"{name}, tuned by default", X, y, None, candidates, TUNED_TARGET)


def rows():
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, X, y in tables():
            yield from compared(f"{name}, default candidates", X, y, default_candidates(X, "classification"))
            yield from compared(f"{name}, a grid", X, y, grid_candidates(X))
            if name == "breast_cancer":
                yield tuned(name, X, y)


def main():
    show(rows())


if __name__ == "__main__":
    main()
