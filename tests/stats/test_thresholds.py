"""Thresholds and net benefit: by hand and by brute force."""

import numpy as np
import pytest
from sklearn.metrics import confusion_matrix, roc_curve

from truefit._stats.thresholds import Cuts, Rule, contributions, judge, mean_interval, paired

rng = np.random.default_rng(5)
Y = (rng.random(300) < 0.4).astype(float)
P = np.round(1 / (1 + np.exp(-(1.5 * Y - 0.5 + rng.normal(size=300)))), 2)  # with ties
FOLDS = np.arange(300) % 5


def best(rule, y, p):
    """Return the threshold of a rule by trying every one, from the highest on: midway to the next lower score."""
    at, scores = _best(rule, y, p), np.unique(p)
    lower = scores[scores < at]
    return at if at > p.max() or not len(lower) else (at + lower.max()) / 2


def _best(rule, y, p):
    found = []
    for t in [(p.max() + 1) / 2, *np.unique(p)[::-1]]:
        tn, fp, fn, tp = confusion_matrix(y, p >= t, labels=[0, 1]).ravel()
        sens, spec, prec = tp / (tp + fn), tn / (tn + fp), tp / max(tp + fp, 1) if tp + fp else -1
        value = {
            "youden": sens + spec,
            "cost": -(rule.costs[0] * fn + rule.costs[1] * fp),
            "sensitivity": (sens >= rule.value, spec),
            "specificity": (spec >= rule.value, sens),
            "precision": (prec >= rule.value, sens, -spec),
        }[rule.name]
        found.append((value, t))
    top = max(value for value, _ in found)
    if rule.name in ("specificity", "precision"):  # several thresholds may have these rates: the lowest reaches most
        return [t for value, t in found if value == top][-1]
    return next(t for value, t in found if value == top)


@pytest.mark.parametrize(
    "rule",
    [Rule("youden"), Rule("cost", costs=(5, 1)), Rule("cost", costs=(0, 1))]
    + [Rule(name, value) for name in ("sensitivity", "specificity", "precision") for value in (0.6, 0.9)],
)
def test_the_threshold_is_the_best_of_all_and_is_judged_on_the_other_folds(rule):
    found = judge(Y, P, rule, FOLDS)
    assert found.threshold == best(rule, Y, P)
    called = np.zeros(300, dtype=bool)
    for fold in range(5):
        out = fold == FOLDS
        assert found.of_folds[fold] == best(rule, Y[~out], P[~out])
        called[out] = P[out] >= found.of_folds[fold]
    tn, fp, fn, tp = confusion_matrix(Y, called).ravel()
    assert (found.rates.sensitivity, found.rates.specificity) == pytest.approx((tp / (tp + fn), tn / (tn + fp)))
    if tp + fp:
        assert found.rates.precision == pytest.approx(tp / (tp + fp))
    for rate, (low, high) in zip(found.rates, found.intervals, strict=True):
        assert not rate < low
        assert not rate > high


def test_cuts_are_those_of_the_roc_curve():
    cuts = Cuts(Y, P)
    true, false = cuts.counts(np.ones(300))
    fpr, tpr, thresholds = roc_curve(Y, P, drop_intermediate=False)
    np.testing.assert_allclose(true / true[-1], tpr)
    np.testing.assert_allclose(false / false[-1], fpr)
    np.testing.assert_allclose(cuts._values[1:], thresholds[1:])


def test_a_threshold_by_which_no_row_is_positive_stays_so_when_it_is_rounded():
    never = Rule("cost", costs=(0, 1))
    assert judge(Y, np.where(Y == 1, 0.4, 0.6), never, FOLDS).threshold == 0.8
    assert judge(Y, np.where(Y == 1, 0.4, 1.0), never, FOLDS).threshold > 1


def test_the_interval_includes_the_choice():
    # At a required sensitivity the specificity depends on where the threshold falls.
    required = judge(Y, P, Rule("sensitivity", 0.9), FOLDS)
    share = required.rates.specificity
    fixed = 2 * 1.96 * np.sqrt(share * (1 - share) / (Y == 0).sum())
    assert np.ptp(required.intervals[1]) > 1.1 * fixed


def test_copies_of_groups_add_nothing_and_weights_count_as_copies():
    groups = np.repeat(np.arange(300), 2)
    twice = judge(np.repeat(Y, 2), np.repeat(P, 2), Rule("youden"), np.repeat(FOLDS, 2), groups=groups)
    once = judge(Y, P, Rule("youden"), FOLDS)
    assert twice.rates == pytest.approx(once.rates)
    assert np.ptp(twice.intervals[0]) == pytest.approx(np.ptp(once.intervals[0]), rel=0.25)
    weight = rng.integers(0, 3, 300)
    weighted = judge(Y, P, Rule("youden"), FOLDS, weight=weight.astype(float))
    copied = judge(*(np.repeat(each, weight) for each in (Y, P)), Rule("youden"), np.repeat(FOLDS, weight))
    assert weighted.rates == pytest.approx(copied.rates)
    assert weighted.threshold == copied.threshold


def test_net_benefit_is_its_formula_on_a_table_counted_by_hand():
    # 20 rows: at 0.25 there are 5 true and 3 false positives; 5/20 − 3/20 · (0.25/0.75) = 0.2.
    y = np.array([1] * 5 + [0] * 3 + [1] * 2 + [0] * 10, dtype=float)
    p = np.array([0.25, 0.3, 0.6, 0.8, 0.9, 0.25, 0.5, 0.7, 0.1, 0.2] + [0.05] * 10)
    each = contributions(y, p, 0.25)
    assert each.mean() == pytest.approx(0.2)
    assert contributions(y, np.ones(20), 0.25).mean() == pytest.approx(7 / 20 - 13 / 20 / 3)  # treat all
    mean, (low, high) = mean_interval(each, None, None, factor=1.0, level=0.95)
    half = 1.959964 * each.std(ddof=1) / np.sqrt(20)
    assert (mean, low, high) == pytest.approx((0.2, 0.2 - half, 0.2 + half), abs=1e-6)
    assert mean_interval(np.zeros(9), None, None, factor=1.0, level=0.95) == (0.0, None)
    other = contributions(y, p[::-1].copy(), 0.25)
    pair = paired(each, other, None, None, 1.2)
    assert pair.mean == pytest.approx(0.2 - other.mean())
    assert pair.se == pytest.approx(1.2 * (each - other).std(ddof=1) / np.sqrt(20))
    codes = np.repeat(np.arange(20), 3)
    clustered = mean_interval(np.repeat(each, 3), None, codes, factor=1.0, level=0.95)[1]
    assert np.ptp(clustered) == pytest.approx(2 * 2.093024 * each.std(ddof=1) / np.sqrt(20), abs=1e-5)
