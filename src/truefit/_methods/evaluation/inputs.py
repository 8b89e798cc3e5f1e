"""What an evaluation works on: predictions from arrays, or a fitted model on a table, as outcomes of a hold-out."""

from __future__ import annotations

import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, get_args

import numpy as np
from sklearn.base import BaseEstimator

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Response
from truefit._core.typing import Array, Floats
from truefit._core.validation import Task, as_array, checked_column, count_missing
from truefit._methods.text import counted, listed
from truefit._metrics.metric import Metric

Kind = Literal["label", "probability", "score", "number"]

#: Classes shown in a message.
_SHOWN: Final = 6
#: Columns shown in a message.
_QUOTED: Final = 5
#: Probabilities of a row may miss a sum of 1 by so much: they were rounded when they were written.
_ROUNDED: Final = 0.01
_SEVERAL: Final = "Pass a dict of names to predictions for several models"


@dataclass(frozen=True, slots=True)
class Models:
    """Names of models, and whether there is only one, given without a name."""

    names: list[str]
    single: bool

    def __len__(self) -> int:
        return len(self.names)


@dataclass(frozen=True, slots=True)
class GivenPredictions:
    """Predictions by model as arrays with one row per row of the truth, and what they are where that was stated."""

    models: Models
    arrays: Mapping[str, Array]
    #: Names of the columns of each data frame.
    columns: Mapping[str, list[Any]]
    kind: Kind | None

    @classmethod
    def read(cls, predictions: Any, rows: int, kind: Any) -> GivenPredictions:
        """Check the number of rows, missing values and the stated kind."""
        if kind is not None and kind not in get_args(Kind):
            raise InvalidInput(
                f"The 'kind' parameter must be None or one of {', '.join(map(repr, get_args(Kind)))}. Got {kind!r}."
            )
        single = not isinstance(predictions, Mapping)
        given = {"model": predictions} if single else {str(name): each for name, each in predictions.items()}
        if not given or len(given) < (1 if single else len(predictions)):
            raise InvalidInput(
                "The 'predictions' parameter must hold the predictions of at least one model, each under a name of its "
                f"own. Got {'none' if not given else ', '.join(map(repr, predictions))}."
            )
        named = {name: list(each.columns) for name, each in given.items() if hasattr(each, "columns")}
        arrays = {name: _column(each, rows, name) for name, each in given.items()}
        return cls(Models(list(given), single), arrays, named, kind)

    @property
    def task(self) -> Task | None:
        """The task that the predictions alone decide; None where the truth decides."""
        if self.kind is not None:
            return "regression" if self.kind == "number" else "classification"
        several = any(each.ndim == 2 or each.dtype.kind in "OSUb" for each in self.arrays.values())
        return "classification" if several else None

    @property
    def whole(self) -> bool:
        """Whether all are whole numbers, as labels are."""
        return all(each.dtype.kind in "iu" or bool((each % 1 == 0).all()) for each in self.arrays.values())

    @property
    def within_0_and_1(self) -> bool:
        """Whether all are numbers from 0 to 1, as probabilities are."""
        return all(each.min() >= 0 and each.max() <= 1 for each in self.arrays.values())

    def outcomes(self, data: Data, classes: Sequence[Any] | None, pos_label: Any) -> dict[str, Outcome]:
        """Return the predictions of each model as the outcome of a fit."""
        if data.classes is None:
            return {name: _numbers(name, each, data) for name, each in self.arrays.items()}
        reader = _Classified(data, data.classes, data.classes if classes is None else np.asarray(classes), pos_label)
        return {
            name: reader.outcome(name, reader.ordered(name, each, self.columns.get(name)), self.kind)
            for name, each in self.arrays.items()
        }


