import numpy as np
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import softmax

from truefit._solvers.closed_form.rounding import (
    UNIT,
    ClassScores,
    column_growth,
    column_ranges,
    column_sizes,
    exact_sums,
    growth,
)


@given(st.integers(1, 700), st.integers(1, 600), st.booleans())
def test_ranges_of_columns(n, p, rows_first):
    table = np.random.default_rng(n).normal(size=(n, p))
    table = table if rows_first else np.asfortranarray(table)
    low, high = column_ranges(table)
    np.testing.assert_array_equal(low, table.min(axis=0))
    np.testing.assert_array_equal(high, table.max(axis=0))
    np.testing.assert_array_equal(column_sizes(table), np.abs(table).max(axis=0))


def test_sums_collect_no_more_rounding_than_is_allowed_for():
    rng = np.random.default_rng(0)
    for n in (10, 1000, 100_000):
        columns = [np.full(n, 0.1), rng.choice([0.1, 0.3], n), np.round(rng.random(n), 2), rng.random(n)]
        columns += [rng.normal(size=n) ** 2, np.where(rng.random(n) < 0.8, 0.09, rng.random(n))]
        table = np.column_stack(columns)
        exact = np.sum(table.astype(np.longdouble), axis=0).astype(float)
        row_by_row = np.add.accumulate(table, axis=0)[-1]
        assert (np.abs(row_by_row - exact) <= UNIT * column_growth(table) * exact).all()
    assert column_growth(table)[3] == growth(n) < column_growth(table)[0] / 10


def test_sums_of_whole_numbers_are_exact():
    rng = np.random.default_rng(0)
    table = rng.integers(-5, 6, (1000, 4)).astype(float)
    table[17, 1] = 0.5  # not one of those that are looked at first
    table[:, 2] *= 1e15
    assert exact_sums(table).tolist() == [True, False, False, True]
    assert exact_sums(np.zeros((1, 2))).all()


EXACT = np.array([0.0])


@given(st.integers(2, 6), st.integers(1, 20))
def test_labels_and_probabilities_are_those_of_all_scores(classes, rows):
    scores = np.random.default_rng(rows).normal(size=(classes, 1, rows)) * 3
    leads = ClassScores(scores[1:] - scores[0], EXACT)
    labels, certain = leads.labels()
    np.testing.assert_array_equal(labels[0], scores[:, 0].argmax(axis=0))
    assert certain.all()
    np.testing.assert_allclose(leads.probabilities()[0][0], softmax(scores[:, 0].T, axis=1), rtol=1e-12)
    if classes == 2:
        np.testing.assert_allclose(leads.probabilities_of_two()[0], leads.probabilities()[0], rtol=1e-9)


def test_what_is_too_near_is_not_certain():
    for others in ([0.3], [-5.0, 0.3], [2.0, 2.3]):
        leads = np.array(others).reshape(-1, 1, 1)
        for error, certain in ((0.01, True), (0.1, False)):
            assert ClassScores(leads, np.array([error])).labels()[1].tolist() == [certain]
    # Of two models only one may be certain.
    leads = np.array([[[5.0, 5.0], [5.0, 0.0]]])
    assert ClassScores(leads, np.array([0.1, 0.1])).labels()[1].tolist() == [True, False]


def test_probabilities_are_near_enough_if_the_scores_are():
    leads = np.zeros((1, 2, 3))
    scores = ClassScores(leads, np.array([1e-10, 1e-8]))
    assert scores.probabilities()[1].tolist() == [True, False]
    assert scores.probabilities_of_two()[1].tolist() == [True, False]


def test_what_is_not_a_number_is_never_certain():
    for classes in (2, 3):
        leads = np.ones((classes - 1, 1, 2))
        leads[-1, 0, 1] = np.nan
        assert not ClassScores(leads, EXACT).labels()[1].any()
        assert not ClassScores(np.ones((classes - 1, 1, 2)), np.array([np.nan])).labels()[1].any()
        assert not ClassScores(np.ones((classes - 1, 1, 2)), np.array([np.nan])).probabilities()[1].any()


def test_large_scores_do_no_harm():
    leads = np.array([[[1e6, -1e6]], [[1e6 - 1, 0.0]]])
    values, _ = ClassScores(leads, EXACT).probabilities()
    np.testing.assert_allclose(values[0, 0], [0, 1 / (1 + np.exp(-1)), 1 / (1 + np.exp(1))])
    np.testing.assert_allclose(values[0, 1], [0.5, 0, 0.5])
