"""Stores of benchmarks: what is finished is not run again, and what was cut short is."""

import json
import math

from benchmarks.store import lines_of, run


def line(place, what):
    return {"place": place, "what": what}


def test_a_line_that_was_cut_short_is_run_again(tmp_path):
    store = tmp_path / "runs.jsonl"
    store.write_text('{"place": 0, "what": "a"}\n{"place": 1, "wh')
    assert lines_of(store) == [line(0, "a")]
    run([(1, "b"), (2, "c")], line, store, 1, math.inf)
    assert lines_of(store) == [line(0, "a"), line(1, "b"), line(2, "c")]


def test_no_job_is_begun_when_the_time_is_up(tmp_path):
    store = tmp_path / "runs.jsonl"
    store.write_text(json.dumps(line(0, "a")) + "\n")
    run([(1, "b")], line, store, 2, 0)
    assert lines_of(store) == [line(0, "a")]
