"""A study as the command hands it over: real results of all methods on a small table, with names that attack a page."""

from __future__ import annotations

import functools
from typing import Any

from sklearn.datasets import load_diabetes, load_iris
from sklearn.dummy import DummyClassifier, DummyRegressor
from sklearn.linear_model import Ridge
from sklearn.naive_bayes import GaussianNB
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit import (
    AgghooClassifier,
    AgghooRegressor,
    Engine,
    assess,
    bias_variance,
    compare,
    cross_test,
    learning_curve,
    perturb,
)
from truefit._cli.study_report import render_study, study_report

ATTACK = "<script>alert(1)</script>"
QUOTE = '"><img src=x onerror=alert(1)>'

MADE = {
    "command": f"truefit study '{ATTACK}.csv' --target kind --out report.html",
    "data": f"iris: 150 rows, 4 columns, target {ATTACK}",
    "fits": {"asked": 100, "run": 60},
    "versions": {"truefit": "0.1.0", "scikit-learn": "1.9.1"},
}


class MadeStudy:
    """What is read of a Study: its parts, and their plain data."""

    def __init__(self, best: str, task: str, columns: int, parts: dict[str, Any]) -> None:
        self.best, self._task, self._columns = best, task, columns
        self.assessment, self.comparison = parts["assessment"], parts["comparison"]
        self.honest, self.perturbation = None, parts["perturbation"]
        self.bias_variance, self.curves = parts["bias_variance"], parts["curves"]
        self._parts = {name: part for name, part in parts.items() if part is not None}

    def summary(self) -> str:
        return f"Use {self.best}.\n\nMore lines."

    def to_dict(self) -> dict[str, Any]:
        parts = {name: part.to_dict() for name, part in self._parts.items()}
        own = next(each for each in parts["assessment"]["estimators"] if each["name"] == self.best)
        questions = {
            "which": ("Which model?", f"Use {self.best}.", [f"It beats the others on {ATTACK}."]),
            "how_good": ("How good is it, really?", f"Expect an error of {own['estimate']:.3f}.", ["On new rows."]),
            "fit": ("Does it fit?", "It fits.", [f"Class {QUOTE} is told apart."]),
            "more_data": ("Would more data help?", "Hardly.", []),
        }
        return {
            "kind": "study",
            "version": 2,
            "best": self.best,
            "estimate": own["estimate"],
            "interval": own["interval"],
            "level": 0.95,
            "metric": parts["assessment"]["metric"],
            "task": self._task,
            "rows": parts["assessment"]["rows"],
            "columns": self._columns,
            "answers": [
                {"question": question, "headline": headline, "sentences": sentences, "section": section}
                for section, (question, headline, sentences) in questions.items()
            ],
            "caveats": ["Few rows.", f"Column {ATTACK!r} alone tells the target."],
            "next_steps": [f"Try fewer columns than {self._columns}."],
            "not_done": ["The learning curve of tree."],
            "dropped": [{"name": ATTACK, "after": 2, "reason": f"worse than {self.best} {QUOTE}"}],
            "suspects": [
                {"kind": "predicts", "column": ATTACK, "text": f"Column {ATTACK!r} alone tells the target."},
                {"kind": "constant", "column": "unit", "text": "Column 'unit' says nothing."},
            ],
            "parts": parts,
            "fits": {"asked": 100, "run": 60, "shared": 40, "stored": 0, "seconds": 1.5},
        }


@functools.cache
def made_study(task: str = "classification", *, whole: bool = True) -> MadeStudy:
    """Return a study of iris or diabetes; not whole: as it is when the budget was spent after the comparison."""
    engine = Engine()
    if task == "classification":
        X, y = load_iris(return_X_y=True, as_frame=True)
        y = y.map({0: ATTACK, 1: QUOTE, 2: "virginica"})
        models = {ATTACK: GaussianNB(), "tree": DecisionTreeClassifier(max_depth=2), "dummy": DummyClassifier()}
        agghoo = AgghooClassifier(list(models.items()), engine=engine)
    else:
        X, y = load_diabetes(return_X_y=True, as_frame=True)
        models = {ATTACK: Ridge(), "tree": DecisionTreeRegressor(max_depth=2), "dummy": DummyRegressor()}
        agghoo = AgghooRegressor(list(models.items()), engine=engine)
    first = {ATTACK: models[ATTACK]}
    parts: dict[str, Any] = dict.fromkeys(("perturbation", "bias_variance", "cross_test", "curves"))
    parts |= {"assessment": assess(models, X, y, engine=engine), "comparison": compare(models, X, y, engine=engine)}
    if whole:
        parts["perturbation"] = perturb(first, X, y, levels=[0.2, 0.4], repeats=2, engine=engine)
        parts["bias_variance"] = bias_variance(first, X, y, rounds=10, engine=engine)
        parts["cross_test"] = cross_test(agghoo.fit(X, y), X, y)
        parts["curves"] = learning_curve(first, X, y, schedule=[40, 60, 90], cv=3, engine=engine)
    return MadeStudy(ATTACK, task, X.shape[1], parts)


def study_page(study: Any, made: Any, *, title: str | None = None) -> str:
    """Draw and render a study as one page."""
    return render_study(study_report(study, title=title), made)
