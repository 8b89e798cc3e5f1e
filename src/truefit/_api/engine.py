"""Engine: runs fits, shares equal ones and stores their predictions."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal, TypeVar

import numpy as np

from truefit._core.errors import BudgetSpent, FitError, InvalidInput
from truefit._engine.engine import BaseEngine, Listener, OnError
from truefit._executors.environment import available_cores, inside_worker
from truefit._executors.serial import SerialExecutor
from truefit._methods.selection.search_objects import SEARCHES, taken_apart
from truefit._solvers.plain import PlainSolver
from truefit._solvers.registry import all_solvers
from truefit._stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
    from concurrent import futures

    from truefit._core.data import Data
    from truefit._core.protocols import Executor, Plan, Solver, Store
    from truefit._executors.processes import ProcessExecutor

R = TypeVar("R")


class Engine(BaseEngine):
    """Runs fits, shares equal ones and stores their predictions. Two calls with one engine share their fits.

    Parameters
    ----------
    store : str, path or Store, optional
        None stores predictions in memory. A path is an SQLite file: rerun to resume a run that was killed.
    workers : int, default=1
        Number of parallel fits on this machine; -1 for all cores. They run in processes, or in threads, which start
        faster, where all learners release Python's lock: support vector machines.
    executor : concurrent.futures.Executor, optional
        Runs the fits in place of local processes, for instance Dask's ``client.get_executor()`` or ``RayExecutor()``.
    timeout : float, optional
        Seconds after which a fit is stopped. Fits then run in a worker process, even with one worker.
    memory : int or str, optional
        Memory that a worker may use: bytes, or text such as "500MB", "4GB" or "2GiB". A fit that needs more fails with
        that reason (kind "memory") and the others continue. It is a soft limit: memory in use is measured 20 times a
        second, without the table, which workers share. Fits then run in worker processes, even with one worker.
    on_error : {"raise", "record"}, default="raise"
        Whether a fit that fails raises an error, or is recorded and reported.
    solvers : {"auto", "plain"}, default="auto"
        "auto" uses exact shortcuts for groups of fits; "plain" fits one at a time, for comparison.
    progress : {"auto", True, False} or callable, default="auto"
        "auto" shows a bar on a terminal or in a notebook, and nothing otherwise. A callable gets the progress events.
    threads : int, default=1
        Threads that BLAS and OpenMP may use inside one fit. The same for any number of workers, so that the results are
        the same too.

    Attributes
    ----------
    stats : Stats
        Counts of fits requested, run, shared, stored, refitted and failed, and the seconds spent in them.
    workers : int
        Number of parallel fits on this machine; 1 where another executor runs them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from truefit import Engine, assess
    >>> engine = Engine()
    >>> X, y = load_iris(return_X_y=True)
    >>> first = assess(GaussianNB(), X, y, engine=engine)
    >>> again = assess(GaussianNB(), X, y, metric="log_loss", engine=engine)
    >>> engine.stats.run, engine.stats.shared
    (5, 5)
    """

    def __init__(
        self,
        store: Any = None,
        *,
        workers: int = 1,
        executor: futures.Executor | None = None,
        timeout: float | None = None,
        memory: int | str | None = None,
        on_error: Literal["raise", "record"] = "raise",
        solvers: Literal["auto", "plain"] = "auto",
        progress: Any = "auto",
        threads: int = 1,
    ) -> None:
        _check_choice("on_error", on_error, ("raise", "record"))
        _check_choice("solvers", solvers, ("auto", "plain"))
        _check_number("threads", threads, whole=True)
        if timeout is not None:
            _check_number("timeout", timeout)
        self.workers = 1 if executor is not None or inside_worker() else _worker_count(workers)
        chosen: tuple[Solver, ...] = (PlainSolver(),) if solvers == "plain" else all_solvers()
        serial = SerialExecutor(threads=threads)
        super().__init__(
            serial_executor=serial,
            store=_store_for(store),
            executor=_make_executor(_worker_count(workers), executor, timeout, memory, serial),
            solvers=chosen,
            scratch=MemoryStore,
            on_error=on_error,
            listener=_listener_for(progress),
        )
        self._takes_searches_apart = solvers == "auto"
        self._threads = threads
        self._one_worker: ProcessExecutor | None = None

    def run_all(
        self,
        plans: Sequence[tuple[Plan[Any], Data]],
        *,
        seconds: float | None = None,
        description: str = "",
        on_error: OnError | None = None,
    ) -> list[Any]:
        """Drive several plans at once; search objects among their estimators are taken apart."""
        if self._takes_searches_apart:
            plans = [(with_searches(plan, data), data) for plan, data in plans]
        return super().run_all(plans, seconds=seconds, description=description, on_error=on_error)

    def _executor_for(self, *, with_deadline: bool) -> Executor:
        return self._stoppable_executor() if with_deadline else self._executor

    def _stoppable_executor(self) -> Executor:
        """Return an executor that can stop a fit at a deadline: at least one worker process."""
        if not isinstance(self._executor, SerialExecutor) or inside_worker():
            return self._executor
        if self._one_worker is None:
            from truefit._executors.processes import ProcessExecutor

            self._one_worker = ProcessExecutor(1, threads=self._threads)
        return self._one_worker

    def _start_workers(self, data: Data) -> None:
        start = getattr(self._stoppable_executor(), "start", None)
        if start is not None:
            start(data)

    def stop_workers(self) -> None:
        """Stop the workers; results stay readable, and the next call starts new ones."""
        self._executor.close()
        if self._one_worker is not None:
            self._one_worker.close()

    def close(self) -> None:
        """Stop the workers and close the store."""
        self.stop_workers()
        self._store.close()

    def __enter__(self) -> Engine:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<Engine: {self.stats}>"

    # Clones of an estimator share its engine; pickles drop it.

    def __sklearn_clone__(self) -> Engine:
        return self

    def __copy__(self) -> Engine:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        return self

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()

    def __truefit_key__(self) -> None:
        return None  # the engine is no part of the identity of a fit


def with_searches(plan: Plan[R], data: Data) -> Plan[R]:
    """Drive a plan; fits of search objects are replaced by those of the candidates that they select."""
    try:
        tasks = next(plan)
        while True:
            tasks = tasks if isinstance(tasks, list) else list(tasks)
            try:
                if any(type(task.estimator) in SEARCHES for task in tasks):
                    tasks = yield from taken_apart(tasks, data)
                outcomes = yield tasks
            except (FitError, BudgetSpent) as error:
                tasks = plan.throw(error)
            else:
                tasks = plan.send(outcomes)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    finally:
        plan.close()


def engine_for_one_call(**options: Any) -> Engine:
    """Return an engine in memory for one call: changes between two calls need not be detected."""
    engine = Engine(**options)
    engine.reused = False
    return engine


def engine_or_new(engine: Engine | None) -> Engine:
    """Return the engine that was given, or one in memory."""
    if engine is None:
        return engine_for_one_call()
    if isinstance(engine, BaseEngine):
        return engine
    raise InvalidInput(
        f"The 'engine' parameter must be an Engine. Got {engine!r}; pass Engine({engine!r}) for a store."
    )


def _store_for(store: Any) -> Store:
    if store is None:
        return MemoryStore()
    if isinstance(store, str | os.PathLike):
        from truefit._stores.sqlite import SqliteStore

        return SqliteStore(store)
    if hasattr(store, "get") and hasattr(store, "put"):
        return store  # type: ignore[no-any-return]
    raise InvalidInput(f"The 'store' parameter must be None, a path or a Store. Got {store!r} instead.")


def _make_executor(
    workers: int, executor: Any, timeout: float | None, memory: int | str | None, serial: SerialExecutor
) -> Executor:
    threads = serial.threads
    if executor is not None:
        if not (hasattr(executor, "submit") and hasattr(executor, "map")):
            raise InvalidInput(
                f"The 'executor' parameter must be a concurrent.futures.Executor. Got {executor!r} instead."
            )
        if memory is not None:
            raise InvalidInput(
                "The 'memory' parameter must be None with an 'executor': its workers are not started here. Limit their "
                "memory where they are started, such as LocalCluster(memory_limit='4GB') of Dask."
            )
        from truefit._executors.futures import FuturesExecutor

        return FuturesExecutor(executor, timeout=timeout, threads=threads)
    if inside_worker() or (workers == 1 and timeout is None and memory is None):
        return serial
    # A fit in this process cannot be stopped: limits of time or memory need a worker process.
    from truefit._executors.processes import ProcessExecutor

    return ProcessExecutor(workers, timeout=timeout, threads=threads, memory=memory)


def _worker_count(workers: Any) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers == 0:
        raise InvalidInput(
            f"The 'workers' parameter must be a whole number, -1 for all cores. Got {workers!r} instead."
        )
    return int(workers) if workers > 0 else max(1, available_cores() + 1 + int(workers))


def _listener_for(progress: Any) -> Listener | None:
    if callable(progress):
        return progress  # type: ignore[no-any-return]
    if progress not in ("auto", True, False):
        raise InvalidInput(
            f"The 'progress' parameter must be 'auto', True, False or a callable. Got {progress!r} instead."
        )
    if progress is False:
        return None
    from truefit._report.progress import TerminalProgress

    return TerminalProgress()  # silent in a pipe


def _check_choice(name: str, value: Any, choices: tuple[str, ...]) -> None:
    if value not in choices:
        raise InvalidInput(
            f"The {name!r} parameter must be one of {', '.join(map(repr, choices))}. Got {value!r} instead."
        )


def _check_number(name: str, value: Any, *, whole: bool = False) -> None:
    kinds: Any = int | np.integer if whole else int | float | np.number
    if isinstance(value, bool) or not isinstance(value, kinds) or value <= 0:
        kind = "whole number" if whole else "number"
        raise InvalidInput(f"The {name!r} parameter must be a positive {kind}. Got {value!r} instead.")
