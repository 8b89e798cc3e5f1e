"""The relative squared error, which scikit-learn has as 1 - R²."""

from __future__ import annotations

from typing import Any

from sklearn.metrics import r2_score


def relative_squared_error(y_true: Any, y_pred: Any, *, sample_weight: Any = None) -> float:
    """Squared residuals over squared distances from the mean of y: 0 for exact predictions, 1 for that mean itself.

    Examples
    --------
    Residuals 1, 0, 1 against distances 2, 0, 2: 2 / 8.

    >>> relative_squared_error([0.0, 2.0, 4.0], [1.0, 2.0, 3.0])
    0.25
    """
    return 1 - float(r2_score(y_true, y_pred, sample_weight=sample_weight))
