import threading

import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.svm import SVC, NuSVC

from truefit import Engine, assess
from truefit._core.protocols import Executor
from truefit._executors.threads import ThreadExecutor
from truefit.testing.executor_contract import ExecutorContract


class TestThreadExecutor(ExecutorContract):
    survives_death = False

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        return ThreadExecutor(2, timeout=timeout)


class OwnMachine(SVC):
    pass


X, y = load_iris(return_X_y=True)


@pytest.mark.parametrize(
    ("estimator", "in_threads"),
    [
        (SVC(), True),
        ([SVC(), NuSVC()], True),
        (RandomForestClassifier(5), False),
        ([SVC(), LogisticRegression(max_iter=500)], False),
        (OwnMachine(), False),
    ],
    ids=["support vectors", "two that are unlocked", "forest", "one that is not", "a class of one's own"],
)
def test_fits_outside_of_pythons_lock_are_run_in_threads_with_the_same_result(estimator, in_threads):
    with Engine(workers=2, progress=False) as engine:
        found = assess(estimator, X, y, engine=engine, random_state=0)
        assert (len(engine._executor._pool.workers) == 0) == in_threads
    assert found.estimate == assess(estimator, X, y, random_state=0).estimate


def test_a_time_limit_takes_processes():
    with Engine(workers=2, timeout=60, progress=False) as engine:
        assess(SVC(), X, y, engine=engine)
        assert len(engine._executor._pool.workers) > 0


def test_no_thread_is_left():
    before = threading.active_count()
    with Engine(workers=2, progress=False) as engine:
        assess(SVC(), X, y, engine=engine)
    for thread in threading.enumerate():
        if thread.name.startswith("truefit"):
            thread.join(10)
    assert threading.active_count() <= before
