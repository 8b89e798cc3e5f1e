"""
Average the best models instead of selecting one
================================================

When different splits select different models, their average is often better than any
one of them. This is Agghoo (aggregated hold-out). Cross-testing estimates its error.
"""

# %%
# Trees and nearest neighbours of several sizes on the diabetes data:

import matplotlib.pyplot as plt
from sklearn.datasets import load_diabetes
from sklearn.neighbors import KNeighborsRegressor
from sklearn.tree import DecisionTreeRegressor

from truefit import AgghooRegressor, Engine, cross_test

X, y = load_diabetes(return_X_y=True)
models = [
    ("near", KNeighborsRegressor()),
    ("tree", DecisionTreeRegressor(random_state=0)),
]
grids = {"near": {"n_neighbors": [5, 15, 45]}, "tree": {"max_depth": [1, 3, 6]}}
engine = Engine()
agghoo = AgghooRegressor(models, grids, engine=engine).fit(X, y)
print(agghoo.selection_)

# %%
# Validation errors on every split; the selected candidates are marked:

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
agghoo.plot(ax=ax)

# %%
# The validation errors of the selected models are optimistically biased.
# Cross-testing repeats the whole procedure without each test fold, and its fits are
# shared with those above:

before = engine.stats.run
result = cross_test(agghoo, X, y)
print(result)
print("further fits:", engine.stats.run - before)

# %%
# The members and their average on each test set:

figure, ax = plt.subplots(figsize=(6.4, 3.6), layout="constrained")
result.plot(kind="members", ax=ax)
