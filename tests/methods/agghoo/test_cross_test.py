import json

import numpy as np
import pandas as pd
import pytest
from sklearn.base import BaseEstimator, RegressorMixin, clone
from sklearn.datasets import load_iris, make_friedman1
from sklearn.ensemble import GradientBoostingRegressor
from sklearn.linear_model import LogisticRegression, Ridge
from sklearn.metrics import mean_squared_error, roc_auc_score
from sklearn.model_selection import GroupKFold, KFold, ShuffleSplit, StratifiedKFold
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.neural_network import MLPRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.tree import DecisionTreeRegressor

from truefit import AgghooClassifier, AgghooRegressor, Engine, HonestSearchCV, assess, cross_test
from truefit._core.errors import InvalidInput

X, y = make_friedman1(90, noise=1.0, random_state=0)
XI, yi = load_iris(return_X_y=True)
NAMES = np.array(["setosa", "versicolor", "virginica"])[yi]
GRID = {"max_depth": [1, 3, None]}
AGGHOO = AgghooRegressor(DecisionTreeRegressor(random_state=0), GRID)
CANDIDATES = [DecisionTreeRegressor(max_depth=depth, random_state=0) for depth in (1, 3, None)]


def mse(model, X, y):
    return mean_squared_error(y, model.predict(X))


def brute_force(candidates, X, y, outer, inner_of):
    """Algorithm 2, line by line: risks, predictions, members' risks and validation risks, and the refit's risks."""
    risks, predictions, alone, validation, refits = [], np.empty(len(y)), [], [], []
    for learning, test in outer:
        members, tables = [], []
        for train, valid in inner_of(learning, test):
            models = [clone(candidate).fit(X[train], y[train]) for candidate in candidates]
            tables.append([mse(model, X[valid], y[valid]) for model in models])
            members.append(models[int(np.argmin(tables[-1]))])
        predictions[test] = np.mean([member.predict(X[test]) for member in members], axis=0)
        risks.append(mean_squared_error(y[test], predictions[test]))
        alone.append([mse(member, X[test], y[test]) for member in members])
        validation.append(np.min(tables, axis=1))
        winner = candidates[int(np.argmin(np.mean(tables, axis=0)))]
        refits.append(mse(clone(winner).fit(X[learning], y[learning]), X[test], y[test]))
    return np.array(risks), predictions, np.array(alone), np.array(validation), np.array(refits)


def check_equal(result, expected):
    risks, predictions, alone, validation, refits = expected
    assert np.allclose(result.fold_risks, risks, rtol=1e-12)
    assert np.isclose(result.estimate, risks.mean())
    found = result.predictions.set_index("row").sort_index()["prediction"]
    assert np.allclose(found, predictions, rtol=1e-12)
    assert np.allclose(result.member_risks, alone)
    assert np.allclose(result.member_validation, validation)
    assert np.allclose(result.refit_risks, refits)
    assert np.isclose(result.optimism, (alone - validation).mean())
    assert np.isclose(result.aggregation_gain, alone.mean() - risks.mean())
    assert result.aggregation_gain > 0


def test_the_triangle_equals_the_algorithm_written_out():
    cv = KFold(5, shuffle=True, random_state=0)
    outer = list(cv.split(X))

    def others(learning, test):
        return [(np.setdiff1d(learning, fold), fold) for _, fold in outer if fold[0] != test[0]]

    engine = Engine(solvers="plain")
    result = cross_test(AGGHOO, X, y, cv=cv, engine=engine)
    assert result.triangle
    check_equal(result, brute_force(CANDIDATES, X, y, outer, others))
    assert engine.stats.run == (10 + 5) * 3
    single = [[mse(clone(c).fit(X[train], y[train]), X[test], y[test]) for c in CANDIDATES] for train, test in outer]
    assert np.isclose(result.mean_validation, np.min(single, axis=1).mean())
    assert np.isclose(result.cv_refit, result.refit_risks.mean())
    assert np.isclose(result.selection_burden, (1 + np.log(3)) / 18)


def test_inner_splits_of_ones_own_equal_the_algorithm_written_out():
    outer_cv, inner_cv = KFold(4, shuffle=True, random_state=1), KFold(3)

    def inner(learning, test):
        return [(learning[train], learning[valid]) for train, valid in inner_cv.split(X[learning])]

    engine = Engine(solvers="plain")
    result = cross_test(AGGHOO, X, y, cv=outer_cv, inner_cv=inner_cv, engine=engine)
    assert not result.triangle
    assert "inner splits of its training rows" in result.summary()
    check_equal(result, brute_force(CANDIDATES, X, y, list(outer_cv.split(X)), inner))
    assert engine.stats.run == (4 * 3 + 4) * 3


