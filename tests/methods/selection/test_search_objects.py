"""Search objects of scikit-learn as candidates: equal to cross_validate around them, their fits shared."""

import numpy as np
import pytest
from scipy.stats import loguniform
from sklearn.datasets import load_breast_cancer, load_diabetes
from sklearn.exceptions import FitFailedWarning
from sklearn.experimental import enable_halving_search_cv  # noqa: F401
from sklearn.linear_model import Ridge
from sklearn.model_selection import (
    GridSearchCV,
    HalvingGridSearchCV,
    KFold,
    RandomizedSearchCV,
    ShuffleSplit,
    StratifiedKFold,
    cross_validate,
)
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC
from sklearn.tree import DecisionTreeClassifier

from truefit import Engine, assess, compare
from truefit._api.engine import with_searches
from truefit._core.data import Data
from truefit._core.errors import BudgetSpent
from truefit._core.outcome import Outcomes
from truefit._core.protocols import Ask, FitTask
from truefit._core.rows import Rows

X, y = load_breast_cancer(return_X_y=True)
X, y = StandardScaler().fit_transform(X)[:250], y[:250]
XD, yd = load_diabetes(return_X_y=True)
OUTER = StratifiedKFold(4, shuffle=True, random_state=0)
TREE = DecisionTreeClassifier(random_state=0)
NEIGHBOURS = make_pipeline(StandardScaler(), KNeighborsClassifier())
K = {"kneighborsclassifier__n_neighbors": [1, 3, 9, 25]}

CASES = {
    "grid": (GridSearchCV(NEIGHBOURS, K, cv=3), 4 * 3),
    "grids, AUC": (GridSearchCV(SVC(), [{"C": [0.1, 10]}, {"kernel": ["linear"]}], scoring="roc_auc", cv=3), 3 * 3),
    "two scores": (
        GridSearchCV(TREE, {"max_depth": [1, 3]}, scoring=["accuracy", "neg_log_loss"], refit="neg_log_loss"),
        2 * 5,
    ),
    "function": (GridSearchCV(TREE, {"max_depth": [3, 1]}, refit=lambda found: found["rank_test_score"].argmax()), 10),
    "drawn": (RandomizedSearchCV(SVC(), {"C": loguniform(0.1, 100)}, n_iter=3, random_state=0, cv=3), 3 * 3),
    "splitter": (GridSearchCV(TREE, {"max_depth": [1, 3]}, cv=ShuffleSplit(2, random_state=0)), 2 * 2),
}


@pytest.mark.parametrize("case", CASES)
def test_scores_equal_cross_validate_and_fits_are_shared(case):
    search, inner = CASES[case]
    engine = Engine()
    result = assess(search, X, y, cv=OUTER, metric="accuracy", engine=engine)
    expected = cross_validate(search, X, y, cv=OUTER, scoring="accuracy")["test_score"]
    (scores,) = result.split_scores().values()
    assert scores.tolist() == expected.tolist()
    assert engine.stats.asked == 4 * (inner + 1)
    run = engine.stats.run
    assert run <= 4 * (inner + 1)
    assess(search, X, y, cv=OUTER, metric="auc", engine=engine)
    assert engine.stats.run == run


def test_a_regression_is_resumed_from_a_store(tmp_path):
    search, outer = GridSearchCV(Ridge(), {"alpha": [0.01, 1.0]}), KFold(3, shuffle=True, random_state=0)
    expected = cross_validate(search, XD, yd, cv=outer, scoring="neg_mean_squared_error")["test_score"]
    for run in (3 * 11, 0):
        with Engine(tmp_path / "runs.db", solvers="auto") as engine:
            result = assess(search, XD, yd, cv=outer, engine=engine)
            assert engine.stats.stored == 33 - run
    assert result.estimate == pytest.approx(-expected.mean())


def test_searches_are_compared_with_other_candidates():
    engine = Engine()
    candidates = {"searched": GridSearchCV(TREE, {"max_depth": [1, 3]}, cv=3), "tree": TREE}
    result = compare(candidates, X, y, cv=OUTER, engine=engine)
    assert engine.stats.run == 4 * (6 + 1 + 1)
    assert set(result.table.index) == {"searched", "tree"}


@pytest.mark.parametrize(
    "search",
    [
        HalvingGridSearchCV(TREE, {"max_depth": [1, 3, 5]}, random_state=0),
        GridSearchCV(TREE, {"max_depth": [1, 3]}, cv=3).set_params(scoring=None, estimator__random_state=1),
    ],
)
def test_by_plain_fitting_the_results_are_the_same(search):
    plain = Engine(solvers="plain")
    expected = assess(search, X, y, cv=OUTER, engine=plain)
    assert plain.stats.run == 4
    result = assess(search, X, y, cv=OUTER)
    assert result.estimate == expected.estimate
    assert np.isclose(1 - result.estimate, cross_validate(search, X, y, cv=OUTER)["test_score"].mean(), atol=0.005)


@pytest.mark.filterwarnings("ignore:One or more of the test scores are non-finite")
def test_a_search_decides_itself_what_a_failed_fit_means():
    search = GridSearchCV(SVC(), {"C": [-1.0, 1.0]}, cv=3)
    with pytest.warns(FitFailedWarning):
        result = assess(search, X, y, cv=OUTER)
    assert result.estimate == assess(SVC(), X, y, cv=OUTER).estimate


def test_bad_search_spaces_are_reported_by_the_search():
    with pytest.raises(ValueError, match="Invalid parameter 'depth'"):
        assess(GridSearchCV(TREE, {"depth": [1]}), X, y)
    with pytest.raises(ValueError, match="non-empty sequence"):
        assess(GridSearchCV(TREE, {"max_depth": []}), X, y)


def test_inner_folds_keep_groups_together():
    rng = np.random.default_rng(0)
    groups = np.tile(np.arange(150), 3)  # copies lie far apart: folds of rows have them on both sides
    table = rng.normal(size=(150, 2))
    labels = (table[:, 0] + rng.normal(size=150) > 0).astype(int)[groups]
    search = GridSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 41]}, cv=4)  # a copy of a row would be nearest
    table = table[groups]
    result = assess(search, table, labels, groups=groups, cv=3)
    assert result.estimate == assess(KNeighborsClassifier(41), table, labels, groups=groups, cv=3).estimate
    assert search.fit(table, labels).best_params_ == {"n_neighbors": 1}


def test_a_plan_is_told_that_the_budget_was_spent():
    data, told = Data(X, y, task="classification"), []

    def plan():
        task = FitTask(GridSearchCV(TREE, {"max_depth": [1]}), Rows.of(range(200)), (Ask(Rows.of(range(200, 250))),))
        try:
            yield [task, task]
        except BudgetSpent as spent:
            told.append(list(spent.outcomes))
        return "ended"

    driven = with_searches(plan(), data)
    assert len(next(driven)) == 10
    with pytest.raises(StopIteration, match="ended"):
        driven.throw(BudgetSpent("Time budget exhausted.", Outcomes([None] * 10)))
    assert told == [[None, None]]
