"""The reference curves: which belong together, which are held out, and how much of them is shown."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._stats.curve_forecast import Outlook
from truefit._stats.curve_points import Points

Floats = npt.NDArray[np.float64]

GROUPS = {
    "trees and ensembles": (
        *("Decision Tree", "ExtraTree", "ens.RandomForest", "ens.ExtraTrees", "ens.GradientBoosting", "CatBoost"),
    ),
    "linear": (
        *("RidgeClassifier", "LDA", "LogisticRegression", "PassiveAggressive", "Perceptron", "SGDClassifier"),
        "SVM_Linear",
    ),
    "networks and TabPFN": ("MLP", "RealMLP", "TabPFNv2"),
    "NB and centroid": ("BernoulliNB", "GaussianNB", "ComplementNB", "MultinomialNB", "NearestCentroid"),
    "kernel and kNN": ("KNN", "SVM_RBF", "SVM_Sigmoid", "SVM_Poly"),
    "QDA": ("QDA",),
    "TabNet": ("TabNet",),
    "dummy": ("DummyClassifier",),
}
GROUP_OF = {learner: group for group, learners in GROUPS.items() for learner in learners}

#: Data sets that are one and the same, or were made from one source: never on both sides of a split.
_FAMILIES = (
    ("adult", "adult"),
    (r"^mfeat", "mfeat"),
    (r"\.wc$", "text.wc"),
    (r"^(pc|kc|mc|jm)\d", "nasa"),
    (r"^car", "car"),
    (r"hypothyroid|^dis$", "thyroid"),
    (r"^cpu_", "cpu"),
    (r"mnist", "mnist"),
    (r"hepatitis", "hepatitis"),
    (r"^(ada$|gina|sylva)", "agnostic"),
)

#: Curves that reach this many rows are extrapolated.
LEAST_ROWS = 1000


@dataclass(frozen=True)
class Curve:
    """One learner on one data set: rows, error rates, and their standard errors."""

    dataset: str
    learner: str
    sizes: Floats
    errors: Floats
    stderr: Floats

    @property
    def family(self) -> str:
        """The data set, or those that it belongs to."""
        return family_of(self.dataset)

    @property
    def group(self) -> str:
        """Kind of learner."""
        return GROUP_OF[self.learner]

    @property
    def judged(self) -> bool:
        """Whether the curve is kept for judging: half of the families are, by a hash of their name."""
        return bool(hashlib.sha256(self.family.encode()).digest()[0] % 2)


def family_of(dataset: str) -> str:
    """Return what a data set belongs to."""
    name = dataset.lower()
    return next((family for pattern, family in _FAMILIES if re.search(pattern, name)), name)


def read_curves(path: Path) -> list[Curve]:
    """Read the validation curves that reach :data:`LEAST_ROWS` rows."""
    import pandas as pd

    table = pd.read_parquet(path).dropna(subset=["val_error"])
    found = []
    for (_, dataset, learner), part in table.groupby(["openml_id", "dataset", "learner"], observed=True):
        part = part.sort_values("train_size")
        columns = (part[name].to_numpy(dtype=np.float64) for name in ("train_size", "val_error", "val_se"))
        curve = Curve(str(dataset), str(learner), *columns)
        if curve.sizes[-1] >= LEAST_ROWS:
            found.append(curve)
    return found


Marks = npt.NDArray[np.bool_]
Array = npt.NDArray[Any]

#: Points without which a curve is not extrapolated.
LEAST_POINTS = 6
#: A cross-validation in each of samples that contain one another; and how much a row's losses are alike from one size
#: to the next (0.26 to 0.88 were seen for trees, forests, nearest neighbours, logistic regression and naive Bayes).
NESTED, ALIKE = "nested runs", (0.3, 0.9)


@dataclass(frozen=True)
class View:
    """How much of a curve is seen.

    Attributes
    ----------
    share : float
        Of the largest size.
    every : int
        Which points are seen, counted from the last.
    noise : str
        "as measured"; "fewer repeats", as if a fifth of the repeats had been made; "one run", with the scatter of a
        single cross-validation; or "nested runs", the same where each sample contains the one before.
    """

    share: float
    every: int = 1
    noise: str = "as measured"

    @property
    def plain(self) -> bool:
        """Whether all points are seen, as they were measured."""
        return self.every == 1 and self.noise == "as measured"

    def __str__(self) -> str:
        spacing = "" if self.every == 1 else f", every {self.every}th point"
        noise = "" if self.noise == "as measured" else f", {self.noise}"
        return f"{self.share:.3g}{spacing}{noise}"


@dataclass(frozen=True)
class Observed:
    """Curves in one view, and what came of them.

    Attributes
    ----------
    view : View
    curves : array of Curve
    points : Points
    outlook : Outlook
    at, truth : array of shape (curves,)
        Means of the last three sizes and errors.
    """

    view: View
    curves: Array
    points: Points
    outlook: Outlook
    at: Floats
    truth: Floats

    @property
    def refused(self) -> Marks:
        """Curves that are not extrapolated."""
        return self.outlook.nothing_learned | self.outlook.rising

    @property
    def groups(self) -> Array:
        """Kind of learner of each curve."""
        return np.array([curve.group for curve in self.curves])

    @property
    def families(self) -> Array:
        """What each data set belongs to."""
        return np.array([curve.family for curve in self.curves])

    @property
    def judged(self) -> Marks:
        """Which curves are kept for judging."""
        return np.array([curve.judged for curve in self.curves])


def observe(curves: Sequence[Curve], view: View) -> Observed:
    """Show so much of each curve as the view says, and extrapolate it."""
    random = np.random.default_rng(0)
    shown, columns, covariances = [], [], []
    for curve in curves:
        seen = np.flatnonzero(curve.sizes <= view.share * curve.sizes[-1] * (1 + 1e-9))[:: -view.every][::-1]
        if len(seen) < LEAST_POINTS:
            continue
        extra = _extra_noise(curve, view.noise)[seen]
        alike = nested_correlation(curve.sizes[seen], random) if view.noise == NESTED else np.eye(len(seen))
        drawn = extra * (np.linalg.cholesky(alike) @ random.standard_normal(len(seen)))
        shown.append(curve)
        columns.append(
            (curve.sizes[seen], np.clip(curve.errors[seen] + drawn, 0, 1), np.hypot(curve.stderr[seen], extra))
        )
        covariances.append(alike * np.outer(extra, extra) + np.diag(curve.stderr[seen] ** 2))
    points = Points.of(*zip(*columns, strict=True))
    if view.noise == NESTED:
        points = replace(points, covariance=_filled(covariances, points.sizes.shape[1]))
    kept = np.empty(len(shown), dtype=object)
    kept[:] = shown
    at, truth = (np.array([getattr(curve, name)[-3:].mean() for curve in shown]) for name in ("sizes", "errors"))
    return Observed(view, kept, points, Outlook.of(points), at, truth)


def nested_correlation(sizes: Floats, random: np.random.Generator) -> Floats:
    """Correlation of points whose samples are nested, for a row's losses that are so much alike from size to size."""
    alike = random.uniform(*ALIKE)
    ratio = np.sqrt(np.minimum.outer(sizes, sizes) / np.maximum.outer(sizes, sizes))
    return np.where(np.eye(len(sizes), dtype=bool), 1.0, alike * ratio)


def _filled(covariances: Sequence[Floats], width: int) -> Floats:
    filled = np.zeros((len(covariances), width, width))
    for whole, part in zip(filled, covariances, strict=True):
        whole[width - len(part) :, width - len(part) :] = part
    return filled


def _extra_noise(curve: Curve, noise: str) -> Floats:
    if noise == "as measured":
        return np.zeros_like(curve.errors)
    if noise == "fewer repeats":
        return 2 * curve.stderr  # a fifth of the repeats: five times the variance
    return np.asarray(np.sqrt(np.maximum(curve.errors * (1 - curve.errors), 0.001) / curve.sizes))
