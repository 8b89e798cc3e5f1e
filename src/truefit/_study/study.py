"""All four questions about one table."""

from __future__ import annotations

import difflib
import warnings
from collections.abc import Collection, Iterable, Mapping
from functools import partial
from pathlib import Path
from time import monotonic
from typing import Any, Literal

from sklearn.model_selection import TimeSeriesSplit

from truefit._api.engine import Engine, engine_for_one_call, engine_or_new
from truefit._api.validation import K_TO_CV, read_input, renamed_keywords, resolve_folds, resolve_metric, resolve_seed
from truefit._core.data import Data, take_time
from truefit._core.errors import BudgetSpent, InvalidInput
from truefit._core.parameters import weight_parameter
from truefit._core.provenance import now, versions
from truefit._core.validation import Task, check_level, checked_table
from truefit._methods.candidates import Candidates
from truefit._methods.evaluation.inputs import check_two_classes
from truefit._methods.selection.default_candidates import candidate_named, default_candidates
from truefit._methods.selection.families import ModelFamily, Setting, default_families, family_named, settings_of
from truefit._methods.splitting.forward import enough_periods
from truefit._methods.splitting.splits import Splits, cv_splits, is_whole
from truefit._methods.subplans import with_kept_models
from truefit._methods.text import counted
from truefit._metrics.metric import Metric, get_metric
from truefit._study.budget import TimeBudget, nominal_seconds, seconds_of
from truefit._study.checks import check_table, resolve_ignored
from truefit._study.checks.base import CheckedTable
from truefit._study.config import StudyConfig, is_baseline
from truefit._study.ensemble import fitted_ensemble
from truefit._study.evidence import NotRun
from truefit._study.external_test import read_test
from truefit._study.importance import SHARE, measured_importance
from truefit._study.page import store_study
from truefit._study.plan import model_plan, study_plan
from truefit._study.prediction_intervals import with_intervals
from truefit._study.result import Study
from truefit.sources.table import infer_task


