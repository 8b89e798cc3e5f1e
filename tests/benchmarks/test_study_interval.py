import json

import pytest

from benchmarks import study_interval as benchmark
from truefit._core.errors import InvalidInput


def line(name, seed, truth=0.2, **changes):
    known = {
        "table": name,
        "seed": seed,
        "metric": "error",
        "best": "linear",
        "estimate": 0.21,
        "low": 0.1,
        "high": 0.3,
    }
    known |= {"truth": truth, "estimand": "error of the choice", "fits": 3, "cpu_seconds": 2.0, "versions": "truefit 1"}
    return known | changes


@pytest.fixture
def told(monkeypatch):
    """Studies that take no time: which were run, and whose truth is far off where the seed is 1."""
    ran = []

    def studied(name, folder, seed):
        ran.append((name, seed))
        return line(name, seed, truth=0.4 if seed == 1 else 0.2)

    monkeypatch.setattr(benchmark, "studied", studied)
    monkeypatch.setattr(benchmark, "ProcessPoolExecutor", AtOnce)
    return ran


class AtOnce:
    def __init__(self, workers, **options):
        pass

    def __enter__(self):
        return self

    def __exit__(self, *reason):
        pass

    def submit(self, function, *arguments):
        future = benchmark.Future()
        future.set_result(function(*arguments))
        return future


def test_it_goes_on_from_its_store_and_counts_what_is_covered(told, tmp_path, capsys):
    store, out = tmp_path / "s.jsonl", tmp_path / "page.md"
    command = ["--data", str(tmp_path), "--store", str(store), "--out", str(out)]
    benchmark.main([*command, "--repetitions", "1"])
    assert told == [(name, 0) for name in benchmark.TABLES]
    assert "Seen: 100%, met." in out.read_text()
    store.write_text(store.read_text() + '{"table": "adult", "se')  # killed while it wrote
    benchmark.main([*command, "--repetitions", "2"])
    assert told[5:] == [(name, 1) for name in benchmark.TABLES]
    page = out.read_text()
    assert "**5 of 10**" in page
    assert "Wanted: at least 90%. Seen: 50%, **missed**." in page
    assert "- letter 1: linear, 0.21 (0.1 to 0.3), truly 0.4: not covered" in page
    benchmark.main([*command, "--repetitions", "2"])
    assert len(told) == 10


def test_when_time_is_up_no_study_is_begun_and_the_page_says_what_is_missing(told, tmp_path, capsys):
    store = tmp_path / "s.jsonl"
    store.write_text(json.dumps(line("adult", 0)) + "\n")
    benchmark.main(["--data", str(tmp_path), "--store", str(store), "--minutes", "0", "--repetitions", "1"])
    assert told == []
    assert "4 of 5 studies have not been run." in capsys.readouterr().out


def test_a_study_without_an_interval_is_not_covered():
    assert benchmark.covered(line("adult", 0))
    assert not benchmark.covered(line("adult", 0, low=None, high=None))


def test_a_folder_is_needed(monkeypatch):
    monkeypatch.delenv("TRUEFIT_DATA", raising=False)
    with pytest.raises(InvalidInput, match="--data"):
        benchmark.main([])
