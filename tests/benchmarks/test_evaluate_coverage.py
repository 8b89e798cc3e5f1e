"""The coverage study of evaluations: a sample has intervals and truths, and the page states what they hold."""

import json

from benchmarks import evaluate_coverage as benchmark


def test_a_sample_and_the_page(monkeypatch):
    monkeypatch.setattr(benchmark, "ALL_ROWS", 20_000)
    place = next(i for i, each in enumerate(benchmark.SETTINGS) if each.uneven)
    found = benchmark.measured(place, 0)
    assert found["metrics"].keys() == {*benchmark.METRICS, *(f"difference of {each}" for each in benchmark.METRICS)}
    for each in found["metrics"].values():
        assert each["interval"][0] < each["estimate"] < each["interval"][1]
    again = json.loads(json.dumps(benchmark.measured(place, 0)))
    assert again["metrics"] == json.loads(json.dumps(found["metrics"]))
    missed = json.loads(json.dumps(found)) | {"repetition": 1}
    for each in missed["metrics"].values():
        each["truth"] = 1e9
    for each in found["metrics"].values():
        each["truth"] = each["estimate"]
    assert {cell.coverage for cell in benchmark.cells([found, missed])} == {0.5}
    text = benchmark.page([found, missed], 2)
    assert "| metrics, groups | 93% to 97% | 50.0% | 50.0% | 0 of 10 |" in text
    assert f"| {benchmark.SETTINGS[place].name} | 50.0 |" in text
