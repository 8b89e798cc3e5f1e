import numpy as np
import pytest

from truefit._core.errors import InvalidInput
from truefit._stats.delta import delta_interval
from truefit._stats.intervals import Tail, around_skewed, pooled, wilson

Z = 1.959963984540054


def share(means):
    """A plain share among some rows: found / actual."""
    return means[0] / means[1]


def share_slopes(means):
    return np.array([1 / means[1], -means[0] / means[1] ** 2])


def share_parts(found, actual, n):
    return np.column_stack([np.arange(n) < found, np.arange(n) < actual]).astype(float)


def as_shares(means):
    return np.array([share(means)]), means[1:]


def mean(means):
    return float(means[0])


def one(means):
    return np.ones(1)


def test_the_mean_on_the_plain_scale_is_the_interval_of_a_mean():
    x = np.random.default_rng(0).normal(size=50)
    estimate, (low, high), reason = delta_interval([x[:, None]], mean, one, "plain", factor=1.2)
    assert np.allclose([estimate, low, high], [x.mean(), *pooled(x, factor=1.2, zero_one=False)], rtol=1e-12)
    assert reason is None


def test_a_share_on_the_logit_scale_by_hand():
    # 24 of 30 among 100 rows. Row by row the influence (found - 0.8 actual) / 0.3 is 0.2/0.3 in 24 rows, -0.8/0.3 in 6
    # and 0 in 70; its mean is 0, so its variance is (24 * 0.04 + 6 * 0.64) / 0.09 / 99.
    variance = (24 * 0.04 + 6 * 0.64) / 0.09 / 99
    at, reach = np.log(0.8 / 0.2), Z * np.sqrt(variance / 100) / (0.8 * 0.2)
    estimate, interval, _ = delta_interval([share_parts(24, 30, 100)], share, share_slopes, "logit", factor=1)
    assert np.isclose(estimate, 0.8)
    assert np.allclose(interval, 1 / (1 + np.exp([reach - at, -reach - at])), rtol=1e-12)


def test_a_root_has_the_roots_of_the_ends_whatever_the_sign():
    squares = np.random.default_rng(1).chisquare(1, size=(80, 1))
    root = delta_interval([squares], lambda m: float(np.sqrt(m[0])), lambda m: 0.5 / np.sqrt(m), "square", factor=1.2)
    low, high = root.interval
    assert np.allclose([low**2, high**2], pooled(squares[:, 0], factor=1.2, zero_one=False))
    negative = delta_interval(
        [squares], lambda m: -float(np.sqrt(m[0])), lambda m: -0.5 / np.sqrt(m), "square", factor=1.2
    )
    assert np.allclose(negative.interval, (-high, -low))


def test_repeats_settle_the_centre_and_not_the_spread():
    random = np.random.default_rng(3)
    rows = random.normal(size=(200, 1))
    repeats = [rows + 0.1 * random.normal(size=(200, 1)) for _ in range(20)]
    found = delta_interval(repeats, mean, one, "plain", factor=1.1)
    assert np.isclose(found.estimate, np.mean(repeats))
    sd = np.sqrt(np.mean([r.var(ddof=1) for r in repeats])) / np.sqrt(200)
    tail = Tail.mean_of(Tail.of(r[:, 0]) for r in repeats)
    assert np.allclose(found.interval, around_skewed(found.estimate, sd, tail, factor=1.1), rtol=1e-12)
    averaged_first = delta_interval([np.mean(repeats, axis=0)], mean, one, "plain", factor=1.1)
    assert np.ptp(averaged_first.interval) < np.ptp(found.interval)


def test_another_estimate_is_within_the_interval_of_all_rows():
    rows = np.random.default_rng(3).normal(size=(50, 1))
    own, near, far = (delta_interval([rows], mean, one, "plain", factor=1.1, centre=at) for at in (None, 0.01, 2.5))
    assert (near.estimate, near.interval) == (0.01, own.interval)
    assert (far.estimate, far.interval) == (2.5, (own.interval[0], 2.5))


def test_repeats_are_gone_through_once():
    rows = np.random.default_rng(4).normal(size=(30, 1))
    assert delta_interval((rows for _ in range(3)), mean, one, "plain", factor=1.1).estimate == pytest.approx(
        rows.mean()
    )


def test_a_share_of_exactly_one_or_zero_has_wilsons_interval():
    for found, value in ((30, 1.0), (0, 0.0)):
        estimate, interval, reason = delta_interval(
            [share_parts(found, 30, 100)], share, share_slopes, "logit", factor=1.2, shares=as_shares
        )
        assert (estimate, reason) == (value, None)
        assert np.allclose(interval, wilson(value, 30 / 1.2**2), atol=1e-12)


