import os
import subprocess
import sys

import pytest

from truefit._executors.dataset_file import DatasetWriter
from truefit._executors.environment import FitEnvironment
from truefit._executors.remote_worker import BatchSettings, JobBatch, ProgressFile, run_batch
from truefit._executors.serialization import JobSerializer, deserialize_outcomes, serialize
from truefit.testing.executor_contract import Script, assert_as_here, job, some_data


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "progress")


WORKER = """
import os, sys
from truefit._executors.remote_worker import ProgressFile
progress = ProgressFile(sys.argv[1])
assert progress.create()
for _ in range(int(sys.argv[2])):
    progress.add_job()
print("at work", flush=True)
end = sys.stdin.readline().strip()
if end == "die":
    os._exit(7)
if end == "fork" and (child := os.fork()):
    os.waitpid(child, 0)
    print(os.path.exists(progress.path))
"""


@pytest.fixture
def worker(path):
    """Starts another process that creates a progress file with some jobs, and then waits for how to end."""
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
    progress, seen = ProgressFile(path), ProgressFile(path)
    assert (seen.started(), seen.owner_died()) == (None, None)
    assert progress.create()
    assert progress.created
    assert not seen.created
    for steps in range(3):
        assert (seen.started(), seen.owner_died()) == (steps, False)
        progress.add_job()
    progress.remove()
    assert not os.path.exists(path)
    progress.remove()


def test_that_of_a_dead_worker_stays_and_is_respected(worker, path):
    process = worker(2)
    seen = ProgressFile(path)
    assert (seen.started(), seen.owner_died()) == (2, False)
    process.communicate("die\n")
    assert (seen.started(), seen.owner_died()) == (2, True)
    assert not seen.create()
    seen.remove()
    assert seen.create()
    seen.remove()


def test_a_worker_that_leaves_in_good_order_takes_it_along(worker, path):
    worker(1).communicate("leave\n")
    assert not os.path.exists(path)


@pytest.mark.parametrize("end", ["leave", "die"])
def test_that_of_a_living_worker_is_taken_over(worker, path, end):
    process = worker(2)
    progress = ProgressFile(path)
    assert progress.create()
    assert (progress.started(), progress.owner_died()) == (0, False)
    process.communicate(f"{end}\n")
    assert (progress.started(), progress.owner_died()) == (0, False), "what the first one does is no matter now"
    progress.remove()
    assert not os.path.exists(path)


def test_where_files_cannot_be_locked_a_file_is_a_death(path, monkeypatch):
    def refuse(*arguments):
        raise OSError(37, "No locks available")

    monkeypatch.setattr("fcntl.flock", refuse)
    progress = ProgressFile(path)
    assert progress.create()
    progress.add_job()
    seen = ProgressFile(path)
    assert (seen.started(), seen.owner_died()) == (1, None)
    assert not seen.create()
    progress.remove()


@pytest.mark.parametrize("path", [None, "/nowhere/progress"])
def test_there_may_be_no_place_for_one(path):
    progress = ProgressFile(path)
    assert progress.create()
    progress.add_job()
    assert (progress.created, progress.started(), progress.owner_died()) == (False, None, None)
    progress.remove()


def test_a_forked_child_leaves_it_alone(worker, path):
    assert worker(1).communicate("fork\n")[0] == "True\n"


def test_a_batch_that_a_worker_died_of_is_left_alone(worker, path):
    data = some_data()
    jobs = [job(data, Script(), name=str(i)) for i in range(3)]
    serializer, writer = JobSerializer(), DatasetWriter()
    try:
        ready = [serializer.serialize(one) for one in jobs]
        shared = {item.number: item.content for one in ready for item in one.shared}
        settings = BatchSettings(serialize(FitEnvironment.current()), threads=1, progress_path=path)
        batch = JobBatch("a", writer.write(data), tuple(shared.items()), tuple(one.content for one in ready), settings)
        worker(2).communicate("die\n")
        reply = run_batch(batch)
        assert (reply.died, reply.outcomes) == (True, [])
        assert ProgressFile(path).started() == 2
        ProgressFile(path).remove()
        reply = run_batch(batch)
        assert (reply.died, reply.has_progress_file) == (False, True)
        outcomes = [deserialize_outcomes(content, one) for content, one in zip(reply.outcomes, jobs, strict=True)]
        assert_as_here(outcomes, jobs, data)
        assert not os.path.exists(path)
    finally:
        writer.close()
