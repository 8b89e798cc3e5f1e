"""
How many rows to label: a loop
==============================

Labels cost money. A learning curve says what more of them would bring. Here 200
digits are labelled at first; after each batch the curve says whether the next one is
worth it, until it is not.
"""

# %%
# The table is scikit-learn's digits. Rows are labelled in their order; the fits of
# earlier batches are reused.

import matplotlib.pyplot as plt
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import Engine, learning_curve

X, y = load_digits(return_X_y=True)
model = make_pipeline(StandardScaler(), LogisticRegression(C=0.1))
engine = Engine()

# %%
# ``tolerance`` is the smallest gain that is worth a batch: half a point of error.
# ``horizon`` is the number of rows that could be labelled at most.

labelled, batches = 200, []
while True:
    before = engine.stats.run
    options = {"tolerance": 0.005, "horizon": 1797, "batches": batches or None}
    rows = X[:labelled], y[:labelled]
    curve = learning_curve(model, *rows, cv=5, **options, engine=engine)
    error, fits = curve.errors[-1], engine.stats.run - before
    print(
        f"{labelled:4} labelled: error {error:.3f}, {fits} fits, ended by {curve.rule}"
    )
    if curve.rule != "rows" or labelled == len(X):
        break
    batches = [*batches, labelled]
    labelled = min(curve.next_size or len(X), labelled + 200, len(X))

# %%
# The answer as text, and as a picture with the extrapolation:

print(curve)
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
curve.plot(ax=ax)

# %%
# What would an error of 3% take? The curve has almost levelled off, so probably
# another model:

print(curve.rows_for(0.03))

# %%
# The same loop from a file, with the fits kept between runs: ``truefit curve
# labelled.csv --target digit --unlabelled 1400 --store runs.db``. The guide
# :doc:`/guide/labelling` has budgets of money and rows from a database.
