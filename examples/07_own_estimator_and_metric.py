"""
Your own estimator and your own metric
======================================

Whatever follows scikit-learn's conventions works: estimators with ``fit`` and
``predict``, and scorers by name. A metric of your own is a scorer.
"""

# %%
# A classifier in ten lines: it predicts the class whose median is nearest.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted, validate_data

from truefit import Engine, HonestSearchCV, compare


class NearestMedian(ClassifierMixin, BaseEstimator):
    """Predict the class with the nearest median; ``power`` is that of the distance."""

    def __init__(self, power=1.0):
        self.power = power

    def fit(self, X, y):
        X, y = validate_data(self, X, y)
        self.classes_ = np.unique(y)
        self.medians_ = np.array(
            [np.median(X[y == each], axis=0) for each in self.classes_]
        )
        return self

    def predict(self, X):
        check_is_fitted(self)
        X = validate_data(self, X, reset=False)
        far = np.abs(X[:, None, :] - self.medians_) ** self.power
        return self.classes_[far.sum(axis=2).argmin(axis=1)]


# %%
# It is compared like any other model, on the same folds and with a paired test:

X, y = load_wine(return_X_y=True)
engine = Engine()
models = {
    "median": make_pipeline(StandardScaler(), NearestMedian()),
    "linear": make_pipeline(StandardScaler(), LogisticRegression()),
}
found = compare(models, X, y, engine=engine)
print(found)

# %%
# Every scorer of scikit-learn is a metric by its name, from the predictions that are
# already there:

for metric in ("balanced_accuracy", "f1_macro", "matthews_corrcoef"):
    print(
        metric,
        {
            name: round(value, 3)
            for name, value in found.assessment.score(metric).items()
        },
    )
print("fits:", engine.stats.run)

# %%
# A metric of your own: pass a scorer to a search, as with ``GridSearchCV``. Here a
# prediction that is too low costs three times as much as one that is too high by as
# many units. The search also reports nested cross-validation of itself, in the same
# units; the sign is that of scikit-learn's scorers, for which larger is better.

from sklearn.datasets import load_diabetes
from sklearn.metrics import make_scorer
from sklearn.neighbors import KNeighborsRegressor


def cost(y_true, y_pred):
    """Return the mean cost of the predictions."""
    short = y_true - y_pred
    return float(np.mean(np.where(short > 0, 3 * short, -short)))


X, y = load_diabetes(return_X_y=True)
grid = {"n_neighbors": [3, 5, 10, 20, 40, 80]}
search = HonestSearchCV(
    KNeighborsRegressor(),
    grid,
    scoring=make_scorer(cost, greater_is_better=False),
    engine=engine,
)
search.fit(X, y)
print("selected:", search.best_params_)
print(search.assessment_)

# %%
# Mean cost of all values of the hyperparameter, with the standard deviation over the
# folds:

figure, ax = plt.subplots(figsize=(6.4, 3), layout="constrained")
found = search.cv_results_
ax.errorbar(
    found["param_n_neighbors"],
    -found["mean_test_score"],
    found["std_test_score"],
    marker="o",
    capsize=3,
)
ax.set(xlabel="number of neighbours", ylabel="mean cost", xscale="log")
ax.set_xticks(grid["n_neighbors"], labels=grid["n_neighbors"])
ax.minorticks_off()