@renamed_keywords(K_TO_CV)
def study(
    X: Any,
    y: Any,
    models: Any = None,
    *,
    tune: bool = True,
    budget: Any = None,
    cv: Any = 5,
    metric: str | None = None,
    level: float = 0.95,
    pos_label: Any = None,
    groups: Any = None,
    time: Any = None,
    test: tuple[Any, ...] | None = None,
    sample_weight: Any = None,
    task: Literal["classification", "regression"] | None = None,
    random_state: Any = None,
    ignore: Collection[str] = (),
    importance: bool = False,
    engine: Engine | None = None,
) -> Study:
    """Answer all four questions about a table: which model, how good is it, does it fit, would more data help?

    All candidates are cross-validated on the same folds. Nested cross-validation, from the same fits, estimates how
    good the selected model is. The selected model is then diagnosed with label noise, bootstrap samples and learning
    curves, as far as time allows. The table is checked before any fit, and the results at the end (docs/findings.md).

    Without a budget, a rerun gives the same numbers on any machine, if the candidates are of known families: the effort
    follows from the size of the table. Otherwise finding TF303 says so.

    Parameters
    ----------
    X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
        The table. A frame may hold text, dates, categories and missing values.
    y : array-like of shape (n_samples,)
        The target. The name of a Series is shown in the report.
    models : estimator, dict, list or str, optional
        Candidates: an estimator, a list of them, a dict from names to estimators, or names of default candidates such
        as ``["linear", "tree"]``; ``"tree+platt"`` and ``"tree+isotonic"`` have recalibrated probabilities. By default
        a set that suits the task and the table; with ``sample_weight`` those of it that take weights. In a dict, a
        tuple of an estimator and a grid of parameters is a family: every setting of it is a candidate.
    tune : bool, default=True
        Whether default candidates are tuned, named ones too: each is a family with a search space of its own, and the
        selection is among all settings of all families. The estimate is as honest as without tuning: nested
        cross-validation repeats the whole selection. Without tuning each has one fixed setting, which takes a fraction
        of the time. Estimators of your own are compared as they are.
    budget : float or str, optional
        Seconds by the clock, or text such as "90s", "10m" or "1h". Fits that are running when it is exhausted are
        stopped, so fits run in a worker process, even with one worker. The result names candidates that were too slow,
        parts that were not run, and parts that used a sample of the rows. By default all candidates are searched, and
        the other parts take about as long as the search.
    cv : int or TimeSeriesSplit, default=5
        Number of folds; with ``time`` of periods. Candidates are also fitted without every two folds, for nested
        cross-validation. With ``time`` it may be a scikit-learn ``TimeSeriesSplit``: training windows of limited length
        (``max_train_size``), a gap between training and test rows.
    metric : str, optional
        By default the error of a classification and the root mean squared error of a regression.
    level : float, default=0.95
        Level of confidence intervals and tests.
    pos_label : label, optional
        The positive class of a metric that needs one. By default the second class in sorted order.
    groups : array-like, optional
        The group of each row. Folds never split a group between training and test rows.
    time : array-like or str, optional
        The time of each row (numbers or dates), or the name of a column of X, which is then no feature. Rows are not
        shuffled: every number is from ``cv`` periods, each tested by models trained on the rows before it, and the
        estimate is for the next period. The result also has the number that shuffled cross-validation gives. Parts that
        need shuffled rows are not run.
    test : tuple of (X_test, y_test) or (X_test, y_test, groups_test), optional
        A separate test set. Everything is done on X and y; the selected model, trained on all of their rows, is then
        evaluated once on the test set, with its own interval, beside the estimate from nested cross-validation
        (``result.test``). Its rows count alike, and as independent unless they have groups of their own. Classes that
        the training rows lack count as errors.
    sample_weight : array-like, optional
        The weight of each row, passed to ``fit`` and used in the scores.
    task : {"classification", "regression"}, optional
        Task of the default candidates; inferred from y by default.
    random_state : int, RandomState or Generator, optional
        Seed of folds, samples and noise.
    ignore : collection of str, default=()
        Codes of findings to mute, such as ``("TF104",)``.
    importance : bool, default=False
        Measure which columns the selected model needs, too (``result.importance()`` does it later). With a budget, 15%
        of it is for this.
    engine : Engine, optional
        Runs, shares and stores the fits. By default an engine for this call that records candidates that cannot be
        fitted and goes on with the others.

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
    >>> [finding.title for finding in result.findings if finding.severity != "info"]
    ['Duplicate rows', 'Probabilities are not calibrated']
    """
    started = monotonic()
    check_level(level)
    seconds, ignored = seconds_of(budget), resolve_ignored(ignore)
    _check_table(X, y)
    features = X if time is None else take_time(X, time)[0]
    families = _families(models, features, y, task, weighted=sample_weight is not None, tune=tune)
    settings = settings_of(families)
    if families:
        models = {name: setting.estimator for name, setting in settings.items()}
    roles = {"groups": groups, "sample_weight": sample_weight, "time": time}
    candidates, data = read_input(models, X, y, **roles)
    external = None if test is None else read_test(test, data)
    if metric is None and data.task == "regression":
        metric = "rmse"
    chosen = resolve_metric(data, metric, pos_label)
    if external is not None:
        check_two_classes(chosen, external.y, data.classes)
    seed = resolve_seed(random_state)
    if data.time is None or not isinstance(cv, TimeSeriesSplit):
        cv = resolve_folds(cv, why="nested cross-validation also leaves out pairs of them")
    chosen, splits, refused = _with_every_class(chosen, data, cv, seed)
    not_run = refused + _suited(candidates, chosen, settings)
    settings = {name: each for name, each in settings.items() if name in candidates.names}
    families = {each.family: families[each.family] for each in settings.values()}
    own = engine is None
    engine = engine_for_one_call(on_error="record") if engine is None else engine_or_new(engine)
    known = all(nominal_seconds(each, data.n, 1) is not None for _, each in candidates)
    time_budget = TimeBudget(
        seconds, getattr(engine, "workers", 1), measured=seconds is not None or not known, started=started,
        kept=0.0 if seconds is None else seconds * SHARE * importance,
    )  # fmt: skip
    config = StudyConfig(
        candidates,
        data,
        splits,
        chosen,
        level,
        time_budget,
        seed,
        target=_name_of(y),
        findings=tuple(check_table(CheckedTable(data, chosen, len(splits), external, bool(refused)), ignored)),
        ignore=ignored,
        roles={role: _name_of(given) or "" for role, given in roles.items() if given is not None},
        families=families,
        settings=settings,
        pos_label=pos_label,
        not_run=not_run,
    )
    left = None if seconds is None else seconds * (1 - SHARE * importance) - (monotonic() - started)
    try:
        result = engine.run(study_plan(config), data, seconds=left, description="study")
        kept: dict[bytes, Any] = {}  # the selected model on the folds and on all rows, for whatever needs it
        result.refit = partial(_refitted, engine, candidates.estimators[result.best], data, kept)
        result.refit_intervals = partial(_with_intervals, engine, config, result.best, kept)
        if result.averaged is not None:
            result.refit_ensemble = partial(fitted_ensemble, engine, config, result.averaged)
        result.permute = partial(measured_importance, engine, config, result.best, kept)
        if importance:
            rest = None if seconds is None else max(seconds - (monotonic() - started), 0.0)
            _measure_importance(result, rest)
        if external is not None:
            result.evaluate(external, data)
    finally:
        if own:
            engine.stop_workers()
    result.fits = engine.stats.to_dict()
    options = {
        "tune": None if tune else False,
        "budget": budget,
        "cv": cv,
        "metric": metric,
        "level": level,
        "pos_label": pos_label,
        "task": task,
    }
    result.made = _provenance(result, options | {"random_state": seed})
    store_study(engine.store, result)
    return result


