"""HonestSearchCV: GridSearchCV with a nested cross-validation estimate of the selected model."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._api.engine import Engine
from truefit._api.validation import resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.parameters import WithFitParams, bare, check_takes_weights, weight_parameter
from truefit._core.validation import Task, check_level
from truefit._methods.candidates import Candidates, params_text
from truefit._methods.selection.plan import Search, inner_splits, search_plan
from truefit._methods.selection.race_run import NOT_FITTED
from truefit._methods.selection.racing import Race
from truefit._methods.selection.result import NestedAssessment
from truefit._methods.selection.sampled import (
    OptunaSampler,
    SampledConfig,
    import_optuna,
    is_optuna_sampler,
    sampled_search_plan,
)
from truefit._methods.selection.search_objects import (
    OutcomeScorer,
    check_score_is_usual,
    format_results,
    rank_dropped,
    tested_scores,
    trained_scores,
    verbose_lines,
)
from truefit._methods.selection.simplicity import points_by_simplicity, simplest_of_ties
from truefit._methods.splitting.splits import Splits, cv_splits
from truefit._metrics.metric import Metric, metric_of_scorer
from truefit.estimators._base import (
    SearchBase,
    check_known,
    check_n_iter,
    grid_points,
    spaces_of,
    warn_of_failures,
    with_params,
)

Scores = Mapping[str, npt.NDArray[np.float64]]

#: Number of candidates where it is not given.
_DRAWN = {"random": 10, "optuna": 30}


class HonestSearchCV(SearchBase):
    """Select parameters by cross-validation, and assess the selection by nested cross-validation from the same fits.

    A replacement for ``GridSearchCV``. For K folds and N candidates it takes K(K+1)/2·N + 1 fits, where
    ``GridSearchCV`` inside ``cross_validate`` takes about K(K+1)·N for the same numbers.

    Parameters
    ----------
    estimator : estimator
        The learner whose parameters are selected.
    param_grid : dict or list of dicts
        A grid; where candidates are drawn from it lists or distributions of scipy.
    search : {"grid", "random", "race", "optuna"} or Optuna sampler, default="grid"
        How candidates are proposed. Whatever it is, the nested assessment repeats it without each of its test sets.

        - "grid": all combinations; with ``n_iter`` as many drawn at random.
        - "random": ``n_iter`` combinations drawn at random.
        - "race": those of "grid", of which a race over the folds stops the clearly worse ones early (see ``race``).
        - "optuna": each candidate is proposed from the scores of earlier ones, by Optuna's default sampler (TPE) or the
          sampler given (``pip install truefit[optuna]``). Values are lists or distributions of scipy or Optuna.
    n_iter : int, optional
        Number of candidates. By default all with "grid" and "race", 10 with "random", 30 with "optuna".
    scoring : str, callable, list, tuple or dict, optional
        The score or scores, as for ``GridSearchCV``. By default accuracy or R².
    cv : int, splitter or iterable, default=5
        With a number the folds are those that every method of truefit shares for these rows.
    refit : bool, str or callable, default=True
        Whether the selected candidate is fitted on all rows, and by which score it is selected, as for
        ``GridSearchCV``. "one_se" selects the simplest candidate within one standard error of the best score, the
        standard error of the paired difference over the folds. Simpler means stronger regularisation, more neighbours,
        fewer or smaller trees, by the known names of parameters (``alpha``, ``C``, ``max_depth``, ...); otherwise
        the first of equals.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    verbose : int, default=0
        1: print the number of fits. 2 and more: print a line for each fit of the search when it is done, with its time;
        3 and more: with its scores.
    pre_dispatch : int or str, default="2*n_jobs"
        Accepted as ``GridSearchCV`` has it, without effect: fits are handed to workers as these become free, and the
        table is sent to a worker once.
    error_score : "raise" or number, default=nan
        The score of a fit that fails, with a warning; "raise" ends the search instead. It takes precedence over the
        ``on_error`` of the engine. Candidates without a score rank last. A ValueError is raised if all fits fail.
    return_train_score : bool, default=False
        Whether ``cv_results_`` has training scores too. They take no further fits.
    level : float, default=0.95
        Confidence level of the interval of ``assessment_``.
    race : {"folds", "sizes"} or Race, optional
        The race of ``search="race"``, over the folds by default; with "grid" and "random" it adds a race.
        Stop candidates early that are unlikely to overtake the best so far, so that later folds are fitted for the
        others only: see :class:`truefit.Race`. The nested assessment repeats the race without each of its test sets, so
        it stays unbiased. Needs one score to select by: a ``refit`` that is a function of all results is refused.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds and of the drawn candidates.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a pickle none.

    Attributes
    ----------
    assessment_ : NestedAssessment
        The nested-CV estimate of the selection, with an interval.
    best_estimator_, best_params_, best_score_, best_index_, cv_results_, scorer_, n_splits_, refit_time_, multimetric_
        As in ``GridSearchCV``. With a race ``cv_results_`` also has ``dropped_after``: the number of folds after which
        a candidate was dropped, NaN if it was not. Its scores on later folds are NaN, its means are over the folds
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

    def __init__(
        self,
        estimator: Any,
        param_grid: Any,
        *,
        search: Any = "grid",
        n_iter: int | None = None,
        scoring: Any = None,
        cv: Any = 5,
        refit: Any = True,
        n_jobs: int | None = None,
        verbose: int = 0,
        pre_dispatch: Any = "2*n_jobs",
        error_score: Any = np.nan,
        return_train_score: bool = False,
        level: float = 0.95,
        race: Race | str | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.search = search
        self.n_iter = n_iter
        self.scoring = scoring
        self.cv = cv
        self.refit = refit
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.pre_dispatch = pre_dispatch
        self.error_score = error_score
        self.return_train_score = return_train_score
        self.level = level
        self.race = race
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None, *, time: Any = None, **params: Any) -> HonestSearchCV:
        """Select, assess the selection, and refit the selected candidate on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            The target.
        time : array-like or str, optional
            The time of each row (numbers or dates), or the name of a column of X, which is then no feature: leave it
            out of the tables to predict, too. A number as ``cv`` is then a number of periods: each is tested by models
            trained on the rows before it. ``cv`` may also be a scikit-learn ``TimeSeriesSplit``. The selection for a
            period uses the scores of the periods before it, so nothing is fitted twice, and ``assessment_`` is over
            the periods that have an earlier one.
        **params
            Parameters of the estimator's ``fit``, the scorers and the splitter as for ``GridSearchCV``, with and
            without metadata routing: ``groups``, ``sample_weight``, ``clf__sample_weight`` of a step, ``eval_set``,
            ``callbacks``. Those with one value per row are split along with the rows. Each fit has its own copy of the
            others. Fits with parameters that have no comparable content are run each time, never shared or stored.
        """
        check_level(self.level)
        on_error, race = self._on_error(), self._race()
        scorers, refit_metric = self._get_scorers()
        if not callable(self.scoring) and not hasattr(scorers, "_scorers"):
            self._check_refit_of_one_score()
        base = Candidates({"estimator": self.estimator}, y)
        if self.scoring is None:
            check_score_is_usual(self.estimator)
        groups, weight = params.get("groups"), params.get("sample_weight")
        data = Data(X, y, task=base.task, groups=groups, weight=weight, time=time)
        if race is not None and race.over == "sizes" and time is not None:
            raise InvalidInput("A race over 'sizes' draws rows at random, which time forbids. Use race='folds'.")
        if weight is not None:
            check_takes_weights(self.estimator)
        fit_params, score_params = self._routed(params)
        seed = resolve_seed(self.random_state)
        candidates = self._candidates(seed)
        check_known(self.estimator, self.param_grid)
        cv = 5 if self.cv is None else self.cv
        splits = cv_splits(data, cv, random_state=seed)
        inner, reason = self._inner(data, splits, cv, seed)
        scorer = OutcomeScorer(scorers, data, score_params, self.error_score)

        def estimator_of(point: dict[str, Any]) -> Any:
            estimator = with_params(base.estimators["estimator"], point)
            return WithFitParams(estimator, fit_params, data.n) if fit_params else estimator

        error_score = np.nan if on_error == "raise" else float(self.error_score)
        selected = None
        if candidates is None:
            config = SampledConfig(
                self._sampler(seed),
                estimator_of,
                lambda estimator: scorer.responses(bare(estimator)),
                scorer,
                lambda tables, points: self._chooser(points, refit_metric)(tables),
                n_iter=check_n_iter(_DRAWN["optuna"] if self.n_iter is None else self.n_iter),
                score=self._one_score(scorers, refit_metric, "An adaptive search"),
                refit=bool(self.refit),
                error_score=error_score,
                train_scores=self.return_train_score,
            )
            self._print(f"Fitting {len(splits)} folds for each of {config.n_iter} sampled candidates")
            found = self._run(sampled_search_plan(config, data, splits, inner), data, "search", on_error=on_error)
            search, candidates, selected = found.search, found.points, found.selected
            if found.stopped is not None:
                self._warn_of_sampler(found.stopped, len(candidates), config.n_iter)
        else:
            estimators = [estimator_of(point) for point in candidates]
            plan = search_plan(
                estimators,
                data,
                splits,
                responses=[scorer.responses(bare(estimator)) for estimator in estimators],
                judge=scorer,
                choose=self._chooser(candidates, refit_metric),
                inner=inner,
                refit=bool(self.refit),
                race=race,
                metric=None if race is None else self._race_metric(scorers, refit_metric, data.task),
                error_score=error_score,
                train_scores=self.return_train_score,
            )
            self._print(
                f"Fitting {len(splits)} folds for each of {len(candidates)} candidates, totalling "
                f"{len(splits) * len(candidates)} fits, and those of the nested assessment"
            )
            search = self._run(plan, data, "search", on_error=on_error)
        self._warn(search)
        names = [params_text(each) or "as given" for each in candidates]
        if self.verbose > 1:
            self._print("\n".join(verbose_lines(search, names, with_scores=self.verbose > 2)))
        metric = self._publish(search, candidates, scorers, refit_metric, data.task)
        if selected is not None:
            names = [params_text(each) or "as given" for each in selected]
        self._assess(search, metric, data, names, reason or search.without_nesting)
        return self

    def _race(self) -> Race | None:
        """Return the race of the search, if it is one; refuse a search that does not exist."""
        race = Race.of(self.race)
        if is_optuna_sampler(self.search) or (isinstance(self.search, str) and self.search == "optuna"):
            if race is not None:
                raise InvalidInput(
                    f"An adaptive search has no race: its candidates come one after the other. Got race={self.race!r}; "
                    "omit it, or use search='random'."
                )
        elif not isinstance(self.search, str) or self.search not in ("grid", "random", "race"):
            raise InvalidInput(
                "The 'search' parameter must be 'grid', 'random', 'race', 'optuna' or a sampler of Optuna. "
                f"Got {self.search!r} instead."
            )
        return Race() if race is None and self.search == "race" else race

    def _candidates(self, seed: int | None) -> list[dict[str, Any]] | None:
        """Return the candidates, or None where they are sampled one after the other."""
        if self.search not in ("grid", "random", "race"):
            return None
        n_iter = _DRAWN["random"] if self.search == "random" and self.n_iter is None else self.n_iter
        return grid_points(self.param_grid, n_iter=n_iter, seed=seed)

    def _sampler(self, seed: int | None) -> Callable[[], OptunaSampler]:
        """Return what makes the samplers of the search and its nested ones: with one seed, so that they share fits."""
        import_optuna()
        spaces = spaces_of(self.param_grid, distributions=True)
        given = None if isinstance(self.search, str) else self.search
        drawn = int(np.random.default_rng().integers(2**31 - 1)) if seed is None else seed
        return lambda: OptunaSampler(spaces, drawn, given)

    def _warn_of_sampler(self, stopped: str, done: int, wanted: int) -> None:
        warnings.warn(
            f"{stopped} The search ended after {done} of {wanted} candidates; its results and their nested assessment "
            "are those of these candidates.",
            UserWarning,
            stacklevel=3,
        )

    def _routed(self, params: dict[str, Any]) -> tuple[dict[str, Any], dict[str, Any]]:
        """Return what scikit-learn routes to ``fit``, besides weights and groups, and to the scorers."""
        routed = self._get_routed_params_for_fit(params)
        further = sorted(set(routed.splitter.split) - {"groups"})
        if further:
            raise InvalidInput(f"Splitters take 'groups' only. Got {', '.join(further)} too; omit them.")
        weights = weight_parameter(self.estimator)
        if params.get("sample_weight") is not None and weights != "sample_weight" and weights in params:
            raise InvalidInput(f"Weights must be given once. Got 'sample_weight' and {weights!r}; omit one of them.")
        own = {name for name in ("groups", "sample_weight") if name in params}
        fit_params = {name: value for name, value in routed.estimator.fit.items() if name not in own}
        return fit_params, dict(routed.scorer.score)

    def _warn(self, search: Search) -> None:
        if not search.failures:
            return
        n_splits = search.fit_seconds.shape[1]
        fits = [each for line in search.outcomes for each in line[:n_splits] if each is not NOT_FITTED]
        failed = sum(each.error is not None for each in fits)
        nested = len(search.failures) - failed
        if not failed and search.nested is None:
            return  # the warning about the missing assessment has the reason
        if not failed:
            head = f"{nested} fits of the nested assessment failed; their candidates were not selected there."
        else:
            head = (
                f"{failed} fits failed out of a total of {len(fits)}"
                + (f", and {nested} more in the nested assessment" if nested else "")
                + ".\nThe score on these train-test partitions for these parameters will be set to "
                f"{self.error_score}.\nIf these failures are not expected, set error_score='raise' to debug them."
            )
        warn_of_failures(head, search.failures)

    def _inner(self, data: Data, splits: Splits, cv: Any, seed: int | None) -> tuple[Any, str | None]:
        """Return the inner splits of the assessment, or why there are none."""
        try:
            return inner_splits(data, splits, cv, random_state=seed), None
        except InvalidInput as error:
            return None, str(error)

    def _assess(self, search: Search, metric: Metric | None, data: Data, names: list[str], reason: str | None) -> None:
        self.assessment_ = None
        if metric is None:
            return
        if search.nested is None:
            warnings.warn(
                f"The selection could not be assessed by nested cross-validation: assessment_ is None. {reason}",
                UserWarning,
                stacklevel=3,
            )
            return
        self.assessment_ = NestedAssessment(search.nested, data, metric, names=names, level=self.level)

    def _chooser(self, candidates: Sequence[dict[str, Any]], refit_metric: str) -> Callable[[Scores], int]:
        def choose(tables: Scores) -> int:
            scores = tested_scores(tables)
            by = self._chosen_by(scores, refit_metric)
            if by is None:
                return 0
            if self._one_se:
                return simplest_of_ties(-scores[by], points_by_simplicity(candidates))
            # Missing scores are warned of once, for the search as a whole.
            results = format_results(self, list(candidates), scores, trained_scores(tables), None, quiet=True)
            return int(self._select_best_index(self.refit, by, results))

        return choose

    @property
    def _one_se(self) -> bool:
        return isinstance(self.refit, str) and self.refit == "one_se"

    def _one_score(self, scorers: Any, refit_metric: str, owner: str) -> str:
        """Return the name of the score that decides while the search runs."""
        by_name = getattr(scorers, "_scorers", {"score": scorers})
        several = "score" not in by_name or (callable(self.scoring) and isinstance(self.refit, str))
        name = self.refit if several and not self._one_se else refit_metric
        if not isinstance(name, str) or (several and callable(self.refit)):
            raise InvalidInput(
                f"{owner} needs one score to select by: with several scores 'refit' must be the name of one. Got "
                f"refit={self.refit!r}; name a score."
            )
        return name

    def _race_metric(self, scorers: Any, refit_metric: str, task: Task) -> Metric:
        """Return the metric of the score that decides a race."""
        if callable(self.refit):
            raise InvalidInput(
                "A race needs one score to select by. Got a function of all results as 'refit'; name a score, or omit "
                "the race."
            )
        name = self._one_score(scorers, refit_metric, "A race")
        return metric_of_scorer(name, getattr(scorers, "_scorers", {"score": scorers}).get(name), task)

    def _check_refit_of_one_score(self) -> None:
        """Refuse a name that is not that of the score: a misspelt "one_se" would otherwise mean True."""
        names = ("score", self.scoring) if isinstance(self.scoring, str) else ("score",)
        if isinstance(self.refit, str) and not self._one_se and self.refit not in names:
            raise InvalidInput(
                "With one score 'refit' must be True, False, 'one_se' or a function of the results. "
                f"Got {self.refit!r} instead."
            )

    def _chosen_by(self, scores: Scores, refit_metric: str) -> str | None:
        """Return the name of the score that decides; None with several scores and without refit."""
        if callable(self.refit):
            return "score"
        if set(scores) == {"score"}:
            self._check_refit_of_one_score()
            return "score"
        if not self.refit:
            return None
        name = refit_metric if refit_metric in scores else self.refit
        if name not in scores:
            raise InvalidInput(
                f"With several scores 'refit' must name the one to select by: {', '.join(scores)}. Got {self.refit!r}."
            )
        return str(name)

    def _publish(
        self, search: Search, candidates: list[dict[str, Any]], scorers: Any, refit_metric: str, task: Task
    ) -> Metric | None:
        """Set the attributes that GridSearchCV has; return the metric of the score that decided, if any."""
        # With dropped candidates NaN scores are expected.
        quiet = bool(search.dropped and not search.failures)
        results = format_results(self, candidates, search.scores, search.train_scores, search.fit_seconds, quiet=quiet)
        self.cv_results_ = results if self._race() is None else rank_dropped(results, search)
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
            self._set_best_estimator(search.model, search.refit_seconds)
        if by is None:
            return None
        name = by if by in search.scores else next(iter(search.scores))
        named = getattr(scorers, "_scorers", {name: scorers})
        return metric_of_scorer(name, named.get(name), task)
