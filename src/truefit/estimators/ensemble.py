"""EnsembleRegressor and EnsembleClassifier: the average of several models, each fitted on all rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, ClassVar, Literal

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted, validate_data

from truefit._api.engine import Engine
from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidInput, reasons
from truefit._core.protocols import FitTask, Keep, Plan
from truefit._core.rows import Rows
from truefit._core.typing import Array, Floats
from truefit._core.validation import Task
from truefit._methods.agghoo.plan import aligned, mean_of, vote_of
from truefit._sklearn import BaseComposition
from truefit.estimators._base import UsesEngine, groups_and_weight

Named = Sequence[tuple[str, Any]]


class _Ensemble(MetaEstimatorMixin, UsesEngine, BaseComposition, BaseEstimator):  # type: ignore[misc]
    """Base of both estimators."""

    _task: ClassVar[Task]

    def __init__(
        self,
        estimators: Any,
        *,
        weights: Sequence[float] | None = None,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        self.estimators = estimators
        self.weights = weights
        self.n_jobs = n_jobs
        self.engine = engine

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit every estimator on all rows.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            The target.
        **params
            ``sample_weight`` for the fits.
        """
        groups, weight = groups_and_weight(self, params)
        if y is None:
            raise InvalidInput(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        named = list(self.estimators)
        if not named:
            raise InvalidInput(f"{type(self).__name__} needs at least one (name, estimator). Got none.")
        self.weights_ = _checked(self.weights, len(named))
        data = Data(X, y, task=self._task, groups=groups, weight=weight)
        self.members_ = self._run(_members_plan(named, data.n), data, "ensemble")
        validate_data(self, X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        if data.classes is not None:
            self.classes_ = data.classes
        return self

    # Parameters of named estimators are reached as name__parameter, as in a VotingClassifier.

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the parameters; with ``deep`` those of the estimators too."""
        found: dict[str, Any] = self._get_params("estimators", deep=deep)
        return found

    def set_params(self, **params: Any) -> Any:
        """Set parameters."""
        return self._set_params("estimators", **params)

    # A saved model is what predicts; the study keeps the assessment.

    def __getstate__(self) -> dict[str, Any]:
        state = super().__getstate__()
        state.pop("assessment_", None)
        return state

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = [get_tags(each) for _, each in self.estimators]
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, bool(inner) and all(getattr(each.input_tags, name) for each in inner))
        return tags


def _checked(weights: Any, members: int) -> Floats | None:
    if weights is None:
        return None
    try:
        given = np.asarray(weights, dtype=np.float64)
    except (TypeError, ValueError):
        given = np.empty(0)
    if given.shape != (members,) or not np.isfinite(given).all() or (given < 0).any() or not given.any():
        raise InvalidInput(
            "The 'weights' parameter must have a number of at least 0 for each estimator, and one above 0. "
            f"Got {weights!r} for {members} estimators."
        )
    return given


def _members_plan(named: Named, rows: int) -> Plan[list[Any]]:
    everything = Rows.all(rows)
    outcomes = yield [FitTask(each, everything, keep=Keep(("member", place))) for place, (_, each) in enumerate(named)]
    failed = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failed:
        raise FitError(f"A member of the ensemble could not be fitted on all rows. {reasons(failed)}", failed)
    return [outcome.model for outcome in outcomes]


class EnsembleRegressor(RegressorMixin, _Ensemble):  # type: ignore[misc]
    """The mean of several regressors, weighted or not, each fitted on all rows.

    A tuned :func:`truefit.study` returns one as ``ensemble``.

    Parameters
    ----------
    estimators : list of (name, regressor)
        The members.
    weights : sequence of float, optional
        Weight of each member. All have the same by default.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a saved model none.

    Attributes
    ----------
    members_ : list of fitted regressors
        The members.
    weights_ : array or None
        Their weights, where they are not equal.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.tree import DecisionTreeRegressor
    >>> X, y = np.arange(20.0).reshape(-1, 1), np.arange(20.0)
    >>> model = EnsembleRegressor([("ridge", Ridge()), ("tree", DecisionTreeRegressor(max_depth=2))]).fit(X, y)
    >>> bool(np.allclose(model.predict(X), (model.members_[0].predict(X) + model.members_[1].predict(X)) / 2))
    True
    """

    _task: ClassVar[Task] = "regression"

    def predict(self, X: Any) -> Array:
        """Return the mean of what the members predict."""
        check_is_fitted(self)
        return mean_of([member.predict(X) for member in self.members_], self.weights_)


class EnsembleClassifier(ClassifierMixin, _Ensemble):  # type: ignore[misc]
    """The mean of the probabilities of several classifiers, or their vote; each is fitted on all rows.

    A tuned :func:`truefit.study` returns one as ``ensemble``.

    Parameters
    ----------
    estimators : list of (name, classifier)
        The members.
    aggregate : {"soft", "vote"}, default="soft"
        "soft": the label with the largest mean probability, where the label of a member without probabilities counts as
        certain. "vote": the label that most members predict, of equally
        frequent ones the first class.
    weights : sequence of float, optional
        Weight of each member. All have the same by default.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a saved model none.

    Attributes
    ----------
    classes_ : array
        The classes.
    members_, weights_, n_features_in_, feature_names_in_
        As for :class:`EnsembleRegressor`.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = EnsembleClassifier([("bayes", GaussianNB()), ("neighbours", KNeighborsClassifier())]).fit(X, y)
    >>> model.predict(X[[0, 60]]).tolist(), model.predict_proba(X[:1]).shape
    ([0, 1], (1, 3))
    """

    _task: ClassVar[Task] = "classification"

    def __init__(
        self,
        estimators: Any,
        *,
        aggregate: Literal["soft", "vote"] = "soft",
        weights: Sequence[float] | None = None,
        n_jobs: int | None = None,
        engine: Engine | None = None,
    ) -> None:
        super().__init__(estimators, weights=weights, n_jobs=n_jobs, engine=engine)
        self.aggregate = aggregate

    def predict(self, X: Any) -> Array:
        """Return the label that the members give together."""
        check_is_fitted(self)
        if self.aggregate == "vote":
            return vote_of([member.predict(X) for member in self.members_], self.classes_, self.weights_)
        labels: Array = self.classes_[self.predict_proba(X).argmax(axis=1)]
        return labels

    @available_if(lambda self: self.aggregate == "soft")  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any) -> Array:
        """Return the mean of the members' probabilities, a column for each of ``classes_``."""
        check_is_fitted(self)
        return mean_of([self._probabilities(member, X) for member in self.members_], self.weights_)

    def _probabilities(self, member: Any, X: Any) -> Array:
        if hasattr(member, "predict_proba"):
            return aligned(member.predict_proba(X), member.classes_, self.classes_)
        codes: Array = np.searchsorted(self.classes_, member.predict(X))
        return np.eye(len(self.classes_))[codes]
