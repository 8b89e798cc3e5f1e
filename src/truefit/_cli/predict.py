"""truefit predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.app import plain_command
from truefit._cli.inputs import print_notes
from truefit._cli.messages import note, results
from truefit._cli.options import QuietOption
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
    trust: Annotated[
        list[str] | None, typer.Option(help="Full name of a further type that the model may contain. Repeatable.")
    ] = None,
    quiet: QuietOption = False,
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
    predictions = _predictions(saved, _inputs(saved, frame, name), proba=proba, name=name)
    if out is None:
        results().write(csv_text(predictions))
    else:
        write_text(out, csv_text(predictions))
        note(f"Predictions of {len(predictions):,} rows written to {out}.")


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
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InvalidInput(f"The model cannot predict the rows of {name!r}: {reason.rstrip('.')}.") from error


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
    missing = [wanted for wanted in model.columns if wanted not in columns]
    if missing:
        from truefit.sources.table import nearest

        near = nearest(missing[0], columns)
        more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
        raise InvalidInput(
            f"{name!r} must have every column that the model was fitted on. Missing: "
            f"{', '.join(map(repr, missing[:5]))}{more}.{f' Is it {near}?' if near else ''}"
        )
    import pandas as pd

    picked = {
        wanted: _as_fitted(frame.iloc[:, columns.index(wanted)], kind, name) for wanted, kind in model.columns.items()
    }
    return pd.DataFrame(picked)


def _as_fitted(values: pd.Series[Any], kind: str, name: str) -> pd.Series[Any]:
    """Give a column the type that it had when the model was fitted: a short file may be read as another type."""
    import pandas as pd

    if not kind or str(values.dtype) == kind:
        return values
    numeric = kind.lower().startswith(("int", "uint", "float"))
    dtype: Any = kind
    try:
        if numeric:
            # Not to integers: the model may accept missing values.
            return pd.to_numeric(values)
        if kind.startswith("datetime"):
            return pd.to_datetime(values).astype(dtype)
        if kind in ("str", "object", "string"):
            return values.astype(object).map(str, na_action="ignore").astype(dtype)
        return values.astype(dtype)
    except (TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        held = "numbers" if numeric else kind
        raise InvalidInput(
            f"The column {str(values.name)!r} of {name!r} must contain {held}, as in the training data. The "
            f"conversion failed: {reason.rstrip('.')}."
        ) from error
