"""Reports in stores, and what it takes to compute them again."""

from __future__ import annotations

import re

from truefit import Engine
from truefit._core.provenance import keeps_reports, now, store_report, versions

REPORT = {"kind": "study", "title": "t", "headline": "h", "summary": "s"}


def report(best="ridge", seconds=1.0):
    return REPORT | {"result": {"best": best, "fits": {"seconds": seconds}}}


def test_the_same_result_replaces_its_report(tmp_path):
    with Engine(tmp_path / "runs.db") as engine:
        first = store_report(engine.store, report(), {"command": "a"})
        assert store_report(engine.store, report(seconds=9.0), {"command": "b"}) == first
        assert store_report(engine.store, report(best="tree"), {"command": "a"}) != first
        assert [each.made["command"] for each in engine.store.reports()] == ["a", "b"]


def test_memory_keeps_no_reports():
    engine = Engine()
    assert not keeps_reports(engine.store)
    assert store_report(engine.store, report(), {}) is None


def test_date_and_versions():
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d UTC", now())
    assert {"truefit", "scikit-learn", "Python"} <= set(versions())
