"""All four questions about one table."""

from __future__ import annotations

import time
from functools import partial
from typing import Any, Literal

from truefit._api.deprecation import K_TO_CV, renamed_keywords
from truefit._api.engine import Engine, engine_for_one_call, engine_or_new
from truefit._api.validation import read_input, resolve_folds, resolve_metric, resolve_seed
from truefit._core.data import Data, checked_table
from truefit._methods.assessment.estimate import check_interval_choice
from truefit._methods.selection.default_candidates import default_candidates
from truefit._methods.splitting.splits import make_splits
from truefit._study.budget import TimeBudget, seconds_of
from truefit._study.checks import find_suspects
from truefit._study.config import StudyConfig
from truefit._study.plan import model_plan, study_plan
from truefit._study.result import Study
from truefit.sources.task import infer_task


@renamed_keywords(K_TO_CV)
def study(
    X: Any,
    y: Any,
    models: Any = None,
    *,
    budget: Any = None,
    cv: int = 5,
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
        Seconds by the clock, or text such as "90s", "10m" or "1h". Fits that are running when it is exhausted are
        stopped, so that fits are run in a worker process, even by one worker. Candidates that are too slow for it,
        questions for which there is no time and samples that are looked at in the place of all rows are named in the
        result. By default all candidates are searched, and the further questions take about as long as that.
    metric : str, optional
        By default the error of a classification and the root mean squared error of a regression.
    cv : int, default=5
        Number of folds; every two of them are left out together too, to assess the choice.
    level, pos_label, groups, sample_weight, random_state, engine
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
    started = time.monotonic()
    check_interval_choice("auto", level)
    seconds = seconds_of(budget)
    if models is None:
        models = default_candidates(checked_table(X), infer_task(y)[0] if task is None else task)
    candidates, data = read_input(models, X, y, groups=groups, sample_weight=sample_weight)
    if metric is None and data.task == "regression":
        metric = "rmse"
    chosen = resolve_metric(data, metric, pos_label)
    seed = resolve_seed(random_state)
    folds = resolve_folds(cv, why="the choice is assessed on every two of them")
    splits = make_splits(data, "kfold", k=folds, random_state=seed)
    own = engine is None
    engine = engine_for_one_call(on_error="record") if engine is None else engine_or_new(engine)
    time_budget = TimeBudget(seconds, getattr(engine, "workers", 1))
    config = StudyConfig(candidates, data, splits, chosen, level, time_budget, seed, find_suspects(data))
    left = None if seconds is None else seconds - (time.monotonic() - started)
    try:
        result = engine.run(study_plan(config), data, seconds=left, description="study")
    finally:
        if own:
            engine.stop_workers()
    result.fits = engine.stats.to_dict()
    result.refit = partial(_refitted, engine, candidates.estimators[result.best], data)
    return result


def _refitted(engine: Engine, estimator: Any, data: Data) -> Any:
    return engine.run(model_plan(estimator, data.n), data, description="refit")
