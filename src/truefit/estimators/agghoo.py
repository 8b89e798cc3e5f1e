"""AgghooClassifier and AgghooRegressor: aggregated hold-out."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.model_selection import check_cv
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from truefit._api.engine import Engine
from truefit._api.validation import resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.stages import AtStage
from truefit._core.typing import Array
from truefit._core.validation import Task
from truefit._methods.agghoo.plan import (
    Agghoo,
    AgghooConfig,
    Aggregate,
    agghoo_plan,
    aligned,
    mean_of,
    vote_of,
)
from truefit._methods.splitting.splits import Splits, cv_splits
from truefit._metrics.metric import Metric, get_metric, metric_of_scorer
from truefit._plots.agghoo import validation_curves
from truefit._sklearn import BaseComposition
from truefit.estimators._base import UsesEngine, groups_and_weight, warn_of_failures
from truefit.estimators.agghoo_candidates import make_candidates, named_estimators

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def _selection(columns: dict[str, list[Any]]) -> pd.DataFrame:
    """Return the table of the candidates selected on each split."""
    import pandas as pd

    table = pd.DataFrame(columns).astype({"stage": "Int64"})
    return table.rename_axis("split")


class _Agghoo(MetaEstimatorMixin, UsesEngine, BaseComposition, BaseEstimator):  # type: ignore[misc]
    """Base of both estimators."""

    _task: ClassVar[Task]
    _aggregates: ClassVar[tuple[str, ...]]

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        path: Any = "auto",
        aggregate: Aggregate = "mean",
        n_jobs: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.estimator = estimator
        self.param_grid = param_grid
        self.cv = cv
        self.scoring = scoring
        self.path = path
        self.aggregate = aggregate
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Select a candidate on each split, and keep the selected models.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            The target.
        **params
            ``groups`` for the splits and ``sample_weight`` for the fits and the scores.
        """
        groups, weight = groups_and_weight(
            self,
            params,
            no_time="it would average models trained on the first periods only. Use HonestSearchCV with "
            "fit(X, y, time=...).",
        )
        if y is None:
            raise InvalidInput(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        data = Data(X, y, task=self._task, groups=groups, weight=weight)
        config = self.agghoo_config(data.y)
        config.check(data)
        splits = cv_splits(data, 5 if self.cv is None else self.cv, random_state=resolve_seed(self.random_state))
        plan = agghoo_plan(config, data, splits)
        found: Agghoo = self._run(plan, data, "agghoo", on_error="record" if self.engine is None else None)
        if found.failures:
            warn_of_failures(
                f"{len(found.failures)} fits failed; their candidates were not selected on those splits.",
                found.failures,
            )
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        self._publish(found, config, data, splits)
        return self

    def agghoo_config(self, y: Any) -> AgghooConfig:
        """Return the candidates, the metric they are selected by, and the aggregation."""
        if self.aggregate not in self._aggregates:
            offered = " or ".join(map(repr, self._aggregates))
            raise InvalidInput(
                f"The 'aggregate' parameter of {type(self).__name__} must be {offered}. Got {self.aggregate!r} instead."
            )
        candidates, named = make_candidates(self.estimator, self.param_grid, self.path, y)
        if named.task != self._task:
            kind = "classifiers" if self._task == "classification" else "regressors"
            raise InvalidInput(f"{type(self).__name__} needs {kind}. Got {', '.join(named.names)} for {named.task}.")
        if self.aggregate == "soft":
            lacking = dict.fromkeys(c.name for c in candidates if not hasattr(c.estimator, "predict_proba"))
            if lacking:
                raise InvalidInput(
                    "aggregate='soft' needs estimators with predict_proba. "
                    f"{', '.join(lacking)} has none. Use aggregate='vote'."
                )
        return AgghooConfig(candidates, self._task, self._metric(), self.aggregate)

    def _metric(self) -> Metric:
        if self.scoring is None or isinstance(self.scoring, str | Metric):
            return get_metric(self.scoring, self._task)
        if not callable(self.scoring):
            raise InvalidInput(
                f"The 'scoring' parameter must be None, a name or a scorer. Got {self.scoring!r} instead; Agghoo "
                "selects by one score."
            )
        return metric_of_scorer("score", self.scoring, self._task)

    def _publish(self, found: Agghoo, config: AgghooConfig, data: Data, splits: Splits) -> None:
        self.members_ = [model.model_ if isinstance(model, AtStage) else model for model in found.members]
        self.validation_scores_ = found.scores
        self.n_splits_ = len(splits)
        chosen = [config.candidates[place] for place in found.chosen]
        scores = found.scores[np.arange(len(chosen)), found.chosen]
        self.mean_validation_score_ = float(scores.mean())
        self.candidates_ = [candidate.label for candidate in config.candidates]
        self.score_name_ = config.metric.name
        self.stages_: list[Any] | None = None
        if len({(each.name, str(each.params)) for each in config.candidates}) == 1 and len(config.candidates) > 1:
            self.stages_ = [each.stage for each in config.candidates]
        self.selection_ = _selection(
            {
                "candidate": found.chosen,
                "name": [candidate.name for candidate in chosen],
                "params": [candidate.params for candidate in chosen],
                "stage": [candidate.stage for candidate in chosen],
                "validation_score": scores.tolist(),
            }
        )
        if data.classes is not None:
            self.classes_ = data.classes

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the validation scores of every candidate on each split, with the selected ones marked.

        The stages of one training run are drawn along their number, other candidates in the order of ``candidates_``.
        """
        check_is_fitted(self)
        places = list(range(len(self.candidates_))) if self.stages_ is None else self.stages_
        return validation_curves(
            places,
            self.validation_scores_,
            self.selection_["candidate"].tolist(),
            xlabel="candidate" if self.stages_ is None else "stage",
            ylabel=f"{self.score_name_} on validation rows",
            ax=ax,
        )

    # skops cannot write a frame: saved files hold plain values.

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        if "selection_" in state:
            table = state["selection_"].astype({"stage": object})
            state["selection_"] = table.where(table.notna(), None).to_dict("list")
        return state

    def __setstate__(self, state: dict[str, Any]) -> None:
        if "selection_" in state:
            state = state | {"selection_": _selection(state["selection_"])}
        super().__setstate__(state)

    # Parameters of named estimators are reached as name__parameter, as in a VotingClassifier.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` those of the estimators too."""
        if isinstance(self.estimator, list):
            named: dict[str, Any] = self._get_params("estimator", deep=deep)
            return named
        found: dict[str, Any] = super().get_params(deep=deep)
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters."""
        if isinstance(params.get("estimator", self.estimator), list):
            return self._set_params("estimator", **params)
        return super().set_params(**params)

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata: weights to the estimators, groups to the splitter."""
        router = MetadataRouter(owner=self)
        for name, estimator in named_estimators(self.estimator).items():
            fitted = MethodMapping().add(caller="fit", callee="fit")
            router.add(method_mapping=fitted, **{f"estimator {name}": estimator})
        if not isinstance(self.cv, str):
            splitter = check_cv(5 if self.cv is None else self.cv)
            router.add(splitter=splitter, method_mapping=MethodMapping().add(caller="fit", callee="split"))
        return router

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = [get_tags(each) for each in named_estimators(self.estimator).values()]
        except (InvalidInput, AttributeError):
            return tags
        # One candidate that accepts sparse tables or missing values is enough: those that fail are skipped.
        tags.input_tags.sparse = any(each.input_tags.sparse for each in inner)
        tags.input_tags.allow_nan = any(each.input_tags.allow_nan for each in inner)
        tags.input_tags.categorical = all(each.input_tags.categorical for each in inner)
        tags.input_tags.string = all(each.input_tags.string for each in inner)
        if tags.classifier_tags is not None and all(each.classifier_tags is not None for each in inner):
            tags.classifier_tags.multi_class = all(each.classifier_tags.multi_class for each in inner)
        return tags


class AgghooRegressor(RegressorMixin, _Agghoo):  # type: ignore[misc]
    """Aggregated hold-out: the mean of the regressors that are best on each of several hold-outs.

    For each split every candidate is trained on the training rows and evaluated on the validation rows. The best model
    of each split becomes a member, and the members' predictions are averaged. No row is a training row of all members,
    and none is a validation row of all.

    Parameters
    ----------
    estimator : regressor, or list of (name, regressor)
        The learner, or several of them.
    param_grid : dict, list of dicts, or dict of names to these, optional
        Parameters to try; with a list of estimators a dict from names to grids.
    cv : int, splitter or iterable, default=5
        The hold-outs. A number means the folds that every method of truefit shares for these rows; ``ShuffleSplit``
        gives the Monte-Carlo form.
    scoring : str or scorer, optional
        The score to select by: a metric of truefit or of scikit-learn; by default the mean squared error. The first of
        equally good candidates is selected.
    path : {"auto", None} or int, default="auto"
        Which stages of a training run are candidates, all evaluated from one fit per split.

        - "auto": every stage of boosting; every epoch of scikit-learn's networks, up to ``max_iter`` and trained by
          ``partial_fit``, and of skorch's, up to ``max_epochs``; every stage of an estimator that has ``fit_stages``. A
          number of stages that the grid sets is used as it is.
        - a number: so many stages of everything that has stages, forests and stochastic gradient descent
          included.
        - None: each candidate as a whole.
    aggregate : {"mean"}, default="mean"
        How the members' predictions are combined.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a saved model none. With its
        ``on_error="record"``, and without an engine, candidates that fail are skipped with a warning.

    Attributes
    ----------
    members_ : list of fitted estimators
        One for each split.
    selection_ : DataFrame
        For each split the selected candidate: its position, name, params, stage and validation_score.
    validation_scores_ : array of shape (splits, candidates)
        With the metric's own sign; NaN where a fit failed.
    mean_validation_score_ : float
        Mean score of the members on their own validation rows. It is optimistically biased;
        :func:`truefit.cross_test` gives an unbiased estimate.
    candidates_ : list of str
        Names of the columns of ``validation_scores_``.
    stages_ : list of int or None
        Their stages, where they are those of one training run.
    n_splits_, n_features_in_, feature_names_in_
        As in scikit-learn.

    References
    ----------
    G. Maillard, S. Arlot, M. Lerasle (2021), Aggregated Hold-Out, JMLR 22:1-55.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.neighbors import KNeighborsRegressor
    >>> from truefit import AgghooRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> agghoo = AgghooRegressor(KNeighborsRegressor(), {"n_neighbors": [1, 5, 20]}).fit(X, y)
    >>> len(agghoo.members_), agghoo.validation_scores_.shape
    (5, (5, 3))
    >>> bool((agghoo.predict(X) == sum(member.predict(X) for member in agghoo.members_) / 5).mean() > 0.99)
    True
    """

    _task: ClassVar[Task] = "regression"
    _aggregates: ClassVar[tuple[str, ...]] = ("mean",)

    def predict(self, X: Any) -> Array:
        """Return the mean of what the members predict."""
        check_is_fitted(self)
        return mean_of([member.predict(X) for member in self.members_])


class AgghooClassifier(ClassifierMixin, _Agghoo):  # type: ignore[misc]
    """Aggregated hold-out: the vote of the classifiers that are best on each of several hold-outs.

    For each split every candidate is trained on the training rows and evaluated on the validation rows. The best model
    of each split becomes a member. The members' probabilities are averaged, or their labels are counted.

    Parameters
    ----------
    estimator : classifier, or list of (name, classifier)
        The learner, or several of them.
    param_grid : dict, list of dicts, or dict of names to these, optional
        Parameters to try; with a list of estimators a dict from names to grids.
    cv : int, splitter or iterable, default=5
        The hold-outs. A number means the stratified folds that every method of truefit shares for these rows;
        ``StratifiedShuffleSplit`` gives the Monte-Carlo form.
    scoring : str or scorer, optional
        The score to select by; by default the error, the share of wrong labels. The first of equally good candidates is
        selected.
    path : {"auto", None} or int, default="auto"
        Which stages of a training run are candidates; see :class:`AgghooRegressor`.
    aggregate : {"soft", "vote"}, default="soft"
        "soft": the label with the largest mean probability. "vote": the label that most members predict, of equally
        frequent ones the first class.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a saved model none. With its
        ``on_error="record"``, and without an engine, candidates that fail are skipped with a warning.

    Attributes
    ----------
    classes_ : array
        The classes. A member trained without one of them gives it a probability of 0.
    members_, selection_, validation_scores_, mean_validation_score_, candidates_, n_splits_, n_features_in_, \
feature_names_in_
        As for :class:`AgghooRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from truefit import AgghooClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> models = [("bayes", GaussianNB()), ("neighbours", KNeighborsClassifier())]
    >>> agghoo = AgghooClassifier(models, {"neighbours": {"n_neighbors": [1, 15]}}).fit(X, y)
    >>> agghoo.candidates_
    ['bayes', 'neighbours(n_neighbors=1)', 'neighbours(n_neighbors=15)']
    >>> agghoo.predict_proba(X[:1]).shape
    (1, 3)
    """

    _task: ClassVar[Task] = "classification"
    _aggregates: ClassVar[tuple[str, ...]] = ("soft", "vote")

    def __init__(
        self,
        estimator: Any,
        param_grid: Any = None,
        *,
        cv: Any = 5,
        scoring: Any = None,
        path: Any = "auto",
        aggregate: Literal["soft", "vote"] = "soft",
        n_jobs: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(
            estimator, param_grid, cv=cv, scoring=scoring, path=path, aggregate=aggregate,
            n_jobs=n_jobs, random_state=random_state, engine=engine,
        )  # fmt: skip

    def predict(self, X: Any) -> Array:
        """Return the label that the members give together."""
        check_is_fitted(self)
        if self.aggregate == "vote":
            return vote_of([member.predict(X) for member in self.members_], self.classes_)
        labels: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    @available_if(lambda self: self.aggregate == "soft")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the mean of the members' probabilities, a column for each of ``classes_``."""
        check_is_fitted(self)
        parts = [aligned(member.predict_proba(X), member.classes_, self.classes_) for member in self.members_]
        return mean_of(parts)
