"""Raw Adult, all of an ordinary study: what it costs by hand, and from one Engine.

    TRUEFIT_DATA=DIR python -m benchmarks raw_adult

5,000 rows with categories and missing values; imputation, scaling and one-hot encoding before each of 30 trees. The
tasks are a grid search, its nested estimate, cross-tested Agghoo, a learning curve at 10 sizes, and Perturbed Model
Validation of 5 of the trees at 11 levels, 5 draws each. By hand each is written with scikit-learn as usual, with
five inner folds in each of five. The Engine first computes the same with equal results, and then in its own way:
the inner folds are the other folds of the same partition. The estimands are the same, the splits are not.

Times are CPU seconds in one process. Fits of the preprocessing are counted on both sides.
"""

from __future__ import annotations

import inspect
import sys
import time
from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.model_selection import GridSearchCV, ParameterGrid, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier
from threadpoolctl import threadpool_limits

from benchmarks.real_table import real_table
from benchmarks.table import Row, show
from truefit import AgghooClassifier, Engine, HonestSearchCV, assess, cross_test, learning_curve, perturb
from truefit._core.data import Data
from truefit._methods.learning_curve.config import row_sequence
from truefit._methods.learning_curve.plan import sample_splits
from truefit._methods.perturbation.noise import FlippedLabels
from truefit._methods.splitting.splits import make_splits

ROWS, K, LEVELS, DRAWS = 5000, 5, np.linspace(0, 0.5, 11), 5
SIZES = [500 * step for step in range(1, 11)]
INNER = StratifiedKFold(K, shuffle=True, random_state=0)
GRID = {"max_depth": [2, 4, 6, 8, 12, None], "min_samples_leaf": [1, 3, 10, 30, 100]}
DEPTHS = [2, 4, 6, 8, 12]  # of the trees that are disturbed


def pipeline(X, **parameters):
    words = X.select_dtypes(exclude="number").columns
    numbers = X.columns.difference(words, sort=False)
    encoded = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore"))
    scaled = make_pipeline(SimpleImputer(), StandardScaler())
    columns = ColumnTransformer([("numbers", scaled, list(numbers)), ("words", encoded, list(words))])
    return make_pipeline(columns, DecisionTreeClassifier(random_state=0, **parameters))


class Counting:
    """Counts the fits of column transformers while it is entered, whoever makes them.

    Nothing is replaced in scikit-learn for this: an engine would see other code after every fit, and share nothing.
    """

    def __enter__(self):
        self.fits, code = 0, inspect.unwrap(ColumnTransformer.fit_transform).__code__

        def count(frame, event, argument):
            if event == "call" and frame.f_code is code:
                self.fits += 1

        sys.setprofile(count)
        return self

    def __exit__(self, *exception):
        sys.setprofile(None)


@dataclass(frozen=True)
class Study:
    """What was found: accuracies, risks and errors, by split, size, or tree with draw and level."""

    searched: np.ndarray
    nested: np.ndarray
    tested: np.ndarray
    curve: np.ndarray
    disturbed: np.ndarray

    def apart(self, other, *parts):
        """The largest difference in some of the parts."""
        return max(float(np.abs(getattr(self, part) - getattr(other, part)).max()) for part in parts)


class ByHand:
    """Everything written with scikit-learn; the rows of splits and the labels of noise are given."""

    def __init__(self, X, y, outer, samples, labels):
        self.X, self.y, self.outer, self.samples, self.labels = X, y, outer, samples, labels
        self.candidates = [pipeline(X, **point) for point in ParameterGrid(GRID)]
        self.fits = 0

    def fitted(self, model, rows, y=None):
        self.fits += 1
        return clone(model).fit(self.X.iloc[rows], (self.y if y is None else y)[rows])

    def searched(self, rows, splits):
        grid = {f"decisiontreeclassifier__{name}": values for name, values in GRID.items()}
        search = GridSearchCV(pipeline(self.X), grid, cv=splits).fit(self.X.iloc[rows], self.y[rows])
        self.fits += len(self.candidates) * K + 1
        return search

    def agghoo_risk(self, train, test):
        shares = []
        for rows, validation in INNER.split(train, self.y[train]):
            models = [self.fitted(candidate, train[rows]) for candidate in self.candidates]
            held = train[validation]
            best = int(np.argmax([model.score(self.X.iloc[held], self.y[held]) for model in models]))
            shares.append(models[best].predict_proba(self.X.iloc[test]))
        labels = models[0].classes_[np.mean(shares, axis=0).argmax(axis=1)]
        return np.mean(labels != self.y[test])

    def error(self, model, train, test):
        return 1 - self.fitted(model, train).score(self.X.iloc[test], self.y[test])

    def study(self):
        everything = np.arange(len(self.y))
        search = self.searched(everything, self.outer)
        nested = [self.searched(train, INNER).score(self.X.iloc[test], self.y[test]) for train, test in self.outer]
        tested = [self.agghoo_risk(train, test) for train, test in self.outer]
        middle = pipeline(self.X, max_depth=8)
        curve = [np.mean([self.error(middle, *split) for split in splits]) for splits in self.samples]
        disturbed = [
            self.fitted(pipeline(self.X, max_depth=depth), everything, labels).score(self.X, labels)
            for depth in DEPTHS
            for labels in self.labels
        ]
        scores = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(K)])
        return Study(scores, np.array(nested), np.array(tested), np.array(curve), np.array(disturbed))


