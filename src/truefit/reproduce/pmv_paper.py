"""The model selection experiment of the PMV paper (Zhang et al. 2019, Table 1): its tables, models and numbers.

The paper takes both from scikit-learn's classifier comparison. What it leaves open was settled by reproduction: 100
rows, no scaling, noise of 0, 0.1 and 0.2 in two of the tables and none in the linear one; a tree of depth 10, a forest
of 10 unlimited trees, and cross-validation by ten folds in the order of the rows. Its AdaBoost was SAMME.R, which
scikit-learn no longer has; today's stands in its place.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats

SHAPES = ("moon", "circle", "linear")
NOISES = (0.0, 0.1, 0.2)

MODELS = (
    "Gaussian Process",
    "Decision Tree",
    "Naive Bayes",
    "Linear SVM",
    "RBF SVM",
    "AdaBoost",
    "Random Forest",
)

#: For each shape the printed table: a line per model, and for each noise the PMV, test accuracy and difference columns.
PUBLISHED: dict[str, tuple[tuple[float, ...], ...]] = {
    "moon": (
        (0.61, 1.00, 0.00, 0.41, 1.00, 0.00, 0.18, 0.97, 0.03),
        (0.17, 0.96, 0.04, 0.17, 0.91, 0.09, 0.13, 0.94, 0.06),
        (0.61, 0.86, 0.87, 0.63, 0.87, 0.01, 0.60, 0.87, 0.00),
        (0.50, 0.80, 0.01, 0.51, 0.79, 0.00, 0.58, 0.80, 0.00),
        (0.87, 1.00, 0.00, 0.88, 1.00, 0.00, 0.76, 0.98, 0.00),
        (0.39, 1.00, 0.00, 0.26, 0.95, 0.05, 0.36, 0.93, 0.07),
        (0.10, 0.95, 0.05, 0.14, 0.94, 0.06, 0.07, 0.93, 0.07),
    ),
    "circle": (
        (0.40, 1.00, 0.00, 0.39, 1.00, 0.00, 0.37, 0.89, 0.03),
        (0.22, 1.00, 0.00, 0.04, 0.92, 0.08, 0.02, 0.78, 0.22),
        (0.88, 1.00, 0.00, 0.79, 0.98, 0.02, 0.59, 0.87, 0.05),
        (0.27, 0.37, 0.15, 0.22, 0.37, 0.15, 0.22, 0.37, 0.15),
        (0.68, 1.00, 0.00, 0.60, 1.00, 0.00, 0.40, 0.87, 0.05),
        (0.37, 0.99, 0.01, 0.14, 0.95, 0.05, 0.11, 0.82, 0.18),
        (0.13, 1.00, 0.00, 0.05, 0.96, 0.04, 0.04, 0.82, 0.17),
    ),
    "linear": (
        (0.61, 0.96, 0.00, 0.08, 0.96, 0.00, 0.09, 0.96, 0.00),
        (0.27, 0.87, 0.13, 0.07, 0.87, 0.13, 0.04, 0.88, 0.12),
        (0.71, 0.95, 0.01, 0.78, 0.95, 0.01, 0.74, 0.95, 0.01),
        (0.81, 0.94, 0.01, 0.83, 0.94, 0.01, 0.77, 0.94, 0.01),
        (0.57, 0.95, 0.02, 0.59, 0.95, 0.02, 0.45, 0.95, 0.02),
        (0.29, 0.89, 0.11, 0.20, 0.89, 0.11, 0.16, 0.89, 0.11),
        (0.10, 0.91, 0.09, 0.05, 0.91, 0.06, 0.03, 0.90, 0.10),
    ),
}

#: What the paper selects by its largest rates, at every noise.
SELECTED = {"moon": "RBF SVM", "circle": "Naive Bayes", "linear": "Linear SVM"}


def published_rates(shape: str, noise: float) -> dict[str, float]:
    """Return the printed rates of one column, by model.

    Examples
    --------
    >>> published_rates("moon", 0.1)["RBF SVM"]
    0.88
    """
    column = 3 * NOISES.index(noise)
    return {model: line[column] for model, line in zip(MODELS, PUBLISHED[shape], strict=True)}


def paper_table(shape: str, noise: float) -> tuple[Floats, npt.NDArray[np.int64]]:
    """Return the rows of one of the tables: 100 of them, in two columns.

    Examples
    --------
    >>> X, y = paper_table("linear", 0.1)
    >>> X.shape, y.tolist().count(1)
    ((100, 2), 50)
    """
    from sklearn.datasets import make_circles, make_classification, make_moons

    if shape == "moon":
        X, y = make_moons(noise=noise, random_state=0)
    elif shape == "circle":
        X, y = make_circles(noise=noise, factor=0.5, random_state=1)
    else:
        X, y = make_classification(n_features=2, n_redundant=0, n_informative=2, random_state=1, n_clusters_per_class=1)
        X = X + 2 * np.random.RandomState(2).uniform(size=X.shape)
    return X, y


def paper_models() -> dict[str, Any]:
    """Return the classifiers of Table 1 by name."""
    from sklearn.ensemble import AdaBoostClassifier, RandomForestClassifier
    from sklearn.gaussian_process import GaussianProcessClassifier
    from sklearn.gaussian_process.kernels import RBF
    from sklearn.naive_bayes import GaussianNB
    from sklearn.svm import SVC
    from sklearn.tree import DecisionTreeClassifier

    models = (
        GaussianProcessClassifier(1.0 * RBF(1.0)),
        DecisionTreeClassifier(max_depth=10),
        GaussianNB(),
        SVC(kernel="linear", C=0.025),
        SVC(gamma=2, C=1),
        AdaBoostClassifier(),
        RandomForestClassifier(n_estimators=10),
    )
    return dict(zip(MODELS, models, strict=True))
