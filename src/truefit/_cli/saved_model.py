"""Saved models: a fitted estimator in a file that is read without pickle, with the columns that it was fitted on."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit._cli.messages import echo
from truefit._cli.outputs import check_output, replace_whole
from truefit._core.errors import InvalidInput, MissingDependency
from truefit._models import LoadedModel, load_model, not_allowed_in

if TYPE_CHECKING:
    from truefit.sources.table import Table

#: Lies in the file beside what skops writes, and is of no concern to it.
_NOTES: Final = "truefit.json"


def check_model_file(place: Path | None, read: tuple[str | Path | None, ...]) -> None:
    """Refuse a place for a model, or the lack of what writes it, before all the work."""
    if place is None:
        return
    check_output(place, read)
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
    with replace_whole(place) as new:
        _skops().dump(fitted, new)
        with zipfile.ZipFile(new, "a") as file:
            file.writestr(_NOTES, json.dumps(notes))
    # Types of others, as LightGBM's, are loaded only by those who say so.
    trust = "".join(f" --trust {name}" for name in not_allowed_in(place))
    echo(f"The model is in {place}. To use it: truefit predict {place} NEW.csv{trust}", err=quiet)


def read_model(place: Path, trust: Sequence[str] = ()) -> LoadedModel:
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
    return loaded if loaded.columns is not None else replace(loaded, columns=named)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingDependency(
            "Saving or reading a model needs skops, which is not installed. Install it with "
            "`pip install truefit[skops]`."
        ) from error
    return skops.io
