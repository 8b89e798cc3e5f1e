"""A fitted model on a new table: the columns it needs, and its predictions as the outcome of a fit."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Response
from truefit._core.typing import Array
from truefit._methods.text import counted, listed
from truefit._metrics.metric import Metric

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


def unseen_classes(target: Array, known: Array | None) -> dict[str, int]:
    """Return the number of rows of each class that a model was not trained on."""
    if known is None:
        return {}
    labels, counts = np.unique(target[~np.isin(target, known)], return_counts=True)
    return {str(label): int(count) for label, count in zip(labels, counts, strict=True)}


def check_two_classes(metric: Metric, target: Array, known: Array | None) -> None:
    """Refuse a metric of the two classes that a model knows where the rows have others."""
    unseen = unseen_classes(target, known)
    if unseen and metric.two_classes and known is not None and len(known) == 2:
        rows = [f"{count:,} of {label!r}" for label, count in unseen.items()]
        raise InvalidInput(
            f"The metric {metric.name!r} is for 2 classes, {listed([repr(each) for each in known.tolist()])}. The test "
            f"rows have {listed(rows)} too, which the model does not know. Leave them out, or use a metric by which "
            "they count as errors, such as 'error'."
        )


def unseen_categories(X: Any, known: Mapping[str, Collection[Any]]) -> list[str]:
    """Return for each column of text which categories are not among the known ones, and in how many rows.

    >>> import pandas as pd
    >>> unseen_categories(pd.DataFrame({"stage": ["I", "IV", None, "IV"]}), {"stage": ["I", "II"]})
    ["'stage': 'IV' in 2 rows"]
    """
    found = []
    for name in X.columns if hasattr(X, "columns") else ():
        if str(name) not in known:
            continue
        values = [each for each in X[name].to_list() if isinstance(each, str) and each not in known[str(name)]]
        if values:
            most = Counter(values).most_common(_SHOWN)
            rows = [f"{value!r} in {counted(count, 'row')}" for value, count in most]
            others = len(set(values)) - len(most)
            found.append(f"{str(name)!r}: {listed([*rows, f'{others:,} more'] if others else rows)}")
    return found


def categories_of(model: Any) -> dict[str, set[Any]]:
    """Return the categories of each column that the encoders within a fitted model know, whatever they are parts of.

    >>> import pandas as pd
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import OneHotEncoder
    >>> categories_of(make_pipeline(OneHotEncoder()).fit(pd.DataFrame({"stage": ["I", "I"]})))
    {'stage': {'I'}}
    """
    found: dict[str, set[Any]] = {}
    parts, seen = [model], {id(model)}
    while parts:
        part = parts.pop()
        names = getattr(part, "feature_names_in_", None)
        if names is not None and isinstance(getattr(part, "categories_", None), list):
            for name, categories in zip(names, part.categories_, strict=True):
                found.setdefault(str(name), set()).update(categories)
        inner = part.values() if isinstance(part, dict) else part if isinstance(part, list | tuple) else []
        inner = vars(part).values() if isinstance(part, BaseEstimator) else inner
        fresh = [each for each in inner if isinstance(each, BaseEstimator | dict | list | tuple)]
        parts += [each for each in fresh if id(each) not in seen]
        seen |= {id(each) for each in fresh}
    return found


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
