"""
Rows in time order
==================

A model that is used next month must be tested on months that are later than its
training rows. ``time=`` does this (forward-chaining): each period is predicted by a
model trained on the rows before it.
"""

# %%
# Two years of daily demand: it depends on the temperature and the day of the week,
# and its level drifts.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.dummy import DummyRegressor
from sklearn.ensemble import HistGradientBoostingRegressor
from sklearn.linear_model import Ridge

from truefit import Engine, assess, study

random = np.random.default_rng(3)
day = np.arange(730)
warm = 12 + 9 * np.sin(2 * np.pi * day / 365) + 2.5 * random.normal(size=730)
drift = np.cumsum(0.9 * random.normal(size=730))
date = pd.date_range("2024-01-01", periods=730, freq="D")
X = pd.DataFrame({"day": date, "temperature": warm, "weekday": day % 7, "number": day})
y = pd.Series(
    40 + 0.8 * warm + 4 * (day % 7 > 4) + drift + random.normal(size=730), name="demand"
)

# %%
# Boosting reads the level of a day off its neighbours, if it is trained on the days
# before and after it. In practice the days after it are not known.

engine = Engine()
boosting = HistGradientBoostingRegressor(max_iter=60, max_leaf_nodes=8, random_state=0)
features = X.drop(columns="day")
shuffled = assess(boosting, features, y, metric="mae", engine=engine)
forward = assess(boosting, X, y, time="day", cv=9, metric="mae", engine=engine)
print(f"shuffled folds:    mean absolute error {shuffled.estimate:.2f}")
print(f"forward-chaining:  mean absolute error {forward.estimate:.2f}")

# %%
# The interval is for the next period, so it is wide. The picture shows the error of
# each period:

print(forward)
figure, ax = plt.subplots(figsize=(6.4, 3.2), layout="constrained")
forward.plot("time", ax=ax)

# %%
# A whole study in time order
# ---------------------------
# Selection uses earlier periods only. The study also says what ignoring time would
# have reported, and lists the parts that need shuffled rows as not run.

models = {"mean": DummyRegressor(), "ridge": Ridge(), "boosting": boosting}
result = study(X, y, models, time="day", cv=6, engine=engine)
print(result.answers[1].headline)
for sentence in result.answers[1].sentences:
    print(" ", sentence)

# %%
# On the command line: ``truefit study demand.csv --target demand --time day``. The
# guide :doc:`/guide/time` has windows, gaps and the measured coverage of the
# interval.