def _with_every_class(
    metric: Metric, data: Data, cv: Any, seed: int | None
) -> tuple[Metric, Splits, tuple[NotRun, ...]]:
    """Return a metric that has a value on every test set, its splits, and why it is not the requested one.

    Fewer folds are used where the metric needs a class that is too rare for so many. Where that does not help, the
    study goes on with the default metric: a rare class does not stop it.
    """
    if data.time is not None and is_whole(cv) and cv > 1:
        enough = enough_periods(data, cv)
        if enough < cv:
            late = f"The first of {cv} periods has training rows of one class: {counted(enough, 'period')} are used."
            warnings.warn(late, UserWarning, stacklevel=3)
            cv = enough
    rarest = metric.required_class(data)
    if rarest is None:
        return metric, cv_splits(data, cv, random_state=seed), ()
    fewer = rarest[1] if data.time is None and 2 <= rarest[1] < cv else cv
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # of rare classes, of which the code below warns
        splits = cv_splits(data, fewer, random_state=seed)
    what = f"Class {rarest[0]!r} has {counted(rarest[1], 'row' if data.groups is None else 'group')}"
    lacking = [label for split in splits if (label := metric.missing_class(data, split.test)) is not None]
    if lacking:
        instead = get_metric(None, data.task)
        why = (
            f"{metric.name} needs rows of class {lacking[0]!r} in each test set, and {len(lacking)} of "
            f"{counted(len(splits), 'test set')} would have none; {instead.name} is the metric instead"
        )
        warnings.warn(f"{what}: {why}.", UserWarning, stacklevel=3)
        return instead, cv_splits(data, cv, random_state=seed), (NotRun("metric", why),)
    if fewer != cv:
        used = f"{fewer} folds are used instead of {cv}"
        warnings.warn(f"{what}, and {metric.name} needs one in each test set: {used}.", UserWarning, stacklevel=3)
    return metric, splits, ()


def _suited(candidates: Candidates, metric: Metric, settings: Mapping[str, Setting]) -> tuple[NotRun, ...]:
    """Leave out candidates without the predictions that the metric takes, unless no learner would be left."""
    others = [name for name, each in candidates if not _suits(metric, each)]
    if not others or not any(name not in others and not is_baseline(each) for name, each in candidates):
        return ()
    candidates.estimators = {name: each for name, each in candidates if name not in others}
    names = list(dict.fromkeys(settings[name].family if name in settings else name for name in others))
    why = f"{' and '.join(names)} cannot be scored, since {metric.name} needs {' or '.join(metric.accepted)}"
    warnings.warn(f"Some candidates are left out: {why}.", UserWarning, stacklevel=3)
    return (NotRun("candidates", why),)


def _suits(metric: Metric, estimator: Any) -> bool:
    try:
        metric.responses(estimator)
    except InvalidInput:
        return False
    return True


def _measure_importance(result: Study, seconds: float | None) -> None:
    """Measure the importances; the study goes on without them where its time is up before the models are there."""
    try:
        result.importance(seconds=seconds)
    except BudgetSpent as spent:
        result.not_run.append(("Importance of columns", str(spent)))


