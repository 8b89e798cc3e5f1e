import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.nested_cv import change_to_all_rows


@pytest.mark.parametrize("folds", [3, 5, 10, 40])
@pytest.mark.parametrize(("floor", "slope"), [(0.1, 2.0), (0.9, -3.0), (0.3, 0.0)])
def test_a_curve_of_the_usual_power_is_continued_exactly(folds, floor, slope):
    rows = 200
    one, two = (floor + slope * (rows * (folds - out) / folds) ** -0.5 for out in (1, 2))
    assert change_to_all_rows(one, two, folds) == pytest.approx(floor + slope * rows**-0.5 - one)


@pytest.mark.parametrize("power", [0.1, 0.3, 1.0])
def test_another_power_is_missed_by_less_than_a_sixth(power):
    one, two = (0.8**-power, 0.6**-power)
    assert abs(change_to_all_rows(one, two, 5) / (1 - one) - 1) < 1 / 6


def test_two_folds_are_too_few():
    with pytest.raises(InvalidInput, match="must be 3 or more: two are left out"):
        change_to_all_rows(0.2, 0.3, 2)


def test_no_change_where_the_last_fold_brought_none():
    assert change_to_all_rows(0.25, 0.25, 5) == 0
    assert np.sign(change_to_all_rows(0.3, 0.2, 5)) == 1
