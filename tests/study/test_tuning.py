"""A tuned study: the selection is among all settings of all families, and its estimate nests the whole selection."""

import json

import numpy as np
import pytest
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, HonestSearchCV, study
from truefit._core.errors import InvalidInput
from truefit._study.selection import CandidateSelection

X, Y = make_classification(150, 6, flip_y=0.2, random_state=0)
DEPTHS = [1, 2, 3]
MODELS = {
    "dummy": DummyClassifier(),
    "bayes": GaussianNB(),
    "tree": (DecisionTreeClassifier(random_state=0), {"max_depth": DEPTHS}),
    "knn": (KNeighborsClassifier(), {"n_neighbors": [5, 15, 40]}),
}


@pytest.fixture(scope="module")
def tuned():
    return study(X, Y, MODELS, random_state=0)


def test_the_selection_and_its_estimate_are_those_of_a_search_over_all_settings(tuned):
    alone = study(X, Y, {"tree": MODELS["tree"]}, random_state=0)
    search = HonestSearchCV(MODELS["tree"][0], {"max_depth": DEPTHS}, scoring="accuracy", random_state=0).fit(X, Y)
    assert alone.best == f"tree (max_depth={search.best_params_['max_depth']})"
    assert alone.estimate == pytest.approx(1 - search.assessment_.estimate)
    tried = tuned.to_dict()["settings"]
    assert len(tried) == 8
    assert [each["name"] for each in tried if each["selected"]] == [tuned.best]
    assert min(each["estimate"] for each in tried) == pytest.approx(tuned.assessment.estimates[tuned.best].value)


def test_of_each_family_the_best_setting_is_compared(tuned):
    tried = tuned.to_dict()["settings"]
    best = {}
    for each in tried:
        if each["family"] not in best or each["estimate"] < best[each["family"]]["estimate"]:
            best[each["family"]] = each
    assert {each["name"] for each in best.values()} == set(tuned.table.index)
    assert "Best of 8 settings of 4 model families" in str(tuned)
    assert "nested cross-validation over all 8 settings" in str(tuned)
    assert tuned.model.predict(X).shape == (150,)


def test_the_page_unfolds_to_all_settings_and_the_report_is_plain(tuned):
    page = tuned.to_html()
    assert "<summary>All 8 settings of the 4 families</summary>" in page
    assert "max_depth=2" in page
    json.dumps(tuned.to_dict(), allow_nan=False)


def test_a_value_at_the_edge_is_a_finding():
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(200, 2))
    labels = (wide[:, 0] + rng.normal(size=200) > 0).astype(int)
    grid = {"knn": (KNeighborsClassifier(), {"n_neighbors": [1, 3, 5, 60]})}
    found = {each.code: each for each in study(wide, labels, grid).findings}
    assert found["TF213"].evidence == {"family": "knn", "parameters": {"n_neighbors": 60}}


def test_a_race_keeps_the_best_setting_of_every_family_in_the_comparison(monkeypatch):
    monkeypatch.setattr("truefit._study.selection._RACE_FROM", 0.0)
    rng = np.random.default_rng(1)
    table = rng.normal(size=(400, 3))
    labels = (table[:, 0] > 0).astype(int)  # a tree finds it at once, neighbours hardly
    models = {
        "tree": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]}),
        "knn": (KNeighborsClassifier(), {"n_neighbors": [100, 150, 200]}),
    }
    found = study(table, labels, models, random_state=0)
    assert found.best == "tree (max_depth=1)"
    assert len(found.table) == 2
    assert "stopped early by racing" in str(found)
    stopped = [each for each in found.to_dict()["settings"] if each["estimate"] is None]
    assert stopped
    assert all(each["folds"] < 5 for each in stopped)


def test_default_candidates_are_tuned_on_request(monkeypatch):
    searched = []
    plan = CandidateSelection.plan

    def noted(self):
        searched.append(len(self.names))
        return plan(self)

    monkeypatch.setattr(CandidateSelection, "plan", noted)
    for tune in (True, False):
        study(X, Y, ["linear", "naive_bayes"], tune=tune, engine=Engine(progress=False, on_error="record"))
    assert searched == [5, 2]


@pytest.mark.parametrize(
    ("given", "match"),
    [
        ((KNeighborsClassifier(),), "a tuple of an estimator and a grid"),
        ((KNeighborsClassifier(), {"k": [1]}), "The search space of 'knn' must have parameters of its estimator"),
    ],
)
def test_a_family_that_cannot_be_searched_is_refused(given, match):
    with pytest.raises(InvalidInput, match=match):
        study(X, Y, {"knn": given})
