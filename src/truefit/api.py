"""The public functions: wiring, and nothing else."""

from __future__ import annotations

import os
from functools import partial
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.row_source import RowSource
from truefit.core.stacked import stacked_data
from truefit.engine.loop import Listener, Loop
from truefit.executors.serial import SerialExecutor
from truefit.executors.surroundings import inside_worker
from truefit.methods.aggregation.agghoo import splits_for
from truefit.methods.aggregation.cross_test import (
    Correction,
    CrossTest,
    CrossTestTerms,
    check_correction,
    cross_test_plan,
    is_triangle,
    nested_splits,
)
from truefit.methods.assessment.assess import Assessment, assess_plan
from truefit.methods.assessment.complexity_curve import Curve, curve_plan, points_along
from truefit.methods.assessment.estimate import IntervalChoice, check_interval_choice
from truefit.methods.candidates import Candidates
from truefit.methods.capacity.bias_variance import BiasVariance, bias_variance_plan, make_setup
from truefit.methods.comparison.compare import Comparison, compare_plan
from truefit.methods.comparison.terms import Terms, TestChoice
from truefit.methods.curves.extrapolate import Extrapolation, extrapolated
from truefit.methods.curves.learning_curve import (
    CurveTerms,
    LearningCurve,
    Sampled,
    curve_terms,
    learning_curve_plan,
    sampled_source,
    sampled_table,
)
from truefit.methods.curves.learning_curves import LearningCurves
from truefit.methods.curves.measured import Measured
from truefit.methods.curves.schedule import rows_to_begin
from truefit.methods.perturbation.perturb import perturb_plan
from truefit.methods.perturbation.perturbation import Perturbation
from truefit.methods.perturbation.terms import Mode, PerturbationKind, make_terms
from truefit.methods.selection.default_candidates import default_candidates
from truefit.methods.splitting.designs import make_design
from truefit.methods.splitting.splits import make_splits
from truefit.methods.study.allowance import Allowance, seconds_of
from truefit.methods.study.plan import model_plan, study_plan
from truefit.methods.study.study import Study
from truefit.methods.study.suspects import find_suspects
from truefit.methods.study.terms import StudyTerms
from truefit.metrics.metric import Metric, get_metric
from truefit.solvers import all_solvers
from truefit.solvers.opt_in import ApartStore, opt_in_solvers
from truefit.solvers.plain import PlainSolver
from truefit.sources.task import infer_task
from truefit.stores.memory import MemoryStore

