"""IntervalRegressor and IntervalClassifier: a model with prediction intervals or sets from the models of the folds."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, RegressorMixin
from sklearn.utils import get_tags
from sklearn.utils.metadata_routing import MetadataRouter, MethodMapping
from sklearn.utils.validation import check_is_fitted, validate_data

from truefit._api.engine import Engine
from truefit._api.validation import resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats
from truefit._core.validation import Task, check_level
from truefit._methods.agghoo.plan import aligned
from truefit._methods.candidates import Candidates
from truefit._methods.intervals import FoldModels, interval_plan
from truefit._methods.splitting.splits import Splits, cv_splits
from truefit._methods.subplans import with_kept_models
from truefit._stats.conformal import conformal_sets, cv_plus
from truefit.estimators._base import UsesEngine, groups_and_weight

if TYPE_CHECKING:
    import pandas as pd


class _Interval(MetaEstimatorMixin, UsesEngine, BaseEstimator):  # type: ignore[misc]
    """Base of both estimators."""

    _task: ClassVar[Task]

    def __init__(
        self,
        estimator: Any,
        *,
        cv: Any = 5,
        level: float = 0.95,
        n_jobs: int | None = None,
        random_state: Any = None,
        engine: Engine | None = None,
    ) -> None:
        self.estimator = estimator
        self.cv = cv
        self.level = level
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.engine = engine

    def fit(self, X: Any, y: Any = None, **params: Any) -> Any:
        """Fit the model on all rows, and one without each fold.

        Parameters
        ----------
        X : array-like, sparse matrix or data frame of shape (n_samples, n_features)
            The table.
        y : array-like of shape (n_samples,)
            The target.
        **params
            ``groups`` for the folds and ``sample_weight`` for the fits and the intervals.
        """
        check_level(self.level)
        groups, weight = groups_and_weight(
            self, params, no_time="its intervals need new rows that are like those of the table. Leave it out."
        )
        if y is None:
            raise InvalidInput(f"{type(self).__name__} requires y to be passed, but the target y is None.")
        data = Data(X, y, task=self._task, groups=groups, weight=weight)
        return self._fit_on(cv_splits(data, self.cv, random_state=resolve_seed(self.random_state)), data, {})

    def _fit_on(self, splits: Splits, data: Data, kept: dict[bytes, Any]) -> Any:
        """Fit on these folds; models in ``kept``, by their training rows, are not fitted again."""
        if data.y.ndim > 1:
            raise InvalidInput(f"{type(self).__name__} needs one target. Got {data.y.shape[1]}; fit one for each.")
        candidates = Candidates(self.estimator, data.y)
        if len(candidates) != 1 or candidates.task != self._task:
            raise InvalidInput(f"{type(self).__name__} needs one {_KINDS[self._task]}. Got {self.estimator!r}.")
        ((name, settled),) = candidates
        if self._task == "classification" and not hasattr(settled, "predict_proba"):
            raise InvalidInput(
                f"IntervalClassifier needs a classifier with predict_proba. {name} has none; recalibrate it with "
                "CalibratedClassifierCV (by name: svm+platt), or use another one."
            )
        if not splits.partition or splits.repeats > 1:
            raise InvalidInput(
                f"The 'cv' parameter of {type(self).__name__} must hold out each row once, as folds do. Got "
                f"{splits.description}."
            )
        plan = with_kept_models(interval_plan(settled, splits, data, self.level), kept)
        found: FoldModels = self._run(plan, data, "prediction intervals")
        validate_data(self, data.X, skip_check_array=True)  # sets n_features_in_ and feature_names_in_
        self.estimator_, self.members_ = found.final, found.members
        self.scores_, self.folds_ = found.scores, found.folds.astype(np.int16)
        self.weights_, self.new_weight_ = found.weights, found.new_weight
        self._coverage = found.coverage
        if data.classes is not None:
            self.classes_ = data.classes
        return self

    def predict(self, X: Any) -> Array:
        """Return what the final model, fitted on all rows, predicts."""
        return np.asarray(self._checked(X).predict(X))

    @property
    def coverage_(self) -> pd.DataFrame:
        """Coverage and width on held-out rows at ``level``, by size of prediction or by predicted class.

        The model of a row's fold predicts it, and the scores of the other folds give the width.
        """
        import pandas as pd

        check_is_fitted(self)
        return pd.DataFrame(self._coverage).set_index("prediction")

    def _checked(self, X: Any) -> Any:
        """Return the final model; refuse another table than the one it was fitted on."""
        check_is_fitted(self)
        if hasattr(X, "columns"):  # of an array the model itself checks the number of columns
            validate_data(self, X, reset=False, skip_check_array=True)
        return self.estimator_

    def _quantile(self, level: float | None) -> dict[str, Any]:
        chosen = self.level if level is None else level
        check_level(chosen)
        return {
            "scores": self.scores_,
            "folds": self.folds_,
            "level": chosen,
            "weights": self.weights_,
            "new_weight": self.new_weight_,
        }

    def get_metadata_routing(self) -> MetadataRouter:
        """Return the routing of metadata: weights to the estimator."""
        fitted = MethodMapping().add(caller="fit", callee="fit")
        return MetadataRouter(owner=self).add(estimator=self.estimator, method_mapping=fitted)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        try:
            inner = get_tags(self.estimator)
        except AttributeError:
            return tags
        for name in ("sparse", "allow_nan", "categorical", "string"):
            setattr(tags.input_tags, name, getattr(inner.input_tags, name))
        if tags.classifier_tags is not None and inner.classifier_tags is not None:
            tags.classifier_tags.multi_class = inner.classifier_tags.multi_class
        return tags


_KINDS = {"regression": "regressor", "classification": "classifier"}


class IntervalRegressor(RegressorMixin, _Interval):  # type: ignore[misc]
    """A regressor with prediction intervals: CV+ (Barber, Candès, Ramdas and Tibshirani 2021).

    One model is fitted without each fold, and one on all rows. The latter predicts. The interval of a new row comes
    from the former and the absolute residuals of the rows that they were not trained on. For new rows like those of the
    table it holds the target with probability ``level``, but for the limits under Notes. It is about as wide
    everywhere: ``coverage_`` shows where that is too little or too much.

    Parameters
    ----------
    estimator : regressor
        The model. An :class:`AgghooRegressor` or another ensemble is fitted as a whole without each fold.
    cv : int, splitter or iterable, default=5
        Folds, each row held out once. A number means the folds that every method of truefit shares for these rows.
    level : float, default=0.95
        Level of the intervals where ``predict_interval`` is given none, and of ``coverage_``.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a saved model none.

    Attributes
    ----------
    estimator_ : fitted regressor
        Fitted on all rows.
    members_ : list of fitted regressors
        The model of each fold.
    scores_, folds_ : arrays
        Absolute residuals of held-out rows, and their folds: of all rows, or of a random 5,000.
    coverage_ : DataFrame
        Coverage and mean width on held-out rows by fifths of the predictions.
    n_features_in_, feature_names_in_
        As in scikit-learn.

    Notes
    -----
    For exchangeable rows the coverage is at least 1 - 2 (1 - level) - sqrt(2 / n) for any learner, and about ``level``
    in practice (docs/coverage-prediction-intervals.md). With ``groups`` a group counts once, and it is the coverage of
    a row of a new group. With ``sample_weight`` rows count by weight, and the coverage is approximate. For rows in time
    order there is no guarantee.

    Examples
    --------
    >>> from sklearn.datasets import load_diabetes
    >>> from sklearn.linear_model import Ridge
    >>> from truefit import IntervalRegressor
    >>> X, y = load_diabetes(return_X_y=True)
    >>> model = IntervalRegressor(Ridge(alpha=0.1)).fit(X[:400], y[:400])
    >>> low, high = model.predict_interval(X[400:]).T
    >>> bool((low < model.predict(X[400:])).all()), bool(((low <= y[400:]) & (y[400:] <= high)).mean() > 0.9)
    (True, True)
    """

    _task: ClassVar[Task] = "regression"

    def predict_interval(self, X: Any, level: float | None = None) -> Floats:
        """Return the lower and the upper end of the interval of each row, an array of shape (n_samples, 2)."""
        self._checked(X)
        given = self._quantile(level)
        predictions = np.stack([np.asarray(member.predict(X), np.float64) for member in self.members_], axis=1)
        return cv_plus(predictions, given.pop("scores"), **given)


class IntervalClassifier(ClassifierMixin, _Interval):  # type: ignore[misc]
    """A classifier with prediction sets: cross-conformal (Vovk 2015; Romano, Sesia and Candès 2020).

    One model is fitted without each fold, and one on all rows. The latter predicts. The set of a new row has the
    classes whose probabilities under the former are not unusually small beside those of the true classes of held-out
    rows. It holds the true class with probability ``level``, or more where the model errs less than that: the most
    probable class is always in it.

    Parameters
    ----------
    estimator : classifier with predict_proba
        The model.
    cv : int, splitter or iterable, default=5
        Folds, each row held out once. A number means the stratified folds that every method of truefit shares for these
        rows.
    level : float, default=0.95
        Level of the sets where ``predict_set`` is given none, and of ``coverage_``.
    n_jobs : int, optional
        Number of worker processes. Ignored where an ``engine`` is given.
    random_state : int, RandomState, Generator or None, default=None
        Seed of the folds.
    engine : Engine, optional
        Runs the fits and shares equal ones. A clone has the same engine, a saved model none.

    Attributes
    ----------
    classes_ : array
        The classes.
    estimator_, members_, folds_, coverage_, n_features_in_, feature_names_in_
        As for :class:`IntervalRegressor`; ``coverage_`` is by predicted class, with the mean number of classes.
    scores_ : array
        1 minus the probability of the true class of held-out rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from truefit import IntervalClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = IntervalClassifier(GaussianNB()).fit(X, y)
    >>> model.predict_set(X[[0, 70]], level=0.98).tolist()
    [[True, False, False], [False, True, True]]
    """

    _task: ClassVar[Task] = "classification"

    def predict_proba(self, X: Any) -> Array:
        """Return the probabilities of the final model."""
        return np.asarray(self._checked(X).predict_proba(X))

    def predict_set(self, X: Any, level: float | None = None) -> npt.NDArray[np.bool_]:
        """Return which of ``classes_`` are in the set of each row, an array of shape (n_samples, n_classes)."""
        self._checked(X)
        given = self._quantile(level)
        shares = [aligned(member.predict_proba(X), member.classes_, self.classes_) for member in self.members_]
        return conformal_sets(shares, given.pop("scores"), **given)
