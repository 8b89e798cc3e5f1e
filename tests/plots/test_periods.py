"""Scores against time: a stroke per period, from its first to its last time."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.dates import date2num

from truefit._plots.periods import periods

SPANS = [(10, 19), (20, 29), (30, 30)]
DATES = [tuple(np.datetime64("2024-01-01") + np.timedelta64(day, "D") for day in span) for span in SPANS]
SCORES = {"linear": [0.2, 0.3, np.nan], "tree": [0.25, 0.2, 0.4]}


@pytest.mark.parametrize(("spans", "numbers"), [(SPANS, SPANS), (DATES, [tuple(date2num(pair)) for pair in DATES])])
def test_strokes_are_as_long_as_the_periods(check_layout, spans, numbers) -> None:
    ax = periods(spans, SCORES, xlabel="day", ylabel="error", percent=True)
    for strokes, scores in zip(ax.collections, SCORES.values(), strict=True):
        drawn = [segment.tolist() for segment in strokes.get_segments() if len(segment)]
        expected = [[[a, y], [b, y]] for (a, b), y in zip(numbers, scores, strict=True) if np.isfinite(y)]
        np.testing.assert_allclose(drawn, expected)
    assert (ax.get_xlabel(), ax.get_ylabel()) == ("day", "error")
    assert {"linear", "tree"} <= {text.get_text() for text in ax.texts}
    check_layout(ax)


def test_one_candidate_needs_no_name(check_layout) -> None:
    ax = periods(DATES, {"selection": [0.2, 0.3, 0.1]}, xlabel="time", ylabel="error")
    assert not ax.texts
    check_layout(ax)
