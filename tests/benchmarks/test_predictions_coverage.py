"""The coverage study of diagnostics: a sample has intervals and truths, and the page states what was held."""

import json
from itertools import pairwise

import numpy as np
import pytest

from benchmarks import predictions_coverage as benchmark
from benchmarks import reasons_coverage


def test_a_sample_has_every_quantity_with_its_truth_and_can_be_drawn_again(monkeypatch):
    monkeypatch.setattr(benchmark, "FRESH", 2000)
    for name in ("100 groups of 4 rows", "one test set, 400 rows"):
        place = [setting.name for setting in benchmark.SETTINGS].index(name)
        line = json.loads(json.dumps(benchmark.measured(place, 0)))
        assert set(line["found"]) == set(benchmark.QUANTITIES)
        assert len(line["found"]["accuracy in 3 subgroups"]) == 3
        assert line["found"] == json.loads(json.dumps(benchmark.measured(place, 0)["found"]))


def test_narrower_intervals_are_within_those_given(monkeypatch):
    monkeypatch.setattr(benchmark, "FRESH", 2000)
    line = json.loads(json.dumps(reasons_coverage.measured(1, 0)))
    cases = [case for cases in line["found"].values() for case in cases]
    for wider, narrower in pairwise(reasons_coverage.METHODS):
        assert all(np.ptp(case[narrower]) <= np.ptp(case[wider]) for case in cases)
    slope = line["found"]["calibration slope"][0]
    assert np.ptp(slope["truefit"]) == pytest.approx(1.2 * np.ptp(slope["narrowest"]))
    chosen = line["found"]["sensitivity at Youden"][0]
    assert np.ptp(chosen["narrowest"]) < np.ptp(chosen["narrower"])
    assert "| calibration slope | 100.0 [100.0, 100.0] |" in reasons_coverage.page([line], 1)


def test_of_subgroups_all_intervals_must_hold():
    good, bad = ({"estimate": 0.5, "truth": truth, "truefit": [0.4, 0.6]} for truth in (0.5, 0.7))
    lines = [
        {
            "setting": benchmark.SETTINGS[0].name,
            "repetition": repetition,
            "found": {each: [good, bad if repetition else good] for each in benchmark.QUANTITIES},
            "null": 0.01 + repetition / 2,
            "cpu_seconds": 1.0,
            "versions": "truefit",
        }
        for repetition in (0, 1)
    ]
    assert {cell.coverage for cell in benchmark.cells(lines)} == {0.5}
    text = benchmark.page(lines, 2)
    assert "| weak, 200 rows | 50.0 |" in text
    assert "| weak, 200 rows | calibration slope | 0.550 | -0.050 | 50.0 | 0.200 | 0 |" in text
