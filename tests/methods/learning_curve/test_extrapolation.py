"""Extrapolation: real curves, what is refused, and what is said."""

from __future__ import annotations

import json

import numpy as np
import pytest

from papers.brumen import published
from truefit import extrapolate
from truefit._core.errors import InvalidInput
from truefit._methods.learning_curve.extrapolation import rows_needed

# Validation errors of LCDB 1.1 (Yan, Mohr and Viering 2025, CC BY 4.0), every fourth point.
SIZES = [16, 23, 32, 46, 64, 91, 128, 182, 256, 363, 512, 725, 1024, 1449, 2048, 2897, 4096, 5793, 8192]
#: A decision tree on Adult, with standard errors. With 35,734 rows on average its error is 0.1977.
ADULT = [0.3077, 0.2939, 0.2772, 0.2501, 0.2476, 0.2371, 0.2391, 0.2310, 0.2292, 0.2291, 0.2234, 0.2219, 0.2183]
ADULT += [0.2116, 0.2098, 0.2079, 0.2054, 0.2074, 0.2023]
ADULT_SE = [0.0146, 0.0106, 0.0080, 0.0079, 0.0055, 0.0048, 0.0035, 0.0041, 0.0026, 0.0025, 0.0019, 0.0019, 0.0022]
ADULT_SE += [0.0015, 0.0017, 0.0013, 0.0012, 0.0011, 0.0012]
#: A random forest on MNIST. With 50,500 rows on average its error is 0.0321.
MNIST = [0.6565, 0.5966, 0.5324, 0.4522, 0.3930, 0.3333, 0.2789, 0.2281, 0.1942, 0.1644, 0.1414, 0.1221, 0.1070]
MNIST += [0.0945, 0.0839, 0.0739, 0.0665, 0.0598, 0.0541]
#: Linear discriminant analysis on Isolet, which has a peak where there are as many rows as features.
ISOLET = [0.9157, 0.8325, 0.7175, 0.5819, 0.4529, 0.3383, 0.2571, 0.1966, 0.1677, 0.1616, 0.2448, 0.3438]

FALLING = [0.312, 0.251, 0.209, 0.182, 0.160, 0.148]
DOUBLING = [100, 200, 400, 800, 1600, 3200]


@pytest.fixture(scope="module")
def adult():
    return extrapolate(SIZES, ADULT, ADULT_SE)


@pytest.mark.parametrize(
    ("errors", "stderr", "rows", "truth"),
    [(ADULT, ADULT_SE, 35_734, 0.1977), (ADULT, None, 35_734, 0.1977), (MNIST, None, 50_500, 0.0321)],
)
def test_the_end_of_real_curves_is_forecast(errors, stderr, rows, truth) -> None:
    result = extrapolate(SIZES, errors, stderr)
    value, low, high = result.predict(rows)
    assert result.refused is None
    assert abs(value - truth) < 0.01
    assert low < truth < high
    assert abs(errors[-1] - truth) > abs(value - truth)


def test_order_and_repeats_of_sizes_do_not_matter(adult) -> None:
    shuffled = np.random.default_rng(0).permutation(len(SIZES))
    other = extrapolate(np.array(SIZES)[shuffled], np.array(ADULT)[shuffled], np.array(ADULT_SE)[shuffled])
    assert other.predict(50_000) == adult.predict(50_000)
    twice = extrapolate([*DOUBLING, 3200], [*FALLING[:-1], 0.147, 0.149])
    np.testing.assert_allclose(twice.predict(9000), extrapolate(DOUBLING, FALLING).predict(9000))
    assert len(twice.sizes) == 6


def test_standard_errors_of_repeats_shrink() -> None:
    result = extrapolate([*DOUBLING, 3200], [*FALLING, 0.148], [0.01] * 7)
    np.testing.assert_allclose(result.stderr, [0.01] * 5 + [0.01 / np.sqrt(2)])


def test_predict_takes_one_number_or_many(adult) -> None:
    value, low, high = adult.predict([10_000, 20_000])
    assert adult.predict(20_000) == pytest.approx((value[1], low[1], high[1]), rel=1e-12)
    assert all(isinstance(each, float) for each in adult.predict(20_000))
    with pytest.raises(InvalidInput, match="positive number of rows"):
        adult.predict(0)


def test_table_says_what_more_rows_bring(adult) -> None:
    table = adult.table
    assert table.index.tolist() == [8192, 16_384, 40_960, 81_920]
    assert table.loc[8192, "gain"] == pytest.approx(0, abs=1e-12)
    assert (table["gain"].diff().iloc[1:] > 0).all()
    np.testing.assert_allclose(table["gain_high"], table["estimate"].iloc[0] - table["low"])


