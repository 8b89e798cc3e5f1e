"""The coverage study of groups: a sample is measured, the file is resumed, and the page states what it holds."""

import json

import numpy as np
from benchmarks.coverage_runs import finished

from benchmarks import group_coverage as benchmark


def line(setting, repetition, truth):
    own = {"estimate": 0.2, "truth": truth, "method": "clustered by group × 1.2"}
    own |= {"truefit": [0.1, 0.3], "iid": [0.15, 0.25], "corrected_t": [0.0, 0.4]}
    known = {"setting": setting.name, "repetition": repetition, "rows": 100, "cpu_seconds": 0.1, "versions": "truefit"}
    return known | {"learners": dict.fromkeys(benchmark.LEARNERS, own)}


def test_a_sample_has_the_shipped_interval_and_the_truth(monkeypatch):
    monkeypatch.setattr(benchmark, "FRESH_GROUPS", 200)
    few, many = (next(i for i, each in enumerate(benchmark.SETTINGS) if each.groups == groups) for groups in (15, 30))
    assert {each["method"] for each in benchmark.measured(few, 0)["learners"].values()} == {"corrected t"}
    found = benchmark.measured(many, 0)
    assert {each["method"] for each in found["learners"].values()} == {"clustered by group × 1.2"}
    assert all(0 < each["truth"] < 0.5 for each in found["learners"].values())
    again = json.loads(json.dumps(benchmark.measured(many, 0)))
    assert again["learners"] == json.loads(json.dumps(found["learners"]))


def test_uneven_groups_have_about_the_mean_size():
    for setting in benchmark.SETTINGS:
        _, _, group = benchmark.drawn(setting, 3_000, np.random.default_rng(0))
        mean = benchmark.GROUPS[setting.groups]
        assert 0.9 * mean < len(group) / 3_000 < 1.15 * mean
        assert (np.ptp(np.bincount(group)) == 0) == (setting.sizes == "even")


def test_a_line_cut_off_by_a_crash_is_measured_again(tmp_path):
    store = tmp_path / "lines.jsonl"
    store.write_text(json.dumps(line(benchmark.SETTINGS[0], 0, 0.2)) + '\n{"setting": "15/e')
    assert list(finished(store)) == [(benchmark.SETTINGS[0].name, 0)]


def test_the_page_says_what_was_covered():
    lines = [
        line(setting, repetition, 0.2 if repetition else 0.28)
        for setting in benchmark.SETTINGS
        for repetition in (0, 1)
    ]
    text = benchmark.page(lines, 2)
    assert "| mean coverage | 93% to 97% | 100.0% | **missed** |" in text
    assert "| lowest | at least 88% | 100.0% | met |" in text
    covered = [cell.coverage for cell in benchmark.cells(lines) if cell.method == "iid"]
    assert covered == [0.5] * 64
    assert "| 15 | even | weak | logistic | 100.0 | 50.0 |" in text
