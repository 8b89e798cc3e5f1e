import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor, ExtraTreeRegressor

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._solvers import all_solvers
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit._solvers.tree_depths import TreeDepthsSolver
from truefit.testing.solver_contract import SolverCase, SolverContract, assert_equal_answers

RNG = np.random.default_rng(0)
X = RNG.normal(size=(80, 1))  # of one column splits do not tie
y = np.sin(3 * X[:, 0]) + 0.1 * RNG.normal(size=80)
LABELS = np.array(["ant", "bee", "cat"])[np.searchsorted([-0.4, 0.4], y)]
BOTH = ("predict", "predict_proba")


class OwnTree(DecisionTreeRegressor):
    pass


def depths(make, some=(1, 4, None), **params):
    return [make(max_depth=depth, **params) for depth in some]


class TestTreeDepthsSolver(SolverContract):
    def make_solver(self):
        return TreeDepthsSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        of_classes = {"task": "classification", "responses": BOTH}
        return [
            SolverCase("regression", depths(DecisionTreeRegressor), X, y),
            SolverCase("leaves of some size", depths(DecisionTreeRegressor, (2, 3, 9), min_samples_leaf=4), X, y),
            SolverCase("classes", depths(DecisionTreeClassifier), X, LABELS, **of_classes),
            SolverCase("balanced", depths(DecisionTreeClassifier, class_weight="balanced"), X, LABELS, **of_classes),
        ]

    def not_for_it(self):
        return [
            SolverCase("one depth", depths(DecisionTreeRegressor, (3,)), X, y),
            SolverCase("own class", [*depths(OwnTree), *depths(ExtraTreeRegressor)], X, y),
            SolverCase("some columns", depths(DecisionTreeRegressor, max_features=0.5), X, y),
            SolverCase("the best leaves first", depths(DecisionTreeRegressor, max_leaf_nodes=5), X, y),
            SolverCase("pruned", depths(DecisionTreeRegressor, ccp_alpha=0.1), X, y),
            SolverCase("at random", depths(DecisionTreeRegressor, splitter="random"), X, y),
            SolverCase("depths that are wrong", depths(DecisionTreeRegressor, (0, -1, "2")), X, y),
        ]

    def failing(self):
        return [SolverCase("words", depths(DecisionTreeRegressor), np.full((80, 1), "a", dtype=object), y)]


def test_it_is_not_used_unless_asked_for():
    assert "tree depths" not in [solver.name for solver in all_solvers()]


@given(
    n=st.integers(10, 80),
    some=st.lists(st.integers(1, 9) | st.none(), min_size=2, max_size=4, unique=True),
    leaf=st.integers(1, 5),
    criterion=st.sampled_from(["squared_error", "absolute_error"]),
)
@settings(max_examples=25)
def test_without_ties_it_equals_plain_fitting(n, some, leaf, criterion):
    data = Data(X[:n], y[:n], task="regression")
    keys, train, asks = Keys(data), Rows.of(range(0, n, 2)), (Ask(Rows.all(n)),)
    trees = depths(DecisionTreeRegressor, some, min_samples_leaf=leaf, criterion=criterion)
    fits = [keys.fit(FitTask(tree, train, asks)) for tree in trees]
    [job] = TreeDepthsSolver().claim(fits, data)
    for fit, outcome in zip(fits, job.run(data), strict=True):
        assert outcome.solver == "tree depths"
        assert_equal_answers(outcome, fit_plain(fit, data), fit, data)


@pytest.mark.parametrize("seed", range(5))
def test_with_ties_training_errors_are_as_small(seed):
    rng = np.random.default_rng(seed)
    table, target = rng.integers(0, 3, size=(100, 6)).astype(float), rng.normal(size=100)
    data, rows = Data(table, target, task="regression"), Rows.all(100)
    keys = Keys(data)
    fits = [keys.fit(FitTask(tree, rows, (Ask(rows),))) for tree in depths(DecisionTreeRegressor, (2, 5, None))]
    [job] = TreeDepthsSolver().claim(fits, data)
    for fit, outcome in zip(fits, job.run(data), strict=True):
        mine, theirs = (((one.answer(data, rows) - target) ** 2).mean() for one in (outcome, fit_plain(fit, data)))
        assert mine == pytest.approx(theirs, rel=0.1)