if TYPE_CHECKING:
    from collections.abc import Sequence
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
    solvers : {"auto", "plain"} or tuple ending in "auto", default="auto"
        "plain" fits one at a time, for comparison. Before "auto" may stand solvers whose answers equal those of plain
        fitting only nearly, and which are used for no other reason than that they are named: "tree depths" (trees of
        several depths from the deepest; equal but for ties), "lasso path" (``Lasso`` and ``ElasticNet`` of several
        penalties, each from where the larger one ended; equal up to ``tol``) and "sgd epochs" (``SGDClassifier`` and
        ``SGDRegressor`` with ``tol=None`` and several ``max_iter``, from one run; equal up to rounding). A store keeps
        their answers apart.
    progress : {"auto", True, False} or callable, default="auto"
        A bar on a terminal or in a notebook, and silent otherwise; a callable is given the progress events.
    threads : int, default=1
        Threads that BLAS and OpenMP may use inside one fit. The same for any number of workers, so that the
        results are the same too.

    Attributes
    ----------
    stats : Stats
        Counts of fits asked, run, shared, stored, refitted and failed, and the seconds spent in them.
    workers : int
        Local processes; 1 where another executor runs the fits.

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
        solvers: Literal["auto", "plain"] | Sequence[str] = "auto",
        progress: Any = "auto",
        threads: int = 1,
    ) -> None:
        _check_choice("on_error", on_error, ("raise", "record"))
        named = _named_solvers(solvers)
        _check_number("threads", threads, whole=True)
        if timeout is not None:
            _check_number("timeout", timeout)
        self.workers = 1 if executor is not None or inside_worker() else _worker_count(workers)
        chosen: tuple[Solver, ...] = (PlainSolver(),) if solvers == "plain" else all_solvers(named)
        kept = _store_for(store)
        super().__init__(
            store=ApartStore(kept, [solver.name for solver in named]) if named else kept,
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


def _named_solvers(solvers: Any) -> tuple[Solver, ...]:
    """Return the opt-in solvers that are named before "auto"."""
    if isinstance(solvers, str):
        _check_choice("solvers", solvers, ("auto", "plain"))
        return ()
    known, names = opt_in_solvers(), tuple(solvers)
    if names[-1:] != ("auto",) or any(name not in known for name in names[:-1]):
        raise InvalidInput(
            f"solvers must be 'auto', 'plain', or names among {', '.join(map(repr, known))} followed by 'auto'. "
            f"Got {solvers!r}."
        )
    return tuple(known[name] for name in names[:-1])


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
    repeats: int | None = None,
    metric: str | None = None,
    interval: IntervalChoice = "auto",
    conservative: bool = False,
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
    design : str, splitter, or iterable of (train, test), default="kfold"
        How rows are split. With a name the folds depend on the rows, ``k`` and ``random_state`` alone, so that
        other methods on the same engine share the fits.

        - "kfold": each of k folds is tested on by the model trained on the others.
        - "holdout": the first of ``k`` folds is tested on. "threeway": a second one is to choose on, so that the
          test rows have no part in the choice of ``best``.
        - "nested": k folds, and every pair of folds left out too, which shows how much the learner itself varies.
        - "loo": leave-one-out.
        - "bootstrap": rows left out of samples drawn with replacement; ".632" and ".632+" weigh them with the error
          on the training rows (Efron and Tibshirani 1997).
    k : int, default=5
    repeats : int, optional
        How many partitions or hold-outs are made, by default 1; how many bootstrap samples, by default 100.
    metric : str, optional
        Such as "error", "accuracy", "auc", "mse", "r2", or any scikit-learn scorer name. By default the error of a
        classification and the mean squared error of a regression.
    interval : {"auto", "pooled", "bayle", "corrected_t", "triangle", "nested_cv", "conservative_z"}, default="auto"
        How the interval is made; "auto" takes what was seen to cover for the design and the metric
        (docs/coverage.md), and ``interval_method`` says which that is. "triangle" and "nested_cv" ask for the fits
        without each pair of folds, "conservative_z" for hold-outs within halves of the table.
    conservative : bool, default=False
        Take the wide corrected t interval where ``interval`` is "auto".
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
    method = "corrected_t" if conservative and interval == "auto" else interval
    spelled_out = make_design(
        data, design, chosen, k=k, repeats=repeats, interval=method, random_state=seed_of(random_state)
    )
    plan = assess_plan(candidates, data, spelled_out, chosen, level=level)
    return engine_or_new(engine).run(plan, data, description="assess")


def compare(
    estimators: Any,
    X: Any,
    y: Any,
    *,
    design: Any = "kfold",
    k: int = 5,
    repeats: int | None = None,
    metric: str | None = None,
    reference: str | None = None,
    rope: float | None = None,
    test: TestChoice = "corrected_t",
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Comparison:
    """Say which of several learners is best, and which of the others cannot be told apart from it.

    All are fitted on the same splits and compared pair by pair.

    Parameters
    ----------
    estimators : dict of names to estimators, or list of estimators
        At least two.
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    design : {"kfold", "holdout", "threeway", "nested", "loo"}, splitter, or iterable of (train, test), default="kfold"
    k : int, default=5
    repeats : int, optional
        How many partitions are made, by default 1. One shows large differences only; four show about twice as many.
    reference : str, optional
        Name of the estimator that the others are compared with; "all" for each with each. By default the best.
    rope : float, optional
        Region of practical equivalence: differences of the metric up to this much do not matter. Adds the
        probabilities that a candidate is better, equivalent or worse (Bayesian correlated t test).
    test : {"corrected_t", "pooled"}, default="corrected_t"
        The corrected resampled t test on the scores of the test sets, or a t test on the losses of single rows, which
        sees more from one partition, but too much where learners are unstable.
    level : float, default=0.95
        Level of the intervals; what is seen as different has an adjusted p-value of at most 1 - level.
    metric, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.dummy import DummyClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"dummy": DummyClassifier(), "bayes": GaussianNB(), "logistic": LogisticRegression(max_iter=500)}
    >>> result = compare(models, X, y)
    >>> result.best, result.ties
    ('bayes', ['bayes', 'logistic'])
    """
    check_interval_choice("auto", level)
    candidates = Candidates(estimators, y)
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    chosen = _metric_for(data, metric, pos_label)
    spelled_out = make_design(
        data, design, chosen, k=k, repeats=repeats, interval="auto", random_state=seed_of(random_state)
    )
    terms = Terms(reference, rope, test, level)
    plan = compare_plan(candidates, data, spelled_out, chosen, terms)
    return engine_or_new(engine).run(plan, data, description="compare")


def cross_test(
    agghoo: Any,
    X: Any,
    y: Any,
    *,
    cv: Any = 5,
    inner_cv: Any = None,
    metric: str | None = None,
    correction: Correction | None = None,
    baseline: bool = True,
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> CrossTest:
    """Say how good Agghoo is on rows that had no part in it: trained anew without each test set, and judged there.

    The members' validation scores cannot say it: they are the best of many, and of single models.

    Parameters
    ----------
    agghoo : AgghooRegressor or AgghooClassifier
        Its candidates, its scoring and its way of aggregating are used; its own ``cv`` is for fitting it.
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    cv : int, splitter, or iterable of (train, test), default=5
        The test sets.
    inner_cv : int or splitter, optional
        How the rows outside a test set are split for Agghoo. By default by the other folds of the same partition, so
        that K(K-1)/2 fits of each candidate serve all K test sets; a number or a splitter gives each training set
        splits of its own, as in the paper, for K times as many fits as Agghoo takes.
    metric : str, optional
        What is reported; by default what Agghoo chooses by.
    correction : {"learning_curve"}, optional
        Add what the validation score changes from inner training sets to those without one fold: the estimate is then
        of Agghoo trained on all rows. In simulation it had the smaller bias in 4 of 11 settings: see docs/agghoo.md.
    baseline : bool, default=True
        Fit every candidate without each single fold too, for ``mean_validation`` and ``cv_refit``: K more fits of each.
    level, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`. By default the engine is that of ``agghoo``.

    Returns
    -------
    CrossTest

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from truefit import AgghooRegressor, Engine, cross_test
    >>> X, y = load_diabetes(return_X_y=True)
    >>> engine = Engine(solvers="plain")
    >>> agghoo = AgghooRegressor(KNeighborsRegressor(), {"n_neighbors": [5, 15, 45]}, engine=engine)
    >>> result = cross_test(agghoo, X, y)
    >>> result.aggregation_gain > 0, engine.stats.run == (10 + 5) * 3
    (True, True)
    >>> agghoo = agghoo.fit(X, y)
    >>> engine.stats.run == (10 + 5) * 3
    True
    """
    check_interval_choice("auto", level)
    check_correction(correction, baseline)
    if not hasattr(agghoo, "agghoo_terms"):
        raise InvalidInput(
            "cross_test is for an AgghooRegressor or AgghooClassifier. Got "
            f"{type(agghoo).__name__}; use assess for other estimators, and put preprocessing into Agghoo's candidates."
        )
    terms = agghoo.agghoo_terms(y)
    data = Data(X, y, task=terms.task, groups=groups, weight=sample_weight)
    terms.check(data)
    chosen = terms.metric if metric is None else _metric_for(data, metric, pos_label)
    chosen.responses(agghoo)
    seed = seed_of(random_state)
    splits = splits_for(data, cv, seed)
    inner = nested_splits(data, splits, cv, inner_cv, seed)
    spelled_out = CrossTestTerms(
        terms, splits, inner, is_triangle(splits, inner_cv), chosen, baseline, correction, level
    )
    plan = cross_test_plan(spelled_out, data)
    shared = agghoo.engine if engine is None else engine
    if shared is not None:
        return engine_or_new(shared).run(plan, data, description="cross-test")
    own = Engine(workers=1 if agghoo.n_jobs is None else agghoo.n_jobs, on_error="record")
    try:
        return own.run(plan, data, description="cross-test")
    finally:
        own.stop_workers()


def bias_variance(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    rounds: int = 200,
    loss: Literal["auto", "squared", "0-1"] = "auto",
    X_test: Any = None,
    y_test: Any = None,
    noise: float | None = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> BiasVariance:
    """Say how much of a learner's error is bias and how much is variance.

    The learner is trained on bootstrap samples. Each model is judged on the rows that its sample left out, or on a
    test set. For each row the loss is split up over the models that judged it, and the parts are averaged over the
    rows, so that they sum to the expected loss.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
    X, y : table and target
    rounds : int, default=200
        How many bootstrap samples.
    loss : {"auto", "squared", "0-1"}, default="auto"
        By default squared loss for a regression and 0-1 loss for a classification (Domingos 2000, with noise 0). The
        squared loss of a classification is that of its probabilities, the Brier score.
    X_test, y_test : table and target, optional
        Rows to judge on in the place of those left out; nothing is trained on them.
    noise : float, optional
        The variance of the noise in y, where it is known: it is set apart from the squared bias.
    groups, sample_weight : array-like, optional
        Whole groups are drawn. Weights go to fit and to the mean over the rows; test rows count alike.
    random_state : int, RandomState or None
    engine : Engine, optional

    Returns
    -------
    BiasVariance

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> trees = {"stump": DecisionTreeRegressor(max_depth=1), "full tree": DecisionTreeRegressor()}
    >>> result = bias_variance(trees, X, y, rounds=50)
    >>> result.bias["stump"] > result.bias["full tree"], result.variance["stump"] < result.variance["full tree"]
    (True, True)
    >>> abs(result.bias["stump"] + result.variance["stump"] - result.expected_loss["stump"]) < 1e-10
    True
    """
    candidates = Candidates(estimator, y)
    if X_test is None and y_test is None:
        data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
        trained = data.n
    else:
        data, trained = stacked_data(X, y, X_test, y_test, task=candidates.task, groups=groups, weight=sample_weight)
    setup = make_setup(
        candidates, data, trained=trained, rounds=rounds, loss=loss, noise=noise, random_state=seed_of(random_state)
    )
    return engine_or_new(engine).run(bias_variance_plan(candidates, setup), data, description="bias and variance")


def perturb(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    levels: Any = None,
    repeats: int | None = None,
    perturbation: PerturbationKind = "auto",
    mode: Mode = "default",
    cv: int | None = 5,
    bounds: bool = False,
    level: float = 0.95,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Perturbation:
    """Say whether a learner fits: put noise into its training data, and see how much of it the learner follows.

    The learner is trained anew on the table with a share r of the labels flipped, and its accuracy on these very labels
    is measured. The decrease rate is minus the slope of the line through (r, accuracy): large where the learner fits
    the concept, near 0 where it memorises or has learned nothing (Perturbed Model Validation, Zhang et al. 2019).

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        All are given the same noise, so that their rates are compared in pairs.
    X, y : table and target
        Whatever scikit-learn takes; pandas and polars frames included.
    levels : list of shares from 0 to 0.5, or "adaptive", optional
        By default those of the paper: 0.05 to 0.50 in steps of 0.05. The undisturbed table is always among them.
        "adaptive" looks at 0, 0.25 and 0.5 first, and goes on with the candidates that cannot be told apart from the
        leader.
    repeats : int, optional
        How often the noise is drawn, by default 10; in paper mode once.
    perturbation : {"auto", "label", "random", "boundary", "feature", "target"}, default="auto"
        What is disturbed; by default labels of a classification and targets of a regression.

        - "label": a share of each class's labels, each flipped to one of the other classes.
        - "random": the same, but a share of all labels.
        - "boundary": a share of each class's labels, most of them near the decision boundary of the first estimator, as
          models see it that had not been trained on the rows.
        - "feature": in a share of the rows each value comes from another row, for each column from one drawn anew.
          Agreement is with the targets, which stay, on the rows as they were trained on.
        - "target": a share of a regression's targets, handed on among themselves; agreement is the correlation of
          fitted and disturbed targets.
    mode : {"default", "paper"}, default="default"
        "paper": one draw, rates without their sign, no cross-validation.
    cv : int or None, default=5
        Folds on which candidates are compared to tell overfitting from harmless memorising; None leaves that out.
    bounds : bool, default=False
        Measure the Rademacher complexity too, and bound the true error by it (Eq. 2 of the paper); for two classes.
    level : float, default=0.95
        Level of the intervals, and of telling rates apart.
    groups, sample_weight : array-like, optional
        Groups are kept together in folds. Weights go to fit and to accuracies.
    random_state : int, RandomState or None
    engine : Engine, optional

    Returns
    -------
    Perturbation

    Notes
    -----
    A learner *memorises* when it follows more than half of the noise (of noise in features or near the boundary, which
    can partly be learned, more than 90%). It is *overfitted* when it memorises and a candidate that memorises less is
    not worse on rows left out, by more than a standard error of their paired difference. It is *underfitted* when its
    training accuracy is not above the share of the largest class by more than 0.05.

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> result = perturb({"bayes": GaussianNB(), "tree": DecisionTreeClassifier()}, X, y, repeats=3)
    >>> result.verdict
    {'bayes': 'no flag', 'tree': 'overfitted'}
    >>> abs(result.rate["tree"]) < 1e-12, result.memorisation["tree"]
    (True, 1.0)
    """
    check_interval_choice("auto", level)
    candidates = Candidates(estimator, y)
    terms = make_terms(
        candidates,
        Data(X, y, task=candidates.task, groups=groups, weight=sample_weight),
        levels=levels,
        repeats=repeats,
        perturbation=perturbation,
        mode=mode,
        cv=cv,
        bounds=bounds,
        level=level,
        random_state=seed_of(random_state),
    )
    return engine_or_new(engine).run(perturb_plan(candidates, terms), terms.data, description="perturb")


def complexity_curve(
    estimator: Any,
    X: Any,
    y: Any,
    *,
    parameter: str,
    values: Any,
    design: Any = "kfold",
    k: int = 5,
    repeats: int | None = None,
    metric: str | None = None,
    interval: IntervalChoice = "auto",
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> Curve:
    """Follow the error along a parameter that makes the learner simpler or richer, on training and on test rows.

    Where both are high the learner is too simple; where the training error is low and the test error high it is too
    rich. Parameters along which one fit contains the others, such as the stages of boosting, take one fit per split.

    Parameters
    ----------
    estimator : estimator
    X, y : table and target
    parameter : str
        Name of the parameter, as ``set_params`` takes it.
    values : list
        What it is set to.
    design, k, repeats, metric, interval, level, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.

    Returns
    -------
    Curve

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> curve = complexity_curve(DecisionTreeClassifier(random_state=0), X, y, parameter="max_depth", values=[1, 3, 9])
    >>> curve.table["train"].round(2).tolist()
    [0.07, 0.03, 0.0]
    """
    check_interval_choice(interval, level)
    candidates = Candidates(estimator, y)
    if not candidates.single:
        raise InvalidInput(
            f"A complexity curve is of one estimator. Got {len(candidates.names)}; ask for one at a time."
        )
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    chosen = _metric_for(data, metric, pos_label)
    spelled_out = make_design(
        data, design, chosen, k=k, repeats=repeats, interval=interval, random_state=seed_of(random_state)
    )
    points = points_along(candidates.estimators[candidates.names[0]], parameter, values, spelled_out)
    plan = curve_plan(points, data, chosen, varied=parameter, level=level)
    return engine_or_new(engine).run(plan, data, description="complexity curve")


def learning_curve(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    schedule: Any = "adaptive",
    k: int = 10,
    tolerance: float | None = None,
    horizon: float | None = None,
    budget: Any = None,
    target: float | None = None,
    mode: Mode = "default",
    metric: str | None = None,
    level: float = 0.95,
    train: bool = False,
    batches: Any = None,
    pos_label: Any = None,
    groups: Any = None,
    sample_weight: Any = None,
    random_state: Any = None,
    engine: Engine | None = None,
) -> LearningCurve | LearningCurves:
    """Say whether more data would help: measure the error in samples that grow, until that is known.

    Each sample contains the one before, and is cross-validated in itself. Rows are used only as far as they are
    needed: where what is still to be gained does not matter any more, the curve ends.

    Parameters
    ----------
    estimator : estimator, dict of names to estimators, or list of estimators
        Each has a curve of its own, with sizes of its own.
    X, y : table and target
        Whatever scikit-learn takes; or, in place of both, rows on demand (:class:`truefit.core.row_source.RowSource`),
        of which no more are read than are needed.
    schedule : {"adaptive", "paper"} or list of int, default="adaptive"
        At which sizes to measure. "adaptive": each 1.1 to 2 times the one before, as far as it takes for the error to
        fall by more than its noise. "paper": 80, 90, 100, 200, ..., 1000, 2000, ... A list is measured in full.
    k : int, default=10
        Folds inside each sample. That of all rows has the folds of :func:`assess`, and shares its fits.
    tolerance : float, optional
        How much of an error does not matter. By default 0.02; of a loss 2% of the largest measured.
    horizon : float, optional
        Rows that could be had at most, by default those there are; where all of them are used, ten times as many.
    budget : int or dict, optional
        Rows that may be used; or a dict with some of "rows", "seconds" (in fits), and "money" at a "price_per_row".
    target : float, optional
        An error that is enough.
    mode : {"default", "paper"}, default="default"
        "paper": Procedure 1 of Brumen et al. (2007), with its sizes, fit, intervals and stopping rule.
    metric : str, optional
        A loss, such as "error", "log_loss", "mse" or "mae". By default the error of a classification and the mean
        squared error of a regression.
    level : float, default=0.95
        Level of the intervals, from 0.2 to 0.99.
    train : bool, default=False
        Whether to measure the error on the training rows too. Fits that were made without it are made again.
    batches : list of int, optional
        Where rows came one batch after the other: the number of rows after each batch. Rows that were there before keep
        their places in the samples, so that with the same store only what is new is fitted. Of rows on demand, which
        keep their places by themselves: how many there were at earlier calls.
    pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`.

    Returns
    -------
    LearningCurve, or LearningCurves of several estimators

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from sklearn.naive_bayes import GaussianNB
    >>> X, y = load_digits(return_X_y=True)
    >>> curve = learning_curve(GaussianNB(), X, y, k=5)
    >>> curve.stopped, curve.rule, curve.refused
    (True, 'gain', None)
    >>> value, low, high = curve.predict(10_000)
    >>> bool(low < value < curve.errors[-1])
    True
    """
    engine, seed = engine_or_new(engine), seed_of(random_state)
    source = X if y is None and isinstance(X, RowSource) else None
    if source is not None and not (groups is None and sample_weight is None):
        raise InvalidInput("Groups and weights must come with a table in memory. Got rows on demand; leave them out.")
    wanted = rows_to_begin(schedule)
    while True:
        if source is None:
            candidates = Candidates(estimator, y)
            data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
            sampled = sampled_table(data, batches=batches, random_state=seed)
        else:
            taken = source.take(wanted)
            candidates = Candidates(estimator, taken[1])
            if candidates.task == "classification" and len(taken[1]) == wanted and len(np.unique(taken[1])) < 2:
                wanted *= 2  # the first rows may well be of one class
                continue
            sampled = sampled_source(source, wanted, Data(*taken, task=candidates.task), batches=batches)
        chosen = _metric_for(sampled.data, metric, pos_label)
        terms = curve_terms(
            sampled,
            chosen,
            schedule=schedule,
            k=k,
            budget=budget,
            mode=mode,
            level=level,
            tolerance=tolerance,
            horizon=horizon,
            target=target,
            train=train,
            random_state=seed,
        )
        if terms is None:
            wanted *= 2
            continue
        curves = _curves(candidates, sampled, terms, engine)
        ahead = [curve.next_size for curve in curves.values() if not curve.stopped and curve.next_size is not None]
        if not ahead:
            return curves[candidates.names[0]] if candidates.single else LearningCurves(curves)
        wanted = min(ahead)


def _curves(candidates: Candidates, sampled: Sampled, terms: CurveTerms, engine: Engine) -> dict[str, LearningCurve]:
    plans = [(learning_curve_plan(name, each, sampled, terms), sampled.data) for name, each in candidates]
    found = engine.run_all(plans, description="learning curve")
    for result in found:
        if isinstance(result, BaseException):
            raise result
    return dict(zip(candidates.names, found, strict=True))


def extrapolate(
    sizes: Any,
    errors: Any,
    stderr: Any = None,
    *,
    level: float = 0.95,
    mode: Mode = "default",
    tolerance: float | None = None,
    horizon: float | None = None,
    largest: float | None = None,
) -> Extrapolation:
    """Say what more rows would bring, from a learning curve that was measured elsewhere: no data, no fits.

    Parameters
    ----------
    sizes : list of numbers
        Rows that a learner was trained on, in any order. Errors at the same size are averaged.
    errors : list of numbers
        Its error on other rows: shares such as 0.139, or any loss.
    stderr : list of numbers, optional
        Standard errors of the errors.
    level : float, default=0.95
        Level of the intervals, from 0.2 to 0.99. In paper mode it is the paper's 0.999.
    mode : {"default", "paper"}, default="default"
        "paper": a + b·n^c through all points alike, plus and minus rσ, and the stopping rule of Brumen et al. (2007).
    tolerance : float, optional
        How much of an error does not matter, for ``stopped``. By default 0.02; of a loss 2% of the largest measured;
        in paper mode 2 where errors are percent.
    horizon : float, optional
        Rows that could be had at most, for ``stopped`` and the plot. By default ten times the largest size.
    largest : float, optional
        The largest value that an error can have: 1 for shares, infinite for a loss. By default 1 where no error exceeds
        1. What is known of error rates is applied to a loss in units of the largest error measured, and its intervals
        have no upper end other than that.

    Returns
    -------
    Extrapolation

    Notes
    -----
    Power laws are fitted with more weight on later points, the more so the less the points scatter, and averaged over
    their exponents. The intervals come from how far such extrapolations of real learning curves were off
    (docs/reproduction/lcdb.md). A curve that has not begun to fall, or rises at its end, is refused.

    Examples
    --------
    >>> sizes = [100, 200, 400, 800, 1600, 3200]
    >>> result = extrapolate(sizes, [0.312, 0.251, 0.209, 0.182, 0.160, 0.148])
    >>> value, low, high = result.predict(12_800)
    >>> low < value < high < 0.16
    True
    >>> print(result.rows_for(0.05).rows, result.refused)
    None None
    """
    measured = Measured.of(sizes, errors, stderr, largest=largest)
    return extrapolated(measured, level=level, mode=mode, tolerance=tolerance, horizon=horizon)


def study(
    X: Any,
    y: Any,
    models: Any = None,
    *,
    budget: Any = None,
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
    """Answer all four questions about a table: which model, how good is it, does it fit, would more data help?

    All candidates are cross-validated on the same folds; the choice is then made anew without each fold and judged on
    it, from the same fits, so that the reported number is that of the choice and not of its luck. The chosen one is
    looked at under noise, over bootstrap samples and as its rows grow in number, as far as time allows.

    Parameters
    ----------
    X, y : table and target
        A frame may hold text, dates, categories and missing values.
    models : estimator, dict or list, optional
        By default a set that suits the task and the table.
    budget : float or str, optional
        Seconds by the clock, or text such as "90s", "10m" or "1h". Candidates that are too slow for it, questions for
        which there is no time and samples that are looked at in the place of all rows are named in the result. By
        default all candidates are searched, and the further questions take about as long as that.
    metric : str, optional
        By default the error of a classification and the root mean squared error of a regression.
    k, level, pos_label, groups, sample_weight, random_state, engine
        As for :func:`assess`. Without an engine of one's own, candidates that cannot be fitted are left out and named.
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
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> models = {"dummy": DummyClassifier(), "naive Bayes": GaussianNB(), "tree": DecisionTreeClassifier()}
    >>> result = study(X, y, models)
    >>> for answer in result.answers:
    ...     print(answer.question, answer.headline)
    Which model? Use naive Bayes.
    How good is it, really? Expect an error of ...% (...% to ...%) on new rows.
    Does it fit? ...
    Would more data help? ...
    >>> result.perturbation.memorisation["naive Bayes"] < 0.5
    True
    """
    check_interval_choice("auto", level)
    seconds = seconds_of(budget)
    if models is None:
        models = default_candidates(X, infer_task(y)[0] if task is None else task)
    candidates = Candidates(models, y)
    data = Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)
    if metric is None and data.task == "regression":
        metric = "rmse"
    chosen = _metric_for(data, metric, pos_label)
    seed = seed_of(random_state)
    splits = make_splits(data, "kfold", k=k, random_state=seed)
    engine = Engine(on_error="record") if engine is None else engine_or_new(engine)
    allowance = Allowance(seconds, getattr(engine, "workers", 1))
    terms = StudyTerms(candidates, data, splits, chosen, level, allowance, seed, find_suspects(data))
    result = engine.run(study_plan(terms), data, seconds=seconds, description="study")
    result.fits = engine.stats.to_dict()
    result.refit = partial(_refitted, engine, candidates.estimators[result.best], data)
    return result


def _refitted(engine: Engine, estimator: Any, data: Data) -> Any:
    return engine.run(model_plan(estimator, data.n), data, description="refit")


def _metric_for(data: Data, metric: str | None, pos_label: Any) -> Metric:
    if pos_label is not None and (data.classes is None or pos_label not in data.classes.tolist()):
        known = "none: this is a regression" if data.classes is None else ", ".join(map(repr, data.classes.tolist()))
        raise InvalidInput(
            f"The 'pos_label' parameter must be a class of y. Got {pos_label!r}; the classes are {known}."
        )
    chosen = get_metric(metric, data.task, pos_label=pos_label)
    chosen.check(data)
    return chosen


def engine_or_new(engine: Engine | None) -> Engine:
    """Return the engine that was given, or one in memory."""
    if engine is None:
        return Engine()
    if isinstance(engine, Loop):
        return engine
    raise InvalidInput(
        f"The 'engine' parameter must be an Engine. Got {engine!r}; pass Engine({engine!r}) for a store."
    )
