"""HonestSearchCV: GridSearchCV that also says how good its winner really is."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.base import clone
from sklearn.exceptions import FitFailedWarning
from sklearn.model_selection._search import BaseSearchCV
from sklearn.pipeline import Pipeline

from truefit._api.engine import Engine, engine_for_one_call
from truefit._api.seed import seed_of
from truefit._core.data import Data, Task, check_takes_weights
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, grouped_failures
from truefit._core.packages import installed
from truefit._core.rows import Rows
from truefit._core.task import RESPONSES, Response
from truefit._methods.assessment.estimate import check_interval_choice
from truefit._methods.candidates import Candidates
from truefit._methods.selection.plan import Search, inner_splits, search_plan
from truefit._methods.selection.racing import Race
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.splitting.splits import Split, Splits, is_whole, make_splits
from truefit._metrics.metric import Metric, metric_of_scorer
from truefit._metrics.scorers import StoredPredictor
from truefit.estimators.grid import grid_points
from truefit.estimators.raced_results import with_dropped

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
    race : {"folds", "sizes"} or Race, optional
        Drop candidates on the way that are clearly worse than the best so far, so that later folds are fitted for the
        promising ones only: see :class:`truefit.Race`. The nested assessment races anew without each of its test sets,
        so it stays honest. Needs one score to choose by: a ``refit`` that is a function of all results is refused.
    random_state : int, RandomState or None
        Seed for the folds and for drawing candidates.
    engine : Engine, optional
        Where fits are run and shared. A clone has the same engine, a pickle none.

    Attributes
    ----------
    assessment_ : NestedAssessment
        The nested-CV estimate of the selection, with an interval.
    best_estimator_, best_params_, best_score_, best_index_, cv_results_, scorer_, n_splits_, refit_time_, multimetric_
        As ``GridSearchCV`` has them. With a race ``cv_results_`` also has ``dropped_after``: the number of folds after
        which a candidate was dropped, NaN if it was not. What it did not come to is NaN, its means are over the folds
        that it was fitted on, and it ranks after all that were not dropped.

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
        race: Race | str | None = None,
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
        self.race = race
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
        check_interval_choice("auto", self.level)
        race = Race.of(self.race)
        groups, weight = _metadata(params)
        scorers, refit_metric = self._get_scorers()
        base = Candidates({"estimator": self.estimator}, y)
        if self.scoring is None:
            _check_score_is_usual(self.estimator)
        data = Data(X, y, task=base.task, groups=groups, weight=weight)
        if weight is not None:
            check_takes_weights(self.estimator)
        seed = seed_of(self.random_state)
        candidates = grid_points(self.param_grid, n_iter=self.n_iter, seed=seed)
        estimators = [clone(base.estimators["estimator"]).set_params(**clone(p, safe=False)) for p in candidates]
        splits = _splits(data, 5 if self.cv is None else self.cv, seed)
        inner, reason = self._inner(data, splits, seed)
        judge = _Judge(scorers, data, self._scored_metadata(weight))
        plan = search_plan(
            estimators,
            data,
            splits,
            responses=[judge.responses(estimator) for estimator in estimators],
            judge=judge,
            choose=self._chooser(candidates, refit_metric),
            inner=inner,
            refit=bool(self.refit),
            race=race,
            metric=None if race is None else self._race_metric(scorers, refit_metric, data.task),
        )
        search = self._run(plan, data)
        if search.failures:
            warnings.warn(
                f"{len(search.failures)} fits failed and have no score.\n\n{grouped_failures(search.failures)}",
                FitFailedWarning,
                stacklevel=2,
            )
        metric = self._publish(search, candidates, scorers, refit_metric, data.task)
        self._assess(search, metric, data, splits, candidates, reason or search.without_nesting)
        return self

    def _inner(self, data: Data, splits: Splits, seed: int | None) -> tuple[list[list[Split]] | None, str | None]:
        """Return the inner splits of the assessment, or why they cannot be made."""
        try:
            return inner_splits(data, splits, 5 if self.cv is None else self.cv, random_state=seed), None
        except InvalidInput as error:
            return None, str(error)

    def _assess(
        self,
        search: Search,
        metric: Metric | None,
        data: Data,
        splits: Splits,
        candidates: list[Any],
        reason: str | None,
    ) -> None:
        self.assessment_ = None
        if metric is None:
            return
        if search.nested is None:
            warnings.warn(
                f"The choice could not be assessed by nesting, so assessment_ is None. {reason}",
                UserWarning,
                stacklevel=3,
            )
            return
        names = [_named(each) for each in candidates]
        self.assessment_ = NestedAssessment(search.nested, data, splits, metric, names=names, level=self.level)

    def _run(self, plan: Any, data: Data) -> Search:
        if self.engine is not None:
            shared: Search = self.engine.run(plan, data, description="search")
            return shared
        engine = engine_for_one_call(workers=1 if self.n_jobs is None else self.n_jobs)
        try:
            found: Search = engine.run(plan, data, description="search")
        finally:
            engine.stop_workers()
        return found

    def _chooser(self, candidates: list[dict[str, Any]], refit_metric: str) -> Callable[[Scores], int]:
        def choose(scores: Scores) -> int:
            by = self._chosen_by(scores, refit_metric)
            if by is None:
                return 0
            with warnings.catch_warnings():
                # Scores that are missing are warned of once, for the search as a whole.
                warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
                results = self._results(candidates, scores, None)
            return int(self._select_best_index(self.refit, by, results))

        return choose

    def _race_metric(self, scorers: Any, refit_metric: str, task: Task) -> Metric:
        """Return the metric of the one score that a race is run by."""
        by_name = getattr(scorers, "_scorers", {"score": scorers})
        several = "score" not in by_name or (callable(self.scoring) and isinstance(self.refit, str))
        name = self.refit if several else refit_metric
        if callable(self.refit) or not isinstance(name, str):
            raise InvalidInput(
                "A race needs one score to choose by: 'refit' must be the name of one where there are several, and no "
                f"function. Got refit={self.refit!r}; name a score, or leave the race out."
            )
        return metric_of_scorer(name, by_name.get(name), task)

    def _chosen_by(self, scores: Scores, refit_metric: str) -> str | None:
        """Return the name of the score that decides; None where several are given and no choice is wanted."""
        if set(scores) == {"score"} or callable(self.refit):
            return "score"
        if not self.refit:
            return None
        name = refit_metric if refit_metric in scores else self.refit
        if name not in scores:
            raise InvalidInput(
                f"With several scores 'refit' must name the one to choose by: {', '.join(scores)}. Got {self.refit!r}."
            )
        return str(name)

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

    def _found(self, search: Search, candidates: list[dict[str, Any]]) -> dict[str, Any]:
        """Return ``cv_results_``."""
        with warnings.catch_warnings():
            if search.dropped and not search.failures:  # NaN is only where nothing was fitted
                warnings.filterwarnings("ignore", "One or more of the test scores are non-finite")
            results = self._results(candidates, search.scores, search.fit_seconds)
        return results if self.race is None else with_dropped(results, search)

    def _publish(
        self, search: Search, candidates: list[dict[str, Any]], scorers: Any, refit_metric: str, task: Task
    ) -> Metric | None:
        """Set the attributes that GridSearchCV has; return the metric that was chosen by, if one was."""
        self.cv_results_ = self._found(search, candidates)
        self.multimetric_ = set(search.scores) != {"score"}
        self.scorer_ = getattr(scorers, "_scorers", scorers)
        self.n_splits_ = search.fit_seconds.shape[1]
        by = self._chosen_by(search.scores, refit_metric)
        if by is not None:
            self.best_index_ = search.best
            self.best_params_ = candidates[search.best]
            if not callable(self.refit):
                self.best_score_ = self.cv_results_[f"mean_test_{by}"][search.best]
        if self.refit:
            self.best_estimator_ = search.model
            self.refit_time_ = search.refit_seconds
            if hasattr(search.model, "feature_names_in_"):
                self.feature_names_in_ = search.model.feature_names_in_
        if by is None:
            return None
        name = by if by in search.scores else next(iter(search.scores))
        named = getattr(scorers, "_scorers", {name: scorers})
        return metric_of_scorer(name, named.get(name), task)

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
        metrics = {name: metric_of_scorer(name, scorer, data.task) for name, scorer in self._by_name.items()}
        #: Shares of right or wrong rows are counted, which comes to the same and takes a tenth of the time.
        self._shares = metrics if all(m.zero_one for m in metrics.values()) and data.weight is None else None

    def responses(self, estimator: Any) -> tuple[Response, ...]:
        if self._needs_X:
            return tuple(response for response in RESPONSES if hasattr(estimator, response))
        wanted = [r for name, scorer in self._by_name.items() for r in Metric(name, scorer).responses(estimator)]
        # Just that: a second response would cost a neighbour search or a kernel a second time in every fit.
        return tuple(dict.fromkeys(wanted))

    def __call__(self, outcome: Outcome, rows: Rows) -> Mapping[str, float]:
        if self._shares is not None:
            return {name: metric.value(outcome, self._data, rows) for name, metric in self._shares.items()}
        data, index = self._data, rows.index
        X = data.take(index) if self._needs_X else index
        metadata = {name: np.asarray(values)[index] for name, values in self._metadata.items()}
        scored = self._scorers(StoredPredictor.of(outcome, data, rows), X, data.y[index], **metadata)
        return scored if isinstance(scored, Mapping) else {"score": float(scored)}


def _is_scikit_learn(scorer: Any) -> bool:
    return type(scorer).__module__.startswith("sklearn.")


def _check_score_is_usual(estimator: Any) -> None:
    """Refuse to guess what a score of an estimator's own would say: only predictions are kept, not models."""
    last = estimator.steps[-1][1] if isinstance(estimator, Pipeline) else estimator
    home = next((each.__module__ for each in type(last).__mro__ if "score" in vars(each)), "sklearn.base")
    # The classifiers of scikit-learn all mean accuracy by it, and the regressors R², generalised linear ones aside.
    usual = installed(home) and not home.startswith("sklearn.linear_model._glm")
    if not usual or isinstance(last, BaseSearchCV):
        raise InvalidInput(
            f"{type(last).__name__} has a score of its own, which cannot be told from predictions alone. Say by what "
            "to choose: scoring='r2', scoring='accuracy', or another scorer."
        )


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
