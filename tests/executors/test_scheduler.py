"""The rules of the scheduler, on a transport in memory: no process is started, and its workers die on request."""

import time
from collections import deque

import pytest

from truefit._core.errors import ExecutorError
from truefit._executors.scheduler import Finished, Limits, Scheduler, Submission, Transport, WorkerDied
from truefit.testing.executor_contract import Script, assert_as_here, by_key, job, some_data

DATA = some_data()


class Memory(Transport):
    """Runs a submission each time it is waited for; by the number of a script, some kill, hang or take memory."""

    in_process = True
    polls_clocks = True
    drain_seconds = 0.0
    timeout_note = "It was stopped."
    lead = 4

    def __init__(self, *, deaths=(), hung=(), large=(), slots=2):
        self.deaths = dict.fromkeys(deaths, 2) if not isinstance(deaths, dict) else dict(deaths)
        self.hung, self.large = set(hung), set(large)
        self.slots = slots
        self.sent: list[tuple[str, ...]] = []
        self.alone: list[str] = []
        self.under_way: deque[Submission] = deque()
        self.ended = False
        self.used = False  # whether its one worker has run a job
        self.slowest = 0.0

    @property
    def busy(self):
        return bool(self.under_way)

    def accepts(self, *, alone):
        return not self.under_way if alone else len(self.under_way) < self.slots

    def submit(self, submission):
        self.under_way.append(submission)
        self.sent.append(tuple(name(pending) for pending in submission.jobs))
        if submission.alone:
            self.alone += [name(pending) for pending in submission.jobs]
        return True

    def wait(self, seconds):
        if not self.under_way:
            return
        first = self.under_way[0]
        if {name(pending) for pending in first.jobs} & (self.hung | self.large):
            first.clock = first.clock or time.monotonic()
            time.sleep(min(seconds, 0.01))
            return
        self.under_way.popleft()
        killer = next((pending for pending in first.jobs if self.deaths.get(name(pending), 0)), None)
        if killer is not None:
            self.deaths[name(killer)] -= 1
            others = [pending for pending in first.jobs if pending is not killer]
            others += [pending for each in self.under_way for pending in each.jobs]
            self.under_way.clear()
            yield WorkerDied([killer], others, "exit code 7")
            return
        self.used = True
        yield Finished(first, [pending.job.run(DATA) for pending in first.jobs], [0.01] * len(first.jobs))

    def adapt(self, seconds):
        self.slowest = seconds

    def running(self):
        return list(self.under_way)

    def over_memory(self, limit):
        return [(each, not self.used) for each in self.under_way if {name(one) for one in each.jobs} & self.large]

    def stop(self, submission):
        waiting = [pending for each in self.under_way if each is not submission for pending in each.jobs]
        self.under_way.clear()
        self.used = False
        return waiting

    def end(self):
        self.ended = True


def name(pending):
    return pending.job.fits[0].key.split("/")[0]


def jobs(count=6):
    return [job(DATA, Script(number=i), name=str(i)) for i in range(count)]


def run(transport, given=None, **limits):
    return by_key(Scheduler(transport, jobs() if given is None else given, Limits(**limits)).outcomes())


def errors(found):
    return {key: outcome.error.kind for key, outcome in found.items() if outcome.error is not None}


def test_all_jobs_are_answered_in_the_order_given():
    transport = Memory()
    assert_as_here(Scheduler(transport, jobs(), Limits()).outcomes(), jobs(), DATA)
    assert transport.sent == [(str(i),) for i in range(6)]
    assert transport.ended
    assert transport.slowest == pytest.approx(0.01)


def test_a_job_that_kills_two_workers_has_failed_and_the_others_have_not():
    transport = Memory(deaths=["2"])
    found = run(transport)
    assert errors(found) == {"2/0": "died"}
    assert found["2/0"].error.message == (
        "The worker process died 2 times while running this fit (exit code 7). "
        "The fit is recorded as failed; the others continue."
    )
    assert len(found) == 6
    assert transport.alone == ["2"], "the second time it is alone"


def test_a_job_that_kills_one_worker_is_run_again_before_all_others():
    transport = Memory(deaths={"1": 1})
    assert errors(run(transport)) == {}
    assert transport.alone == ["1"]
    at = transport.sent.index(("1",), 2)
    assert transport.sent[at + 1] == ("2",), "what waited behind it comes next, in its order"


def test_jobs_that_waited_behind_a_death_are_not_suspect():
    transport = Memory(deaths=["0"], slots=6)
    assert errors(run(transport)) == {"0/0": "died"}
    assert transport.alone == ["0"]


def test_a_fit_past_its_limit_has_failed_and_those_behind_it_are_sent_again():
    transport = Memory(hung=["1"], slots=3)
    found = run(transport, timeout=0.05)
    assert errors(found) == {"1/0": "timeout"}
    assert found["1/0"].error.message == "The fit exceeded its time limit of 0.05 s. It was stopped."
    assert transport.sent.count(("2",)) == 2


def test_the_limit_is_for_each_model():
    several = job(DATA, Script(), Script(), Script(), name="several")
    transport = Memory(hung=["several"])
    start = time.monotonic()
    found = run(transport, [several], timeout=0.1)
    assert time.monotonic() - start > 0.3
    assert "0.1 s for each of 3 models" in found["several/0"].error.message


def test_memory_left_from_other_jobs_is_not_held_against_one():
    transport = Memory(large=["0", "3"])
    found = run(transport, memory=10**9)
    assert errors(found) == {"0/0": "memory", "3/0": "memory"}
    assert transport.sent.count(("0",)) == 1, "it was the first of its worker"
    assert transport.alone == ["3"], "it followed others, so a new worker has to show what it needs"


def test_nothing_is_submitted_after_the_deadline():
    transport = Memory(hung=["2"])
    found = run(transport, deadline=time.monotonic() + 0.2)
    assert set(found) == {"0/0", "1/0"}
    assert transport.ended


def test_jobs_are_not_taken_before_there_is_a_place_for_them():
    taken = []

    def source():
        for each in jobs(50):
            taken.append(each)
            yield each

    transport = Memory()
    outcomes = Scheduler(transport, source(), Limits()).outcomes()
    next(outcomes)
    assert len(taken) <= 4
    outcomes.close()
    assert transport.ended


class Refusing(Memory):
    """Cannot send the first submission."""

    def submit(self, submission):
        if not self.sent:
            self.sent.append(())
            return False
        return super().submit(submission)


def test_what_could_not_be_sent_is_sent_again_alone():
    transport = Refusing()
    assert errors(run(transport)) == {}
    assert transport.alone == ["0"]


class Failing(Memory):
    """Fails when some jobs are done, and finds one more that was finished before."""

    def wait(self, seconds):
        if len(self.sent) > 3:
            raise ExecutorError("the executor is gone")
        yield from super().wait(seconds)

    def results_before_error(self):
        yield from super().wait(0.0)


def test_what_was_finished_comes_before_the_error():
    transport, got = Failing(), []
    with pytest.raises(ExecutorError, match="is gone"):
        got.extend(Scheduler(transport, jobs(), Limits()).outcomes())
    assert [outcome.key for [outcome] in got] == ["0/0", "1/0", "2/0"]
    assert transport.ended
