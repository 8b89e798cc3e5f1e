"""Settings: tables, sizes of samples, and the learners of each family from rigid to flexible."""

from __future__ import annotations

from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

#: Tables by task, and from which grade on a wine is good: its grades are a second, binary target.
TABLES = {
    "adult": "classification",
    "bank_marketing": "classification",
    "connect4": "classification",
    "german_credit": "classification",
    "letter": "classification",
    "spambase": "classification",
    "wine_quality (>= 6)": "classification",
    "bike_sharing": "regression",
    "diamonds": "regression",
    "wine_quality": "regression",
}
GOOD_FROM = 6
#: Rows of a sample, samples of each size, and at most so many test rows; fewer than the least is no truth.
SIZES, SAMPLES, TEST_ROWS, FEWEST_TEST_ROWS = (200, 600), 6, 10_000, 800
#: The second effort of a study for noise, and about its least for bias and variance.
LEVELS, REPEATS, ROUNDS, FOLDS = (0.1, 0.2, 0.3, 0.4, 0.5), 5, 30, 5
#: A gain counts above one point of the error of a classification, or 5% of the error of a regression.
POINT, SHARE = 0.01, 0.05


def settings(task):
    """Return each family's settings from rigid to flexible."""
    if task == "classification":
        linear = [(f"logistic C={C:g}", LogisticRegression(C=C, max_iter=200)) for C in (0.01, 100)]
        neighbours, tree, forest, svm = (
            KNeighborsClassifier, DecisionTreeClassifier, RandomForestClassifier, SVC,
        )  # fmt: skip
        more = {"bayes": {"naive Bayes": GaussianNB()}}
    else:
        linear = [(f"ridge alpha={alpha:g}", Ridge(alpha)) for alpha in (1000, 0.01)]
        neighbours, tree, forest, svm = (KNeighborsRegressor, DecisionTreeRegressor, RandomForestRegressor, SVR)
        more = {}

    def scaled(learner):
        return make_pipeline(StandardScaler(), learner)

    depths = {"2": 2, "5": 5, "unlimited": None}
    return {
        "linear": {name: scaled(each) for name, each in linear},
        "kNN": {f"kNN k={k}": scaled(neighbours(k)) for k in (25, 5, 1)},
        "tree": {f"tree depth={name}": tree(max_depth=depth, random_state=0) for name, depth in depths.items()},
        "forest": {f"forest leaf={leaf}": forest(30, min_samples_leaf=leaf, random_state=0) for leaf in (20, 1)},
        "SVM": {f"SVM C={C:g}": scaled(svm(C=C)) for C in (0.1, 1, 100)},
        **more,
    }
