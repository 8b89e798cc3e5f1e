"""truefit predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.app import plain_command
from truefit._cli.inputs import columns_as_fitted, print_notes
from truefit._cli.messages import note, results
from truefit._cli.options import QuietOption, VerboseOption
from truefit._cli.outputs import check_output, csv_text, write_text
from truefit._cli.saved_model import read_model
from truefit._core.errors import InvalidInput
from truefit._models import LoadedModel

if TYPE_CHECKING:
    import pandas as pd


@plain_command
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .skops file written by --save.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The new rows: a file, a database or a built-in name.")],
    out: Annotated[
        Path | None, typer.Option(help="Write the predictions to this CSV file. Default: print them.")
    ] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Add the probability of each class.")] = False,
    interval: Annotated[
        bool,
        typer.Option("--interval", help="Add the ends of a prediction interval, or the classes of a prediction set."),
    ] = False,
    level: Annotated[
        float | None, typer.Option(help="With --interval: its level. Default: that of the study, 0.95.")
    ] = None,
    trust: Annotated[
        list[str] | None, typer.Option(help="Full name of a further type that the model may contain. Repeatable.")
    ] = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Predict new rows with a saved model, one line per row.

    Example: truefit predict model.skops breast_cancer --out predictions.csv
    """
    from truefit.sources.load import load_rows

    check_output(out, (data, model))
    saved = read_model(model, trust or ())
    frame, name, notes = load_rows(data)
    print_notes(notes)
    if not len(frame):
        raise InvalidInput(f"{name!r} must have rows to predict. Got none.")
    if level is not None and not interval:
        raise InvalidInput("--level is for --interval. Give both, or neither.")
    X = _inputs(saved, frame, name)
    predictions = _predictions(saved, X, proba=proba, name=name)
    if interval:
        predictions = predictions.join(_intervals(saved, X, level, place=model, name=name))
    if out is None:
        results().write(csv_text(predictions))
    else:
        from truefit._methods.text import counted

        write_text(out, csv_text(predictions))
        note(f"Predictions of {counted(len(predictions), 'row')} written to {out}.")


def _predictions(saved: LoadedModel, X: Any, *, proba: bool, name: str) -> pd.DataFrame:
    import pandas as pd

    estimator = saved.estimator
    if proba and not hasattr(estimator, "predict_proba"):
        raise InvalidInput(
            f"--proba needs a model with predict_proba. This {type(estimator).__name__} has none. Omit --proba."
        )
    try:
        found = {"prediction": estimator.predict(X)}
        if proba:
            shares = estimator.predict_proba(X)
            found |= {f"probability of {label}": shares[:, i] for i, label in enumerate(estimator.classes_)}
        return pd.DataFrame(found)
    # The file may come from anybody, and its content may fail in any way.
    except Exception as error:
        raise _cannot_predict(name, error) from error


def _intervals(saved: LoadedModel, X: Any, level: float | None, *, place: Path, name: str) -> pd.DataFrame:
    """Return the ends of the interval of each row, or for each class whether it is in the set."""
    import pandas as pd

    from truefit._core.validation import check_level

    estimator = saved.estimator
    if level is not None:
        check_level(level)
    try:
        if hasattr(estimator, "predict_interval"):
            low, high = estimator.predict_interval(X, level).T
            return pd.DataFrame({"low": low, "high": high})
        if hasattr(estimator, "predict_set"):
            members = estimator.predict_set(X, level)
            return pd.DataFrame(
                {f"possible: {label}": members[:, i] for i, label in enumerate(estimator.classes_)}
            ).astype(int)
    except InvalidInput:
        raise
    except Exception as error:  # as for predictions
        raise _cannot_predict(name, error) from error
    raise InvalidInput(
        f"--interval needs a model that was saved with prediction intervals. {place.name!r} has none: save it with "
        "`truefit study --save --intervals`."
    )


def _cannot_predict(name: str, error: Exception) -> InvalidInput:
    reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
    return InvalidInput(f"The model cannot predict the rows of {name!r}: {reason.rstrip('.')}.")


def _inputs(model: LoadedModel, frame: pd.DataFrame, name: str) -> Any:
    """Return the columns that a model was fitted on, in their order and with their types."""
    columns = [str(column) for column in frame.columns]
    if model.columns is None:
        expected = getattr(model.estimator, "n_features_in_", len(columns))
        if expected != len(columns):
            raise InvalidInput(
                f"{name!r} must have the {expected} columns that the model was fitted on, in their order. Got "
                f"{len(columns)}."
            )
        return frame.to_numpy()
    return columns_as_fitted(frame, model.columns, name, known={model.target})
