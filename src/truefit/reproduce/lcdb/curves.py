"""The reference curves: what they are called, which belong together, and which are kept for judging."""

from __future__ import annotations

import hashlib
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from truefit._core.typing import Floats

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