def test_one_engine_shares_the_fits_with_nested_cross_validation_and_with_agghoo():
    engine = Engine(solvers="plain")
    agghoo = AgghooClassifier(KNeighborsClassifier(), {"n_neighbors": [1, 9]}, engine=engine)
    cross_test(agghoo, XI, yi, cv=5, baseline=False)
    assert engine.stats.run == 10 * 2
    cross_test(agghoo, XI, yi, cv=5)
    assert engine.stats.run == 15 * 2
    agghoo.fit(XI, yi)
    HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 9]}, cv=5, engine=engine).fit(XI, yi)
    assert engine.stats.run == 15 * 2 + 1
    assert engine.stats.refitted <= 5


@pytest.mark.parametrize("aggregate", ["soft", "vote"])
def test_a_fold_is_judged_as_the_fitted_agghoo_would_be(aggregate):
    folds = list(StratifiedKFold(4, shuffle=True, random_state=0).split(XI, NAMES))
    agghoo = AgghooClassifier(KNeighborsClassifier(), {"n_neighbors": [1, 9, 40]}, aggregate=aggregate)
    result = cross_test(agghoo, XI, NAMES, cv=folds)
    for a, (learning, test) in enumerate(folds):
        inner = [np.flatnonzero(np.isin(learning, fold)) for _, fold in folds if fold[0] != test[0]]
        pairs = [(np.setdiff1d(np.arange(len(learning)), fold), fold) for fold in inner]
        fitted = clone(agghoo).set_params(cv=pairs).fit(XI[learning], NAMES[learning])
        found = result.predictions.query("split == @a")
        assert found["row"].tolist() == test.tolist()
        assert found["prediction"].tolist() == fitted.predict(XI[test]).tolist()
        assert np.isclose(result.fold_risks[a], np.mean(fitted.predict(XI[test]) != NAMES[test]))
        if aggregate == "soft":
            columns = [f"p({name})" for name in fitted.classes_]
            assert np.allclose(found[columns], fitted.predict_proba(XI[test]))


def test_stages_take_one_fit_per_pair_of_folds():
    engine = Engine()
    result = cross_test(AgghooRegressor(GradientBoostingRegressor(n_estimators=20), engine=engine), X, y, cv=4)
    assert engine.stats.run == 6 + 4
    assert len(result.candidates) == 20
    engine = Engine()
    network = make_pipeline(StandardScaler(), MLPRegressor(hidden_layer_sizes=(4,), max_iter=30))
    result = cross_test(AgghooRegressor(network, engine=engine), X, y, cv=4)
    assert engine.stats.run == 6 + 4
    plain = cross_test(AgghooRegressor(network), X, y, cv=4, engine=Engine(solvers="plain"))
    assert np.allclose(plain.fold_risks, result.fold_risks, rtol=1e-12)


def test_the_correction_moves_the_estimate_and_its_interval():
    plain = cross_test(AGGHOO, X, y)
    corrected = cross_test(AGGHOO, X, y, correction="learning_curve")
    gap = plain.mean_validation - plain.inner_validation
    assert np.isclose(corrected.estimate, plain.estimate + gap)
    assert np.allclose(corrected.interval, np.add(plain.interval, gap))
    assert "all 90 rows" in corrected.estimand
    assert "72 rows" in plain.estimand
    assert "Experimental" in corrected.summary()


def test_another_metric_is_reported_and_one_to_be_maximised_keeps_its_signs():
    two = yi[:100] + 0
    agghoo = AgghooClassifier(LogisticRegression(), {"C": [1e-4, 1.0]}, scoring="log_loss")
    noisy = XI[:100] + np.random.default_rng(0).normal(scale=2.5, size=(100, 4))
    result = cross_test(agghoo, noisy, two, metric="auc", cv=4)
    found = result.predictions
    for a in range(4):
        part = found[found["split"] == a]
        assert np.isclose(result.fold_risks[a], roc_auc_score(part["y"], part["p(1)"]))
    assert np.isclose(result.aggregation_gain, result.cross_tested - result.members_alone)
    assert np.isclose(result.optimism, result.inner_validation - result.members_alone)
    low, high = result.interval
    assert low < result.estimate < high <= 1


def test_test_sets_that_are_no_partition_have_no_triangle():
    result = cross_test(AGGHOO, X, y, cv=ShuffleSplit(4, test_size=0.25, random_state=0))
    assert not result.triangle
    assert len(result.fold_risks) == 4
    assert result.interval_method == "corrected t"
    by_two = cross_test(AGGHOO, X, y, cv=2)
    assert not by_two.triangle


def test_groups_stay_together_and_weights_count():
    groups, weight = np.arange(90) // 5, np.linspace(0.2, 3, 90)
    agghoo = AgghooRegressor(Ridge(), {"alpha": [0.1, 10.0]})
    result = cross_test(agghoo, X, y, groups=groups, cv=GroupKFold(3))
    assert result.interval_method == "corrected t"
    parts = result.predictions.assign(group=groups[result.predictions["row"]])
    assert (parts.groupby("group")["split"].nunique() == 1).all()
    weighed = cross_test(agghoo, X, y, sample_weight=weight, cv=3)
    found = weighed.predictions
    for a in range(3):
        part = found[found["split"] == a]
        expected = mean_squared_error(part["y"], part["prediction"], sample_weight=weight[part["row"]])
        assert np.isclose(weighed.fold_risks[a], expected)


