"""External test set: rows that nothing of a study has seen, on which the selected model is evaluated once."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.protocols import Response
from truefit._core.rows import Rows
from truefit._core.validation import checked_table, checked_target
from truefit._methods.assessment.estimate import estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.evaluation.inputs import outcome_of, quoted, unseen_categories, unseen_classes
from truefit._methods.evaluation.promise import Agreement
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Split, Splits
from truefit._metrics.metric import Metric

#: A column of text with more different values has no categories.
_MOST_CATEGORIES = 40


@dataclass(frozen=True, slots=True)
class ExternalTest:
    """The selected model, trained on all training rows, on a separate test set.

    Attributes
    ----------
    estimate : float
        Value of the metric on the test rows; NaN where there is none, and ``reason`` says why.
    interval : tuple of float or None
        Its confidence interval, of a hold-out.
    rows : int
        Number of test rows.
    agrees : bool or None
        Whether it agrees with the estimate from the training rows: the interval of the difference contains 0. None
        where one of the two has no interval.
    difference : float
        This estimate minus that from the training rows.
    difference_interval : tuple of float or None
        Interval of the difference, from both intervals (Newcombe's method).
    unseen_classes : dict
        Number of test rows of each class that the training rows lack. They count as errors.
    method : str or None
        The interval's method.
    reason : str or None
        Why there is no value, or no interval.
    """

    estimate: float
    interval: tuple[float, float] | None
    rows: int
    agrees: bool | None
    difference: float
    difference_interval: tuple[float, float] | None
    unseen_classes: dict[str, int]
    method: str | None
    reason: str | None

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        value, difference = (None if math.isnan(each) else float(each) for each in (self.estimate, self.difference))
        pairs = {"interval": self.interval, "difference_interval": self.difference_interval}
        return {
            "estimate": value,
            **{name: None if ends is None else [float(end) for end in ends] for name, ends in pairs.items()},
            "rows": self.rows,
            "agrees": self.agrees,
            "difference": difference,
            "unseen_classes": dict(self.unseen_classes),
            "method": self.method,
            "reason": self.reason,
        }


def read_test(test: Any, data: Data) -> Data:
    """Return a test set with the columns of the training rows, or say why it does not suit them."""
    if not isinstance(test, tuple | list) or len(test) not in (2, 3):
        raise InvalidInput(
            "The 'test' parameter must be a pair (X_test, y_test), or (X_test, y_test, groups_test). Got a "
            f"{type(test).__name__}."
        )
    X, y, groups = (*test, None)[:3]
    if hasattr(X, "__len__") and len(X) == 0:
        raise InvalidInput("The test set must have at least one row. Got none; check how the rows were divided.")
    X = _with_columns(checked_table(X), data)
    rows = int(X.shape[0])
    target = checked_target(y, rows, data.task)
    if data.task == "regression":
        return Data(X, target, task=data.task, groups=groups)
    assert data.classes is not None
    if data.classes.dtype.kind != target.dtype.kind and not np.isin(target, data.classes).any():
        raise InvalidInput(
            f"The classes of the test set must be those of the training rows, such as {data.classes[0].item()!r}. Got "
            f"{target[0].item()!r}; check the type of its target."
        )
    return Data(X, target, task="classification", classes=data.classes, groups=groups)


def _with_columns(X: Any, data: Data) -> Any:
    """Return the columns that the model was trained on, in their order."""
    known = data.X
    if hasattr(known, "columns") != hasattr(X, "columns"):
        kinds = ["a data frame" if hasattr(each, "columns") else "an array" for each in (known, X)]
        raise InvalidInput(f"The test set must be {kinds[0]}, as the training rows are. Got {kinds[1]}; convert it.")
    if not hasattr(known, "columns"):
        if known.shape[1:] != X.shape[1:]:
            raise InvalidInput(
                f"The test set must have the {_width(known)} columns of the training rows. Got {_width(X)}."
            )
        return X
    names, given = list(known.columns), list(X.columns)
    missing = [name for name in names if name not in given]
    if missing:
        raise InvalidInput(
            f"The test set must have all columns of the training rows. It lacks {quoted(missing)}; add "
            f"{'it' if len(missing) == 1 else 'them'}, with missing values where they are not known."
        )
    extra = [name for name in given if name not in names and name != data.time_name]
    if extra:
        warnings.warn(
            f"The test set has columns that the training rows lack: {quoted(extra)}. They are not used.",
            UserWarning,
            stacklevel=4,
        )
    X = X[names]
    for name in names:
        values = X[name].drop_nulls() if hasattr(X[name], "drop_nulls") else X[name].dropna()
        numeric = [_is_numeric(known[name]), _is_numeric(values)]
        if numeric[0] != numeric[1] and len(values):
            kinds = ["numbers" if each else "no numbers" for each in numeric]
            raise InvalidInput(
                f"Column {name!r} of the test set must hold {kinds[0]}, as in the training rows. Got {kinds[1]}; check "
                "how it was read."
            )
    texts = [name for name in names if not _is_numeric(known[name])]
    values = {str(name): {each for each in known[name].to_list() if isinstance(each, str)} for name in texts}
    unseen = unseen_categories(X, {name: each for name, each in values.items() if len(each) <= _MOST_CATEGORIES})
    if unseen:
        warnings.warn(
            f"The test set has categories that the training rows lack, in column {'; '.join(unseen)}.",
            UserWarning,
            stacklevel=4,
        )
    return X


def _width(X: Any) -> int:
    return int(X.shape[1]) if len(X.shape) > 1 else 1


def _is_numeric(column: Any) -> bool:
    if hasattr(column.dtype, "is_numeric"):  # polars
        return bool(column.dtype.is_numeric()) or str(column.dtype) == "Boolean"
    import pandas as pd

    return bool(pd.api.types.is_numeric_dtype(column))


def evaluated(
    model: Any, test: Data, training: Data, metric: Metric, level: float, known: float, ends: tuple[float, float] | None
) -> ExternalTest:
    """Evaluate a fitted model on a test set, and compare it with the estimate from the training rows."""
    unseen = unseen_classes(test.y, training.classes)
    splits = Splits.of([Split(Rows.of(np.arange(0)), Rows.all(test.n))], "external test set")
    try:
        wanted = dict.fromkeys(("predict", *metric.responses(model)))
        advice = "Check that their columns hold the same kinds of values as the training rows."
        outcome = outcome_of(model, test.X, test, cast("Iterable[Response]", wanted), advice=advice)
        evidence = Evidence([outcome], (), test, Design("splits", splits, "auto"), metric)
        found = estimate(evidence, level=level)
    except InvalidInput as error:
        return ExternalTest(math.nan, None, test.n, None, math.nan, None, unseen, None, str(error))
    beside = Agreement.between(found.value, found.interval, known, ends)
    return ExternalTest(
        found.value, found.interval, test.n, beside.agrees, beside.difference, beside.interval, unseen, found.method,
        found.reason,
    )  # fmt: skip