def _check_table(X: Any, y: Any) -> None:
    """Refuse the name of a file or of a column, and say what to pass instead."""
    if isinstance(X, str | Path):
        column = y if isinstance(y, str) else "COLUMN"
        raise InvalidInput(
            f"X must be a table, and y its target. Got the path {str(X)!r}; load it first, for example with "
            f"pandas.read_csv, or run the command: truefit study {X} --target {column}"
        )
    if isinstance(y, str):
        raise InvalidInput(
            f"y must be the values of the target. Got {y!r}; pass y=X[{y!r}] and X=X.drop(columns={y!r})."
        )


def _are_names(models: Any) -> bool:
    return isinstance(models, str) or (
        isinstance(models, list | tuple) and len(models) > 0 and all(isinstance(each, str) for each in models)
    )


def _families(models: Any, X: Any, y: Any, task: Task | None, *, weighted: bool, tune: bool) -> dict[str, ModelFamily]:
    """Return the candidates as families: default ones by name, and own ones with a grid; none for estimators alone."""
    if isinstance(models, Mapping) and any(isinstance(each, tuple) for each in models.values()):
        return {str(name): _own_family(str(name), given) for name, given in models.items()}
    if models is not None and not _are_names(models):
        return {}
    table, task = checked_table(X), infer_task(y)[0] if task is None else task
    defaults = default_families(table, task, y) if tune else {}
    if not tune:
        defaults = {name: ModelFamily(name, each) for name, each in default_candidates(table, task).items()}
    if models is None:  # not all candidates take weights
        return {
            name: family
            for name, family in defaults.items()
            if not weighted or weight_parameter(family.estimator) is not None
        }
    return _named([models] if isinstance(models, str) else models, defaults)


def _own_family(name: str, given: Any) -> ModelFamily:
    """Return an estimator, or a tuple of an estimator and a grid, as a family."""
    if not isinstance(given, tuple):
        return ModelFamily(name, given)
    if len(given) != 2:
        raise InvalidInput(
            f"A candidate must be an estimator, or a tuple of an estimator and a grid of parameters. Got a tuple of "
            f"{len(given)} for {name!r}."
        )
    return ModelFamily(name, *given)


def _named(names: Iterable[str], defaults: Mapping[str, ModelFamily]) -> dict[str, ModelFamily]:
    """Return default candidates by name."""
    known, found = {name: each.estimator for name, each in defaults.items()}, {}
    for name in names:
        estimator = candidate_named(name, known)
        if estimator is None:
            near = difflib.get_close_matches(name, defaults, n=1)
            raise InvalidInput(
                f"The 'models' parameter must hold estimators, or names among {', '.join(defaults)}, for a classifier "
                f"also with +platt or +isotonic. Got {name!r} instead."
                + (f" Did you mean {near[0]!r}?" if near else "")
            )
        found[name] = family_named(name, estimator, defaults)
    return found


def _name_of(y: Any) -> str | None:
    """Return the name of a Series, or of the only column of a frame; a name itself."""
    if isinstance(y, str):
        return y
    columns = list(getattr(y, "columns", ()))
    name = columns[0] if len(columns) == 1 else getattr(y, "name", None)
    return str(name) if name not in (None, "") else None


def _provenance(result: Study, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return what it takes to compute a study again."""
    given = ", ".join(f"{name}={value!r}" for name, value in options.items() if value is not None)
    given += "".join(f", {role}={column or role}" for role, column in result.roles.items())
    given += "" if result.test is None else ", test=(X_test, y_test)"
    target = "" if result.target is None else f", target: {result.target}"
    return {
        "date": now(),
        "command": f"truefit.study(X, y, models, {given})",
        "data": f"{result.rows:,} rows, {result.columns:,} columns{target}",
        "fits": {name: count for name, count in result.fits.items() if name != "seconds" and count},
        "versions": versions(),
    }


def _with_intervals(
    engine: Engine, config: StudyConfig, best: str, kept: dict[bytes, Any], estimator: Any = None
) -> Any:
    """Fit the selected candidate, or another estimator, with prediction intervals."""
    if estimator is None:
        return with_intervals(engine, config, config.candidates.estimators[best], kept)
    return with_intervals(engine, config, estimator, {})


def _refitted(engine: Engine, estimator: Any, data: Data, kept: dict[bytes, Any]) -> Any:
    return engine.run(with_kept_models(model_plan(estimator, data.n), kept), data, description="refit")
