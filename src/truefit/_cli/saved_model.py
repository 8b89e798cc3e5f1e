"""Saved models: a fitted estimator in a file that is read without pickle, with the columns that it was fitted on."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit._cli.messages import echo
from truefit._cli.outputs import check_place, replaced
from truefit._core.errors import InvalidInput, MissingDependency
from truefit._models import load_model, not_allowed_in

if TYPE_CHECKING:
    import pandas as pd

    from truefit.sources.table import Table

#: Lies in the file beside what skops writes, and is of no concern to it.
_NOTES: Final = "truefit.json"


@dataclass(frozen=True, slots=True)
class SavedModel:
    """A fitted estimator, and what is known of the table that it was fitted on.

    Attributes
    ----------
    estimator : fitted estimator
    columns : mapping of names to types, or None
        None where the estimator was fitted on an array and written by something else than truefit.
    target : str or None
    """

    estimator: Any
    columns: Mapping[str, str] | None
    target: str | None


def check_model_file(place: Path | None, read: tuple[str | Path | None, ...]) -> None:
    """Refuse a place for a model, or the lack of what writes it, before all the work."""
    if place is None:
        return
    check_place(place, read)
    if place.suffix != ".skops":
        raise InvalidInput(f"The name of a model's file must end in .skops. Got {place.name!r} instead.")
    _skops()


def write_model(fitted: Any, place: Path, *, table: Table, quiet: bool) -> None:
    """Write a fitted estimator, and say how to use it.

    Parameters
    ----------
    fitted : estimator
        Fitted on ``table``.
    place : Path
        Ends in .skops; ``check_model_file`` has looked at it.
    table : Table
    quiet : bool
        Whether standard output is for something else.
    """
    notes = {
        "version": 1,
        "columns": {str(name): str(table.X.dtypes.iloc[i]) for i, name in enumerate(table.X.columns)},
        "target": table.target,
    }
    with replaced(place) as new:
        _skops().dump(fitted, new)
        with zipfile.ZipFile(new, "a") as file:
            file.writestr(_NOTES, json.dumps(notes))
    # Types of others, as LightGBM's, are loaded only by those who say so.
    trust = "".join(f" --trust {name}" for name in not_allowed_in(place))
    echo(f"The model is in {place}. To use it: truefit predict {place} NEW.csv{trust}", err=quiet)


def read_model(place: Path, trust: Sequence[str] = ()) -> SavedModel:
    """Read a model, refused where it holds types that neither truefit nor the caller vouches for.

    Parameters
    ----------
    place : Path
    trust : sequence of str
        Full names of further types that may be in it.
    """
    if not place.is_file():
        raise InvalidInput(f"There is no model {str(place)!r}. Check the path; `truefit study --save` writes one.")
    loaded = load_model(place, trust)
    estimator = loaded.estimator
    if not hasattr(estimator, "predict"):
        raise InvalidInput(f"{place.name!r} must hold a fitted estimator. Got a {type(estimator).__name__}.")
    names = getattr(estimator, "feature_names_in_", None)
    named = None if names is None else dict.fromkeys(map(str, names), "")
    return SavedModel(estimator, named if loaded.columns is None else loaded.columns, loaded.target)


def inputs_for(model: SavedModel, frame: pd.DataFrame, name: str) -> Any:
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
        raise InvalidInput(_said_of_missing(missing, columns, name))
    import pandas as pd

    picked = {
        wanted: _as_fitted(frame.iloc[:, columns.index(wanted)], kind, name) for wanted, kind in model.columns.items()
    }
    return pd.DataFrame(picked)


def _said_of_missing(missing: Sequence[str], columns: Sequence[str], name: str) -> str:
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


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingDependency(
            "Saving or reading a model needs skops, which is not installed. Install it with "
            "`pip install truefit[skops]`."
        ) from error
    return skops.io
