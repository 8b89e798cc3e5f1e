"""Comparison with the selected best against Tukey's distribution, its bounds, and simulated studies."""

from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from truefit._stats.paired import holm
from truefit._stats.selected_best import covariance_of_means, selected_best

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
