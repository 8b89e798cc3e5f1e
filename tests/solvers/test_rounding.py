import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from truefit._solvers.rounding import UNIT, column_growth, column_ranges, column_sizes, exact_sums, growth


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
