"""The coverage study of time: a sample is measured with the shipped interval, and the page states what it holds."""

import json

import numpy as np
import pytest

from benchmarks import time_coverage as benchmark


def line(setting, repetition, truth):
    own = {
        "estimate": 0.22,
        "shuffled_estimate": 0.1,
        "truth": truth,
        "method": "Student's t for the next of 5 periods",
    }
    own |= {"truefit": [0.1, 0.3], "mean": [0.2, 0.24], "shuffled": None if repetition else [0.08, 0.12]}
    known = {"setting": setting.name, "repetition": repetition, "cpu_seconds": 0.1, "versions": "truefit"}
    return known | {"learners": dict.fromkeys(("ridge", "knn", "logistic", "tree"), own)}


def test_a_sample_has_the_shipped_interval_and_the_truth(monkeypatch):
    monkeypatch.setattr(benchmark, "FRESH", 500)
    place = benchmark.SETTINGS.index(benchmark.Setting("regimes", 5, 300))
    found = benchmark.measured(place, 0)
    assert {each["method"] for each in found["learners"].values()} == {"Student's t for the next of 5 periods"}
    assert all(each["truth"] > 0 for each in found["learners"].values())
    again = json.loads(json.dumps(benchmark.measured(place, 0)))
    assert again["learners"] == json.loads(json.dumps(found["learners"]))


@pytest.mark.parametrize("process", benchmark.PROCESSES)
def test_paths_go_on_into_the_next_period_and_change_as_said(process):
    setting = benchmark.Setting(process, 5, 300)
    drawn = [benchmark.path(setting, np.random.default_rng(seed)) for seed in range(50)]
    assert all(len(mean) == len(slopes) == 350 for slopes, mean in drawn)
    changes = np.mean([np.count_nonzero(np.diff(mean)) for _, mean in drawn])
    if process == "walk":
        moved = np.array([slopes[299] - slopes[0] for slopes, _ in drawn])
        assert 0.6 < moved.std() < 0.8
    assert {"stable": changes == 0, "walk": changes == 0, "season": changes == 349}.get(process, 4 < changes < 5.5)


def test_the_page_says_what_was_covered():
    lines = [
        line(setting, repetition, 0.31 if repetition else 0.21)
        for setting in benchmark.SETTINGS
        for repetition in (0, 1)
    ]
    text = benchmark.page(lines, 2)
    assert "| mean coverage | at least 93% | 50.0% | **missed** |" in text
    assert {cell.coverage["mean"] for cell in benchmark.cells(lines)} == {0.5}
    assert {cell.coverage["shuffled"] for cell in benchmark.cells(lines)} == {0.0}
    assert "| stable | 5 | 300 | ridge | 0.260 | -15.4 | -61.5 | 50.0 | 50.0 | 0.0 | 0.200 |" in text
    unfinished = benchmark.page(lines[:-1], 2)
    assert "1 of 32 samples have not been measured" in unfinished
