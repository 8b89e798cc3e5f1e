"""truefit predict."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.app import app, in_plain_words
from truefit._cli.inputs import print_notes
from truefit._cli.messages import echo, results
from truefit._cli.outputs import check_place, csv_text, write_text
from truefit._cli.saved_model import SavedModel, inputs_for, read_model
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd


@app.command()
@in_plain_words
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

    check_place(out, (data, model))
    saved = read_model(model, trust or ())
    frame, name, notes = load_rows(data)
    print_notes(notes)
    if not len(frame):
        raise InvalidInput(f"{name!r} must have rows to predict. Got none.")
    predictions = _predictions(saved, inputs_for(saved, frame, name), proba=proba, name=name)
    if out is None:
        results().write(csv_text(predictions))
    else:
        write_text(out, csv_text(predictions))
        echo(f"The predictions of {len(predictions):,} rows are in {out}.")


def _predictions(saved: SavedModel, X: Any, *, proba: bool, name: str) -> pd.DataFrame:
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
