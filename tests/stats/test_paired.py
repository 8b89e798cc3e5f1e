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
    covariance_of_means,
    holm,
    one_standard_error,
    pooled_paired_t,
    selected_best,
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


ROWS = 1_000_000.0


def first(p: float, count: int, covariance: np.ndarray, df: float = ROWS, **options: object) -> float:
    """Adjust the p-value of the most significant of so many candidates against the best."""
    others = np.full(count - 1, 0.999)
    others[0] = p
    return float(selected_best(others, covariance, df, **options)[0])


@pytest.mark.parametrize("count", [3, 10, 70])
@pytest.mark.parametrize("t", [2.0, 2.8, 3.2, 4.1])
def test_for_independent_candidates_it_is_tukeys_studentised_range(count: int, t: float) -> None:
    expected = stats.studentized_range.sf(t * np.sqrt(2), count, np.inf)
    found = first(2 * stats.norm.sf(t), count, np.eye(count))
    assert found == pytest.approx(expected, abs=0.03 * np.sqrt(expected))  # three standard errors
    # What all candidates have in common does not matter.
    assert first(2 * stats.norm.sf(t), count, np.eye(count) + 3.0) == pytest.approx(found, abs=1e-12)


def test_two_candidates_need_no_adjustment() -> None:
    assert selected_best([0.031], np.eye(2), 4).tolist() == [0.031]
    assert selected_best([], np.eye(1), 4).tolist() == []


@pytest.mark.parametrize("df", [4, 29, 399])
def test_p_values_are_ordered_and_between_one_comparison_and_all_pairs(df: float) -> None:
    rng = np.random.default_rng(0)
    for count in (3, 8, 20):
        covariance = np.cov(rng.normal(size=(30, count)).T)
        p = np.concatenate([10.0 ** -rng.uniform(0, 3, count - 2), [1e-30]])
        found = selected_best(p, covariance, df)
        assert (np.diff(found[np.argsort(p)]) >= 0).all()
        assert (found >= p).all()
        assert (found <= p * count * (count - 1) / 2).all()
        assert (found <= 1).all()
        # Far in the tail Bonferroni's bound decides: it is never 0.
        assert found[-1] == pytest.approx(1e-30 * count * (count - 1) / 2)
        assert (found == selected_best(p, covariance, df)).all()
        order = rng.permutation(count - 1)
        places = np.r_[0, 1 + order]
        again = selected_best(p[order], covariance[np.ix_(places, places)], df)
        assert again == pytest.approx(found[order], abs=1e-12)


def test_a_smaller_p_value_is_never_adjusted_to_a_larger_one() -> None:
    grid = np.geomspace(1e-8, 1, 30)
    found = np.array([first(p, 6, np.diag([1.0, 2, 1, 4, 1, 9]), 9) for p in grid[:-1]])
    assert (np.diff(found) >= 0).all()


def test_candidates_that_predict_the_same_count_as_one() -> None:
    twins = np.kron(np.eye(3), np.ones((4, 4)))  # three candidates, four times each
    assert first(0.01, 12, twins) == pytest.approx(first(0.01, 3, np.eye(3)), abs=0.01)
    assert first(0.01, 12, np.eye(12)) > 0.2


def test_significant_ones_are_left_out_of_the_next_test() -> None:
    p = np.array([1e-9, 0.01, 0.5])
    found = selected_best(p, np.eye(4), ROWS)
    assert found[1] == pytest.approx(selected_best(p[1:], np.eye(3), ROWS)[0], abs=0.003)
    assert found[1] < first(0.01, 4, np.eye(4))


def test_of_a_family_only_the_best_is_compared() -> None:
    families = [0, 1, 0, 0, 1, 1]  # the selected one, the best of the other family, and their further settings
    among = float(selected_best([0.01], np.eye(6), ROWS, families=families)[0])
    assert 0.01 < among < first(0.01, 6, np.eye(6))
    assert among <= 3 * 0.01
    # Settings that predict what the compared ones do add nothing.
    alike = np.kron(np.eye(2), np.ones((3, 3)))[np.ix_([0, 3, 1, 2, 4, 5], [0, 3, 1, 2, 4, 5])]
    assert float(selected_best([0.01], alike, ROWS, families=families)[0]) == pytest.approx(0.01, abs=0.003)


