"""Where a curve and its interval come down to an error."""

from __future__ import annotations

import numpy as np
import pytest

from truefit._methods.learning_curve.extrapolation import rows_needed


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
    assert found.reading == "About 2,000 rows for an error of 0.105 (at least 400, and it may never be reached)."


def test_never() -> None:
    assert answer(0.08, 0.01).reading == (
        "Never, at this learner: the curve levels off at 0.1, and an error of 0.08 is asked for."
    )
    assert answer(0.095, 0.01).reading.endswith("At best about 2,000 rows would do.")


def test_measured_already() -> None:
    found = answer(0.3)
    assert found.rows == pytest.approx(50, abs=1)
    assert "no more than were measured" in found.reading
    assert answer(5.0).rows == 10


def test_plain_types() -> None:
    kept = answer(0.15).to_dict()
    assert kept["rows"] == answer(0.15).rows
    assert all(not isinstance(value, np.generic) for value in kept.values())
