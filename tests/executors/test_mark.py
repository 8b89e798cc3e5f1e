import os
import subprocess
import sys

import pytest

from truefit._executors import mark as mark_module
from truefit._executors.mark import Mark
from truefit._executors.packing import Packer, packed, unpacked_outcomes
from truefit._executors.parcel import Parcel, Terms, deliver
from truefit._executors.shipment import Shipper
from truefit._executors.surroundings import Surroundings
from truefit.testing.executor_contract import Script, assert_as_here, job, some_data


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "mark")


WORKER = """
import os, sys
from truefit._executors.mark import Mark
mark = Mark(sys.argv[1])
assert mark.make()
for _ in range(int(sys.argv[2])):
    mark.step()
print("at work", flush=True)
end = sys.stdin.readline().strip()
if end == "die":
    os._exit(7)
if end == "fork" and (child := os.fork()):
    os.waitpid(child, 0)
    print(os.path.exists(mark.path))
"""


@pytest.fixture
def worker(path):
    """Starts another process that makes a mark and some steps, and then waits to be told how to end."""
    started = []

    def start(steps: int) -> subprocess.Popen:
        process = subprocess.Popen(
            [sys.executable, "-c", WORKER, path, str(steps)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        started.append(process)
        assert process.stdout.readline() == "at work\n"
        return process

    yield start
    for process in started:
        with process:
            process.kill()


def test_it_tells_how_far_a_worker_is_and_goes_when_all_is_done(path):
    mark, seen = Mark(path), Mark(path)
    assert (seen.started(), seen.dead()) == (None, None)
    assert mark.make()
    assert mark.made
    assert not seen.made
    for steps in range(3):
        assert (seen.started(), seen.dead()) == (steps, False)
        mark.step()
    mark.remove()
    assert not os.path.exists(path)
    mark.remove()


def test_that_of_a_dead_worker_stays_and_is_respected(worker, path):
    process = worker(2)
    seen = Mark(path)
    assert (seen.started(), seen.dead()) == (2, False)
    process.communicate("die\n")
    assert (seen.started(), seen.dead()) == (2, True)
    assert not seen.make()
    seen.remove()
    assert seen.make()
    seen.remove()


def test_a_worker_that_leaves_in_good_order_takes_it_along(worker, path):
    worker(1).communicate("leave\n")
    assert not os.path.exists(path)


@pytest.mark.parametrize("end", ["leave", "die"])
def test_that_of_a_living_worker_is_taken_over(worker, path, end):
    process = worker(2)
    mark = Mark(path)
    assert mark.make()
    assert (mark.started(), mark.dead()) == (0, False)
    process.communicate(f"{end}\n")
    assert (mark.started(), mark.dead()) == (0, False), "what the first one does is no matter now"
    mark.remove()
    assert not os.path.exists(path)


def test_where_files_cannot_be_locked_a_mark_is_a_death(path, monkeypatch):
    def refuse(*arguments):
        raise OSError(37, "No locks available")

    monkeypatch.setattr(mark_module.fcntl, "flock", refuse)
    mark = Mark(path)
    assert mark.make()
    mark.step()
    seen = Mark(path)
    assert (seen.started(), seen.dead()) == (1, None)
    assert not seen.make()
    mark.remove()


@pytest.mark.parametrize("path", [None, "/nowhere/mark"])
def test_there_may_be_no_place_for_one(path):
    mark = Mark(path)
    assert mark.make()
    mark.step()
    assert (mark.made, mark.started(), mark.dead()) == (False, None, None)
    mark.remove()


def test_a_forked_child_leaves_it_alone(worker, path):
    assert worker(1).communicate("fork\n")[0] == "True\n"


def test_a_parcel_that_a_worker_died_of_is_left_alone(worker, path):
    data = some_data()
    jobs = [job(data, Script(), name=str(i)) for i in range(3)]
    packer, shipper = Packer(), Shipper()
    try:
        ready = [packer.pack(one) for one in jobs]
        parts = {part.number: part.content for one in ready for part in one.parts}
        terms = Terms(packed(Surroundings.here()), threads=1, mark=path)
        parcel = Parcel("a", shipper.ship(data), tuple(parts.items()), tuple(one.content for one in ready), terms)
        worker(2).communicate("die\n")
        reply = deliver(parcel)
        assert (reply.abandoned, reply.outcomes) == (True, [])
        assert Mark(path).started() == 2
        Mark(path).remove()
        reply = deliver(parcel)
        assert (reply.abandoned, reply.marked) == (False, True)
        outcomes = [unpacked_outcomes(content, one) for content, one in zip(reply.outcomes, jobs, strict=True)]
        assert_as_here(outcomes, jobs, data)
        assert not os.path.exists(path)
    finally:
        shipper.close()