class ByEngine:
    """The same asked of one Engine."""

    def __init__(self, X, y):
        self.X, self.y = X, y
        self.engine = Engine(progress=False)
        self.grid = {f"decisiontreeclassifier__{name}": values for name, values in GRID.items()}

    def _curve_and_noise(self):
        curve = learning_curve(pipeline(self.X, max_depth=8), self.X, self.y, schedule=SIZES, cv=K, engine=self.engine)
        trees = {str(depth): pipeline(self.X, max_depth=depth) for depth in DEPTHS}
        found = perturb(
            trees, self.X, self.y, levels=LEVELS.tolist(), repeats=DRAWS, cv=None, engine=self.engine
        ).curves
        ordered = [found[found["estimator"] == name].sort_values(["repeat", "level"])["value"] for name in trees]
        return curve.errors, np.concatenate(ordered)

    def five_inside_of_five(self):
        """As by hand: inner folds of their own, and nested cross-validation beside the cross-test."""
        named = {str(i): pipeline(self.X, **point) for i, point in enumerate(ParameterGrid(GRID))}
        scores = assess(named, self.X, self.y, cv=K, metric="accuracy", engine=self.engine).split_scores()
        self.chosen = clone(named[max(scores, key=lambda name: scores[name].mean())]).fit(self.X, self.y)
        agghoo = AgghooClassifier(pipeline(self.X), self.grid, scoring="accuracy", engine=self.engine)
        tested = cross_test(agghoo, self.X, self.y, cv=K, inner_cv=INNER, metric="error")
        searched = np.array(list(scores.values())).T
        return Study(searched, 1 - tested.refit_risks, tested.fold_risks, *self._curve_and_noise())

    def its_own_way(self):
        """The inner folds are the other folds of the partition."""
        rest = self._curve_and_noise()
        agghoo = AgghooClassifier(pipeline(self.X), self.grid, scoring="accuracy", engine=self.engine)
        tested = cross_test(agghoo, self.X, self.y, cv=K, metric="error")
        search = HonestSearchCV(pipeline(self.X), self.grid, cv=K, engine=self.engine).fit(self.X, self.y)
        scores = np.array([search.cv_results_[f"split{k}_test_score"] for k in range(K)])
        return Study(scores, search.assessment_.fold_scores, tested.fold_risks, *rest)


def given(X, y):
    """Return the splits and the labels that an Engine has for these rows, for whoever works by hand."""
    data = Data(X, y, task="classification")
    outer = [(split.train.index, split.test.index) for split in make_splits(data, "kfold", k=K)]
    sequence = row_sequence(data)
    samples = [
        [(split.train.index, split.test.index) for split in sample_splits(data, sequence, n, k=K, random_state=None)]
        for n in SIZES
    ]
    noise = FlippedLabels(data)
    return outer, samples, [noise.at(draw, level).truth for draw in range(DRAWS) for level in LEVELS]


def spent(work):
    """Return what some work finds, and its seconds of the processor."""
    start = time.process_time()
    found = work()
    return found, time.process_time() - start


def rows():
    X, y = real_table("adult", ROWS)
    hand = ByHand(X, y, *given(X, y))
    with threadpool_limits(1):  # as an engine has it
        theirs, peer = spent(hand.study)
        print(f"  by hand: {hand.fits:,} fits, each with its preprocessing")
        print(f"    nested accuracy {theirs.nested.mean():.4f}, cross-tested risk {theirs.tested.mean():.4f}")
        same = "searched", "curve", "disturbed"
        for name, way, parts in (
            ("as by hand, five inside of five", ByEngine.five_inside_of_five, (*same, "nested", "tested")),
            ("its own way, the triangle", ByEngine.its_own_way, same),
        ):
            engine = ByEngine(X, y)
            ours, own = spent(lambda engine=engine, way=way: way(engine))
            with Counting() as counting:  # once more: counting takes time
                way(ByEngine(X, y))
            print(f"  {name}: {counting.fits} fits of preprocessing, at most 80: {counting.fits <= 80}")
            print(f"    nested accuracy {ours.nested.mean():.4f}, cross-tested risk {ours.tested.mean():.4f}")
            stats = engine.engine.stats
            yield Row(name, peer, own, stats.asked, stats.run, ours.apart(theirs, *parts), 4.5)


def main():
    show(rows())


if __name__ == "__main__":
    main()
