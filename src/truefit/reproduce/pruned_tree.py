"""PrunedTree: a decision tree that is pruned the less the more rows it is trained on."""

from __future__ import annotations

from typing import Any

from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.tree import DecisionTreeClassifier


class PrunedTree(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A CART whose cost of a leaf is a number over the rows, in the place of the paper's pruned C4.5.

    Parameters
    ----------
    pruning : float, default=8.0
        ``ccp_alpha`` times the number of training rows.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> PrunedTree().fit(*load_iris(return_X_y=True)).tree_.ccp_alpha == 8 / 150
    True
    """

    def __init__(self, pruning: float = 8.0) -> None:
        self.pruning = pruning

    def fit(self, X: Any, y: Any) -> PrunedTree:
        """Fit the tree."""
        self.tree_ = DecisionTreeClassifier(ccp_alpha=self.pruning / len(y), random_state=0).fit(X, y)
        self.classes_ = self.tree_.classes_
        return self

    def predict(self, X: Any) -> Any:
        """Return the classes of rows."""
        return self.tree_.predict(X)
