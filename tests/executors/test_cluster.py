import warnings
from dataclasses import dataclass

import pytest

from truefit._core.errors import ExecutorError
from truefit._executors.cluster import ClusterMonitor


@dataclass
class Workers:
    """A cluster of which only the number of its workers is known."""

    size: int | None
    local: bool = False
    name = "cluster of the test"
    restarts = 0

    def restart_workers(self) -> None:
        self.restarts += 1


@pytest.fixture(autouse=True)
def count_every_time(monkeypatch):
    monkeypatch.setattr("truefit._executors.cluster._COUNT_SECONDS", 0.0)


def warned_at(found: ClusterMonitor, idles) -> list[int]:
    """At which seconds of waiting there was a warning."""
    said = []
    for idle in idles:
        with warnings.catch_warnings(record=True, action="always") as caught:
            found.count(float(idle))
        said.extend(idle for _ in caught)
    return said


def test_no_workers_is_said_early_and_then_rarely():
    assert warned_at(ClusterMonitor(Workers(0)), range(15_000)) == [5, 60, 600, 4200, 7800, 11400]


def test_workers_of_this_machine_have_time_to_restart():
    assert warned_at(ClusterMonitor(Workers(0, local=True)), range(700)) == [60, 600]


def test_after_workers_were_there_the_next_lack_of_them_is_said_again():
    workers = Workers(0)
    found = ClusterMonitor(workers)
    assert warned_at(found, range(10)) == [5]
    workers.size = 3
    assert found.count(0.0) == 3
    workers.size = 0
    assert warned_at(found, range(10)) == [5]
    assert workers.restarts == 21


def test_a_scheduler_that_never_answers(monkeypatch):
    found = ClusterMonitor(Workers(None))
    assert found.count(100.0) is None
    monkeypatch.setattr("truefit._executors.cluster._SILENT_SECONDS", 0.0)
    with pytest.raises(ExecutorError, match=r"The cluster of the test must answer. It has not for"):
        found.count(100.0)
