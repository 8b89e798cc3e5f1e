import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from truefit.solvers.rounding import UNIT, column_ranges, column_sizes, growth


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
        for values in (np.full(n, 0.1), rng.choice([0.1, 0.3], n), rng.random(n), rng.normal(size=n) ** 2):
            exact = float(np.sum(values.astype(np.longdouble)))
            row_by_row = np.add.accumulate(values)[-1]
            assert abs(row_by_row - exact) <= UNIT * growth(n) * exact
