"""Grids: learners with one parameter to choose, from the simplest to the richest."""

from __future__ import annotations

from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

GRIDS = {
    "tree: depth": {
        str(depth): DecisionTreeClassifier(max_depth=depth, random_state=0) for depth in [*range(1, 11), 15, None]
    },
    "kNN: neighbours": {
        str(k): make_pipeline(StandardScaler(), KNeighborsClassifier(k)) for k in (101, 51, 31, 21, 15, 11, 7, 5, 3, 1)
    },
    "RBF SVM: C": {f"{C:g}": make_pipeline(StandardScaler(), SVC(C=C)) for C in (0.01, 0.1, 0.3, 1, 3, 10, 100, 1000)},
}
