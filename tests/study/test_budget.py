import math
from time import monotonic

import pytest

from truefit._core.errors import InvalidInput
from truefit._study.budget import (
    BOOTSTRAP_EFFORTS,
    BUSY,
    FOR_SEARCH,
    PERTURBATION_EFFORTS,
    TimeBudget,
    affordable_effort,
    curve_sizes,
    seconds_of,
)


@pytest.mark.parametrize(
    ("given", "seconds"), [("90s", 90.0), ("10m", 600.0), ("1.5 h", 5400.0), ("45", 45.0), (30, 30.0), (None, None)]
)
def test_a_budget_is_read(given, seconds):
    assert seconds_of(given) == seconds


@pytest.mark.parametrize("given", ["soon", "-1m", 0, -3.0, math.inf, math.nan, True, "10 days", []])
def test_what_is_no_time_is_refused_in_a_sentence(given):
    with pytest.raises(InvalidInput, match="'90s', '10m' or '1h'"):
        seconds_of(given)


def test_an_allowance_counts_workers_and_keeps_something_for_later():
    two = TimeBudget(600.0, workers=2)
    assert two.left(0.0) == pytest.approx(0.97 * BUSY * 1200, rel=1e-3)
    assert two.search(0.0) == pytest.approx(FOR_SEARCH * two.left(0.0), rel=1e-3)
    assert two.search(0.0, diagnosis=10.0) == pytest.approx(two.left(0.0) - 10.0, rel=1e-3)
    assert TimeBudget().left(5.0) == TimeBudget().search(5.0) == math.inf
    assert TimeBudget().rest(500.0) == 500.0


def test_what_is_left_follows_the_clock_and_the_rate_of_fitting_so_far():
    now = monotonic()
    half = TimeBudget(100.0, workers=2, started=now - 50.0)  # fits ran 30 s of 2 × 50 s
    assert half.left(30.0) == pytest.approx(47 * 2 * 0.3, rel=1e-2)
    assert half.left(95.0) == pytest.approx(47 * 2 * 0.95, rel=1e-2)
    assert TimeBudget(100.0, started=now - 99.0).left(30.0) == 0
    # However little of the time went into fitting, half of it is left.
    assert half.unused(3.0) == pytest.approx(half.unused(30.0), rel=1e-2) == pytest.approx(0.47, rel=1e-2)
    assert TimeBudget(100.0, started=now - 99.0).unused(30.0) == TimeBudget().unused(30.0) == 0
    # Stored fits took their time in an earlier run: the clock is at least where they would have put it.
    assert TimeBudget(100.0, started=now).left(60.0) == pytest.approx(37 * 0.95, rel=1e-2)
    assert TimeBudget(100.0, kept=20.0).left(0.0) < TimeBudget(100.0).left(0.0)


@pytest.mark.parametrize(("rows", "least"), [(100, 10), (569, 12), (1000, 60), (20_000, 700), (50_000, 10)])
@pytest.mark.parametrize("seconds", [0.0, 1.0, 10.0, 25.0])
def test_a_curve_has_enough_sizes_and_ends_with_all_rows(rows, least, seconds):
    sizes = curve_sizes(rows, least, seconds, whole=10.0)
    assert sizes[-1] == rows
    assert sizes[0] >= least
    assert len(sizes) >= 6
    if rows * seconds > 10 * 16 * 64:
        assert sum(sizes[:-1]) / rows * 10.0 <= 1.1 * max(seconds, 10.0)


def test_an_effort_shrinks_with_the_time_there_is_until_there_is_none():
    fits = [affordable_effort(PERTURBATION_EFFORTS, seconds, 0.1, 500).fits for seconds in (12.0, 3.0, 2.0)]
    assert fits == [60, 30, 15]
    assert affordable_effort(PERTURBATION_EFFORTS, 1.0, 0.1, 500) is None
    sampled = affordable_effort(PERTURBATION_EFFORTS, 30.0, 10.0, 50_000)
    assert (sampled.fits, sampled.rows) == (15, 10_000)
    assert affordable_effort(BOOTSTRAP_EFFORTS, 4.9, 10.0, 50_000) is None
    assert affordable_effort(BOOTSTRAP_EFFORTS, 4.9, 10.0, 50_000, required=True).rows == 1000
