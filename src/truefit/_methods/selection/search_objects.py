"""Search objects of scikit-learn: scores and ``cv_results_`` as they have them; their fits taken apart, to be shared.

A ``GridSearchCV`` is an estimator, and fitting one fits many. To the engine that would be one fit, of which nothing can
be shared, resumed or answered by a solver. So the engine has such fits taken apart: the candidates are fitted on the
search's own inner splits of the training rows, and the fit becomes that of the one that it selects.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import replace
from traceback import format_exc
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, RandomizedSearchCV, check_cv
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError, InvalidInput
from truefit._core.outcome import Outcome, Outcomes
from truefit._core.packages import installed
from truefit._core.protocols import RESPONSES, Ask, FitTask, Plan, Response, TimedTasks
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.selection.plan import TRAIN, Search
from truefit._methods.splitting.splits import Split, is_whole, row_subset, shared_partition, splits_of
from truefit._metrics.metric import Metric, metric_of_scorer
from truefit._metrics.scorers import StoredPredictor
from truefit._sklearn import BaseSearchCV, check_method_params

#: Searches that are taken apart. Others, such as successive halving, are fitted whole: equal, but nothing is shared.
SEARCHES = (GridSearchCV, RandomizedSearchCV)


class OutcomeScorer:
    """Scores the predictions of a fit as ``GridSearchCV`` would score its model.

    ``metadata`` is passed to the scorers, values by row for the scored rows. ``error_score`` is the score of a fit that
    cannot be scored, or "raise".
    """

    def __init__(self, scorers: Any, data: Data, metadata: Mapping[str, Any], error_score: Any) -> None:
        self._scorers = scorers
        self._data = data
        self._metadata = dict(metadata)
        self._error_score = error_score
        self._by_name = getattr(scorers, "_scorers", {"score": scorers})
        #: A function that returns several scores has their names after the first call.
        self._names = list(self._by_name)
        #: A user's own scorer may need X.
        self._needs_X = not all(_is_scikit_learn(scorer) for scorer in self._by_name.values())
        metrics = {name: metric_of_scorer(name, scorer, data.task) for name, scorer in self._by_name.items()}
        #: Accuracies and errors are counted directly, ten times faster.
        self._shares = metrics if all(m.zero_one for m in metrics.values()) and data.weight is None else None

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        """Return the responses that the scorers need."""
        if self._needs_X:
            return tuple(response for response in RESPONSES if hasattr(estimator, response))
        wanted = [r for name, scorer in self._by_name.items() for r in Metric(name, scorer).responses(estimator)]
        return tuple(dict.fromkeys(wanted))

    def __call__(self, outcome: Outcome, rows: Rows) -> Mapping[str, float]:
        """Return the scores of a fit on some rows, by name."""
        if self._shares is not None and not self._metadata:
            return {name: metric.value(outcome, self._data, rows) for name, metric in self._shares.items()}
        data, index = self._data, rows.index
        X = data.take(index) if self._needs_X else index
        metadata = check_method_params(data.y, self._metadata, index)
        try:
            scored = self._scorers(StoredPredictor.of(outcome, data, rows), X, data.y[index], **metadata)
        except Exception:
            if self._error_score == "raise":
                raise
            return dict.fromkeys(self._names, self._failed(format_exc()))
        if not isinstance(scored, Mapping):
            return {"score": float(scored)}
        self._names = list(scored)
        # A multi-metric scorer returns the traceback in place of a score that failed.
        return {name: self._failed(each) if isinstance(each, str) else each for name, each in scored.items()}

    def _failed(self, traceback: str) -> float:
        warnings.warn(
            "Scoring failed. The score on this train-test partition for these parameters will be set to "
            f"{self._error_score}. Details: \n{traceback}",
            UserWarning,
            stacklevel=2,
        )
        return float(self._error_score)


def check_score_is_usual(estimator: Any) -> None:
    """Refuse an estimator with a ``score`` of its own, which cannot be computed from predictions."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    home = next((each.__module__ for each in type(last).__mro__ if "score" in vars(each)), "sklearn.base")
    # The score of scikit-learn's classifiers is accuracy, that of its regressors R², except generalised linear ones.
    usual = installed(home) and not home.startswith("sklearn.linear_model._glm")
    if not usual or isinstance(last, BaseSearchCV):
        raise InvalidInput(
            f"{type(last).__name__} has a score of its own, which cannot be computed from predictions alone. Give "
            "scoring='r2', scoring='accuracy', or another scorer."
        )


