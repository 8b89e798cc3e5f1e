"""The public functions: wiring, and nothing else."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.engine.loop import Listener, Loop
from truefit.executors.serial import SerialExecutor
from truefit.executors.surroundings import inside_worker
from truefit.methods.assess import Assessment, assess_plan
from truefit.methods.candidates import Candidates
from truefit.methods.default_candidates import default_candidates
from truefit.methods.estimate import IntervalChoice, check_interval_choice
from truefit.methods.splits import make_splits
from truefit.methods.study import Study, study_plan
from truefit.metrics.metric import Metric, get_metric
from truefit.solvers import all_solvers
from truefit.solvers.plain import PlainSolver
from truefit.sources.task import infer_task
from truefit.stores.memory import MemoryStore

if TYPE_CHECKING:
    from concurrent import futures

    from truefit.core.job import Executor, Solver, Store


class Engine(Loop):
    """How fits are run, shared and kept. Two calls with one engine share their fits.

    Parameters
    ----------
    store : str, path or Store, optional
        None keeps outcomes in memory. A path is an SQLite file: a run that was killed goes on from it.
    workers : int, default=1
        Local processes; -1 for all cores.
    executor : concurrent.futures.Executor, optional
        Runs the fits in place of local processes, for instance Dask's ``client.get_executor()``.
    timeout : float, optional
        Seconds that a fit may take.
    on_error : {"raise", "record"}, default="raise"
        Whether a fit that fails ends the method, or is recorded and reported.
    solvers : {"auto", "plain"}, default="auto"
        "plain" fits one at a time, for comparison.
    progress : {"auto", True, False} or callable, default="auto"
        A bar on a terminal or in a notebook, and silent otherwise; a callable is given the progress events.
    threads : int, default=1
        Threads that BLAS and OpenMP may use inside one fit. The same for any number of workers, so that the
        results are the same too.

    Attributes
    ----------
    stats : Stats
        Counts of fits asked, run, shared, stored, refitted and failed, and the seconds spent in them.

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
        chosen: tuple[Solver, ...] = (PlainSolver(),) if solvers == "plain" else all_solvers()
        super().__init__(
            store=_store_for(store),
            executor=_executor_for(_worker_count(workers), executor, timeout, threads),
            solvers=chosen,
            scratch=MemoryStore,
            on_error=on_error,
            listener=_listener_for(progress),
        )

    def stop_workers(self) -> None:
        """Stop the workers; results stay readable, and the next call starts new ones."""
        self._executor.close()

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

    # An engine is shared by whatever holds it: clones of an estimator keep it, pickles leave it behind.

    def __sklearn_clone__(self) -> Engine:
        return self

    def __copy__(self) -> Engine:
        return self

    def __deepcopy__(self, memo: dict[int, Any]) -> Engine:
        return self

    def __reduce__(self) -> tuple[type, tuple[()]]:
        return type(None), ()

    def __truefit_key__(self) -> None:
        return None  # how fits are run is no part of what they are


def _store_for(store: Any) -> Store:
    if store is None:
        return MemoryStore()
    if isinstance(store, str | os.PathLike):
        from truefit.stores.sqlite import SqliteStore

        return SqliteStore(store)
    if hasattr(store, "get") and hasattr(store, "put"):
        return store  # type: ignore[no-any-return]
    raise InvalidInput(f"The 'store' parameter must be None, a path or a Store. Got {store!r} instead.")


def _executor_for(workers: int, executor: Any, timeout: float | None, threads: int) -> Executor:
    if executor is not None:
        if not (hasattr(executor, "submit") and hasattr(executor, "map")):
            raise InvalidInput(
                f"The 'executor' parameter must be a concurrent.futures.Executor. Got {executor!r} instead."
            )
        from truefit.executors.futures import FuturesExecutor

        return FuturesExecutor(executor, timeout=timeout, threads=threads)
    if inside_worker() or (workers == 1 and timeout is None):
        return SerialExecutor(threads=threads)
    # A fit in this process cannot be stopped, so a time limit takes a worker even for one.
    from truefit.executors.processes import ProcessExecutor

    return ProcessExecutor(workers, timeout=timeout, threads=threads)


def _worker_count(workers: Any) -> int:
    if isinstance(workers, bool) or not isinstance(workers, int | np.integer) or workers == 0:
        raise InvalidInput(
            f"The 'workers' parameter must be a whole number, -1 for all cores. Got {workers!r} instead."
        )
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return int(workers) if workers > 0 else max(1, cores + 1 + int(workers))


