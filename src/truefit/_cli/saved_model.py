"""Saved models: a fitted estimator and its columns in a file that is loaded without pickle."""

from __future__ import annotations

import json
import tempfile
import zipfile
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit import __version__
from truefit._cli.inputs import dtypes_of
from truefit._cli.messages import note
from truefit._cli.outputs import check_output, replace_whole
from truefit._core.errors import InvalidInput, MissingDependency
from truefit._methods.evaluation.promise import Promise
from truefit._models import NOTES_VERSION, LoadedModel, load_model, not_allowed_in
from truefit._models.archive import SCHEMA, is_small, without_indentation

if TYPE_CHECKING:
    from truefit.sources.table import Table

#: Our own member of the archive, which skops ignores.
_NOTES: Final = "truefit.json"


def check_model_file(place: Path, read: tuple[str | Path | None, ...]) -> None:
    """Refuse a file for a model, or a missing skops, before any work is done."""
    check_output(place, read)
    if place.suffix != ".skops":
        raise InvalidInput(f"The name of a model's file must end in .skops. Got {place.name!r} instead.")
    _skops()


def write_model(fitted: Any, place: Path, *, table: Table, promise: Promise | None = None) -> None:
    """Write an estimator that was fitted on the table, with the estimate that new rows can be compared with."""
    classes = getattr(fitted, "classes_", None)
    notes = {
        "version": NOTES_VERSION,
        "truefit": __version__,
        "columns": dtypes_of(table),
        "target": table.target,
        "classes": None if classes is None else [str(label) for label in classes],
        "promise": None if promise is None else promise.to_dict(),
    }
    with replace_whole(place) as new:
        _skops().dump(fitted, new)
        with zipfile.ZipFile(new, "a") as file:
            file.writestr(_NOTES, json.dumps(notes))
        if hasattr(fitted, "members_"):
            _shrink(new, compress=hasattr(fitted, "scores_"))  # the scores are as many as rows
    # Types of other packages, such as LightGBM, are loaded only with --trust.
    trust = "".join(f" --trust {name}" for name in not_allowed_in(place))
    note(f"Model written to {place}. Use it: truefit predict {place} NEW.csv{trust}")


def _shrink(place: Path, *, compress: bool) -> None:
    """Take the indentation out of the description of a model of several models, and compress what a reader takes so.

    skops indents by the depth, so a member takes more room than the same model alone. A reader takes compressed entries
    up to a fixed size only: larger ones are stored as they are.
    """
    with tempfile.TemporaryDirectory(dir=place.parent) as folder:
        smaller = Path(folder) / "model"
        with zipfile.ZipFile(place) as old, zipfile.ZipFile(smaller, "w") as new:
            description = without_indentation(old.read(SCHEMA))
            sizes = {each.filename: each.file_size for each in old.infolist() if each.filename != SCHEMA}
            small = compress and is_small(description, sizes)
            kind = zipfile.ZIP_DEFLATED if small else zipfile.ZIP_STORED
            new.writestr(SCHEMA, description, compress_type=kind)
            for name in sizes:
                new.writestr(name, old.read(name), compress_type=kind)
        smaller.replace(place)


def read_model(place: Path, trust: Sequence[str] = ()) -> LoadedModel:
    """Load a model; ``trust`` are full names of further types that it may contain."""
    if not place.is_file():
        raise InvalidInput(f"There is no model {str(place)!r}. Check the path; `truefit study --save` writes one.")
    loaded = load_model(place, trust)
    estimator = loaded.estimator
    if not hasattr(estimator, "predict"):
        raise InvalidInput(f"{place.name!r} must contain a fitted estimator. Got a {type(estimator).__name__}.")
    names = getattr(estimator, "feature_names_in_", None)
    named = None if names is None else dict.fromkeys(map(str, names), "")
    return loaded if loaded.columns is not None else replace(loaded, columns=named)


def _skops() -> Any:
    try:
        import skops.io
    except ImportError as error:
        raise MissingDependency(
            "Saving or loading a model needs skops, which is not installed. Install it: pip install 'truefit[skops]'."
        ) from error
    return skops.io