def _is_scikit_learn(scorer: Any) -> bool:
    return type(scorer).__module__.startswith("sklearn.")


def tested_scores(tables: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the test scores among the tables given to ``choose``."""
    return {name: table for name, table in tables.items() if not name.startswith(TRAIN)}


def trained_scores(tables: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the training scores among the tables given to ``choose``."""
    return {name.removeprefix(TRAIN): table for name, table in tables.items() if name.startswith(TRAIN)}


def format_results(
    owner: BaseSearchCV,
    candidates: Sequence[dict[str, Any]],
    scores: Mapping[str, Floats],
    train_scores: Mapping[str, Floats],
    seconds: Floats | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Return ``cv_results_`` as ``GridSearchCV`` has it; with ``quiet`` missing scores are not warned of."""
    n_splits = next(iter(scores.values())).shape[1]
    kinds = {"test_scores": scores} | ({"train_scores": train_scores} if train_scores else {})
    out = [
        {kind: {name: table[c, s] for name, table in tables.items()} for kind, tables in kinds.items()}
        # Scores are computed from stored predictions, all at once.
        | {"fit_time": 0.0 if seconds is None else seconds[c, s], "score_time": 0.0}
        for c in range(len(candidates))
        for s in range(n_splits)
    ]
    with warnings.catch_warnings():
        if quiet:
            warnings.filterwarnings("ignore", "One or more of the (test|train) scores are non-finite")
        return owner._format_results(candidates, n_splits, out)  # type: ignore[no-any-return]


def rank_dropped(results: dict[str, Any], search: Search) -> dict[str, Any]:
    """Add ``dropped_after``: dropped candidates have means over the folds they were fitted on, and rank last."""
    after = np.full(len(search.fit_seconds), np.nan)
    for each in search.dropped:
        after[each.candidate] = each.after
    gone = np.flatnonzero(~np.isnan(after))
    fitted = ~np.isnan(search.fit_seconds)
    tables = {"fit_time": search.fit_seconds}
    tables |= {f"test_{name}": table for name, table in search.scores.items()}
    tables |= {f"train_{name}": table for name, table in search.train_scores.items()}
    for name, table in tables.items():
        for place in gone[after[gone] > 0]:  # a candidate dropped on a rung was fitted on no whole fold
            seen = table[place, fitted[place]]
            results[f"mean_{name}"][place], results[f"std_{name}"][place] = seen.mean(), seen.std()
    for name in search.scores:
        ranks = _ranks(after[gone], results[f"mean_test_{name}"][gone])
        results[f"rank_test_{name}"][gone] = len(after) - len(gone) + ranks
    results["dropped_after"] = after
    return results


def _ranks(after: Floats, means: Floats) -> npt.NDArray[np.intp]:
    """Rank by the number of folds, since means over different folds do not compare, then by the mean."""
    failed = np.isnan(means)
    keys = np.stack([np.where(failed, 0, -after), np.where(failed, 0, -means)], axis=1)
    _, group, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    ranks: npt.NDArray[np.intp] = 1 + (np.cumsum(sizes) - sizes)[group.ravel()]
    return ranks


def verbose_lines(search: Search, candidates: Sequence[str], *, with_scores: bool) -> list[str]:
    """Return a line for each fit of a search, as ``GridSearchCV`` prints them."""
    n_splits = search.fit_seconds.shape[1]
    several = set(search.scores) != {"score"}
    lines = []
    for place, name in enumerate(candidates):
        for fold in np.flatnonzero(~np.isnan(search.fit_seconds[place])):
            scores = []
            for score in search.scores if with_scores else ():
                test = search.scores[score][place, fold]
                values = f"test={test:.3f}"
                if search.train_scores:
                    values = f"train={search.train_scores[score][place, fold]:.3f}, {values}"
                scores.append(f"{score}: ({values})" if several or search.train_scores else f"score={test:.3f}")
            ended = "; ".join([name, *scores])
            lines.append(f"[CV {fold + 1}/{n_splits}] END {ended} total time={search.fit_seconds[place, fold]:6.1f}s")
    return lines


def taken_apart(tasks: Sequence[FitTask], data: Data) -> Plan[Sequence[FitTask]]:
    """Replace fits of search objects by those of the candidates that they select, whose inner fits are requested."""
    searches = {
        place: search
        for place, search in ((place, _InnerSearch.of(task, data)) for place, task in enumerate(tasks))
        if search is not None
    }
    try:
        outcomes = yield [task for search in searches.values() for task in search.tasks]
    except FitError:
        return tasks  # the search itself decides what a failed fit means
    except BudgetSpent as error:
        raise BudgetSpent(str(error), Outcomes([None] * len(tasks))) from error
    found, rest = list(tasks), iter(outcomes)
    for place, search in searches.items():
        own = [next(rest) for _ in search.tasks]
        if all(outcome.error is None for outcome in own):
            found[place] = replace(tasks[place], estimator=search.selected(own))
    return TimedTasks(found, tasks.fit_seconds) if isinstance(tasks, TimedTasks) else found


class _InnerSearch:
    """The search that one fit would run: its candidates on its inner splits of the training rows."""

    def __init__(self, task: FitTask, data: Data) -> None:
        self._search = search = clone(task.estimator)
        scorers, self._refit_metric = search._get_scorers()
        self._scorer = OutcomeScorer(scorers, data, {}, "raise")
        self._points = _candidates(search)
        self._estimators = [clone(search.estimator).set_params(**clone(each, safe=False)) for each in self._points]
        self._splits = _inner_splits(search, data, task.train)
        self.tasks = [
            FitTask(
                estimator,
                split.train,
                tuple(Ask(split.test, response) for response in self._scorer.responses(estimator)),
                repeat=task.repeat,
            )
            for estimator in self._estimators
            for split in self._splits
        ]

    @classmethod
    def of(cls, task: FitTask, data: Data) -> _InnerSearch | None:
        """Return the search, or None for a fit to be left whole: its model is wanted, or its result is not certain."""
        search = task.estimator
        if type(search) not in SEARCHES or not search.refit or get_config()["enable_metadata_routing"]:
            return None
        if task.keep is not None or task.each_left_out or task.y is not None or data.time is not None:
            return None
        if type(search) is RandomizedSearchCV and not is_whole(search.random_state):
            return None
        try:
            if search.scoring is None:
                check_score_is_usual(search.estimator)
            return cls(task, data)
        except ValueError:  # of bad input, which the search reports itself
            return None

    def selected(self, outcomes: Sequence[Outcome]) -> Any:
        """Return the candidate that the search selects by the outcomes of its fits, not fitted."""
        tested = [split.test for _ in self._estimators for split in self._splits]
        scored = [self._scorer(outcome, rows) for outcome, rows in zip(outcomes, tested, strict=True)]
        shape = len(self._estimators), len(self._splits)
        scores = {name: np.array([each[name] for each in scored]).reshape(shape) for name in scored[0]}
        results = format_results(self._search, self._points, scores, {}, None, quiet=True)
        best = self._search._select_best_index(self._search.refit, self._refit_metric, results)
        return self._estimators[int(best)]


def _candidates(search: Any) -> list[dict[str, Any]]:
    if type(search) is GridSearchCV:
        return list(ParameterGrid(search.param_grid))
    return list(ParameterSampler(search.param_distributions, search.n_iter, random_state=search.random_state))


def _inner_splits(search: Any, data: Data, train: Rows) -> list[Split]:
    """Return the search's splits of the training rows; a number of folds keeps the rows of a group together."""
    rows = train.index
    part = row_subset(data, rows)
    design = check_cv(search.cv, part.y, classifier=is_classifier(search.estimator))
    if data.groups is not None and (search.cv is None or is_whole(search.cv)):
        k = 5 if search.cv is None else int(search.cv)
        folds = shared_partition(part, k)
        design = [(np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)) for fold in range(k)]
    found = splits_of(part, design)
    return [Split(Rows.train_of(data.n, rows[each.train.index]), Rows.of(rows[each.test.index])) for each in found]
