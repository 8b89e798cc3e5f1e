import warnings
from dataclasses import dataclass

import pytest

from truefit._core.errors import ExecutorError
from truefit._executors import workforce
from truefit._executors.workforce import Workforce


@dataclass
class Workers:
    """A cluster of which only the number of its workers is known."""

    width: int | None
    local: bool = False
    name = "cluster of the test"
    mended = 0

    def mend(self) -> None:
        self.mended += 1


@pytest.fixture(autouse=True)
def count_every_time(monkeypatch):
    monkeypatch.setattr(workforce, "_COUNT_SECONDS", 0.0)


def warned_at(found: Workforce, idles) -> list[int]:
    """At which seconds of waiting there was a warning."""
    said = []
    for idle in idles:
        with warnings.catch_warnings(record=True, action="always") as caught:
            found.look(float(idle))
        said.extend(idle for _ in caught)
    return said


def test_no_workers_is_said_early_and_then_rarely():
    assert warned_at(Workforce(Workers(0)), range(15_000)) == [5, 60, 600, 4200, 7800, 11400]


def test_workers_of_this_machine_have_time_to_restart():
    assert warned_at(Workforce(Workers(0, local=True)), range(700)) == [60, 600]


def test_after_workers_were_there_the_next_lack_of_them_is_said_again():
    workers = Workers(0)
    found = Workforce(workers)
    assert warned_at(found, range(10)) == [5]
    workers.width = 3
    assert found.look(0.0) == 3
    workers.width = 0
    assert warned_at(found, range(10)) == [5]
    assert workers.mended == 21


def test_a_scheduler_that_never_answers(monkeypatch):
    found = Workforce(Workers(None))
    assert found.look(100.0) is None
    monkeypatch.setattr(workforce, "_SILENT_SECONDS", 0.0)
    with pytest.raises(ExecutorError, match=r"The cluster of the test must answer. It has not for"):
        found.look(100.0)
