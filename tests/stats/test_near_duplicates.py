import numpy as np
import pytest

from truefit._stats.near_duplicates import near_duplicates

rng = np.random.default_rng(0)
CASES = rng.normal(size=(60, 8))


def same_groups(found, true):
    return len(np.unique(np.stack([found, true]), axis=1).T) == len(np.unique(true)) == len(np.unique(found))


@pytest.mark.parametrize("change", ["one cell", "two cells", "a little everywhere"])
def test_rows_of_one_case_are_a_group(change):
    rows = CASES.repeat(3, axis=0)
    if change == "a little everywhere":
        rows += rng.normal(scale=1e-2, size=rows.shape)
    else:
        rows[:, : 1 if change == "one cell" else 2] += rng.normal(size=(180, 1))
    order = rng.permutation(180)
    assert same_groups(near_duplicates(rows[order]), np.arange(60).repeat(3)[order])


@pytest.mark.parametrize(
    "table",
    [
        rng.normal(size=(300, 6)),
        rng.integers(0, 3, size=(2000, 6)).astype(float),  # every row has neighbours in a dense table
        np.vstack([CASES, CASES[:4]]),  # too few
        np.arange(30.0)[:, None],
        np.ones((30, 3)),
    ],
    ids=["independent rows", "few values", "few duplicates", "one column", "constant columns"],
)
def test_nothing_is_found_in_other_tables(table):
    assert near_duplicates(table) is None
