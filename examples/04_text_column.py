"""
A table with a text column
==========================

Numbers, categories, dates, missing values and free text in one table. Default models
encode each kind of column, inside of the cross-validation, so that nothing of the
test rows is used.
"""

# %%
# Support tickets: is a ticket urgent? The text says most of it.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from truefit import Engine, assess, compare, study

random = np.random.default_rng(0)
calm = [
    "please update my address",
    "how do I export the report",
    "question about the invoice",
]
alarm = [
    "the system is down since morning",
    "we lost data after the update",
    "login fails for all",
]
greetings = ["hello", "dear team", "hi", "good day"]
urgent = random.random(160) < 0.4
sentences = [
    alarm if random.random() < (0.85 if each else 0.15) else calm for each in urgent
]
X = pd.DataFrame(
    {
        "text": [
            f"{random.choice(each)}, {random.choice(greetings)}" for each in sentences
        ],
        "plan": random.choice(["free", "team", "enterprise"], size=160),
        "employees": np.where(
            random.random(160) < 0.1, np.nan, random.lognormal(3, 1, size=160).round()
        ),
        "opened": pd.Timestamp("2026-01-01")
        + pd.to_timedelta(random.integers(0, 200, size=160), unit="D"),
    }
)
y = pd.Series(np.where(urgent, "urgent", "normal"), name="priority")
X.head(3)

# %%
# A study takes the table as it is. ``result.model`` is the selected pipeline, fitted
# on all rows.

engine = Engine()
result = study(X, y, "linear", tune=False, engine=engine)
for answer in result.answers:
    print(answer.question, answer.headline)

# %%
# How much does the text contribute? The same model with and without it, on the same
# folds:

model = result.model
for name, table in {
    "with the text": X,
    "without the text": X.drop(columns="text"),
}.items():
    found = assess(model, table, y, engine=engine)
    low, high = found.interval
    print(f"{name}: error {found.estimate:.3f}, 95% interval {low:.3f} to {high:.3f}")

# %%
# Your own encoding is a pipeline like any other. Here word counts are compared with
# the study's model on the same folds.

from sklearn.compose import make_column_transformer
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

words = make_pipeline(
    make_column_transformer((TfidfVectorizer(), "text")), LogisticRegression()
)
found = compare({"study's model": model, "words only": words}, X, y, engine=engine)
print(found)
figure, ax = plt.subplots(figsize=(6.4, 2.4), layout="constrained")
found.plot(ax=ax)
