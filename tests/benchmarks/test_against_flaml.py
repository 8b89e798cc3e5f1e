import json
import math

import pytest

from benchmarks import against_flaml as benchmark
from truefit._core.errors import InvalidInput


def of_flaml(error=0.2, **changes):
    found = {"error": error, "reported": 0.9 * error, "seconds": 30.1, "cpu_seconds": 29.0}
    return found | {"evaluation": "cv", "versions": "FLAML 2"} | changes


def of_truefit(error=0.18, **changes):
    found = {"error": error, "reported": 1.02 * error, "seconds": 29.5, "cpu_seconds": 28.0, "interval": [0.15, 0.25]}
    found |= {"nested": True, "recommended": "selected", "searched": [30, 70], "versions": "truefit 1"}
    return found | changes


@pytest.fixture
def store(tmp_path, monkeypatch):
    """A store of searches that take no time; truefit fails on letter, and its ensemble is recommended on adult."""

    def compared(name, seed, folder, python, seconds, cores):
        line = {"table": name, "seed": seed, "rows": 500, "budget": seconds, "flaml": of_flaml(), "truefit": {}}
        line["truefit"] = of_truefit()
        if name == "letter":
            line["truefit"] = {"failed": "no time"}
        if name == "adult":
            ensemble = {"ensemble_error": 0.1, "ensemble_reported": 0.11, "ensemble_interval": [0.05, 0.15]}
            line["truefit"] = of_truefit(recommended="ensemble", **ensemble)
        if name == "diamonds":
            line["truefit"] = of_truefit(interval=[0.2, 0.3])
        return line

    monkeypatch.setattr(benchmark, "compared", compared)
    monkeypatch.setattr(benchmark, "SAMPLES", 2)
    return tmp_path / "s.jsonl"


def test_the_page_counts_every_sample_and_goes_on_from_its_store(store, capsys):
    command = ["--data", "data", "--flaml-python", "python", "--store", str(store), "--out", str(store.parent / "p.md")]
    benchmark.main(command)
    assert len(benchmark.lines_of(store)) == 16
    store.write_text("\n".join([*store.read_text().splitlines()[:-1], '{"table": "dia']))  # killed while it wrote
    benchmark.main(command)
    text = (store.parent / "p.md").read_text()
    assert len(benchmark.lines_of(store)) == 16
    assert "**16 of 16 samples were run (16 of 500 rows).**" in text
    assert "| Ratio of errors at most 0.98 | 0.900 | met |" in text
    assert "| +2.0% against -10.0% | met |" in text
    assert "| 12 of 16 | missed |" in text, "two studies failed, two intervals do not hold"
    assert "truefit on letter 0: no time" in text
    assert "diamonds 1: estimate 0.1836 (0.2 to 0.3), true 0.18" in text
    assert "selected 12×, ensemble 2×, failed 2×" in text
    assert "| ensemble, where there is one | 2 | 0.500 |" in text


def test_a_store_with_other_seconds_is_not_gone_on_with(store):
    store.write_text(json.dumps({"table": "adult", "seed": 0, "budget": 60.0}) + "\n")
    with pytest.raises(InvalidInput, match="60 seconds"):
        benchmark.main(["--data", "data", "--flaml-python", "python", "--store", str(store)])


def test_a_search_that_fails_is_recorded(tmp_path):
    assert benchmark.searched("truefit", benchmark.sys.executable, tmp_path, 1)["failed"].startswith("FileNotFound")


def test_small_samples_where_too_few_rows_would_be_left():
    assert [benchmark.size_of(seed, 1_000) for seed in (0, 4)] == [500, 500]
    assert [benchmark.size_of(seed, 5_000) for seed in (2, 3)] == [500, 1_000]


def test_ratios_without_samples_have_no_number():
    assert benchmark.ratio_cells([math.nan]) == ["–", "–"]
    assert benchmark.ratio_cells([0.0]) == ["1.000", "–"]
    assert benchmark.ratio_cells([0.0, 0.0]) == ["1.000", "1.000 to 1.000"]
