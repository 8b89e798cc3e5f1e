import warnings

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, MultiTaskLasso
from tests.solvers.tables import troubled_tables

from truefit._core.data import Data
from truefit._core.identity import Keys
from truefit._core.rows import Rows
from truefit._core.task import Ask, FitTask
from truefit._solvers import all_solvers
from truefit._solvers.lasso_path import LassoPathSolver
from truefit._solvers.plain import PlainSolver, fit_plain
from truefit.testing.solver_contract import SolverCase, SolverContract

X, y = (part[:100] for part in load_diabetes(return_X_y=True))
#: So small that two fits stop at the same point.
SHARP = 1e-12
ALPHAS = (0.3, 0.01, 2.0)


class OwnLasso(Lasso):
    pass


def penalties(make, alphas=ALPHAS, **params):
    return [make(alpha=alpha, **({"tol": SHARP, "max_iter": 100_000} | params)) for alpha in alphas]


class TestLassoPathSolver(SolverContract):
    def make_solver(self):
        return LassoPathSolver()

    def make_reference(self):
        return PlainSolver()

    def cases(self):
        frame = pd.DataFrame(X, columns=[f"column {i}" for i in range(X.shape[1])])
        return [
            SolverCase("lasso", penalties(Lasso), X, y),
            SolverCase("elastic net", penalties(ElasticNet, l1_ratio=0.3), X, y),
            SolverCase("no intercept", penalties(Lasso, fit_intercept=False), X + 0.1, y),
            SolverCase("positive", penalties(Lasso, positive=True), X, y),
            SolverCase("a matrix of products", penalties(Lasso, precompute=True), X, y),
            SolverCase("in place", penalties(ElasticNet, copy_X=False), X, y),
            SolverCase("a frame", penalties(Lasso), frame, y),
            SolverCase("whole numbers", penalties(Lasso), np.round(100 * X).astype(int), np.round(y).astype(int)),
            SolverCase("more columns than rows", penalties(ElasticNet), X[:12], y[:12]),
            SolverCase("other labels", penalties(Lasso), X, y, labels=y[::-1].copy()),
            SolverCase("two kinds", [*penalties(Lasso), *penalties(ElasticNet)], X, y),
            SolverCase("numpy's numbers", penalties(Lasso, np.logspace(-2, 1, 5)), X, y),
        ]

    def not_for_it(self):
        return [
            SolverCase("one penalty", penalties(Lasso, (0.3,)), X, y),
            SolverCase("own class", penalties(OwnLasso), X, y),
            SolverCase("weights", penalties(Lasso), X, y, weight=np.arange(1.0, 101.0)),
            SolverCase("several targets", penalties(Lasso) + penalties(MultiTaskLasso), X, np.c_[y, y]),
            SolverCase("sparse", penalties(Lasso), sparse.csr_array(np.round(X, 1)), y),
            SolverCase("half precision", penalties(Lasso), X.astype(np.float32), y),
            SolverCase("at random", penalties(Lasso, selection="random"), X, y),
            SolverCase("warm", penalties(Lasso, warm_start=True), X, y),
            SolverCase("products that are given", penalties(Lasso, precompute=X.T @ X), X, y),
            SolverCase("no penalty", penalties(Lasso, (0.0, 0)), X, y),
            SolverCase("penalties that are wrong", penalties(Lasso, (-1.0, "1", True, np.nan, np.inf)), X, y),
            SolverCase("ridge by another name", penalties(ElasticNet, l1_ratio=0.0), X, y),
            SolverCase("no end", penalties(Lasso, tol=0.0), X, y),
            SolverCase("missing values", penalties(Lasso), np.where(X > 0.1, np.nan, X), y),
            SolverCase("tolerances", [Lasso(alpha=tol, tol=tol) for tol in (0.1, 0.2)], X, y),
        ]

    def failing(self):
        return [SolverCase("beyond bounds", penalties(Lasso), 1e200 * X, y)]


def path_and_plain(data, estimators):
    keys, rows = Keys(data), Rows.all(data.n)
    fits = [keys.fit(FitTask(estimator, rows, (Ask(rows),))) for estimator in estimators]
    [job] = LassoPathSolver().claim(fits, data)
    return job.run(data), [fit_plain(fit, data) for fit in fits]


