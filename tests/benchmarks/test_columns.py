"""The coverage studies of importances and of prediction intervals: one sample of two settings, and the page."""

import pytest

from benchmarks import importance_coverage, prediction_coverage


def test_a_sample_of_importances_becomes_a_page(monkeypatch):
    monkeypatch.setattr(importance_coverage, "FURTHER", 400)
    monkeypatch.setattr(importance_coverage, "SETTINGS", [importance_coverage.SETTINGS[place] for place in (4, 10)])
    lines = [importance_coverage.measured(place, 0) for place in (0, 1)]
    assert lines[0]["truth"] != lines[0]["final"]
    assert lines[1]["method"] == "influence of groups × 1.2"
    page = importance_coverage.page(lines, 1)
    assert "| linear / ridge / mse | influence of rows × 1.2 |" in page
    assert "of 2 settings within 93% to 97%" in page


def test_a_sample_of_prediction_intervals_becomes_a_page(monkeypatch):
    monkeypatch.setattr(prediction_coverage, "TESTED", 100)
    monkeypatch.setattr(prediction_coverage, "REGRESSORS", {"ridge": prediction_coverage.REGRESSORS["ridge"]})
    monkeypatch.setattr(prediction_coverage, "SETTINGS", prediction_coverage.SETTINGS[-2:])
    lines = [prediction_coverage.measured(place, 0) for place in (0, 1)]
    covered, width = lines[0]["learners"]["ridge"]["truefit"]
    assert 0.8 < covered <= 1.0
    assert width > lines[0]["learners"]["ridge"]["plain"][1]
    assert f"| 60 groups | 480 | ridge | {covered:.1%} |" in prediction_coverage.page(lines, 1)
    assert covered == pytest.approx(prediction_coverage.measured(0, 0)["learners"]["ridge"]["truefit"][0])
