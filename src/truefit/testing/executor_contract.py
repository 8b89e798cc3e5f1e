"""ExecutorContract: what every executor must do, as tests that are run against yours."""

from __future__ import annotations

import itertools
import os
import signal
import threading
import time
from collections.abc import Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, cast

import numpy as np
import pandas as pd
import pytest
import sklearn
from scipy import sparse

from truefit._core.data import Data
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Ask, Executor, Fit, Job
from truefit._core.rows import Rows

Action = Literal["answer", "raise", "exit", "die", "kill", "die once", "config", "lock"]


@dataclass(frozen=True)
class Script:
    """What a fit does, in the place of an estimator."""

    action: Action = "answer"
    number: float = 1.0
    seconds: float = 0.0
    path: str = ""
    payload: Any = None


class ScriptedSolver:
    """Runs the script of a fit, and answers with a number for each row."""

    name = "scripted"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job per fit."""
        return [Job(self, (fit,)) for fit in fits]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Run each script; unlike a real solver's, its errors get through."""
        return [self._run(fit, data) for fit in job.fits]

    def _run(self, fit: Fit, data: Data) -> Outcome:
        script: Script = fit.estimator
        time.sleep(script.seconds)
        if script.action == "raise":
            raise ValueError("as the script says")
        if script.action == "exit":
            raise SystemExit(3)
        if script.action == "die":
            os._exit(7)
        if script.action == "kill":
            os.kill(os.getpid(), signal.SIGKILL)
        if script.action == "die once" and not os.path.exists(script.path):
            Path(script.path).touch()
            os._exit(7)
        factor = script.number
        if script.action == "config":
            factor = float(sklearn.get_config()["working_memory"])
        index = fit.asks[0].rows.index
        X = data.take(index)
        values = np.asarray(X.sum(axis=1), dtype=np.float64).reshape(-1) * factor + data.y[index]
        answer = Predictions("predict", data.tokens[index], values)
        model = threading.Lock() if script.action == "lock" else script.payload
        return Outcome(fit.key, (answer,), 0.5, self.name, model=model)


def job(data: Data, *scripts: Script, name: str = "", keep_model: bool = False) -> Job:
    """Return a job with one fit for each script."""
    rows = Rows.of(range(0, data.n, 2))
    fits = tuple(
        Fit(f"{name}/{i}", b"", b"", script, Rows.all(data.n), (Ask(rows),), keep_model=keep_model)
        for i, script in enumerate(scripts)
    )
    return Job(ScriptedSolver(), fits, work=len(fits))


def some_jobs(data: Data, count: int, seconds: float = 0.0) -> list[Job]:
    """Return jobs that differ, some of them with several fits."""
    return [
        job(data, *(Script(number=i + j / 8, seconds=seconds) for j in range(1 + i % 3)), name=str(i))
        for i in range(count)
    ]


def some_data(seed: int = 0, n: int = 40) -> Data:
    """Return a small table."""
    rng = np.random.default_rng(seed)
    return Data(rng.normal(size=(n, 3)), rng.normal(size=n), task="regression")


def by_key(outcomes: Iterable[list[Outcome]]) -> dict[str, Outcome]:
    """Outcomes by their key; each key must be there once."""
    listed = list(itertools.chain.from_iterable(outcomes))
    found = {outcome.key: outcome for outcome in listed}
    assert len(found) == len(listed), "an outcome came twice"
    return found


def assert_as_here(got: Iterable[list[Outcome]], jobs: Iterable[Job], data: Data) -> None:
    """Check that an executor gave every outcome that running the jobs here gives, to the bit."""
    found, expected = by_key(got), by_key(one.run(data) for one in jobs)
    assert found.keys() == expected.keys()
    for key, outcome in expected.items():
        assert found[key].error is None, found[key].error
        assert found[key].solver == outcome.solver
        assert found[key].fit_seconds == outcome.fit_seconds
        for mine, theirs in zip(found[key].answers, outcome.answers, strict=True):
            assert (mine.response, mine.coded) == (theirs.response, theirs.coded)
            assert mine.values.tobytes() == theirs.values.tobytes()
            assert mine.tokens.tobytes() == theirs.tokens.tobytes()