def objective(model, data):
    """What coordinate descent makes small."""
    residuals = data.y - model.predict(data.X)
    penalty = model.l1_ratio * np.abs(model.coef_).sum() + (1 - model.l1_ratio) * (model.coef_**2).sum() / 2
    return (residuals**2).mean() / 2 + model.alpha * penalty


def test_it_is_not_used_unless_asked_for():
    assert "lasso path" not in [solver.name for solver in all_solvers()]


@given(
    table=troubled_tables(most_rows=40, most_columns=8),
    seed=st.integers(0, 2**32),
    alphas=st.lists(st.sampled_from(list(np.logspace(-3, 1, 9))), min_size=2, max_size=4, unique=True),
    ratio=st.sampled_from([1.0, 0.5, 0.01]),
    options=st.fixed_dictionaries(
        {
            "tol": st.sampled_from([1e-2, 1e-4, 1e-7]),
            "max_iter": st.sampled_from([3, 1000]),
            "fit_intercept": st.booleans(),
            "positive": st.booleans(),
            "precompute": st.booleans(),
        }
    ),
)
@settings(max_examples=50)
def test_it_is_as_close_to_the_least_as_it_is_told_to_be(table, seed, alphas, ratio, options):
    y = np.random.default_rng(seed).normal(size=len(table)) + table[:, 0] / (np.abs(table).max() or 1)
    data = Data(table, y, task="regression")
    nets = [ElasticNet(alpha=alpha, l1_ratio=ratio, **options) for alpha in alphas]
    squares = ((y - y.mean() if options["fit_intercept"] else y) ** 2).mean()
    gap = options["tol"] * squares
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for mine, theirs in zip(*path_and_plain(data, nets), strict=True):
            if mine.solver == "plain":
                assert theirs.error is not None or (
                    mine.answers[0].values.tobytes() == theirs.answers[0].values.tobytes()
                )
                continue
            assert objective(mine.model, data) <= objective(theirs.model, data) + gap + 1e-9 * squares
            # The loss is strongly convex in what is predicted: half a mean square for each gap.
            if theirs.model.dual_gap_ <= gap:
                apart = mine.answers[0].values - theirs.answers[0].values
                assert np.sqrt((apart**2).mean()) <= 2 * np.sqrt(2 * gap) + 1e-6 * np.sqrt(squares)


def test_predictions_are_near_with_the_usual_tolerance():
    data = Data(*load_diabetes(return_X_y=True), task="regression")
    lassos = [Lasso(alpha=alpha) for alpha in np.logspace(-3, 0.5, 20)]
    for mine, theirs in zip(*path_and_plain(data, lassos), strict=True):
        assert mine.solver == "lasso path"
        apart = mine.answers[0].values - theirs.answers[0].values
        assert np.abs(apart).max() < 0.05 * data.y.std()


def test_what_does_not_converge_is_fitted_plainly_and_says_so():
    data = Data(X, y, task="regression")
    lassos = [Lasso(alpha=alpha, tol=1e-10, max_iter=5) for alpha in (1e-4, 1e3)]
    with pytest.warns(ConvergenceWarning) as caught:
        (small, large), _ = path_and_plain(data, lassos)
    assert (small.solver, large.solver) == ("plain", "lasso path")
    assert len(caught) == 2  # of the fit in the path's place, and of the one that it is compared with


def test_models_are_complete():
    frame = pd.DataFrame(X).add_prefix("column ")
    (mine, _), (theirs, _) = path_and_plain(Data(frame, y, task="regression"), penalties(Lasso, (0.5, 0.1)))
    assert set(vars(mine.model)) == set(vars(theirs.model))
    assert mine.model.get_params() == theirs.model.get_params()
    np.testing.assert_allclose(mine.model.coef_, theirs.model.coef_, rtol=1e-8)
    assert mine.model.intercept_ == pytest.approx(theirs.model.intercept_)
    assert list(mine.model.feature_names_in_) == list(frame)


def test_it_starts_at_the_largest_whatever_the_order():
    data = Data(X, y, task="regression")
    one, _ = path_and_plain(data, [Lasso(alpha=alpha) for alpha in (0.01, 1.0, 0.1)])
    other, _ = path_and_plain(data, [Lasso(alpha=alpha) for alpha in (1.0, 0.1, 0.01)])
    for place, again in enumerate((1, 2, 0)):
        assert one[again].answers[0].values.tobytes() == other[place].answers[0].values.tobytes()
