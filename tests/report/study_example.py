"""A study of a small table whose names attack a page."""

from __future__ import annotations

import copy
import functools

from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import study
from truefit._core.finding import Finding
from truefit._study.evidence import SkippedCandidate
from truefit._study.result import Study

ATTACK = "<script>alert(1)</script>"
QUOTE = '"><img src=x onerror=alert(1)>'

MADE = {
    "date": "2026-01-02 03:04 UTC",
    "command": f"truefit study '{ATTACK}.csv' --target kind --out report.html",
    "data": f"iris: 150 rows, 4 columns, target {ATTACK}",
    "fits": {"asked": 100, "run": 60},
    "versions": {"truefit": "0.1.0", "scikit-learn": "1.9.1"},
}

FINDINGS = (
    Finding("TF101", f"Leak {QUOTE}", "error", f"{ATTACK!r} alone predicts the target.", {}, f"Drop {ATTACK}."),
    Finding("TF103", "Duplicate rows", "warning", "12 rows are copies.", {}, "Drop the copies."),
    Finding(
        "TF104", f"Constant {ATTACK}", "info", "Column 'unit' has the same value in every row.", {}, "Drop 'unit'."
    ),
)


@functools.cache
def made_study(task: str = "classification", *, whole: bool = True) -> Study:
    """Return a study of iris or diabetes; not whole: without the parts that a short time budget leaves out."""
    if not whole:
        short = copy.copy(made_study(task))
        short.perturbation = short.bias_variance = short.cross_test = short.curves = None
        short.__dict__.pop("pictures", None)
        return short
    if task == "classification":
        X, y = load_iris(return_X_y=True, as_frame=True)
        y = y.map({0: ATTACK, 1: QUOTE, 2: "virginica"})
        models = {ATTACK: GaussianNB(), "tree": DecisionTreeClassifier(max_depth=1), "dummy": DummyClassifier()}
    else:
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        models = {ATTACK: Ridge(alpha=0.1), "tree": DecisionTreeRegressor(max_depth=2), "dummy": DummyRegressor()}
    result = study(X, y.rename(f"kind {QUOTE}"), models, random_state=0)
    result.title, result.made = f"Study of {ATTACK}", MADE
    result.findings = FINDINGS
    result.not_run = [("Learning curve of tree", f"time budget exhausted {QUOTE}")]
    result.dropped = [SkippedCandidate(f"knn {QUOTE}", 2, f"worse than {ATTACK} {QUOTE}", "racing")]
    result._found.n_candidates = result._found.n_searched = 4
    result.__dict__["next_steps"] = [f"Try fewer columns than {X.shape[1]} {ATTACK}."]
    return result
