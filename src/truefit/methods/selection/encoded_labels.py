"""EncodedLabels: a classifier that knows classes as numbers only, for labels of any kind."""

from __future__ import annotations

from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone


class EncodedLabels(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Fits a classifier on the numbers of the classes, and answers with the classes themselves.

    Parameters
    ----------
    estimator : classifier
        With ``predict`` and ``predict_proba``.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> fitted = EncodedLabels(GaussianNB()).fit([[0.0], [0.1], [2.0], [2.1]], ["no", "no", "yes", "yes"])
    >>> fitted.predict([[0.05]]).tolist(), fitted.estimator_.classes_.tolist()
    (['no'], [0, 1])
    """

    def __init__(self, estimator: Any) -> None:
        self.estimator = estimator

    def fit(self, X: Any, y: Any) -> EncodedLabels:
        """Fit on the codes of the labels."""
        self.classes_, codes = np.unique(np.asarray(y), return_inverse=True)
        self.estimator_ = clone(self.estimator).fit(X, codes)
        return self

    def predict(self, X: Any) -> Any:
        """Return the label of each row."""
        return self.classes_[np.asarray(self.estimator_.predict(X)).astype(np.intp)]

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of each class, in the order of ``classes_``."""
        return self.estimator_.predict_proba(X)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
