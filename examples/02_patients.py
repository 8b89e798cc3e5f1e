"""
A medical table: several visits of each patient
===============================================

Visits of one patient are alike. If some of them are training rows and others test
rows, a model that recognises the patient looks better than it will be for new
patients. ``groups=`` keeps the visits of a patient together.
"""

# %%
# 120 patients with three visits each. Seven measurements differ between patients; two
# of them have to do with the relapse, the others do not.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from truefit import Engine, assess, compare, study

random = np.random.default_rng(0)
patient = np.repeat(np.arange(120), 3)
level = random.normal(size=(120, 7))
relapse = level[:, 0] + level[:, 1] + random.normal(size=120) > 0
measured = ["age", "marker", "weight", "pressure", "pulse", "glucose", "iron"]
X = pd.DataFrame(level[patient] + 0.2 * random.normal(size=(360, 7)), columns=measured)
y = pd.Series(relapse[patient].astype(int), name="relapse")

# %%
# The forest looks much better when visits are shuffled than it is for new patients:

engine = Engine()
forest = RandomForestClassifier(50, random_state=0)
found = {
    "patients together": assess(forest, X, y, groups=patient, engine=engine),
    "visits shuffled": assess(forest, X, y, engine=engine),
}
for name, each in found.items():
    low, high = each.interval
    print(f"{name}: error {each.estimate:.3f}, 95% interval {low:.3f} to {high:.3f}")

# %%
# Here the truth is known, because more patients of the same kind can be generated.
# The interval with groups holds it; that of shuffled visits does not.

levels = random.normal(size=(5000, 7))
relapses = levels[:, 0] + levels[:, 1] + random.normal(size=5000) > 0
new = pd.DataFrame(levels + 0.2 * random.normal(size=(5000, 7)), columns=measured)
truth = np.mean(forest.fit(X, y).predict(new) != relapses)

figure, ax = plt.subplots(figsize=(6.4, 2.2), layout="constrained")
for place, (name, each) in enumerate(found.items()):
    ax.plot(each.interval, [place, place], color="#3a80c1", linewidth=3)
    ax.plot(each.estimate, place, "o", color="#3a80c1")
    ax.text(each.interval[1] + 0.008, place, name, va="center")
ax.axvline(truth, color="#d2641a", linestyle="--", label="error for new patients")
ax.set(xlabel="error", yticks=[], ylim=(-0.6, 1.9), xlim=(0, 0.42))
ax.legend(loc="upper right", frameon=False)

# %%
# Comparisons count patients, too
# -------------------------------
# The paired test uses the sums over patients. 360 visits of 120 patients say less
# than 360 independent rows.

models = {
    "forest": forest,
    "linear": make_pipeline(StandardScaler(), LogisticRegression()),
}
print(compare(models, X, y, groups=patient, engine=engine))

# %%
# If you forget
# -------------
# A study looks for rows that belong together and measures what splitting them does:

forgotten = study(X.assign(patient_id=patient), y, ["linear", "tree"], tune=False)
for finding in forgotten.findings:
    if finding.severity == "error":
        print(finding.code, finding.title)
        print(finding.text)

# %%
# On the command line: ``truefit study visits.csv --target relapse --groups
# patient_id``. The guide :doc:`/guide/groups` has the details.
