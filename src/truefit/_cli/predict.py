"""truefit predict."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.app import app, report_errors
from truefit._cli.inputs import print_notes
from truefit._cli.messages import echo, results
from truefit._cli.outputs import check_output, csv_text, write_text
from truefit._cli.saved_model import read_model
from truefit._core.errors import InvalidInput
from truefit._models import LoadedModel

if TYPE_CHECKING:
    import pandas as pd


@app.command()
@report_errors
def predict(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .skops file that --save wrote.")],
    data: Annotated[str, typer.Argument(metavar="DATA", help="The new rows: a file, a database or a built-in name.")],
    out: Annotated[Path | None, typer.Option(help="Write them to this CSV file; printed by default.")] = None,
    proba: Annotated[bool, typer.Option("--proba", help="Also the probability of each class.")] = False,
    trust: Annotated[
        list[str] | None, typer.Option(help="Full name of a further type that the model may hold. Repeatable.")
    ] = None,
) -> None:
    """Predict the target of new rows with a saved model, one line per row, in their order.

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
        echo(f"The predictions of {len(predictions):,} rows are in {out}.")


def _predictions(saved: LoadedModel, X: Any, *, proba: bool, name: str) -> pd.DataFrame:
    import pandas as pd

    estimator = saved.estimator
    if proba and not hasattr(estimator, "predict_proba"):
        raise InvalidInput(
            f"--proba needs a model that gives probabilities. This {type(estimator).__name__} does not; leave it out."
        )
    try:
        found = {"prediction": estimator.predict(X)}
        if proba:
            shares = estimator.predict_proba(X)
            found |= {f"probability of {label}": shares[:, i] for i, label in enumerate(estimator.classes_)}
        return pd.DataFrame(found)
    # The file may be of somebody else, and what it holds may fail in any way.
    except Exception as error:
        reason = (str(error).strip().splitlines() or [type(error).__name__])[0]
        raise InvalidInput(f"The model cannot predict the rows of {name!r}: {reason.rstrip('.')}.") from error


def _inputs(model: LoadedModel, frame: pd.DataFrame, name: str) -> Any:
    """Return the columns that a model was fitted on, in their order and of their types; others are left out."""
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
        raise InvalidInput(_missing_columns(missing, columns, name))
    import pandas as pd

    picked = {
        wanted: _as_fitted(frame.iloc[:, columns.index(wanted)], kind, name) for wanted, kind in model.columns.items()
    }
    return pd.DataFrame(picked)


def _missing_columns(missing: Sequence[str], columns: Sequence[str], name: str) -> str:
    from truefit.sources.table import nearest

    near = nearest(missing[0], columns)
    more = f" and {len(missing) - 5:,} more" if len(missing) > 5 else ""
    return (
        f"{name!r} must have every column that the model was fitted on. Missing: "
        f"{', '.join(map(repr, missing[:5]))}{more}.{f' Is it {near}?' if near else ''}"
    )


def _as_fitted(values: pd.Series[Any], kind: str, name: str) -> pd.Series[Any]:
    """Give a column the type that it had when the model was fitted: a short file may read as another."""
    import pandas as pd

    if not kind or str(values.dtype) == kind:
        return values
    numeric = kind.lower().startswith(("int", "uint", "float"))
    dtype: Any = kind
    try:
        if numeric:
            # Not to whole numbers: where one is missing, the model may know what to do.
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
            f"The column {str(values.name)!r} of {name!r} must hold {held}, as it did when the model was fitted. The "
            f"reader says: {reason.rstrip('.')}."
        ) from error