def test_the_covariance_is_that_of_runs_and_of_whole_groups() -> None:
    rng = np.random.default_rng(0)
    losses = rng.normal(size=(2, 40, 3))
    expected = sum(39 * np.cov(run.T) for run in losses)
    assert covariance_of_means(losses) == pytest.approx(expected)
    groups = rng.integers(0, 7, 40)
    centred = losses[0] - losses[0].mean(axis=0)
    sums = np.array([centred[groups == group].sum(axis=0) for group in range(7)])
    assert covariance_of_means(losses[:1], [groups]) == pytest.approx(sums.T @ sums)


def against_best(losses: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return the places of the best and the others, p-values of paired t-tests, and the adjusted ones."""
    means, count = losses.mean(axis=0), losses.shape[1]
    best = int(means.argmin())
    places = np.r_[best, np.flatnonzero(np.arange(count) != best)]
    difference = losses[:, places[1:]] - losses[:, [best]]
    p = np.atleast_1d(stats.ttest_1samp(difference, 0).pvalue)
    covariance = covariance_of_means([losses])[np.ix_(places, places)]
    return places, p, selected_best(p, covariance, len(losses) - 1, draws=400)


def draw(rng: np.random.Generator, rows: int, kind: str) -> np.ndarray:
    if kind == "errors":  # of 0 or 1, and correlated
        hard = rng.uniform(size=(rows, 1)) < 0.2
        return (np.where(hard, 0.7, 0.1) > rng.uniform(size=(rows, 10))).astype(float)
    losses = rng.standard_normal((rows, 10)) + 2 * rng.standard_normal((rows, 1))
    if kind == "spread":
        losses *= np.geomspace(0.2, 5, 10)
    if kind == "good and bad":
        losses[:, 5:] += 4.5 / np.sqrt(rows)
    return losses


@pytest.mark.parametrize(
    ("kind", "rows"), [("normal", 5), ("normal", 15), ("normal", 100), ("errors", 200), ("spread", 100)]
)
def test_the_best_of_ten_equally_good_candidates_has_5_percent_of_false_positives(kind: str, rows: int) -> None:
    rng, repetitions, adjusted, by_holm = np.random.default_rng(1), 300, 0, 0
    for _ in range(repetitions):
        _, p, found = against_best(draw(rng, rows, kind))
        adjusted += found.min() <= 0.05
        by_holm += holm(p).min() <= 0.05
    # Two standard errors of 300 studies are 2.5 points.
    assert adjusted / repetitions <= 0.075
    assert by_holm > adjusted
    if kind == "normal" and rows > 5:
        assert by_holm / repetitions > 0.09
        assert adjusted / repetitions >= 0.02


def test_leaving_out_worse_candidates_keeps_the_error_and_adds_power() -> None:
    rng, repetitions, false, found_worse, by_bonferroni = np.random.default_rng(2), 400, 0, 0.0, 0.0
    for _ in range(repetitions):
        places, p, adjusted = against_best(draw(rng, 100, "good and bad"))
        worse = places[1:] >= 5
        false += (adjusted[~worse] <= 0.05).any()
        found_worse += (adjusted[worse] <= 0.05).mean() / repetitions
        by_bonferroni += (45 * p[worse] <= 0.05).mean() / repetitions
    assert false / repetitions <= 0.072
    assert found_worse > by_bonferroni


def test_the_best_of_each_family_is_compared_with_the_best_of_all() -> None:
    rng, repetitions = np.random.default_rng(3), 300
    families = np.repeat([0, 1, 2], [10, 4, 1])
    for good in (families >= 0, np.isin(np.arange(15), [0, 10, 14])):  # all settings, or one of each family
        false = unadjusted = 0
        for _ in range(repetitions):
            losses = rng.standard_normal((100, 15)) + np.where(good, 0.0, 1.0)
            means, covariance = losses.mean(axis=0), covariance_of_means([losses])
            shown = [int(np.flatnonzero(families == family)[means[families == family].argmin()]) for family in range(3)]
            shown = sorted(shown, key=lambda place: means[place])
            places = np.array([*shown, *np.setdiff1d(np.arange(15), shown)])
            p = stats.ttest_1samp(losses[:, shown[1:]] - losses[:, shown[:1]], 0).pvalue
            known = {"df": 99, "families": families[places], "draws": 400}
            false += selected_best(p, covariance[np.ix_(places, places)], **known).min() <= 0.05
            unadjusted += selected_best(p, covariance[np.ix_(shown, shown)], 99, draws=400).min() <= 0.05
        assert false / repetitions <= 0.075
    assert unadjusted > 0