class Failing(RegressorMixin, BaseEstimator):
    def __init__(self, fails=True):
        self.fails = fails

    def fit(self, X, y):
        if self.fails:
            raise RuntimeError("not today")
        self.mean_ = y.mean()
        return self

    def predict(self, X):
        return np.full(len(X), self.mean_)


def test_candidates_that_fail_are_left_out_and_told_of():
    with pytest.warns(UserWarning, match="9 fits failed"):
        result = cross_test(AgghooRegressor(Failing(), {"fails": [True, False]}), X, y, cv=3)
    assert {name for each in result.chosen for name in each} == {"Failing(fails=False)"}
    assert "9 fits failed" in result.summary()


def test_what_a_result_has():
    result = cross_test(AgghooClassifier(GaussianNB()), pd.DataFrame(XI, columns=list("abcd")), NAMES)
    assert list(result.table.columns) == ["rows", "agghoo", "members", "validation", "cv_refit"]
    assert result.table["rows"].sum() == 150
    low, high = result.interval
    assert 0 <= low < result.estimate < high
    assert "pooled losses × 1.3" in result.summary()
    kept = json.loads(json.dumps(result.to_dict()))
    assert kept["estimate"] == result.estimate
    assert kept["kind"] == "cross-test"
    assert "<svg" in result._repr_html_()
    names = [label.get_text() for label in result.plot().get_yticklabels()]
    assert names == ["Agghoo", "single members", "members' validation", "CV + refit"]
    members = result.plot(kind="members")
    assert np.allclose(members.collections[0].get_offsets()[:, 0], result.member_risks[0])
    estimates = [label.get_text() for label in result.plot(kind="estimates", truth=0.05).get_yticklabels()]
    assert estimates == ["cross-tested", "members' validation", "mean validation", "CV + refit"]
    with pytest.raises(InvalidInput, match="'kind' parameter"):
        result.plot(kind="roc")
    with pytest.raises(InvalidInput, match="'truth' parameter"):
        result.plot(truth=0.05)
    without = cross_test(AgghooClassifier(GaussianNB()), XI, NAMES, baseline=False)
    assert len(without.plot(kind="estimates").get_yticklabels()) == 2
    assert np.isnan(without.mean_validation)
    assert without.to_dict()["mean_validation"] is None
    assert "For comparison" not in without.summary()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"agghoo": Ridge()}, "use assess for other estimators"),
        ({"correction": "yes"}, "'correction' parameter"),
        ({"correction": "learning_curve", "baseline": False}, "baseline"),
        ({"cv": "five"}, "'cv' parameter"),
        ({"inner_cv": "five"}, "'inner_cv' parameter"),
        ({"inner_cv": [(range(60), range(60, 72))]}, "'inner_cv' parameter"),
        ({"level": 95}, "'level' parameter"),
        ({"metric": "accuracy"}, "is for classification"),
    ],
)
def test_what_cannot_be_worked_with_is_said(options, message):
    options = {"agghoo": AgghooRegressor(KNeighborsRegressor()), **options}
    with pytest.raises(InvalidInput, match=message):
        cross_test(options.pop("agghoo"), X, y, **options)


def test_a_vote_has_no_ranking():
    agghoo = AgghooClassifier(GaussianNB(), aggregate="vote")
    with pytest.raises(InvalidInput, match="AgghooClassifier does not have it"):
        cross_test(agghoo, XI[:100], yi[:100], metric="auc")


@pytest.mark.filterwarnings("ignore:Class 'virginica' has 4 rows")
@pytest.mark.parametrize(("cv", "inner_cv"), [(5, None), (5, 5), (5, np.int64(4)), (StratifiedKFold(2), None)])
def test_a_class_of_few_rows_is_no_obstacle(cv, inner_cv):
    rows = np.r_[0:20, 50:70, 100:104]
    result = cross_test(AgghooClassifier(GaussianNB()), XI[rows], NAMES[rows], cv=cv, inner_cv=inner_cv)
    assert len(result.predictions) == 44
    if inner_cv is not None:
        assert {len(each) for each in result.chosen} == {int(inner_cv)}


def test_whole_numbers_to_be_predicted_share_their_fits_with_other_methods():
    engine = Engine(solvers="plain")
    grades = np.round(y).astype(int)
    cross_test(AgghooRegressor(Ridge(), {"alpha": [0.1, 10.0]}, engine=engine), X, grades, cv=5)
    run = engine.stats.run
    models = {str(alpha): Ridge(alpha=alpha) for alpha in (0.1, 10.0)}
    assess(models, X, grades, cv=5, metric="mse", engine=engine)
    assess(models, X, grades.astype(float), cv=5, metric="mse", engine=engine)
    assert engine.stats.run == run
