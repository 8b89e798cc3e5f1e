"""
Comparing files of predictions
==============================

Sometimes there is no model to fit, only files of predictions: from a competition,
from colleagues, from language models. ``evaluate`` gives every metric with its
interval and compares the files in pairs. Nothing is fitted.
"""

# %%
# A file with the truth and the probabilities of three models. Each of 250 patients
# was seen twice, so rows of a patient are not independent.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd

from truefit import evaluate

random = np.random.default_rng(0)
patient = np.repeat(np.arange(250), 2)
risk = random.normal(size=250)[patient] + 0.3 * random.normal(size=500)
sick = (risk + random.normal(size=500) > 0.5).astype(int)


def probability(noise):
    """Return the probabilities of a model that sees the risk with this much noise."""
    return 1 / (1 + np.exp(-1.5 * (risk + noise * random.normal(size=500) - 0.5)))


table = pd.DataFrame(
    {
        "patient": patient,
        "sick": sick,
        "clinic A": probability(0.3),
        "clinic B": probability(0.4),
        "old score": probability(1.5),
    }
)
table.head(3).round(2)

# %%
# With ``groups`` the intervals and the tests count patients, not rows.

models = {name: table[name] for name in ("clinic A", "clinic B", "old score")}
result = evaluate(table["sick"], models, metric="auc", groups=table["patient"])
print(result)

# %%
# The models that do not differ significantly from the best:

print(result.ties)
figure, ax = plt.subplots(figsize=(6.4, 2.6), layout="constrained")
result.plot(ax=ax)

# %%
# Any other metric, from the same predictions:

print(result.score("brier"))

# %%
# On the command line: ``truefit evaluate predictions.csv --truth sick --groups
# patient``; every other column is a model.