def test_repeats_of_which_some_are_perfect_have_a_spread():
    runs = [share_parts(30, 30, 100)] * 4 + [share_parts(27, 30, 100)]
    estimate, (low, high), _ = delta_interval(runs, share, share_slopes, "logit", factor=1, shares=as_shares)
    assert np.isclose(estimate, 0.98)
    # The spread of a single run at 0.98: the root of 0.98 * 0.02 / 30, on the logit scale.
    at, reach = np.log(0.98 / 0.02), Z * np.sqrt(1 / (0.98 * 0.02 * 30))
    assert np.allclose((low, high), 1 / (1 + np.exp([reach - at, -reach - at])), atol=0.005)


def test_without_any_row_or_any_spread_there_is_a_reason():
    def undefined(means):
        return 0.0

    nothing = delta_interval(
        [np.zeros((40, 2))],
        undefined,
        lambda m: np.zeros(2),
        "logit",
        shares=lambda m: (np.zeros(1), m[1:]),
        factor=1.2,
    )
    assert (nothing.interval, nothing.reason) == (None, "none of the rows counts towards it")
    perfect = delta_interval([share_parts(30, 30, 100)], share, share_slopes, "logit", factor=1.2)
    assert perfect.estimate == 1
    assert perfect.interval is None
    assert "does not vary" in perfect.reason
    exact = delta_interval(
        [np.zeros((40, 1))], lambda m: float(np.sqrt(m[0])), lambda m: 0.5 / np.sqrt(m), "square", factor=1.2
    )
    assert exact.interval is None
    assert exact.reason == "all rows have the same value"
    alone = delta_interval([[[4.0]]], lambda m: float(np.sqrt(m[0])), lambda m: 0.5 / np.sqrt(m), "square", factor=1.0)
    assert alone == (2.0, None, "a single row shows no spread")


def test_several_shares_of_which_one_is_perfect_are_put_together():
    # 60 rows of which 48 are right, and 40 that are all right: the mean of the two shares is 0.9.
    first, second = np.arange(100) < 60, np.arange(100) >= 60
    right = second | (np.arange(100) < 48)
    parts = np.column_stack([first & right, first, second & right, second]).astype(float)

    def value(m):
        return (m[0] / m[1] + m[2] / m[3]) / 2

    def slopes(m):
        return np.array([1 / m[1], -m[0] / m[1] ** 2, 1 / m[3], -m[2] / m[3] ** 2]) / 2

    alone = delta_interval([parts], value, slopes, "logit", factor=1)
    both = delta_interval(
        [parts], value, slopes, "logit", factor=1, shares=lambda m: (m[[0, 2]] / m[[1, 3]], m[[1, 3]])
    )
    assert alone.estimate == pytest.approx(0.9)
    assert both.interval[1] == pytest.approx(alone.interval[1])
    gap = (1 - wilson(1.0, 40)[0]) / 2
    assert both.interval[0] == pytest.approx(0.9 - np.hypot(0.9 - alone.interval[0], gap))


@pytest.mark.parametrize(("recall", "positives"), [(0.8, 30), (0.97, 30), (0.995, 30), (0.6, 12)])
def test_the_interval_of_a_share_covers(recall, positives):
    random, n = np.random.default_rng(5), 100
    hits = 0
    for _ in range(600):
        actual = random.random(n) < positives / n
        found = actual & (random.random(n) < recall)
        parts = np.column_stack([found, actual]).astype(float)
        low, high = delta_interval([parts], share, share_slopes, "logit", factor=1, shares=as_shares).interval
        hits += low <= recall <= high
    assert hits / 600 >= 0.925


def test_what_cannot_be_worked_with_is_refused():
    good = np.random.default_rng(6).normal(size=(10, 1))
    with pytest.raises(InvalidInput, match="at least 2 rows"):
        delta_interval([good[:0]], mean, one, "plain", factor=1.2)
    with pytest.raises(InvalidInput, match="NaN"):
        delta_interval([np.where(good > 0, np.nan, good)], mean, one, "plain", factor=1.2)
    with pytest.raises(InvalidInput, match="as many rows"):
        delta_interval([good, good[:5]], mean, one, "plain", factor=1.1)
    with pytest.raises(InvalidInput, match="at least 1 repeat"):
        delta_interval([], mean, one, "plain", factor=1.1)
    with pytest.raises(InvalidInput, match="level"):
        delta_interval([good], mean, one, "plain", level=95, factor=1.2)