def _column(values: Any, rows: int, name: str) -> Array:
    what = f"The predictions of {name!r}"
    array = as_array(values, what)
    if array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]
    if array.ndim not in (1, 2):
        raise InvalidInput(f"{what} must be one value per row, or one per row and class. Got shape {array.shape}.")
    if len(array) != rows:
        raise InvalidInput(
            f"{what} must have one row for each of the {rows:,} of y_true. Got {len(array):,}. Check that both are of "
            "the same rows."
        )
    missing = count_missing(array)
    if missing:
        raise InvalidInput(
            f"{what} must have a value in every row. Got {missing:,} missing (NaN). Leave these rows out for all "
            "models, or fill in what the model would have predicted."
        )
    array = checked_column(array, rows, what) if array.ndim == 1 else array
    if array.dtype.kind == "f" and not np.isfinite(array).all():
        raise InvalidInput(f"{what} must be finite. Got {int((~np.isfinite(array)).sum()):,} infinite values.")
    if array.ndim == 2 and array.dtype.kind not in "biuf":
        raise InvalidInput(f"{what} must be numbers if they have several columns. Got {array.dtype}. {_SEVERAL}.")
    return array


def _numbers(name: str, values: Array, data: Data) -> Outcome:
    if values.ndim != 1 or values.dtype.kind not in "biuf":
        got = f"{values.shape[1]} columns" if values.ndim == 2 else f"values such as {values[:1].tolist()[0]!r}"
        raise InvalidInput(
            f"The predictions of {name!r} must be one number per row, since y_true holds numbers. Got {got}."
            f"{f' {_SEVERAL}.' if values.ndim == 2 else ''}"
        )
    return Outcome(f"predictions of {name}", [Predictions("predict", data.tokens, values.astype(np.float64))])


def _refuse_text_among_numbers(what: str, values: Array) -> None:
    """Say which text makes a column of numbers one of text."""
    import pandas as pd

    if values.dtype.kind not in "OSU":
        return
    text = pd.to_numeric(pd.Series(values), errors="coerce").isna().to_numpy()
    if 0 < text.sum() < len(values) / 2:
        raise InvalidInput(
            f"{what} must be numbers in every row, or labels in every row. Got text such as "
            f"{values[text].tolist()[0]!r} in {counted(int(text.sum()), 'row')} among numbers."
        )


