"""Plain fitting: one fit at a time, as scikit-learn does it. Every other solver is measured against this one."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn import get_config
from sklearn.pipeline import Pipeline
from sklearn.utils import get_tags

from truefit._core.data import Data
from truefit._core.errors import Failure, readable
from truefit._core.hidden_inputs import forks_end_here
from truefit._core.outcome import Outcome, Predictions
from truefit._core.parameters import fit_metadata, seeded
from truefit._core.protocols import Ask, Fit, Job, Response
from truefit._core.typing import Array, Positions
from truefit._core.validation import LARGEST_FLOAT32, find_infinities, infinities_text
from truefit._sklearn import predicts_largest_probability

_LARGEST_SQUARED = float(np.sqrt(np.finfo(np.float64).max))


def failure_of(error: BaseException, estimator: Any, data: Data, trained_on: Array | None = None) -> Failure:
    """Record what a fit raised; values that the estimator cannot take are named before it, with their columns.

    ``trained_on`` are the labels of the training rows: most classifiers need two classes of them.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> data = Data([[1.0, np.nan], [2.0, 3.0]], [0.5, 1.5], task="regression")
    >>> print(failure_of(ValueError("Input X contains NaN."), Ridge(), data).message)
    X has missing values in column 1, and Ridge does not take them: put an imputer before it, as in
    make_pipeline(SimpleImputer(), Ridge()). ValueError: Input X contains NaN.
    """
    failure, message = Failure.of(error), readable(str(error))
    hint = None
    if text := _CONVERTED.search(message):
        hint = _text(estimator, data.X, text[1])
    elif re.search("infinity|too large|overflow", message, re.IGNORECASE):
        hint = _infinities(data.X, LARGEST_FLOAT32 if re.search("float32|overflow", message) else np.inf)
    elif re.search("nan|missing", message, re.IGNORECASE):
        # Where none is missing, a NaN comes of numbers whose squares are infinite.
        hint = _missing_values(estimator, data.X) or _infinities(data.X, _LARGEST_SQUARED)
    elif re.search("class|label", message, re.IGNORECASE) and trained_on is not None:
        hint = _one_class(data, trained_on)
    if hint is None:
        return failure
    # The cause is known: where in the library it came to light is of no use.
    return replace(failure, message=f"{hint} {failure.message}", traceback="")


#: What Python and numpy say of text where a number should be.
_CONVERTED = re.compile("could not convert string to float: '(.*)'")


def _text(estimator: Any, X: Any, text: str) -> str | None:
    """Name the columns that have this text."""
    found = [repr(name) for name, values in _columns_of_objects(X) if (values == text).any()]
    if not found:
        return None
    columns = f"column{'s' if len(found) > 1 else ''} {', '.join(found[:3])}{', ...' if len(found) > 3 else ''}"
    name = type(estimator).__name__
    return (
        f"X has text in {columns}, and {name} takes numbers: put an encoder before it, as in "
        f"make_pipeline(skrub.TableVectorizer(), {name}()), or use truefit's models."
    )


def _columns_of_objects(X: Any) -> Iterator[tuple[Any, Any]]:
    """Yield name and values of the columns that may hold text."""
    if hasattr(X, "iloc"):
        yield from ((X.columns[j], X.iloc[:, j]) for j, dtype in enumerate(X.dtypes) if dtype.kind == "O")
    elif type(X).__module__.startswith("polars"):
        yield from ((column.name, column.to_numpy()) for column in X.get_columns() if not column.dtype.is_numeric())
    elif isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "O":
        yield from enumerate(X.T)


def _one_class(data: Data, trained_on: Array) -> str | None:
    """Name the only class of the training rows, and the one that is rarest in the table."""
    present = np.unique(trained_on)
    if data.classes is None or data.codes is None or len(present) > 1:
        return None
    others, counts = np.flatnonzero(data.classes != present[0]), np.bincount(data.codes)
    rarest = others[counts[others].argmin()]
    advice = "get more rows of it" if counts[rarest] == 1 else "stratify the splits, or get more rows of it"
    return (
        f"All its training rows are of class {present[0].item()!r}, and it needs two classes. The table has "
        f"{counts[rarest]} row{'s' if counts[rarest] > 1 else ''} of class {data.classes[rarest].item()!r}: {advice}."
    )


def _infinities(X: Any, largest: float) -> str | None:
    found = find_infinities(X, largest=largest)
    return infinities_text(found) if found else None


def _missing_values(estimator: Any, X: Any) -> str | None:
    column, name = _first_with_missing(X), type(estimator).__name__
    if column is None or _takes_missing(estimator):
        return None
    return (
        f"X has missing values in column {column!r}, and {name} does not take them: put an imputer before it, as in "
        f"make_pipeline(SimpleImputer(), {name}())."
    )


def _takes_missing(estimator: Any) -> bool:
    try:
        return bool(get_tags(estimator).input_tags.allow_nan)
    except (AttributeError, TypeError):  # not an estimator of scikit-learn's making
        return True


def _first_with_missing(X: Any) -> Any:
    if hasattr(X, "iloc"):
        found = np.flatnonzero(X.isna().any(axis=0))
        return X.columns[found[0]] if len(found) else None
    if type(X).__module__.startswith("polars"):
        return next((column.name for column in X.get_columns() if column.null_count() or _has_nan(column)), None)
    if isinstance(X, np.ndarray) and X.ndim == 2 and X.dtype.kind == "f":
        found = np.flatnonzero(np.isnan(X).any(axis=0))
        return int(found[0]) if len(found) else None
    return None


def _has_nan(column: Any) -> bool:
    return bool(column.dtype.is_float() and column.is_nan().any())


logger = logging.getLogger(__name__)

#: Rows are predicted on in blocks of about this size, so that a small training set does not need the whole X twice.
BLOCK_BYTES = 64 << 20
_DIMENSIONS: dict[Response, tuple[int, ...]] = {"predict": (1, 2), "predict_proba": (2,), "decision_function": (1, 2)}


class WrongAnswer(Exception):
    """A model answered something that cannot be an answer."""


class PlainSolver:
    """Takes whatever no other solver has claimed."""

    name = "plain"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job per fit."""
        return [Job(self, (fit,), work=1 if fit.model is None else 0) for fit in fits]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Fit one after the other."""
        return [fit_plain(fit, data) for fit in job.fits]


def fit_plain(fit: Fit, data: Data) -> Outcome:
    """Fit and answer; whatever goes wrong is a failure of this fit alone."""
    try:
        with forks_end_here():  # not only at the end of a job: a job may have many fits, and each may fork
            model, seconds = train(fit, data) if fit.model is None else (fit.model, 0.0)
            classes = model_classes(model, data)
            answers = respond(model, fit.asks, data, classes)
    except WrongAnswer as error:
        return Outcome(fit.key, error=Failure("wrong answer", str(error)))
    except (Exception, SystemExit) as error:
        trained_on = data.y[fit.train.index] if fit.y is None and data.task == "classification" else None
        return Outcome(fit.key, error=failure_of(error, fit.estimator, data, trained_on))
    return Outcome(fit.key, answers, seconds, "plain", classes, model)


def log_fallback(name: str, work: str, error: BaseException) -> None:
    """Log that a solver leaves work to plain fitting, and why."""
    logger.info("%s leaves %s to plain fitting: %r", name, work, error)


def or_plain(answer: Callable[[Job, Data], list[Outcome]], job: Job, data: Data) -> list[Outcome]:
    """Answer a group together; where that goes wrong one by one, so that a fit that fails fails alone."""
    try:
        return answer(job, data)
    except (Exception, SystemExit) as error:
        log_fallback(job.solver.name, f"{len(job.fits)} fits", error)
    return [fit_plain(fit, data) for fit in job.fits]


def train(fit: Fit, data: Data, estimator: Any = None) -> tuple[Any, float]:
    """Fit a clone, or the one given, on the training rows in ascending order; the model and the seconds it took."""
    index = fit.train.index
    estimator = seeded(fit.estimator, fit.seeds) if estimator is None else estimator
    X, y = training_data(fit, data)
    metadata = fit_metadata(estimator, data, index)
    start = time.perf_counter()
    model = estimator.fit(X, y, **metadata)
    return model, time.perf_counter() - start


def labels_of(fit: Fit, data: Data) -> Array:
    """Return the labels that a fit has, of the whole table."""
    return data.y if fit.y is None else fit.y


def training_data(fit: Fit, data: Data) -> tuple[Any, Array]:
    """Return the training rows and their labels."""
    index = fit.train.index
    return data.take(index), labels_of(fit, data)[index]


def model_classes(model: Any, data: Data) -> Array | None:
    """Return the classes that a classifier has seen, as an array that needs no pickle."""
    if data.task != "classification":
        return None
    classes = getattr(model, "classes_", None)
    classes = None if classes is None else np.asarray(classes)
    if classes is None or classes.ndim != 1:
        return None
    return classes.astype(str) if classes.dtype.kind == "O" else classes


def respond(model: Any, asks: Sequence[Ask], data: Data, classes: Array | None) -> tuple[Predictions, ...]:
    """Answer the asks, the rows gathered once for all responses on them."""
    by_rows: dict[int, list[Ask]] = {}
    for ask in asks:
        by_rows.setdefault(id(ask.rows), []).append(ask)
    answers = []
    for group in by_rows.values():
        index = group[0].rows.index
        if len(index) == 0:
            continue
        parts: list[list[Any]] = [[] for _ in group]
        for block in row_blocks(index, data):
            last, X = last_step(model, data.take(block)) if len(group) > 1 else (model, data.take(block))
            found = responses(last, [ask.response for ask in group], X, len(block))
            for one, values in zip(found, parts, strict=True):
                values.append(one)
        tokens = data.tokens[index]
        for ask, values in zip(group, parts, strict=True):
            whole = values[0] if len(values) == 1 else np.concatenate(values)
            if ask.response == "predict" and whole.shape[1:] != data.y.shape[1:]:
                targets = data.y.shape[1] if data.y.ndim == 2 else 1
                raise WrongAnswer(
                    f"predict must return {targets} number(s) per row. Got an array of shape {whole.shape}."
                )
            answers.append(as_answer(ask.response, tokens, whole, classes))
    return tuple(answers)


def responses(model: Any, wanted: Sequence[Response], X: Any, n: int) -> list[Array]:
    """Return the responses of a model on n rows; where one follows from another, it is computed once."""
    if "predict_proba" in wanted and "predict" in wanted and predicts_largest_probability(model):
        shares = checked(model.predict_proba(X), n, "predict_proba")
        known = {"predict_proba": shares, "predict": model.classes_.take(shares.argmax(axis=1), axis=0)}
        return [known[each] if each in known else checked(getattr(model, each)(X), n, each) for each in wanted]
    return [checked(getattr(model, each)(X), n, each) for each in wanted]


def last_step(model: Any, X: Any) -> tuple[Any, Any]:
    """Return the last step of a pipeline and the rows transformed by the others, once for all responses."""
    while type(model) is Pipeline and not get_config()["enable_metadata_routing"]:
        for _, step in model.steps[:-1]:
            if step is not None and not isinstance(step, str):
                X = step.transform(X)
        model = model.steps[-1][1]
    return model, X


def row_blocks(index: Positions, data: Data) -> Iterator[Positions]:
    """Stretches of rows that are predicted on together."""
    step = max(1, BLOCK_BYTES // max(data.row_bytes, 1))
    for start in range(0, len(index), step):
        yield index[start : start + step]


def as_answer(response: Response, tokens: npt.NDArray[np.uint64], values: Array, classes: Array | None) -> Predictions:
    """Pack values into an answer: labels as codes in the smallest integer type."""
    if response == "predict_proba" and classes is not None and values.shape[1] != len(classes):
        raise WrongAnswer(
            f"predict_proba must return one column per class: {len(classes)}. Got {values.shape[1]} columns."
        )
    if response != "predict":
        return Predictions(response, tokens, values)
    if values.dtype.kind == "O":
        values = values.astype(str)
    if classes is not None and values.ndim == 1:
        codes = np.searchsorted(classes, values)
        codes[codes == len(classes)] = 0
        if np.array_equal(classes[codes], values):
            return Predictions(response, tokens, codes.astype(np.min_scalar_type(len(classes) - 1)), coded=True)
    return Predictions(response, tokens, values)


def checked(values: Any, n: int, response: Response) -> Array:
    """Return a model's values as an array; WrongAnswer where they cannot be an answer."""
    if hasattr(values, "to_numpy"):
        values = values.to_numpy()
    array = np.asarray(values)
    if array.ndim == 0 or len(array) != n:
        got = "a single value" if array.ndim == 0 else f"{len(array)}"
        raise WrongAnswer(f"{response} must return one answer per row: {n}. Got {got}.")
    if response == "predict" and array.ndim == 2 and array.shape[1] == 1:
        array = array[:, 0]  # as scikit-learn's metrics take it
    if array.ndim not in _DIMENSIONS[response]:
        wanted = " or ".join(f"{each}-dimensional" for each in _DIMENSIONS[response])
        raise WrongAnswer(f"{response} must return a {wanted} array. Got one of shape {array.shape}.")
    if array.dtype.kind == "f":
        # A decision may be infinite, a prediction may not.
        bad = np.isnan(array) if response == "decision_function" else ~np.isfinite(array)
        if bad.any():
            raise WrongAnswer(f"{response} must return finite numbers. Got {int(bad.sum())} NaN or infinite ones.")
    return array