def test_wider_levels_hold_narrower_ones() -> None:
    ends = [extrapolate(SIZES, ADULT, level=level).predict(40_000)[1:] for level in (0.5, 0.9, 0.99)]
    assert ends[2][0] < ends[1][0] < ends[0][0] < ends[0][1] < ends[1][1] < ends[2][1]


def test_rows_for_an_error() -> None:
    result = extrapolate(DOUBLING, FALLING)
    found = result.rows_for(0.135)
    assert found.low < found.rows
    assert result.predict(found.rows)[0] == pytest.approx(0.135, abs=1e-4)
    assert result.predict(found.low)[1] == pytest.approx(0.135, abs=1e-3) or found.low == 3200
    assert str(found) == found.reading
    assert found.reading.startswith("About ")
    measured = result.rows_for(0.2)
    assert 400 < measured.rows < 800
    assert measured.reading.endswith("were measured.")


def test_an_error_that_is_never_reached() -> None:
    found = extrapolate(SIZES, [0.25 + n**-0.7 for n in SIZES]).rows_for(0.1)
    assert found.rows is None
    assert found.high is None
    assert found.reading.startswith("The fitted curve does not reach an error of 0.1: it levels off at 0.25")
    slow = extrapolate(SIZES, [0.9 * n**-0.1 for n in SIZES])
    beyond = slow.rows_for((slow.end + slow.predict(1000 * SIZES[-1])[0]) / 2)
    assert beyond.rows is None
    assert "within 1,000 times the measured rows" in beyond.reading


def test_both_ends_of_the_rows_are_known_where_the_curve_falls_steeply() -> None:
    found = extrapolate(SIZES, MNIST).rows_for(0.05)
    assert found.low < found.rows < found.high
    assert "95% interval" in found.reading


@pytest.mark.parametrize(
    ("sizes", "errors", "words"),
    [
        ([10, 20, 40], [0.5, 0.4, 0.3], "Only 3 sizes"),
        ([100, 110, 120, 130, 140], [0.5, 0.4, 0.35, 0.3, 0.28], "only 1.4 times"),
        (SIZES[:9], [0.90, 0.90, 0.899, 0.90, 0.90, 0.899, 0.90, 0.90, 0.90], "Nothing has been learned yet"),
        (SIZES[:12], ISOLET, "The curve rises"),
    ],
)
def test_what_cannot_be_forecast_is_refused_in_words(sizes, errors, words) -> None:
    result = extrapolate(sizes, errors)
    assert words in result.refused
    assert np.isnan(result.predict(10_000)).all()
    assert result.rows_for(0.1).rows is None
    assert words in result.rows_for(0.1).reading
    assert not result.stopped
    assert words in result.summary()
    assert result.to_dict()["outlook"] == []
    assert len(result.table) > 0
    assert result.plot().get_xscale() == "log"


def test_a_curve_past_its_peak_is_extrapolated_again() -> None:
    later = [0.1357, 0.0965, 0.0759, 0.0668]
    result = extrapolate(SIZES[:16], ISOLET + later)
    assert result.refused is None
    value, low, high = result.predict(5_300)
    assert low < 0.0584 < high
    assert abs(value - 0.0584) < 0.01


def test_warnings_are_said() -> None:
    sizes = np.round(16 * 2 ** (np.arange(41) / 5))
    result = extrapolate(sizes, 0.5 - 0.2 * np.log2(np.maximum(sizes, 2000) / 2000))
    assert len(result.warnings) == 2
    assert "fell faster" in result.warnings[0]
    assert all(warning in result.summary() for warning in result.warnings)


def test_stopping_is_about_what_is_still_to_be_had() -> None:
    sizes = np.round(100 * 2 ** (np.arange(41) / 4))
    settled = extrapolate(sizes, 0.05 + sizes**-0.9, stderr=np.full(41, 0.0005))
    assert settled.stopped
    assert "at most" in settled.reason
    falling = extrapolate(SIZES, MNIST)
    assert not falling.stopped
    assert "upper bound" in falling.reason
    assert extrapolate(SIZES, MNIST, tolerance=0.5).stopped
    assert extrapolate(SIZES, MNIST, horizon=20_000).table.index.tolist() == [8192, 16_384, 20_000, 40_960, 81_920]


