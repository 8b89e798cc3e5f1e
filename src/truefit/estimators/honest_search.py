"""HonestSearchCV: GridSearchCV that also says how good its winner really is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection import ParameterGrid, ParameterSampler
from sklearn.model_selection._search import BaseSearchCV

from truefit.api import Engine, seed_of
from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.metadata import check_takes_weights
from truefit.core.outcome import Outcome, grouped_failures
from truefit.core.rows import Rows
from truefit.core.task import RESPONSES, Response
from truefit.methods.candidates import Candidates
from truefit.methods.nested import NestedAssessment
from truefit.methods.search import Search, inner_splits, search_plan
from truefit.methods.splits import Splits, is_whole, make_splits
from truefit.metrics.metric import Metric, metric_of_scorer
from truefit.metrics.replay import Replay

Scores = Mapping[str, npt.NDArray[np.float64]]


class HonestSearchCV(BaseSearchCV):  # type: ignore[misc]
    """Choose parameters by cross-validation, and assess the choice by nested cross-validation of the same fits.

    Stands wherever ``GridSearchCV`` can. For K folds and N candidates it takes K(K+1)/2·N + 1 fits, where
    ``GridSearchCV`` inside ``cross_validate`` takes about K(K+1)·N for the same numbers.

    Parameters
    ----------
    estimator : estimator
    param_grid : dict or list of dicts
        A grid; with ``n_iter`` lists or distributions to draw from.
    n_iter : int, optional
        Number of candidates drawn from ``param_grid``; None tries them all.
    scoring : str, callable, list, tuple or dict, optional
        As for ``GridSearchCV``. By default accuracy or R².
    cv : int, splitter or iterable, default=5
        With a number the folds are those that every method of truefit shares for these rows.
    refit : bool, str or callable, default=True
        As for ``GridSearchCV``.
    n_jobs : int, optional
        Worker processes; ignored where an ``engine`` is given.
    level : float, default=0.95
        Level of the interval of ``assessment_``.
    random_state : int, RandomState or None
        Seed for the folds and for drawing candidates.
    engine : Engine, optional
        Where fits are run and shared. A clone has the same engine, a pickle none.

    Attributes
    ----------
    assessment_ : NestedAssessment
        The nested-CV estimate of the selection, with an interval.
    best_estimator_, best_params_, best_score_, best_index_, cv_results_, scorer_, n_splits_, refit_time_, multimetric_
        As ``GridSearchCV`` has them.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from truefit import HonestSearchCV
    >>> X, y = load_iris(return_X_y=True)
    >>> search = HonestSearchCV(KNeighborsClassifier(), {"n_neighbors": [1, 5, 15]}).fit(X, y)
    >>> low, high = search.assessment_.interval
    >>> low < search.assessment_.estimate < high
    True
    """

    # What BaseSearchCV expects to find on itself and this search does not offer.
    verbose = 0
    pre_dispatch = None
    error_score = np.nan
    return_train_score = False

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        n_iter: int | None = None,
        scoring: Any = None,
        cv: Any = 5,
        refit: Any = True,
        n_jobs: int | None = None,
        level: float = 0.95,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.n_iter = n_iter
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.level = level
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None, **params: Any) -> HonestSearchCV:
        """Choose, assess the choice, and refit the chosen candidate on all rows.

        Parameters
        ----------
        X, y : table and target
        **params
            ``groups`` for the splits and ``sample_weight`` for the fits.
        """
        groups, weight = _metadata(params)
        scorers, refit_metric = self._get_scorers()
        base = Candidates({"estimator": self.estimator}, y)
        data = Data(X, y, task=base.task, groups=groups, weight=weight)
        if weight is not None:
            check_takes_weights(self.estimator)
        seed = seed_of(self.random_state)
        candidates = self._candidates(seed)
        estimators = [clone(base.estimators["estimator"]).set_params(**clone(p, safe=False)) for p in candidates]
        design = 5 if self.cv is None else self.cv
        splits = _splits(data, design, seed)
        selects = bool(self.refit) or not isinstance(self.scoring, list | tuple | set | dict)
        judge = _Judge(scorers, data, self._scored_metadata(weight))
        plan = search_plan(
            estimators,
            data,
            splits,
            responses=[judge.responses(estimator) for estimator in estimators],
            judge=judge,
            choose=self._chooser(candidates, refit_metric) if selects else lambda scores: 0,
            inner=inner_splits(data, splits, design, random_state=seed) if selects else None,
            refit=bool(self.refit),
        )
        search = self._run(plan, data)
        if search.failures:
            warnings.warn(
                f"{len(search.failures)} fits failed and have no score.\n\n{grouped_failures(search.failures)}",
                FitFailedWarning,
                stacklevel=2,
            )
        self._publish(search, candidates, scorers, refit_metric, selects)
        if search.nested is not None:
            metric = _metric(scorers, refit_metric, data)
            names = [_named(p) for p in candidates]
            self.assessment_ = NestedAssessment(search.nested, data, splits, metric, names=names, level=self.level)
        return self

    def _run(self, plan: Any, data: Data) -> Search:
        if self.engine is not None:
            shared: Search = self.engine.run(plan, data, description="search")
            return shared
        engine = Engine(workers=1 if self.n_jobs is None else self.n_jobs)
        try:
            found: Search = engine.run(plan, data, description="search")
        finally:
            engine.stop_workers()
        return found

    def _candidates(self, seed: int | None) -> list[dict[str, Any]]:
        grid = self.param_grid
        maps = [grid] if isinstance(grid, Mapping) else grid
        if not isinstance(maps, Sequence) or not maps or not all(isinstance(each, Mapping) for each in maps):
            raise InvalidInput(f"The 'param_grid' parameter must be a dict or a list of dicts. Got {grid!r} instead.")
        for name, values in ((name, values) for each in maps for name, values in each.items()):
            if hasattr(values, "__len__") and not isinstance(values, str) and len(values) == 0:
                raise InvalidInput(f"Each parameter of 'param_grid' must have values to try. {name!r} has none.")
        if self.n_iter is None:
            return list(ParameterGrid(grid))
        if not is_whole(self.n_iter) or self.n_iter < 1:
            raise InvalidInput(f"The 'n_iter' parameter must be a positive whole number. Got {self.n_iter!r} instead.")
        return list(ParameterSampler(grid, int(self.n_iter), random_state=seed))

    def _chooser(self, candidates: list[dict[str, Any]], refit_metric: str) -> Callable[[Scores], int]:
        def choose(scores: Scores) -> int:
            with warnings.catch_warnings():
                # Scores that are missing are warned of once, for the search as a whole.
                warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
                results = self._results(candidates, scores, None)
            return int(self._select_best_index(self.refit, refit_metric, results))

        return choose

    def _results(self, candidates: list[dict[str, Any]], scores: Scores, seconds: Any) -> dict[str, Any]:
        """Return the scores in the shape of ``GridSearchCV.cv_results_``."""
        n_candidates, n_splits = next(iter(scores.values())).shape
        out = [
            {
                "test_scores": {name: values[c, s] for name, values in scores.items()},
                "fit_time": 0.0 if seconds is None else seconds[c, s],
                "score_time": 0.0,
            }
            for c in range(n_candidates)
            for s in range(n_splits)
        ]
        return self._format_results(candidates, n_splits, out)  # type: ignore[no-any-return]

    def _publish(
        self, search: Search, candidates: list[dict[str, Any]], scorers: Any, refit_metric: str, selects: bool
    ) -> None:
        self.cv_results_ = self._results(candidates, search.scores, search.fit_seconds)
        self.multimetric_ = isinstance(self.scoring, list | tuple | set | dict)
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        self.n_splits_ = search.fit_seconds.shape[1]
        if selects:
            self.best_index_ = search.best
            self.best_params_ = candidates[search.best]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{refit_metric}"][search.best]
        if self.refit:
            self.best_estimator_ = search.model
            self.refit_time_ = search.refit_seconds
            if hasattr(search.model, "feature_names_in_"):
                self.feature_names_in_ = search.model.feature_names_in_

    def _scored_metadata(self, weight: Any) -> dict[str, Any]:
        """Return what goes to the scorers along with the predictions, as scikit-learn routes it."""
        if weight is None:
            return {}
        routed = self._get_routed_params_for_fit({"sample_weight": weight})
        return dict(routed.scorer.score)


class _Judge:
    """Scores stored predictions with scikit-learn's own scorers."""

    def __init__(self, scorers: Any, data: Data, metadata: Mapping[str, Any]) -> None:
        self._scorers = scorers
        self._data = data
        self._metadata = metadata
        self._by_name = getattr(scorers, "_scorers", {"score": scorers})
        #: A scorer of the user's own may look at X itself.
        self._needs_X = not all(_is_scikit_learn(scorer) for scorer in self._by_name.values())

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        if self._needs_X:
            return tuple(response for response in RESPONSES if hasattr(estimator, response))
        wanted = [r for name, scorer in self._by_name.items() for r in Metric(name, scorer).responses(estimator)]
        return tuple(dict.fromkeys(wanted))

    def __call__(self, outcome: Outcome, rows: Rows) -> Mapping[str, float]:
        data, index = self._data, rows.index
        X = data.take(index) if self._needs_X else index
        metadata = {name: np.asarray(values)[index] for name, values in self._metadata.items()}
        scored = self._scorers(Replay.of(outcome, data, rows), X, data.y[index], **metadata)
        return scored if isinstance(scored, Mapping) else {"score": float(scored)}


