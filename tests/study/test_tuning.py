"""A tuned study: the selection is among all settings of all families, and its estimate nests the whole selection."""

import json
import warnings

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import make_classification
from sklearn.dummy import DummyClassifier
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, HonestSearchCV, study
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._methods.selection.ensemble import Ensemble
from truefit._methods.splitting.splits import make_splits
from truefit._metrics.metric import get_metric
from truefit._study.selection import CandidateSelection
from truefit.estimators.ensemble import EnsembleClassifier

X, Y = make_classification(150, 6, flip_y=0.2, random_state=0)
DEPTHS = [1, 2, 3]
SEVERAL = {
    "dummy": DummyClassifier(),
    "tree": (DecisionTreeClassifier(random_state=0), {"max_depth": DEPTHS, "min_samples_leaf": [1, 10]}),
    "knn": (KNeighborsClassifier(), {"n_neighbors": [5, 15, 40], "weights": ["uniform", "distance"]}),
}
MODELS = {
    "dummy": DummyClassifier(),
    "bayes": GaussianNB(),
    "tree": (DecisionTreeClassifier(random_state=0), {"max_depth": DEPTHS}),
    "knn": (KNeighborsClassifier(), {"n_neighbors": [5, 15, 40]}),
}


@pytest.fixture(scope="module")
def tuned():
    return study(X, Y, MODELS, random_state=0)


@pytest.fixture(scope="module")
def several():
    engine = Engine(progress=False)
    return study(X, Y, SEVERAL, random_state=0, engine=engine), engine


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


def test_the_simplest_setting_within_one_standard_error_is_named(tuned, several):
    found, _ = several
    folds = [(split.train.index, split.test.index) for split in found.assessment.splits]
    errors = {
        name: np.array([np.mean(clone(each.estimator).fit(X[a], Y[a]).predict(X[b]) != Y[b]) for a, b in folds])
        for name, each in found._config.settings.items()
    }
    behind = {name: each - errors[found.best] for name, each in errors.items()}
    ties = {name for name, each in behind.items() if each.mean() <= each.std(ddof=1) / np.sqrt(5)}
    grown = [(1, 10), (2, 10), (1, 1), (3, 10), (2, 1), (3, 1)]  # depth and leaf each from the simplest to the others
    order = [f"tree (max_depth={depth}, min_samples_leaf={leaf})" for depth, leaf in grown]
    simplest = next(name for name in order if name in ties)
    assert {found.best} < ties
    assert found.to_dict()["simplest"] == simplest
    if simplest != found.best:
        assert f"The simplest setting within one standard error of it is {simplest}." in str(found)
    assert tuned.to_dict()["simplest"] == tuned.best
    assert "No simpler setting is within one standard error of it." in str(tuned)


def test_advice_about_a_setting_names_its_family(tuned):
    (advice,) = [each.advice for each in tuned.findings if each.code == "TF210"]
    assert f"recalibrate {tuned.best}: study tree with log_loss as the metric" in advice


def test_the_page_unfolds_to_all_settings_and_the_report_is_plain(tuned):
    page = tuned.to_html()
    assert "<summary>All 8 settings of the 4 families</summary>" in page
    assert "max_depth=2" in page
    json.dumps(tuned.to_dict(), allow_nan=False)


def test_the_ensemble_is_selected_by_the_inner_folds_and_tested_on_the_outer_ones(several):
    found, engine = several
    tested = found.averaged
    models = {name: setting.estimator for name, setting in found._config.settings.items() if name != "dummy"}
    splits = list(found.assessment.splits)
    folds = [split.test.index for split in splits]

    def predictions(names, splits):
        """Probabilities and wrong predictions of every setting on the rows that the splits test."""
        found = {name: [] for name in names}
        for train, test in splits:
            for name in names:
                found[name].append(models[name].fit(X[train], Y[train]).predict_proba(X[test]))
        return {name: np.concatenate(parts) for name, parts in found.items()}

    def drawn(splits):
        """Ten draws from the five best and the best of each family, each with the least Brier score together."""
        found = predictions(models, splits)
        truth = np.concatenate([Y[test] for _, test in splits])
        errors = {
            name: np.mean([np.mean(part) for part in np.array_split(each.argmax(axis=1) != truth, len(splits))])
            for name, each in found.items()
        }
        ranked = sorted(errors, key=errors.get)
        pool = ranked[:5] + [next(name for name in ranked if name.startswith(each)) for each in ("tree", "knn")]
        members = []
        for _ in range(10):
            allowed = pool if len(set(members)) < 5 else members
            losses = {
                name: np.sum((np.mean([found[each] for each in [*members, name]], axis=0) - np.eye(2)[truth]) ** 2)
                for name in allowed
            }
            members.append(min(losses, key=losses.get))
        return {name: members.count(name) / 10 for name in members}

    for place, test in enumerate(folds):
        others = [rows for other, rows in enumerate(folds) if other != place]
        rest = np.concatenate(others)
        assert tested.chosen[place] == pytest.approx(drawn([(np.setdiff1d(rest, rows), rows) for rows in others]))
        together = sum(
            weight * models[name].fit(X[rest], Y[rest]).predict_proba(X[test])
            for name, weight in tested.chosen[place].items()
        )
        assert tested.fold_scores["ensemble"][place] == pytest.approx(np.mean(together.argmax(axis=1) != Y[test]))
    everything = np.arange(len(Y))
    weights = dict(zip(tested.members, tested.weights, strict=True))
    assert weights == pytest.approx(drawn([(np.setdiff1d(everything, rows), rows) for rows in folds]))
    assert 2 <= len(tested.members) <= 5
    assert tested.weights == sorted(tested.weights, reverse=True)
    assert tested.estimate == pytest.approx(tested.fold_scores["ensemble"].mean())
    low, high = tested.interval
    assert low <= tested.estimate <= high
    assert tested.text in str(found)
    assert f"ensemble: weighted average of {len(tested.members)} settings" in found.to_html()
    assert json.loads(json.dumps(tested.to_dict()))["members"] == tested.members
    ran = engine.stats.run
    ensemble = found.ensemble
    assert engine.stats.run - ran <= 5  # the fits of the members on all rows, and nothing else
    together = sum(weight * models[name].fit(X, Y).predict_proba(X) for name, weight in weights.items())
    assert np.allclose(ensemble.predict_proba(X), together)
    assert ensemble.assessment_.estimate == tested.estimate
    assert clone(ensemble).get_params()["aggregate"] == "soft"


