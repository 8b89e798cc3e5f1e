import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LinearRegression, Ridge

from truefit._solvers.closed_form.linear_left_out import Conditioning, LeaveOneOut, ordinary
from truefit._solvers.closed_form.ridge import problem_of
from truefit._solvers.closed_form.rounding import TOLERANCE, accurate_mean


def refitted(X, y, estimator, rows):
    """What the estimator says of each of the rows when it is fitted without it."""
    answers = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of matrices that are close to singular
        for i in rows:
            others = np.arange(len(X)) != i
            answers.append(estimator.fit(X[others], y[others]).predict(X[[i]])[0])
    return np.array(answers)


def assert_trusted_rows_equal_refits(X, y, estimator, rows=None):
    loo = LeaveOneOut(X, y, problem_of(estimator))
    rows = np.arange(len(X)) if rows is None else rows
    rows = rows[loo.trusted[rows]]
    expected = refitted(X, y, estimator, rows)
    # Relative to each value itself: where a prediction all but cancels out, its row is not to be trusted.
    np.testing.assert_allclose(loo.predictions[rows], expected, rtol=TOLERANCE, atol=0)
    return loo


estimators = st.one_of(
    st.builds(LinearRegression, fit_intercept=st.booleans()),
    st.builds(
        Ridge,
        alpha=st.sampled_from([0, 1e-10, 1e-6, 1e-3, 0.1, 1, 10, 1e3, 1e6]),
        fit_intercept=st.booleans(),
        solver=st.sampled_from(["cholesky", "svd"]),
    ),
)


@st.composite
def tables(draw):
    """Tables with everything that makes least squares hard, alone and together."""
    n, p = draw(st.integers(2, 60)), draw(st.integers(1, 70))
    rng = np.random.default_rng(draw(st.integers(0, 2**32)))
    X = rng.normal(size=(n, p))
    for trouble in draw(st.lists(st.sampled_from(TROUBLES), max_size=4, unique=True)):
        X = trouble(X, rng)
    size = np.sqrt((X**2).mean()) or 1.0
    y = X @ rng.normal(size=X.shape[1]) / size + draw(st.sampled_from([0, 1e-8, 0.1, 10])) * rng.normal(size=n)
    y += draw(st.sampled_from([0, 5, -1e4]))
    return X, np.round(y) if draw(st.booleans()) else y


def offsets(X, rng):
    return X + 10 ** rng.uniform(0, 8) * rng.choice([-1, 0, 1], X.shape[1])


def scales(X, rng):
    return X * 10 ** rng.uniform(-5, 5, X.shape[1])


def tiny(X, rng):
    return X * 10 ** rng.uniform(-25, -5)


def collinear(X, rng):
    near = 10 ** rng.uniform(-16, 0) * np.abs(X).max() * rng.normal(size=len(X))
    return np.c_[X, X @ rng.normal(size=X.shape[1]) + near]


def constant(X, rng):
    return np.c_[X, np.full(len(X), rng.choice([0, 1, 0.1, 1e6 / 3]))]


def outlier(X, rng):
    X[rng.integers(len(X))] *= 10 ** rng.uniform(0, 8)
    return X


def indicator(X, rng):
    X[:, 0] = np.arange(len(X)) == rng.integers(len(X))
    return X