@dataclass(frozen=True, slots=True)
class _Classified:
    """Reads predictions of classes; ``columns`` are the classes in the order of columns of probabilities."""

    data: Data
    classes: Array
    columns: Array
    pos_label: Any

    def ordered(self, name: str, values: Array, names: Sequence[Any] | None) -> Array:
        """Return columns in the order of ``columns`` where a data frame names them by class; other names are refused.

        The names that pandas and polars give to columns without one say no more than the places in an array.
        """
        if names is None or values.ndim != 2:
            return values
        labels = self.columns.tolist()
        place = {str(each): i for i, each in enumerate(names)} | {each: i for i, each in enumerate(names)}
        found = [place.get(label, place.get(str(label))) for label in labels]
        places = [each for each in found if each is not None]
        unnamed = [list(range(len(names))), [f"column_{i}" for i in range(len(names))]]
        if len(places) == len(labels):
            return values[:, places] if len(labels) == len(names) else values
        if names in unnamed:
            return values
        raise InvalidInput(
            f"The predictions of {name!r} have columns {listed([repr(each) for each in names[:_SHOWN]])}, which are "
            f"not the classes ({self._shown()}). {_SEVERAL}, or name each column by its class."
        )

    def outcome(self, name: str, values: Array, kind: Kind | None) -> Outcome:
        """Return predictions as labels, probabilities or scores."""
        what = f"The predictions of {name!r}"
        kind = self._kind(what, values) if kind is None else kind
        if kind == "score":
            if values.ndim != 1 or values.dtype.kind not in "biuf" or len(self.classes) != 2:
                raise InvalidInput(f"{what} must be one number per row, and y_true of 2 classes, to be scores.")
            second = self._positive(what) == self.classes[1]
            answers = [Predictions("decision_function", self.data.tokens, np.asarray(values if second else -values))]
        elif kind == "label":
            codes = self._codes(what, values)
            answers = [Predictions("predict", self.data.tokens, codes, coded=True)]
        else:
            proba = self._probabilities(what, values)
            labels = proba.argmax(axis=1).astype(np.int32)
            answers = [
                Predictions("predict", self.data.tokens, labels, coded=True),
                Predictions("predict_proba", self.data.tokens, proba),
            ]
            if values.ndim == 1 and self._positive(what) == self.classes[0]:
                # Rankings go by the second class, and 1 - p has ties where p is tiny.
                answers.append(Predictions("decision_function", self.data.tokens, -values.astype(np.float64)))
        return Outcome(f"predictions of {name}", answers, classes=self.classes)

    def _kind(self, what: str, values: Array) -> Kind:
        if values.ndim == 2:
            return "probability"
        if values.dtype.kind not in "iuf" or len(self.classes) > 2:
            return "label"
        return "label" if self.classes.dtype.kind in "biuf" and np.isin(values, self.classes).all() else "probability"

    def _codes(self, what: str, values: Array) -> Array:
        if values.ndim != 1:
            raise InvalidInput(f"{what} must be one label per row. Got {values.shape[1]} columns.")
        try:
            codes = np.minimum(np.searchsorted(self.classes, values), len(self.classes) - 1)
            unknown = self.classes[codes] != values
        except TypeError:  # text among numbers
            codes, unknown = np.zeros(len(values), dtype=np.intp), np.ones(len(values), dtype=bool)
        if np.any(unknown):
            found = np.unique(values[unknown])[:_SHOWN].tolist()
            _refuse_text_among_numbers(what, values)
            raise InvalidInput(
                f"{what} must be classes of y_true: {self._shown()}. Got {', '.join(map(repr, found))} in "
                f"{counted(int(np.sum(unknown)), 'row')}. Name all classes (classes=, --class) if y_true lacks some"
                f"{'; a column per class if these are probabilities.' if values.dtype.kind == 'f' else '.'}"
            )
        return codes.astype(np.int32)

    def _probabilities(self, what: str, values: Array) -> Floats:
        if values.dtype.kind not in "biuf":
            raise InvalidInput(
                f"{what} must be numbers to be probabilities. Got values such as {values.ravel()[:1].tolist()[0]!r}."
            )
        values = values.astype(np.float64)
        if values.min() < 0 or values.max() > 1:
            raise InvalidInput(
                f"{what} must lie within 0 and 1 to be probabilities. Got {values.min():.4g} to {values.max():.4g}. "
                "State kind='score' (--as score) for scores such as log-odds, or kind='number' for numbers."
            )
        if values.ndim == 1:
            if len(self.classes) != 2:
                raise InvalidInput(
                    f"{what} must have a column of probabilities for each of the {len(self.classes)} classes. Got one."
                )
            other = 1 - values
            second = self._positive(what) == self.classes[1]
            return np.column_stack([other, values] if second else [values, other])
        return self._of_columns(what, values)

    def _of_columns(self, what: str, values: Floats) -> Floats:
        if values.shape[1] != len(self.columns):
            raise InvalidInput(
                f"{what} must have a column for each of the {len(self.columns)} classes ({self._shown()}). Got "
                f"{values.shape[1]} columns. Pass classes= with the class of each column, in their order."
            )
        sums = values.sum(axis=1)
        off = float(np.abs(sums - 1).max())
        if off > _ROUNDED:
            row = int(np.abs(sums - 1).argmax())
            raise InvalidInput(
                f"{what} must be probabilities that sum to 1 in every row. Got a sum of {sums[row]:.4g} in row {row:,} "
                "(rows are counted from 0). Check that there is a column for every class."
            )
        if off > 1e-9:
            values = values / sums[:, None]
        return np.ascontiguousarray(values[:, np.argsort(self.columns, kind="stable")])

    def _positive(self, what: str) -> Any:
        """Return the class that numbers of one column are for."""
        classes = self.classes.tolist()
        if self.pos_label is None and classes not in ([0, 1], [-1, 1]):
            raise InvalidInput(
                f"{what} are one number per row: for which class? Name it as pos_label (--pos-label): "
                f"{self._shown(' or ')}."
            )
        return 1 if self.pos_label is None else self.pos_label

    def _shown(self, last: str = "") -> str:
        shown = [repr(label) for label in self.classes[:_SHOWN].tolist()]
        if len(self.classes) > _SHOWN:
            return listed([*shown, f"{len(self.classes) - _SHOWN:,} more"])
        return last.join(shown) if last else listed(shown)


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
            most = Counter(values).most_common(_QUOTED)
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
    shown = [repr(name) for name in names[:_QUOTED]]
    return listed([*shown, f"{len(names) - _QUOTED:,} more"] if len(names) > _QUOTED else shown)
