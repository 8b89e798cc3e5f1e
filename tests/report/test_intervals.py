from truefit._report.tables import MARGIN, bars


def test_all_on_one_scale():
    first, second = bars([1.0, 3.0], [[0.0, 2.0], [2.0, 4.0]])
    assert (first.low, first.value, first.high) == (MARGIN, 27.0, 50.0)
    assert (second.low, second.value, second.high) == (50.0, 73.0, 100 - MARGIN)


def test_one_that_is_far_off_is_pointed_at():
    drawn = bars([0.02, 0.03, 0.4], [[0.01, 0.04], [0.02, 0.05], [0.35, 0.45]])
    assert [bar.beyond for bar in drawn] == [False, False, True]
    assert drawn[1].high == 100 - MARGIN


def test_given_ends():
    (bar,) = bars([0.5], [[0.25, 0.75]], [0, 1])
    assert (bar.low, bar.value, bar.high) == (27.0, 50.0, 73.0)


def test_what_cannot_be_drawn_is_blank():
    drawn = bars([0.1, None, 0.2, 0.3], [None, [0, 1], [float("nan"), 1.0], [0.3, 0.3]])
    assert [bar.low for bar in drawn] == [None] * 4
    assert bars([], []) == []
