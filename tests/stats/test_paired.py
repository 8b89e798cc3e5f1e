"""Paired tests against numbers worked out by hand, published ones, and scipy."""

from __future__ import annotations

import math
from itertools import combinations

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import make_moons
from sklearn.model_selection import RepeatedStratifiedKFold, cross_val_score
from sklearn.svm import SVC

from truefit._core.errors import InvalidInput
from truefit._stats.paired import (
    corrected_paired_t,
    holm,
    one_standard_error,
    pooled_paired_t,
)

FIVE = [0.01, 0.03, 0.02, 0.04, 0.00]


def test_corrected_t_by_hand() -> None:
    # Mean 0.02; squared deviations 1e-4 * (1 + 1 + 0 + 4 + 4) = 1e-3, so s² = 2.5e-4 with 4 degrees of freedom.
    # Variance of the mean (1/5 + 1/4) * 2.5e-4 = 1.125e-4, so t = 0.02 / sqrt(1.125e-4) = 1.885618.
    found = corrected_paired_t(FIVE, test_over_train=1 / 4)
    assert found.mean == pytest.approx(0.02)
    assert found.se == pytest.approx(math.sqrt(1.125e-4))
    assert found.df == 4
    assert found.t == pytest.approx(1.8856180831641267)
    assert found.p == pytest.approx(2 * stats.t.sf(1.8856180831641267, 4))
    # The quantile of t with 4 degrees of freedom is 2.776445 at 95%.
    assert found.interval(0.95) == pytest.approx((0.02 - 2.776445 * 0.0106066, 0.02 + 2.776445 * 0.0106066), abs=1e-7)


def test_repeats_add_degrees_of_freedom_and_leave_the_shared_rows_where_they_are() -> None:
    # Bouckaert and Frank: k * r differences, the same ratio of test to training rows.
    twice = corrected_paired_t(FIVE * 2, test_over_train=1 / 4)
    assert twice.df == 9
    assert twice.se == pytest.approx(math.sqrt((1 / 10 + 1 / 4) * 1e-3 * 2 / 9))


def test_without_shared_rows_it_is_students_paired_t() -> None:
    one, other = np.random.default_rng(0).normal(size=(2, 12))
    found = corrected_paired_t(one - other, test_over_train=1e-12)
    expected = stats.ttest_rel(one, other)
    assert (found.t, found.p) == pytest.approx((expected.statistic, expected.pvalue))
    assert found.interval(0.9) == pytest.approx(tuple(expected.confidence_interval(0.9)))


#: Printed in scikit-learn's example of a statistical comparison of models: corrected t of each pair of kernels, and
#: the probabilities of worse, better and equivalent with a region of 0.01.
PUBLISHED = {
    ("rbf", "linear"): (0.750, (0.068, 0.500, 0.432)),
    ("rbf", "cubic"): (1.657, (0.018, 0.882, 0.100)),
    ("rbf", "square"): (4.565, (0.000, 1.000, 0.000)),
    ("linear", "cubic"): (1.111, (0.063, 0.750, 0.187)),
    ("linear", "square"): (4.276, (0.000, 1.000, 0.000)),
    ("cubic", "square"): (3.851, (0.000, 1.000, 0.000)),
}


@pytest.mark.slow
def test_published_comparison_of_kernels() -> None:
    X, y = make_moons(noise=0.352, random_state=1, n_samples=100)
    models = {"rbf": SVC(), "linear": SVC(kernel="linear"), "cubic": SVC(kernel="poly", degree=3)}
    models["square"] = SVC(kernel="poly", degree=2)
    cv = RepeatedStratifiedKFold(n_splits=10, n_repeats=10, random_state=0)
    scores = {name: cross_val_score(model, X, y, cv=cv, scoring="roc_auc") for name, model in models.items()}
    for pair in combinations(models, 2):
        t, shares = PUBLISHED[pair]
        apart = scores[pair[0]] - scores[pair[1]]
        assert corrected_paired_t(apart, test_over_train=10 / 90).t == pytest.approx(t, abs=5e-4)
        below, within, above = corrected_paired_t(apart, 10 / 90).shares(0.01)
        assert (below, above, within) == pytest.approx(shares, abs=5e-4)


def test_nothing_differs_and_nothing_breaks() -> None:
    for found in (corrected_paired_t(np.zeros(5), 0.25), pooled_paired_t([np.zeros(40)], factor=1.2)):
        assert (found.t, found.p, found.interval()) == (0.0, 1.0, (0.0, 0.0))
        assert found.shares(0.01) == (0.0, 1.0, 0.0)


