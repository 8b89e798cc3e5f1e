import json

import numpy as np
import pytest

from benchmarks import agghoo_simulation as simulation


@pytest.fixture
def one_setting(monkeypatch):
    monkeypatch.setattr(simulation, "SETTINGS", simulation.SETTINGS[2:3])


def test_a_run_goes_on_from_its_store_and_a_line_cut_short_is_done_again(one_setting, tmp_path):
    store = tmp_path / "runs.jsonl"
    first = simulation.run(store, 2)
    assert sorted(first) == [("3", 0), ("3", 1)]
    lines = store.read_text().splitlines()
    store.write_text(lines[0] + "\n" + lines[1][:50] + "\n")
    again = simulation.run(store, 2)
    for part in ("true", "estimates", "intervals"):
        assert again["3", 1][part] == first["3", 1][part]
    assert sorted(simulation.run(store, 1)) == [("3", 0)]


def line(repetition, true, triangle, corrected):
    estimates = dict.fromkeys(simulation.ESTIMATORS, true) | {"triangle": triangle, "triangle_corrected": corrected}
    intervals = {key: [true - 1, true + 1] for key in simulation.INTERVALS}
    return {
        "setting": "3",
        "repetition": repetition,
        "true": dict.fromkeys(simulation.WAYS, true),
        "estimates": estimates,
        "intervals": intervals,
        "seconds": 1.0,
    }


@pytest.mark.parametrize(("corrected", "word"), [(2.1, "on"), (3.0, "off")])
def test_the_rule_is_applied_to_what_was_found(one_setting, corrected, word):
    done = {("3", r): json.loads(json.dumps(line(r, 2.0, 2.5, corrected))) for r in range(3)}
    assert f"**{word}** by default" in simulation.page(done, 3)
    errors = simulation.errors_of(list(done.values()), "triangle")
    assert np.allclose(errors, 0.25)
    assert simulation.bias(errors) == simulation.rmse(errors) == 0.25