def test_an_ensemble_is_recommended_where_it_is_better_by_more_than_one_standard_error():
    data = Data(np.arange(400.0).reshape(-1, 1), np.arange(400.0), task="regression")
    splits = make_splits(data, "kfold", k=5, random_state=0)
    noise, other = np.random.default_rng(0).normal(size=(2, 400))

    def fits(noise):
        return [
            Outcome("", (Predictions("predict", data.tokens[rows], data.y[rows] + noise[rows]),))
            for rows in (split.test.index for split in splits)
        ]

    def tested(own):
        drawn, metric = {"a": 6, "b": 4}, get_metric("mse", "regression")
        return Ensemble(drawn, "mean", [drawn] * 5, fits(own), fits(noise), data, splits, metric)

    better, worse = tested(0.5 * noise), tested(1.5 * noise)
    assert (better.recommended, worse.recommended) == (True, False)
    assert "significantly better than the single model" in better.text
    assert "significantly worse" in worse.text
    for scale in (0.88, 0.9, 0.92, 0.94, 1.0):
        alike = tested(scale * other)
        found = alike.difference.found
        assert alike.recommended == (-found.mean > found.se)
        assert ("better than the single model by more than one standard error" in alike.text) == alike.recommended
    assert tested(0.9 * other).recommended
    assert not tested(other).recommended
    assert better.gain == pytest.approx(0.75 * np.mean(noise**2))


def test_why_there_is_no_ensemble_is_said():
    found = study(X, Y, {"tree": (DecisionTreeClassifier(random_state=0), {"max_depth": [1, 2]})}, random_state=0)
    assert found.ensemble is None
    assert dict(found.not_run)["Ensemble"] == "it needs at least 3 settings with predictions to average"


def test_labels_of_classifiers_without_probabilities_are_voted_by_weight():
    models = {"svm": (SVC(), {"C": [0.01, 1.0, 10.0], "gamma": [0.01, 0.3]})}
    found = study(X, Y, models, random_state=0)
    weights = dict(zip(found.averaged.members, found.averaged.weights, strict=True))
    estimators = {name: setting.estimator.fit(X, Y) for name, setting in found._config.settings.items()}
    votes = sum(weight * estimators[name].predict(X) for name, weight in weights.items())
    assert found.averaged.aggregate == "vote"
    assert np.array_equal(found.ensemble.predict(X)[votes != 0.5], (votes > 0.5)[votes != 0.5])


def test_a_classifier_without_probabilities_is_a_member_beside_others():
    members = [("bayes", GaussianNB()), ("svm", SVC())]
    found = EnsembleClassifier(members, weights=[0.6, 0.4]).fit(X, Y)
    labels = np.eye(2)[SVC().fit(X, Y).predict(X)]
    assert np.allclose(found.predict_proba(X), 0.6 * GaussianNB().fit(X, Y).predict_proba(X) + 0.4 * labels)
    models = {
        "dummy": DummyClassifier(),
        "bayes": (GaussianNB(), {"var_smoothing": [1e-9, 0.1]}),
        "svm": (SVC(), {"C": [0.1, 1.0, 10.0]}),
    }
    tested = study(X, Y, models, random_state=0).averaged
    assert tested.aggregate == "soft"
    assert any(name.startswith("svm") for each in tested.chosen for name in each)


def test_an_ensemble_of_a_rate_is_estimated_from_all_rows_where_a_fold_lacks_the_class():
    rare = np.zeros(200, dtype=int)
    rare[[5, 80, 150]] = 1
    table = np.random.default_rng(0).normal(size=(200, 3))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = study(table, rare, MODELS, metric="balanced_accuracy", random_state=0)
    assert found.averaged.estimate == pytest.approx(0.5, abs=0.02)


@pytest.mark.parametrize("weights", [[1.0], [1.0, -1.0], [0.0, 0.0], [np.nan, 1.0], "equal"])
def test_weights_of_an_ensemble_are_checked(weights):
    model = EnsembleClassifier([("bayes", GaussianNB()), ("tree", DecisionTreeClassifier())], weights=weights)
    with pytest.raises(InvalidInput, match="'weights' parameter must have a number of at least 0 for each estimator"):
        model.fit(X, Y)


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


def test_default_candidates_are_tuned_unless_it_is_declined(monkeypatch):
    searched = []
    plan = CandidateSelection.plan

    def noted(self):
        searched.append(len(self.names))
        return plan(self)

    monkeypatch.setattr(CandidateSelection, "plan", noted)
    for options in ({}, {"tune": False}):
        study(X, Y, ["linear", "naive_bayes"], **options, engine=Engine(progress=False, on_error="record"))
    study(X, Y, {"linear": GaussianNB()})  # own estimators are compared as they are
    assert searched == [6, 2, 1]


def test_a_target_of_words_is_no_target_of_a_regression():
    with pytest.raises(InvalidInput, match="The target y of a regression must be numbers"):
        study(X, np.where(Y, "yes", "no"), task="regression")


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