@pytest.mark.parametrize("sign", [-1, 1])
def test_the_same_difference_everywhere_is_the_limit_of_the_formula(sign: int) -> None:
    # 0.15 - 0.10 and 0.25 - 0.20 are not the same number to a computer.
    found = corrected_paired_t([sign * (0.15 - 0.10), sign * (0.25 - 0.20), sign * (0.35 - 0.30)], 0.5)
    assert (found.t, found.p) == (sign * math.inf, 0.0)
    assert found.shares(0.01) == ((1.0, 0.0, 0.0) if sign < 0 else (0.0, 0.0, 1.0))


def test_shares_sum_to_one_and_mirror() -> None:
    below, within, above = corrected_paired_t(FIVE, 1 / 4).shares(0.01)
    assert below + within + above == pytest.approx(1)
    # (0.02 - 0.01) / sqrt(1.125e-4) = 0.942809 and (0.02 + 0.01) / sqrt(1.125e-4) = 2.828427.
    assert above == pytest.approx(stats.t.cdf(0.942809, 4), abs=1e-6)
    assert below == pytest.approx(stats.t.sf(2.828427, 4), abs=1e-6)
    mirrored = corrected_paired_t([-d for d in FIVE], 1 / 4).shares(0.01)
    assert mirrored == pytest.approx((above, within, below))


def test_pooled_rows_by_hand() -> None:
    # 3 of 10 rows differ by 1: mean 0.3, s² = 10/9 * 0.3 * 0.7; the factor stands before the standard error.
    rows = [0, 1, 0, 1, 0, 0, 1, 0, 0, 0]
    found = pooled_paired_t([rows], factor=1.2)
    assert found.se == pytest.approx(1.2 * math.sqrt(10 / 9 * 0.21 / 10))
    assert found.df == 9
    # A second run through the same rows settles the centre, not the spread.
    twice = pooled_paired_t([rows, [1 - row for row in rows]], factor=1.2)
    assert twice.mean == pytest.approx(0.5)
    assert twice.se == pytest.approx(found.se)


def test_a_hold_out_is_students_t() -> None:
    one, other = np.random.default_rng(1).normal(size=(2, 30))
    found = pooled_paired_t([one - other], factor=1.0)
    assert found.p == pytest.approx(stats.ttest_rel(one, other).pvalue)


def test_holm_by_hand() -> None:
    # Sorted 0.005 0.01 0.03 0.04, times 4 3 2 1: 0.02 0.03 0.06 0.04, and the last may not fall below the one before.
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.5, 0.9]).tolist() == [1.0, 1.0]
    assert holm([0.2]).tolist() == [0.2]
    assert holm([]).tolist() == []


@pytest.mark.parametrize(
    ("order", "expected"),
    [(None, 1), ([2, 1, 0], 2), ([0, 2], 2), ([0], 2)],
)
def test_one_standard_error(order: list[int] | None, expected: int) -> None:
    # The best is 0.10 ± 0.03: 0.12 is within, 0.20 is not.
    assert one_standard_error([0.20, 0.12, 0.10], [0.5, 0.5, 0.03], order) == expected
    assert one_standard_error([0.80, 0.88, 0.90], [0.5, 0.5, 0.03], order, greater_is_better=True) == expected


def test_a_candidate_without_an_estimate_is_passed_over() -> None:
    assert one_standard_error([math.nan, 0.2, 0.1], [math.nan, 0.1, 0.2]) == 1


def test_two_equal_learners_are_seldom_told_apart() -> None:
    # Differences of folds that share training rows: correlated by test / (test + train) = 0.2, mean 0.
    rng = np.random.default_rng(0)
    folds = rng.normal(size=(4000, 5)) * math.sqrt(0.8) + rng.normal(size=(4000, 1)) * math.sqrt(0.2)
    corrected = np.mean([corrected_paired_t(each, 1 / 4).p < 0.05 for each in folds])
    plain = np.mean([corrected_paired_t(each, 1e-12).p < 0.05 for each in folds])
    assert corrected == pytest.approx(0.05, abs=0.012)
    assert plain > 0.10


BAD = {
    "one difference": (lambda: corrected_paired_t([0.1], 0.25), "at least 2"),
    "NaN": (lambda: corrected_paired_t([0.1, math.nan], 0.25), "finite"),
    "no runs": (lambda: pooled_paired_t([], factor=1.0), "at least 1 run"),
    "runs of other rows": (lambda: pooled_paired_t([FIVE, FIVE[:4]], factor=1.0), "as many rows"),
}


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_refused(case: str) -> None:
    call, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        call()