def test_a_loss_is_extrapolated_whatever_its_unit() -> None:
    dollars = extrapolate(SIZES, np.array(MNIST) * 4000)
    cents = extrapolate(SIZES, np.array(MNIST) * 400_000)
    np.testing.assert_allclose(np.array(cents.predict(50_000)), 100 * np.array(dollars.predict(50_000)), rtol=1e-9)
    assert dollars.predict(50_000)[0] == pytest.approx(4000 * 0.0321, rel=0.2)
    small = extrapolate(SIZES, np.array(MNIST) / 10, largest=np.inf)
    np.testing.assert_allclose(np.array(small.predict(50_000)) * 40_000, dollars.predict(50_000), rtol=1e-9)


def test_a_loss_has_no_upper_end_and_a_share_has() -> None:
    wavering = [1.0, 0.96, 0.97, 0.91, 0.93, 0.86, 0.88, 0.81, 0.83, 0.76]
    loss = extrapolate(SIZES[:10], wavering, largest=np.inf, level=0.99)
    assert loss.predict(10_000)[2] > 1
    assert extrapolate(SIZES[:10], wavering, level=0.99).predict(10_000)[2] == 1


def test_families_are_compared(adult) -> None:
    table = adult.families
    assert set(table.index) == {"pow2", "pow3", "pow4", "mmf4", "exp3", "ilog2", "constant"}
    assert table["off"].idxmax() == "constant"
    assert table.loc["pow4", "off"] < 1.001 * table.loc["pow3", "off"]
    assert table.loc["exp3", "at_horizon"] == pytest.approx(table.loc["exp3", "end"])


def test_plain_data_survives_json(adult) -> None:
    kept = json.loads(json.dumps(adult.to_dict()))
    assert kept["kind"] == "extrapolation"
    assert kept["outlook"][1]["rows"] == 16_384
    assert kept["refused"] is None
    assert "40,960 rows" in adult.summary()
    assert "<svg" in adult._repr_html_()


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (([10, 20], [0.1]), "one number per size"),
        (([10, 20], [0.1, 0.2], [0.1]), "one number per size"),
        (([0, 20], [0.1, 0.2]), "'sizes' parameter must be a list of finite numbers, positive"),
        (([10, 20], [0.1, np.nan]), "'errors' parameter must be"),
        (([10, 20], [0.1, -0.2]), "1 − accuracy"),
        ((["many", 20], [0.1, 0.2]), "'sizes' parameter must be"),
        (([], []), "'sizes' parameter must be"),
    ],
)
def test_bad_points_are_refused(arguments, words) -> None:
    with pytest.raises(InvalidInput, match=words):
        extrapolate(*arguments)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"mode": "best"}, "'default' or 'paper'"),
        ({"level": 0.999}, "between 0.2 and 0.99"),
        ({"level": 95}, "between 0.2 and 0.99"),
        ({"tolerance": 0}, "'tolerance' parameter"),
        ({"horizon": 100}, "'horizon' parameter"),
        ({"largest": 0.2}, "must not exceed largest=0.2"),
        ({"largest": "one"}, "'largest' parameter"),
    ],
)
def test_bad_options_are_refused(options, words) -> None:
    with pytest.raises(InvalidInput, match=words):
        extrapolate(DOUBLING, FALLING, **options)


def test_an_error_above_1_by_rounding_is_1() -> None:
    errors = [1.0, 0.8, 0.7, 0.65, 0.62, 0.6]
    rounded = extrapolate(DOUBLING, [1 + 2e-16, *errors[1:]], largest=1.0)
    assert rounded.errors[0] == 1.0
    assert rounded.predict(10_000) == extrapolate(DOUBLING, errors, largest=1.0).predict(10_000)
    assert extrapolate(DOUBLING, [1 + 2e-16, *errors[1:]]).predict(10_000) == rounded.predict(10_000)


def test_errors_of_zero_stay_there() -> None:
    result = extrapolate(DOUBLING, np.zeros(6))
    value, low, _ = result.predict(10_000)
    assert value == low == 0