def assert_usable(executor: Executor, data: Data, count: int = 10) -> None:
    """Check that an executor runs some jobs as they run here."""
    jobs = some_jobs(data, count)
    assert_as_here(executor.map(jobs, data), jobs, data)


def assert_only_failure(executor: Executor, data: Data, script: Script, kind: str) -> str:
    """Check that a fit fails with a kind of failure and its neighbours do not; return the message."""
    jobs = some_jobs(data, 20)
    jobs[3:3] = [job(data, script, name="bad")]
    found = by_key(executor.map(jobs, data))
    failure = found.pop("bad/0").error
    assert failure is not None
    assert failure.kind == kind
    assert len(found) == sum(len(one.fits) for one in jobs) - 1
    assert all(outcome.error is None for outcome in found.values())
    return failure.message


class ExecutorContract:
    """Subclass this in your tests, define ``make_executor``, and pytest checks the contract of ``Executor``.

    All tests use the same executor: it must be usable after each of them.
    """

    #: Whether there is a time limit, whether a fit past it is really stopped, and whether a worker may die.
    has_timeout = True
    can_kill = False
    survives_death = True
    #: How far the jobs taken may be ahead of the outcomes given, for jobs of some milliseconds.
    max_lead = 64
    #: Parts of the failure message by action: for a worker that exits with 7 ("die"), and one that is killed ("kill").
    exit_messages: ClassVar[dict[str, str]] = {}
    #: Seconds of the time limit in tests; a worker must be able to do next to nothing within it.
    timeout = 1.0

    @classmethod
    def make_executor(cls, timeout: float | None = None) -> Executor:
        """Return a new executor."""
        raise NotImplementedError

    @classmethod
    def dispose(cls, executor: Executor) -> None:
        """Clean up after the tests."""
        executor.close()

    @pytest.fixture(scope="class")
    @classmethod
    def executor(cls) -> Iterator[Executor]:
        """One executor for all tests of the class."""
        executor = cls.make_executor()
        yield executor
        cls.dispose(executor)

    @pytest.fixture(scope="class")
    @classmethod
    def strict(cls) -> Iterator[Executor]:
        """Return an executor with a time limit, if there is such a thing."""
        if not cls.has_timeout:
            pytest.skip("has no time limit")
        executor = cls.make_executor(cls.timeout)
        yield executor
        cls.dispose(executor)

    @pytest.fixture
    def restarting(self, executor: Executor) -> Executor:
        """Return an executor whose workers may die."""
        if not self.survives_death:
            pytest.skip("runs jobs in this process")
        return executor

    def test_keeps_the_protocol(self, executor: Executor) -> None:
        """The methods are there, and no jobs give no outcomes."""
        assert isinstance(executor, Executor)
        assert list(executor.map([], some_data())) == []

    def test_every_outcome_once_and_as_run_here(self, executor: Executor) -> None:
        """Each job gives one list with an outcome per fit, equal to those of running it here, in any order."""
        data = some_data()
        jobs = some_jobs(data, 50)
        for ordered in (jobs, jobs[::-1]):
            lists = list(executor.map(iter(ordered), data))
            assert sorted(map(len, lists)) == sorted(len(one.fits) for one in jobs)
            assert_as_here(lists, jobs, data)

    def test_maps_in_turn_on_different_data(self, executor: Executor) -> None:
        """An executor goes from table to table and back."""
        tables = [some_data(seed, n=20 + 10 * seed) for seed in range(4)]
        for data in [*tables, tables[0]]:
            assert_usable(executor, data, count=5)

    @pytest.mark.parametrize("kind", ["columns first", "strided", "sparse", "pandas", "big", "no columns"])
    def test_any_kind_of_table(self, executor: Executor, kind: str) -> None:
        """What X is made of arrives as it was."""
        rng = np.random.default_rng(1)
        X = rng.normal(size=(6_000, 800) if kind == "big" else (50, 6))
        tables: dict[str, Any] = {
            "columns first": np.asfortranarray(X),
            "strided": X[:, ::2],
            "sparse": sparse.csr_array(np.where(X > 0, X, 0)),
            "pandas": pd.DataFrame(X, columns=list("abcdef")) if kind == "pandas" else None,
            "big": X,
            "no columns": X[:, :0],
        }
        data = Data(tables[kind], rng.normal(size=len(X)), task="regression")
        assert_usable(executor, data, count=3)

    def test_jobs_are_taken_as_they_can_be_started(self, executor: Executor) -> None:
        """An endless stream of jobs is no problem: the lead over the outcomes is bounded."""
        data, taken = some_data(), 0

        def endless() -> Iterator[Job]:
            nonlocal taken
            for taken in itertools.count(1):
                yield job(data, Script(seconds=0.005), name=str(taken))

        outcomes = executor.map(endless(), data)
        for given in range(1, 41):
            next(outcomes)
            assert taken - given <= self.max_lead
        _close(outcomes)

    def test_a_fit_that_raises_is_its_own_failure(self, executor: Executor) -> None:
        """The other fits get their answers, and the failure has the error message."""
        data = some_data()
        jobs = some_jobs(data, 12)
        jobs[5:5] = [job(data, Script("raise"), Script(), name="bad"), job(data, Script("exit"), name="worse")]
        found = by_key(executor.map(jobs, data))
        assert len(found) == sum(len(one.fits) for one in jobs)
        for key in ("bad/0", "bad/1", "worse/0"):
            failure = found[key].error
            assert failure is not None
            assert failure.kind == "raised"
        assert "as the script says" in str(found["bad/0"].error)
        assert all(outcome.error is None for key, outcome in found.items() if key[0].isdigit())

    def test_a_job_that_cannot_be_pickled_is_its_own_failure(self, executor: Executor) -> None:
        """Where jobs go to other processes, one that cannot be pickled fails by itself."""
        data = some_data()
        jobs = some_jobs(data, 4)
        jobs.insert(2, job(data, Script(payload=threading.Lock()), name="heavy"))
        found = by_key(executor.map(jobs, data))
        heavy = found.pop("heavy/0").error
        assert heavy is None or heavy.kind == "raised"
        assert all(outcome.error is None for outcome in found.values())

    def test_requested_models_are_returned(self, executor: Executor) -> None:
        """A model that is to be kept is part of the outcome; one that cannot be pickled is a failure at most."""
        data = some_data()
        jobs = [
            job(data, Script(payload={"fitted": 1}), name="kept", keep_model=True),
            job(data, Script("lock"), name="stuck", keep_model=True),
        ]
        found = by_key(executor.map(jobs, data))
        assert found["kept/0"].model == {"fitted": 1}
        stuck = found["stuck/0"]
        assert stuck.error is None or stuck.error.kind == "raised"

    def test_configuration_of_scikit_learn_reaches_fits(self, executor: Executor) -> None:
        """As it is when map is called."""
        data = some_data()
        for memory in (64, 32):
            with sklearn.config_context(working_memory=memory):
                found = by_key(executor.map([job(data, Script("config"), name="a")], data))
            expected = job(data, Script(number=memory), name="a").run(data)[0]
            assert found["a/0"].answers[0].values.tobytes() == expected.answers[0].values.tobytes()

    def test_closing_early_leaves_it_usable(self, executor: Executor) -> None:
        """The iterator may be closed at any time, before the first outcome too."""
        data = some_data()
        for taken in (0, 1, 3):
            outcomes = executor.map(iter(some_jobs(data, 100, seconds=0.01)), data)
            assert len(list(itertools.islice(outcomes, taken))) == taken
            _close(outcomes)
        assert_usable(executor, data)

    @pytest.mark.parametrize("error", [KeyboardInterrupt, RuntimeError])
    def test_an_exception_in_the_caller_leaves_it_usable(self, executor: Executor, error: type[BaseException]) -> None:
        """Ctrl-C while jobs run is one of them."""
        data = some_data()
        outcomes = cast("Generator[list[Outcome], None, None]", executor.map(some_jobs(data, 50, seconds=0.01), data))
        next(outcomes)
        with pytest.raises(error):
            outcomes.throw(error())
        assert_usable(executor, data)

    def test_an_exception_where_the_jobs_come_from_leaves_it_usable(self, executor: Executor) -> None:
        """It is the caller's to handle."""
        data = some_data()

        def faulty() -> Iterator[Job]:
            yield from some_jobs(data, 3)
            raise LookupError("no more of them")

        with pytest.raises(LookupError, match="no more of them"):
            list(executor.map(faulty(), data))
        assert_usable(executor, data)

    def test_closing_early_does_not_wait_for_a_long_fit(self, executor: Executor) -> None:
        """What runs is stopped, where that can be done."""
        if not self.can_kill:
            pytest.skip("cannot stop a fit")
        data = some_data()
        jobs = [job(data, Script(), name="short"), *(job(data, Script(seconds=300), name=str(i)) for i in range(5))]
        outcomes = executor.map(jobs, data)
        next(outcomes)
        _close(outcomes)  # a suite that hangs for minutes here has failed

    def test_a_deadline_ends_the_map(self, executor: Executor) -> None:
        """What is done by then has outcomes; what runs is stopped where that can be done, and has none."""
        data = some_data()
        list(executor.map(some_jobs(data, 30, seconds=0.02), data))  # the workers are there
        long = Script(seconds=300 if self.can_kill else 1.0)
        jobs = [job(data, Script(), name="short"), *(job(data, long, name=str(i)) for i in range(20))]
        deadline = time.monotonic() + 2.0
        found = by_key(executor.map(iter(jobs), data, deadline=deadline))
        assert time.monotonic() - deadline < 5.0
        assert "short/0" in found
        assert len(found) < len(jobs)
        again = some_jobs(data, 10)
        assert_as_here(executor.map(again, data, deadline=time.monotonic() + 600), again, data)

    def test_a_fit_past_its_limit_is_its_own_failure(self, strict: Executor) -> None:
        """It is a timeout, and neighbours get their answers."""
        hangs = Script(seconds=300 if self.can_kill else 3 * self.timeout)
        assert f"{self.timeout:g} s" in assert_only_failure(strict, some_data(), hangs, "timeout")

    def test_the_limit_is_for_each_model(self, strict: Executor) -> None:
        """A job that fits several models has several times as long."""
        data = some_data()
        share = Script(seconds=0.4 * self.timeout)
        found = by_key(strict.map([job(data, share, share, share, name="long")], data))
        assert [outcome.error for outcome in found.values()] == [None] * 3

    @pytest.mark.parametrize("action", ["die", "kill"])
    def test_a_fit_that_kills_its_worker_is_its_own_failure(self, restarting: Executor, action: Action) -> None:
        """It is a death, and neighbours get their answers."""
        message = assert_only_failure(restarting, some_data(), Script(action), "died")
        assert self.exit_messages.get(action, "") in message

    def test_a_worker_that_dies_once_is_replaced(self, restarting: Executor, tmp_path: Path) -> None:
        """The job is run again: the worker may have died of something else."""
        data = some_data()
        jobs = some_jobs(data, 6)
        jobs[2:2] = [job(data, Script("die once", path=str(tmp_path / "died")), name="unlucky")]
        found = by_key(restarting.map(jobs, data))
        assert (tmp_path / "died").exists()
        assert all(outcome.error is None for outcome in found.values())

    def test_close_may_be_called_twice(self) -> None:
        """Closing is for all ways out."""
        executor = self.make_executor()
        executor.close()
        self.dispose(executor)


def _close(outcomes: Iterator[list[Outcome]]) -> None:
    cast("Generator[list[Outcome], None, None]", outcomes).close()
