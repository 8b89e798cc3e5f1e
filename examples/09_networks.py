"""
Networks: epochs as candidates
==============================

``truefit.torch`` makes a scikit-learn estimator of a PyTorch network. Every epoch is
a candidate, and one training run per split gives all of them. Fits that differ only
in their rows are trained as one computation.
"""

# %%
# A small network on the breast cancer data. It needs ``pip install
# 'truefit[torch]'``.

import matplotlib.pyplot as plt
from sklearn.datasets import load_breast_cancer
from sklearn.preprocessing import scale

from truefit import AgghooClassifier, Engine, cross_test
from truefit.torch import MLP, TorchClassifier

X, y = load_breast_cancer(return_X_y=True)
network = TorchClassifier(
    MLP, module_params={"hidden": (16,)}, max_epochs=20, device="cpu", random_state=0
)

# %%
# Agghoo selects the best epoch on each split and averages the selected networks.
# Cross-testing estimates the error of this average, from 15 training runs.

engine = Engine()
result = cross_test(AgghooClassifier(network), scale(X), y, engine=engine)
print(result)
print("training runs:", engine.stats.run)

# %%
# The average and its members, on each test set:

figure, ax = plt.subplots(figsize=(6.4, 3.4), layout="constrained")
result.plot(kind="members", ax=ax)

# %%
# :doc:`/networks` has networks of your own, what can be stacked, and what was
# measured on a GPU.
