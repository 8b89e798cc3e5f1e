"""A fitted model on a new table: the columns it needs, and its predictions as the outcome of a fit."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Response
from truefit._methods.text import listed

#: Columns shown in a message.
_SHOWN = 5


def outcome_of(model: Any, X: Any, data: Data, responses: Iterable[Response], *, advice: str) -> Outcome:
    """Return the predictions of a fitted model for the rows of X, which are those of ``data``."""
    classes = getattr(model, "classes_", None)
    try:
        answers = [Predictions(each, data.tokens, np.asarray(getattr(model, each)(X))) for each in responses]
    except Exception as error:  # whatever an estimator raises for values that it has not seen
        reason = (str(error).splitlines() or ["no message"])[0].rstrip(".")
        raise InvalidInput(
            f"The model cannot predict the test rows ({type(error).__name__}: {reason}). {advice}"
        ) from error
    return Outcome("fitted model", answers, classes=None if classes is None else np.asarray(classes))


def expected_columns(model: Any) -> list[str] | None:
    """Return the names of the columns that a model was fitted on; None where it does not know them."""
    names = getattr(model, "feature_names_in_", None)
    return None if names is None else [str(name) for name in names]


def with_columns(X: Any, names: Sequence[str] | None, model: Any) -> Any:
    """Return the columns of a table that a model was fitted on, in their order; refuse a table that lacks one."""
    if not hasattr(X, "columns"):
        wanted = getattr(model, "n_features_in_", None)
        given = X.shape[1] if len(X.shape) > 1 else 1
        if wanted is not None and given != wanted:
            raise InvalidInput(f"X must have the {wanted} columns that the model was fitted on. Got {given}.")
        return X
    if names is None:
        return X
    columns = {str(name): name for name in X.columns}
    missing = [name for name in names if name not in columns]
    if missing:
        raise InvalidInput(
            f"X must have every column that the model was fitted on. It lacks {quoted(missing)}; add "
            f"{'it' if len(missing) == 1 else 'them'}, with missing values where they are not known."
        )
    extra = [name for name in columns if name not in set(names)]
    if extra:
        warnings.warn(
            f"X has columns that the model was not fitted on: {quoted(extra)}. They are not used.",
            UserWarning,
            stacklevel=3,
        )
    return X[[columns[name] for name in names]]


def quoted(names: Sequence[Any]) -> str:
    """Return the first few names in quotes, and how many more there are."""
    shown = [repr(name) for name in names[:_SHOWN]]
    return listed([*shown, f"{len(names) - _SHOWN:,} more"] if len(names) > _SHOWN else shown)