def _is_scikit_learn(scorer: Any) -> bool:
    return type(scorer).__module__.startswith("sklearn.")


def _metric(scorers: Any, refit_metric: str, data: Data) -> Metric:
    by_name = getattr(scorers, "_scorers", None)
    name = refit_metric if isinstance(refit_metric, str) else "score"
    if by_name is not None and name not in by_name:
        name = next(iter(by_name))
    return metric_of_scorer(name, scorers if by_name is None else by_name[name], data.task)


def _metadata(params: dict[str, Any]) -> tuple[Any, Any]:
    unknown = sorted(set(params) - {"groups", "sample_weight"})
    if unknown:
        raise InvalidInput(
            f"HonestSearchCV.fit takes 'groups' and 'sample_weight' beside X and y. Got {', '.join(unknown)} too. Set "
            "such things as parameters of the estimator."
        )
    return params.get("groups"), params.get("sample_weight")


def _splits(data: Data, design: Any, seed: int | None) -> Splits:
    if is_whole(design):
        return make_splits(data, "kfold", k=int(design), random_state=seed)
    if isinstance(design, str) or not (hasattr(design, "split") or isinstance(design, Iterable)):
        raise InvalidInput(
            f"The 'cv' parameter must be a number of folds, a splitter or an iterable. Got {design!r} instead."
        )
    return make_splits(data, design)


def _named(params: Mapping[str, Any]) -> str:
    return ", ".join(f"{name}={value!r}" for name, value in params.items()) or "as given"
