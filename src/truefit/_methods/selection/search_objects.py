"""Search objects of scikit-learn as candidates: their inner fits are requested one by one, so that they are shared.

A ``GridSearchCV`` is an estimator, and fitting one fits many. To the engine that would be one fit, of which nothing can
be shared, resumed or answered by a solver. So the engine has such fits taken apart: the candidates are fitted on the
search's own inner splits of the training rows, and the fit becomes that of the one that it selects.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from sklearn import get_config
from sklearn.base import clone, is_classifier
from sklearn.model_selection import GridSearchCV, ParameterGrid, ParameterSampler, RandomizedSearchCV, check_cv

from truefit._core.data import Data
from truefit._core.errors import BudgetSpent, FitError
from truefit._core.outcome import Outcome, Outcomes
from truefit._core.protocols import Ask, FitTask, Plan, TimedTasks
from truefit._core.rows import Rows
from truefit._methods.selection.scoring import OutcomeScorer, check_score_is_usual, format_results
from truefit._methods.splitting.splits import Split, is_whole, row_subset, shared_partition, splits_of

#: Searches that are taken apart. Others, such as successive halving, are fitted whole: equal, but nothing is shared.
SEARCHES = (GridSearchCV, RandomizedSearchCV)


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
