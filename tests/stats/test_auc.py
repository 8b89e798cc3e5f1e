import numpy as np
import pytest
from scipy.special import ndtri
from sklearn.metrics import roc_auc_score

from truefit._core.errors import InvalidInput
from truefit._stats.auc import auc_interval, fold_mean_auc


def drawn(random, positives, negatives, area, *, ties=False):
    shift = ndtri(area) * np.sqrt(2)
    scores = np.concatenate([random.normal(shift, 1, positives), random.normal(0, 1, negatives)])
    y01 = np.repeat([1, 0], [positives, negatives])
    order = random.permutation(len(y01))
    return y01[order], (scores.round(1) if ties else scores)[order]


def by_pairs(y01, scores):
    """DeLong from its definition: every positive against every negative."""
    above, below = scores[y01 == 1][:, None], scores[y01 == 0]
    wins = (above > below) + 0.5 * (above == below)
    return wins.mean(), wins.mean(axis=1).var(ddof=1) / len(above) + wins.mean(axis=0).var(ddof=1) / len(below)


@pytest.mark.parametrize("ties", [False, True])
@pytest.mark.parametrize(("positives", "negatives"), [(2, 2), (5, 40), (60, 30)])
def test_delong_equals_its_definition(positives, negatives, ties):
    y01, scores = drawn(np.random.default_rng(0), positives, negatives, 0.75, ties=ties)
    area, variance = fold_mean_auc([(y01, scores)])
    assert np.allclose((area, variance), by_pairs(y01, scores), rtol=1e-12)
    assert fold_mean_auc([(y01, scores)])[1] == variance
    assert area == pytest.approx(roc_auc_score(y01, scores), rel=1e-12)


def test_delong_agrees_with_the_bootstrap():
    random = np.random.default_rng(1)
    y01, scores = drawn(random, 150, 250, 0.8)
    above, below = np.sort(scores[y01 == 1]), scores[y01 == 0]
    areas = []
    for _ in range(2000):
        chosen = np.sort(random.choice(above, len(above)))
        areas.append(1 - np.searchsorted(chosen, random.choice(below, len(below))).mean() / len(above))
    assert fold_mean_auc([(y01, scores)])[1] == pytest.approx(np.var(areas), rel=0.1)


def test_folds_of_one_size_have_the_mean_of_their_variances():
    random = np.random.default_rng(2)
    folds = [drawn(random, 10, 20, 0.8, ties=True) for _ in range(5)]
    mean, variance = fold_mean_auc(folds)
    alone = np.array([by_pairs(*fold) for fold in folds])
    assert mean == pytest.approx(alone[:, 0].mean())
    assert variance == pytest.approx(alone[:, 1].sum() / 25)


def test_a_fold_with_one_positive_row_takes_part():
    random = np.random.default_rng(3)
    folds = [drawn(random, 3, 20, 0.8), drawn(random, 1, 20, 0.8)]
    mean, variance = fold_mean_auc(folds)
    assert mean == pytest.approx(np.mean([roc_auc_score(*fold) for fold in folds]))
    assert variance > 0
    with pytest.raises(InvalidInput, match="2 rows of each class"):
        fold_mean_auc([drawn(random, 1, 20, 0.8), drawn(random, 1, 20, 0.8)])


def test_the_variance_over_folds_is_that_of_the_mean():
    random = np.random.default_rng(4)
    found = np.array([fold_mean_auc([drawn(random, 12, 28, 0.8) for _ in range(5)]) for _ in range(400)])
    assert found[:, 1].mean() == pytest.approx(found[:, 0].var(ddof=1), rel=0.2)


def test_the_interval_is_symmetric_in_log_odds():
    estimate, (low, high), reason = auc_interval(0.8, 0.03**2, factor=1.15)
    odds = [x / (1 - x) for x in (low, 0.8, high)]
    assert np.isclose(odds[1] / odds[0], odds[2] / odds[1])
    assert np.isclose(np.log(odds[2] / odds[1]), ndtri(0.975) * 1.15 * 0.03 / 0.16)
    assert (estimate, reason) == (0.8, None)


def test_a_perfect_ranking_has_a_reason_or_a_bound():
    found = auc_interval(1.0, 0.0)
    assert found.interval is None
    assert "score above" in found.reason
    assert "score below" in auc_interval(0.0, 0.0).reason
    low, high = auc_interval(1.0, 0.0, factor=1, counts=(30, 60)).interval
    assert high == 1
    # At the low end the distance from 1 is z standard errors of that end: Newcombe's method 5, with 45 the mean count.
    spread = 1 + 44 * ((1 - low) / (2 - low) + low / (1 + low))
    assert 1 - low == pytest.approx(ndtri(0.975) * np.sqrt(low * (1 - low) * spread / 1800))
    mirrored = auc_interval(0.0, 0.0, factor=1, counts=(30, 60)).interval
    assert np.allclose(mirrored, (0.0, 1 - low))


def test_more_rows_and_a_smaller_factor_give_a_shorter_bound():
    def low(factor, *counts):
        return auc_interval(1.0, 0.0, factor=factor, counts=counts).interval[0]

    assert low(1, 20, 20) < low(1, 200, 200) < 1
    assert low(1.2, 20, 20) < low(1, 20, 20)


def test_scores_that_are_all_equal_have_no_interval():
    mean, variance = fold_mean_auc([([0, 1, 0, 1], [0.5] * 4)])
    assert (mean, variance) == (0.5, 0.0)
    assert "no spread" in auc_interval(mean, variance, counts=(100, 100)).reason


@pytest.mark.parametrize("kind", ["normal", "exponential"])
@pytest.mark.parametrize(("positives", "negatives", "area"), [(50, 50, 0.8), (30, 170, 0.99), (10, 90, 0.97)])
def test_the_interval_covers(positives, negatives, area, kind):
    """Near 1 the ranking is often perfect by chance; by ranks alone down to 79% are covered."""
    random = np.random.default_rng(5)
    y01 = np.repeat([1, 0], [positives, negatives])
    hits = 0
    for _ in range(400):
        if kind == "normal":
            above = random.normal(ndtri(area) * np.sqrt(2), 1, positives)
            below = random.normal(0, 1, negatives)
        else:
            above = random.exponential(area / (1 - area), positives)
            below = random.exponential(1, negatives)
        mean, variance = fold_mean_auc([(y01, np.concatenate([above, below]))])
        low, high = auc_interval(mean, variance, factor=1, counts=(positives, negatives)).interval
        hits += low <= area <= high
    assert hits / 400 >= 0.925


def test_what_cannot_be_ranked_is_refused():
    with pytest.raises(InvalidInput, match="both classes"):
        fold_mean_auc([([1, 1, 1], [0.1, 0.2, 0.3])])[1]
    with pytest.raises(InvalidInput, match="0 or 1"):
        fold_mean_auc([([1, 2, 1], [0.1, 0.2, 0.3])])[1]
    with pytest.raises(InvalidInput, match="no NaN"):
        fold_mean_auc([([1, 0, 1], [0.1, np.nan, 0.3])])[1]
