"""
Overfitting and underfitting, measured
======================================

The training error does not tell whether a model overfits. Injected label noise, bias
and variance, and the error along a hyperparameter do.
"""

# %%
# Two half moons with noise, and three models from simple to flexible:

import matplotlib.pyplot as plt
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, bias_variance, complexity_curve, perturb

X, y = make_moons(400, noise=0.3, random_state=0)
models = {
    "line": LogisticRegression(),
    "small tree": DecisionTreeClassifier(max_depth=4, random_state=0),
    "full tree": DecisionTreeClassifier(random_state=0),
}
engine = Engine()

# %%
# Label noise
# -----------
# A share of the labels is flipped, and the models are trained again. A model that
# learns the concept does not reproduce flipped labels; a model that memorises its
# training rows does.

noise = perturb(models, X, y, repeats=5, random_state=0, engine=engine)
print(noise)
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
noise.plot(ax=ax)

# %%
# Bias and variance
# -----------------
# Models trained on bootstrap samples differ from each other (variance) and are wrong
# on average (bias).

parts = bias_variance(models, X, y, rounds=60, random_state=0, engine=engine)
print(parts)
figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
parts.plot(ax=ax)

# %%
# One hyperparameter
# ------------------
# Left of the minimum the tree is too simple, right of it the test error rises while
# the training error falls.

curve = complexity_curve(
    DecisionTreeClassifier(random_state=0),
    X,
    y,
    parameter="max_depth",
    values=[1, 2, 3, 4, 6, 8, 12],
    engine=engine,
)
figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
curve.plot(ax=ax)
