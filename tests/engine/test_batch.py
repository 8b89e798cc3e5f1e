import gc
import tracemalloc

from sklearn.naive_bayes import GaussianNB

from truefit._core.errors import Failure
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, Fit, Job
from truefit._core.rows import Rows
from truefit._engine.batch import JobQueue, JobTimes, KeySet, RowUnions
from truefit._solvers.plain import PlainSolver

PLAIN = PlainSolver()


def job(kind, number, rows=10):
    key = f"{kind}{number}"
    return Job(PLAIN, (Fit(key, kind.encode(), b"", GaussianNB(), Rows.all(rows), ()),))


def done(job, seconds):
    return [Outcome(fit.key, fit_seconds=seconds) for fit in job.fits]


def keys(jobs):
    return [job.fits[0].key for job in jobs]


def test_without_knowledge_one_of_each_kind_comes_first_and_then_the_order_given():
    jobs = [job("a", 1), job("a", 2), job("b", 1), job("b", 2), job("c", 1)]
    assert keys(JobQueue(jobs, JobTimes())) == ["a1", "b1", "c1", "a2", "b2"]


def test_the_longest_comes_first_where_that_is_known():
    times = JobTimes()
    times.learn(job("short", 0), done(job("short", 0), 0.1))
    times.learn(job("long", 0), done(job("long", 0), 5.0))
    jobs = [job("short", 1), job("long", 1), job("short", 2), job("long", 2), job("new", 1), job("new", 2)]
    assert keys(JobQueue(jobs, times)) == ["new1", "long1", "long2", "short1", "short2", "new2"]


def test_what_is_learned_on_the_way_counts_at_once():
    times = JobTimes()
    jobs = [job(kind, number) for number in range(3) for kind in ("short", "long")]
    queue = JobQueue(jobs, times)
    started = [next(queue), next(queue)]
    assert keys(started) == ["short0", "long0"]
    times.learn(started[0], done(started[0], 0.1))
    times.learn(started[1], done(started[1], 2.0))
    assert keys(queue) == ["long1", "long2", "short1", "short2"]


def test_more_rows_take_longer():
    times = JobTimes()
    times.learn(job("a", 0), done(job("a", 0), 1.0))
    times.learn(job("b", 0), done(job("b", 0), 1.5))
    assert times.expected(job("a", 1, rows=20)) == 2.0
    assert keys(JobQueue([job("b", 1, rows=10), job("a", 1, rows=20)], times)) == ["a1", "b1"]


def test_a_failure_teaches_that_there_is_little_to_do():
    times, failed = JobTimes(), job("a", 0)
    times.learn(failed, failed.failed(Failure("raised", "no luck")))
    assert times.expected(job("a", 1)) == 0.0


class TwoWorkers:
    """Two workers by a clock of their own: a job takes what its kind is said to take."""

    def __init__(self, seconds):
        self.seconds, self.now = seconds, 0.0

    def last_end(self, jobs, times=None):
        free, running = [0.0, 0.0], []
        while True:
            self.now = min(free)
            for end, ended in [pair for pair in running if pair[0] <= self.now]:
                running.remove((end, ended))
                if times is not None:
                    times.learn(ended, done(ended, self.seconds[ended.fits[0].estimator_key]))
            started = next(jobs, None)
            if started is None:
                return max(free)
            end = self.now + self.seconds[started.fits[0].estimator_key]
            free[free.index(self.now)] = end
            running.append((end, started))


def test_no_worker_is_left_with_a_long_job_at_the_end():
    jobs = [job(kind, number) for kind in ("a", "b", "z") for number in range(4)][:11]
    workers, times = TwoWorkers({b"a": 1.0, b"b": 1.0, b"z": 10.0}), JobTimes()
    assert workers.last_end(iter(jobs)) == 24.0
    assert workers.last_end(JobQueue(jobs, times, lambda: workers.now), times) == 21.0
    assert workers.last_end(JobQueue(jobs, times, lambda: workers.now), times) == 20.0


def test_what_was_added_is_in_and_nothing_else():
    seen = KeySet()
    for i in range(0, 10_000, 2):
        seen.add(f"{i:032x}")
        seen.add(f"{i:032x}")
    assert [i for i in range(10_000) if f"{i:032x}" in seen] == list(range(0, 10_000, 2))


def test_a_key_takes_few_bytes():
    gc.collect()
    tracemalloc.start()
    seen = KeySet()
    for i in range(20_000):
        seen.add(f"{i:032x}")
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 20_000 * 24 + 1_000


def test_asks_are_united_by_response():
    one, other = Rows.of([1, 2]), Rows.of([2, 3])
    union = RowUnions().of([Ask(one), Ask(other), Ask(one, "predict_proba")])
    assert {ask.response: ask.rows.index.tolist() for ask in union} == {
        "predict": [1, 2, 3],
        "predict_proba": [1, 2],
    }
