"""
A first study
=============

Four questions about one table: which model, how good is it really, does it fit, and
would more data help? The table is scikit-learn's breast cancer data: 569 tumours, 30
measurements of each, and the diagnosis.
"""

# %%
# A study takes the table, the target and, if you like, the candidates. Names are
# default models with suitable preprocessing; without names a study tries all that
# suit the table. Your own estimators work as well.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer

from truefit import study

X, y = load_breast_cancer(return_X_y=True, as_frame=True)
result = study(X, y, ["linear", "naive_bayes", "knn", "tree"])
print(result)

# %%
# The numbers behind the sentences
# --------------------------------
# ``estimate`` is from nested cross-validation: the selection among the candidates is
# repeated without each fold, and the selected model is tested on that fold. So the
# estimate is not biased by the selection.

low, high = result.interval
print(
    f"{result.best}: error {result.estimate:.3f}, 95% interval {low:.3f} to {high:.3f}"
)
result.table[["estimate", "low", "high", "verdict"]].round(3)

# %%
# Errors of all candidates on the same held-out rows, with their confidence intervals:

figure, ax = plt.subplots(figsize=(6.4, 2.8), layout="constrained")
result.plot(ax=ax)

# %%
# Any other view needs no further fits, because the predictions on held-out rows are
# kept:

figure, ax = plt.subplots(figsize=(4.8, 4.8), layout="constrained")
result.assessment.plot("roc", ax=ax)

# %%
# ``result.to_html("report.html")`` writes all of this as one page that needs no
# network, and ``result.model`` is the selected model, fitted on all rows.

print(result.model.predict(X.head(3)))