def _listener_for(progress: Any) -> Listener | None:
    if callable(progress):
        return progress  # type: ignore[no-any-return]
    if progress not in ("auto", True, False):
        raise InvalidInput(
            f"The 'progress' parameter must be 'auto', True, False or a callable. Got {progress!r} instead."
        )
    if progress is False:
        return None
    from truefit.report.progress import TerminalProgress

    return TerminalProgress()  # looks for itself where it is, and is silent in a pipe


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


def seed_of(random_state: Any) -> int | None:
    """Return a seed as an int; a generator is drawn from once."""
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        return int(random_state)
    raise InvalidInput(
        f"The 'random_state' parameter must be None, an int or a RandomState. Got {random_state!r} instead."
    )


def assess(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    design: Any = "kfold",
    k: int = 5,
    repeats: int = 1,
    metric: str | None = None,
    interval: IntervalChoice = "auto",
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Assessment:
    """Say how good a learner is, with an interval.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    design : {"kfold", "holdout", "loo"}, splitter, or iterable of (train, test), default="kfold"
        How rows are split. With a name the folds depend on the rows, ``k`` and ``random_state`` alone, so that
        other methods on the same engine share the fits. "holdout" tests on the first of ``k`` folds.
    k : int, default=5
    repeats : int, default=1
        How many partitions are made.
    metric : str, optional
        Such as "error", "accuracy", "auc", "mse", "r2", or any scikit-learn scorer name. By default the error of a
        classification and the mean squared error of a regression.
    interval : {"auto", "pooled", "corrected_t"}, default="auto"
    level : float, default=0.95
    pos_label : label, optional
        The positive class where a metric needs one.
    groups, sample_weight : array-like, optional
        Rows of one group are never split up by "kfold" and "holdout". Weights go to fit and to scores.
    random_state : int, RandomState or None
    engine : Engine, optional

    Returns
    -------
    Assessment

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> result = assess(GaussianNB(), X, y)
    >>> low, high = result.interval
    >>> low < result.estimate < high
    True
    >>> result.score("accuracy") == 1 - result.estimate
    True
    """
    check_interval_choice(interval, level)
    candidates = Candidates(estimator, y)
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    chosen = _metric_for(data, metric, pos_label)
    splits = make_splits(data, design, k=k, repeats=repeats, random_state=seed_of(random_state))
    plan = assess_plan(candidates, data, splits, chosen, interval=interval, level=level)
    return _engine_or_new(engine).run(plan, data, description="assess")


def study(
    X: Any,
    y: Any,
    models: Any = None,
    *,
    k: int = 5,
    metric: str | None = None,
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Study:
    """Say which model to use, and how good it is once it has been chosen.

    All candidates are cross-validated on the same folds; the choice is then made anew without each fold and
    judged on it, from the same fits, so that the reported number is that of the choice and not of its luck.

    Parameters
    ----------
    X, y : table and target
        A frame may hold text, dates, categories and missing values.
    models : estimator, dict or list, optional
        By default a small set that suits the task and the table.
    k, metric, level, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.
    task : {"classification", "regression"}, optional
        What the default candidates are for; inferred from y by default.

    Returns
    -------
    Study

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> study(X, y, {"dummy": DummyClassifier(), "naive Bayes": GaussianNB()}).best
    'naive Bayes'
    """
    check_interval_choice("auto", level)
    if models is None:
        models = default_candidates(X, infer_task(y)[0] if task is None else task)
    candidates = Candidates(models, y)
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    chosen = _metric_for(data, metric, pos_label)
    seed = seed_of(random_state)
    splits = make_splits(data, "kfold", k=k, random_state=seed)
    plan = study_plan(candidates, data, splits, chosen, level=level, random_state=seed)
    engine = _engine_or_new(engine)
    result = engine.run(plan, data, description="study")
    result.fits = engine.stats.to_dict()
    return result


def _metric_for(data: Data, metric: str | None, pos_label: Any) -> Metric:
    if pos_label is not None and (data.classes is None or pos_label not in data.classes.tolist()):
        known = "none: this is a regression" if data.classes is None else ", ".join(map(repr, data.classes.tolist()))
        raise InvalidInput(
            f"The 'pos_label' parameter must be a class of y. Got {pos_label!r}; the classes are {known}."
        )
    chosen = get_metric(metric, data.task, pos_label=pos_label)
    chosen.check(data)
    return chosen


def _engine_or_new(engine: Engine | None) -> Engine:
    if engine is None:
        return Engine()
    if isinstance(engine, Loop):
        return engine
    raise InvalidInput(
        f"The 'engine' parameter must be an Engine. Got {engine!r}; pass Engine({engine!r}) for a store."
    )