def test_paper_mode_follows_the_published_table() -> None:
    table = published()
    result = extrapolate(table["size"], table["error"], mode="paper")
    assert result.level == 0.999
    assert np.flatnonzero(result.table["well_behaved"]).tolist() == [8, 13, 18, 21, 23]
    assert result.stopped
    assert result.reason.startswith("At 8,000 rows")
    shares = extrapolate(table["size"], table["error"] / 100, mode="paper")
    assert shares.stopped
    np.testing.assert_allclose(shares.table["next"], result.table["next"] / 100, rtol=1e-6)
    early = extrapolate(table["size"][:19], table["error"][:19], mode="paper")
    value, low, high = early.predict(9000)
    assert value == pytest.approx(15.0651, abs=1e-3)
    assert high - value == pytest.approx(1.464, abs=3e-3)
    assert value - low == pytest.approx(high - value)
    assert early.end == pytest.approx(13.7966, abs=1e-3)
    assert early.well_behaved
    assert not result.well_behaved
    assert "coverage is far too low" in early.summary()


def test_paper_mode_says_when_it_does_not_stop() -> None:
    table = published()
    early = extrapolate(table["size"][:14], table["error"][:14], mode="paper")
    assert not early.stopped
    assert "still differ by 3.645 or more" in early.reason
    rising = extrapolate([1, 2, 3, 4], [0.1, 0.2, 0.3, 0.4], mode="paper")
    assert "nowhere well-behaved" in rising.reason
    few = extrapolate([1, 2], [0.2, 0.1], mode="paper")
    assert "Only 2 sizes" in few.refused
    assert np.isnan(few.predict(5)).all()
    assert len(few.table) == 2


def band(half_width: float):
    def predict(sizes):
        value = 0.1 + 10 / sizes
        return value, value - half_width, value + half_width

    return predict


def answer(error: float, half_width: float = 0.01, last: float = 100.0):
    return rows_needed(error, band(half_width), first=10.0, last=last, end=0.1, level=0.95)


def test_a_curve_that_is_known() -> None:
    found = answer(0.15)
    # 0.1 + 10/n is 0.15 at 200, 0.16 at 500/3 and 0.14 at 250.
    assert (found.low, found.rows, found.high) == pytest.approx((167, 200, 250), abs=1)
    assert found.reading == "About 200 rows for an error of 0.15 (95% interval 170 to 250)."


def test_what_was_measured_was_not_enough() -> None:
    assert answer(0.15, last=180.0).low == 180


def test_an_end_that_may_never_be_reached() -> None:
    found = answer(0.105, 0.02)
    assert found.high is None
    assert (
        found.reading == "About 2,000 rows for an error of 0.105 (95% interval from 400 rows; it may never be reached)."
    )


def test_never() -> None:
    assert answer(0.08, 0.01).reading == ("The fitted curve does not reach an error of 0.08: it levels off at 0.1.")
    assert answer(0.095, 0.01).reading.endswith("(low end of the 95% interval: about 2,000 rows).")


def test_measured_already() -> None:
    found = answer(0.3)
    assert found.rows == pytest.approx(50, abs=1)
    assert found.reading.endswith("were measured.")
    assert answer(5.0).rows == 10


def test_plain_types() -> None:
    kept = answer(0.15).to_dict()
    assert kept["rows"] == answer(0.15).rows
    assert all(not isinstance(value, np.generic) for value in kept.values())


def test_a_surprise_at_an_error_of_0_is_given_in_its_unit():
    found = extrapolate([20 * 2**i for i in range(8)], [0.5, 0.5, 0.48, 0.45, 0.3, 0, 0, 0])
    assert found.warnings == [
        "A forecast of the last sizes from the earlier ones is off by 23.0%; this forecast may be off by as much."
    ]


@pytest.mark.parametrize("unit", [1.0, 4000.0])
def test_a_flat_curve_is_a_plateau_only_below_the_baseline(unit):
    errors = unit * (0.4 + 0.002 * (-1.0) ** np.arange(6))
    below = extrapolate(DOUBLING[:5], errors[:5], baseline=0.6 * unit)
    assert below.plateau
    assert below.refused is None
    above = extrapolate(DOUBLING[:5], errors[:5], baseline=0.3 * unit)
    assert not above.plateau
    assert above.refused.startswith("Nothing has been learned yet")
    assert "no better than the baseline" in above.refused
    beside = extrapolate(DOUBLING[:5], errors[:5], baseline=0.4 * unit)
    assert not beside.plateau
    assert beside.refused is None
    assert beside.warnings[0].startswith("The error with 1,600 rows is not clearly below that of the baseline")
    with pytest.raises(InvalidInput, match="'baseline' parameter"):
        extrapolate(DOUBLING, FALLING, baseline=-1)
    falling = extrapolate(DOUBLING, FALLING, baseline=0.5)
    assert not falling.plateau
    assert falling.gain(6400)[0] == pytest.approx(falling.predict(3200)[0] - falling.predict(6400)[0])
