"""
A grid search that knows how good its winner is
===============================================

``HonestSearchCV`` is a drop-in replacement for ``GridSearchCV``. It selects in the
same way and also reports nested cross-validation of the selection, from shared fits.
"""

# %%
# A support vector machine with 24 settings, on 600 handwritten digits:

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from truefit import Engine, HonestSearchCV

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
svm = make_pipeline(StandardScaler(), SVC())
grid = {"svc__C": [0.1, 0.3, 1, 3, 10, 30], "svc__gamma": [0.001, 0.003, 0.01, 0.03]}
engine = Engine()
search = HonestSearchCV(svm, grid, engine=engine).fit(X, y)
print("best score of the search:", round(search.best_score_, 3))
print(search.assessment_)

# %%
# The fits: 24 settings × (5 folds + 10 pairs of folds) + 1. Nested loops would take
# 24 × (5 + 25) + 6.

print("fits:", engine.stats.run, "instead of", 24 * (5 + 25) + 6)

# %%
# Racing stops settings that are unlikely to win. The race is repeated without each
# outer fold, so the nested estimate stays unbiased.

racing = Engine()
raced = HonestSearchCV(svm, grid, race="folds", engine=racing).fit(X, y)
print("fits with racing:", racing.stats.run)
print("selected:", raced.best_params_, "and without racing:", search.best_params_)

# %%
# ``cv_results_`` has what ``GridSearchCV`` has:

scores = np.asarray(search.cv_results_["mean_test_score"]).reshape(6, 4)
figure, ax = plt.subplots(figsize=(5, 4.4), layout="constrained")
image = ax.imshow(scores, cmap="viridis", aspect="auto")
ax.set(xlabel="gamma", ylabel="C", xticks=range(4), yticks=range(6))
ax.set_xticklabels(grid["svc__gamma"])
ax.set_yticklabels(grid["svc__C"])
figure.colorbar(image, label="accuracy")