def duplicates(X, rng):
    return X[rng.integers(len(X) // 2 + 1, size=len(X))]


def whole_numbers(X, rng):
    return np.round(X)


def zero_rows(X, rng):
    X[rng.random(len(X)) < 0.3] = 0
    return X


TROUBLES = [offsets, scales, tiny, collinear, constant, outlier, indicator, duplicates, whole_numbers, zero_rows]


@given(tables(), estimators)
@settings(max_examples=150)
def test_trusted_rows_equal_refits(table, estimator):
    X, y = table
    rows = np.arange(len(X))
    assert_trusted_rows_equal_refits(X, y, estimator, rows[:: max(1, len(X) // 12)])


@pytest.mark.slow
@given(tables(), estimators)
@settings(max_examples=1000)
def test_trusted_rows_equal_refits_at_depth(table, estimator):
    assert_trusted_rows_equal_refits(*table, estimator)


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(), Ridge(1e-3, solver="svd")])
@pytest.mark.parametrize("trouble", [None, *TROUBLES])
def test_trusted_rows_equal_refits_on_long_tables(estimator, trouble):
    # Rounding grows with the number of rows, above all where the same values are added up again and again.
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20_000, 5))
    X = X if trouble is None else trouble(X, rng)
    y = X @ rng.normal(size=X.shape[1]) + rng.normal(size=len(X))
    assert_trusted_rows_equal_refits(X, y, estimator, rng.choice(len(X), 60, replace=False))


@pytest.mark.parametrize("estimator", [Ridge(), Ridge(solver="svd"), Ridge(fit_intercept=False), LinearRegression()])
def test_every_row_of_an_ordinary_table_is_trusted(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 6)) * [1, 1, 1, 10, 100, 1e3] + [0, 0, 1e3, 0, 0, 1e3]
    y = X @ rng.normal(size=6) + rng.normal(size=80) + 50
    assert Conditioning(X, estimator.fit_intercept).serves(problem_of(estimator))
    assert assert_trusted_rows_equal_refits(X, y, estimator).trusted.all()


def test_the_bound_holds_where_it_is_too_large_to_be_trusted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, 4))
    X[:, 3] = X[:, 0] + 1e-5 * X[:, 3]
    y = X[:, 1] + rng.normal(size=30)
    loo = LeaveOneOut(X, y, problem_of(Ridge(1e-8)))
    assert not loo.trusted.any()
    distance = np.abs(loo.predictions - refitted(X, y, Ridge(1e-8), range(30)))
    assert (distance <= loo.error).all()


@pytest.mark.parametrize("estimator", [LinearRegression(), Ridge(0), Ridge(0, solver="svd")])
def test_nothing_is_trusted_where_the_solution_is_not_unique(estimator):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(20, 3))
    for collinear_X in (np.c_[X, X[:, 0]], np.c_[X, np.full(20, 0.1)], rng.normal(size=(10, 12)), np.zeros((20, 2))):
        y = rng.normal(size=len(collinear_X))
        assert not LeaveOneOut(collinear_X, y, problem_of(estimator)).trusted.any()
        assert not Conditioning(collinear_X, True).serves(problem_of(estimator))


def test_a_singular_value_near_to_being_dropped_is_not_trusted():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(30, 2)) * [1.0, 1e-4], rng.normal(size=30) + 9
    assert not LeaveOneOut(X, y, problem_of(LinearRegression(tol=1e-4))).trusted.any()
    assert assert_trusted_rows_equal_refits(X, y, LinearRegression()).trusted.all()


@pytest.mark.parametrize("intercept", [False, True])
def test_a_row_without_which_all_singular_values_are_dropped_is_not_trusted(intercept):
    X, y = np.array([[1e-11], [3e-16], [-2e-16], [1e-16], [2e-16]]), np.array([1.0, 2.0, 4.0, 3.0, 7.0])
    ridge = Ridge(10.0, fit_intercept=intercept, solver="svd")
    assert refitted(X, y, ridge, [0]) == (4.0 if intercept else 0.0)  # as if there were no column
    loo = assert_trusted_rows_equal_refits(X, y, ridge)
    assert loo.trusted[0] == intercept  # beside a mean what the column says does not count


def test_labels_that_are_all_the_same():
    X = np.random.default_rng(0).normal(size=(20, 3))
    for label in (0.0, 0.1, 7.0):
        loo = assert_trusted_rows_equal_refits(X, np.full(20, label), Ridge())
        assert loo.trusted.all()


def test_the_mean_of_large_numbers_is_accurate():
    values = np.full((100_000, 2), 0.1)
    assert np.abs(values.mean(axis=0) - 0.1).max() > 1e-14
    assert np.abs(accurate_mean(values) - 0.1).max() < 1e-16


def test_ordinary_values():
    assert ordinary(np.array([0.0, 0.0]))
    assert ordinary(np.array([1, -2]))
    assert ordinary(np.array([1.0], dtype=np.float32))
    for value in (np.nan, np.inf, 1e150, 1e-150):
        assert not ordinary(np.array([0.0, value]))
