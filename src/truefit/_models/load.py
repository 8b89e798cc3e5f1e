"""Load: a model file becomes an estimator, or an error of one sentence."""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from truefit._core.errors import InvalidInput
from truefit._methods.evaluation.promise import Promise
from truefit._models.archive import Archive, BrokenModel
from truefit._models.build import Builder
from truefit._models.types import refused_names

#: Of skops' file format. They differ in how a random generator is written, and both ways are read.
PROTOCOLS: Final = (1, 2)

#: Of what truefit notes beside a model.
NOTES_VERSION: Final = 2
_VERSION: Final = re.compile(r"[0-9][0-9A-Za-z.+-]{0,40}")

#: The types of columns as pandas names them; others could ask for items of any length or for files of time zones.
_COLUMN_TYPE: Final = re.compile(
    r"u?int(8|16|32|64)|U?Int(8|16|32|64)|float(16|32|64|128)|Float(32|64)|complex(64|128)|bool|boolean|category"
    r"|str|object|string(\[(python|pyarrow)\])?|timedelta64\[(s|ms|us|ns)\]|period\[[\w-]{1,20}\]"
    r"|datetime64\[(s|ms|us|ns)(, (?!dateutil)[A-Za-z][\w+-]*(/[\w+-]+){0,2}(:\d\d)?)?\]"
    r"|[\w\[\], <>=()]{1,200}\[pyarrow\]"
)


@dataclass(frozen=True, slots=True)
class LoadedModel:
    """What a model file holds; all but the estimator is None where skops wrote it.

    ``columns`` are names and types of the training table, ``promise`` is the estimate of the study that made the model,
    ``version`` the truefit that wrote the file.
    """

    estimator: Any
    columns: dict[str, str] | None = None
    target: str | None = None
    promise: Promise | None = None
    version: str | None = None

    @property
    def saved_by(self) -> str:
        """Which truefit saved the model, for messages; empty where that is not known."""
        return "" if self.version is None else f" (the model was saved by truefit {self.version})"


def load_model(place: Path, trust: Collection[str] = ()) -> LoadedModel:
    """Load a model, without running anything that the file's author chose.

    ``trust`` are full names of types that are not listed in ``types.toml`` and may be loaded nevertheless: their code
    runs.
    """
    try:
        with Archive(place) as archive:
            schema = _schema(archive)
            refused = refused_names(schema, trust)
            if refused:
                raise InvalidInput(
                    f"A model file must hold only types that truefit lists as safe to load, and {place.name!r} also "
                    f"holds {_shown(refused)}: if you trust who wrote it, allow each with --trust NAME; its code runs."
                )
            notes = _checked_notes(archive.notes(), place)
            return replace(notes, estimator=Builder(archive, trust).build(schema))
    # What a damaged or hostile file makes of the readers of zip, JSON, numpy and scikit-learn can be any error.
    except Exception as error:
        if isinstance(error, InvalidInput) and not isinstance(error, BrokenModel):
            raise
        raise InvalidInput(
            f"{place.name!r} must be a model that `truefit study --save` or skops wrote; it does not read as one: "
            f"{_reason(error)}."
        ) from error


def not_allowed_in(place: Path) -> list[str]:
    """Return the types in a model file that a reader has to name with --trust."""
    with Archive(place) as archive:
        return refused_names(_schema(archive), ())


def _schema(archive: Archive) -> dict[str, Any]:
    schema = archive.schema()
    if not isinstance(schema, dict) or "__loader__" not in schema:
        raise BrokenModel("its description was not written by skops")
    protocol = schema.get("protocol")
    if type(protocol) is not int or protocol not in PROTOCOLS:
        raise BrokenModel(
            f"it is of version {ascii(protocol)[:20]} of skops' format, not {' or '.join(map(str, PROTOCOLS))}"
        )
    return schema


def _checked_notes(notes: Any, place: Path) -> LoadedModel:
    """Return what truefit noted beside a model, without the model."""
    if notes is None:
        return LoadedModel(None)
    if not isinstance(notes, dict):
        raise BrokenModel("the notes of truefit are not valid")
    version, wrote, columns, target = (notes.get(name) for name in ("version", "truefit", "columns", "target"))
    wrote = wrote if isinstance(wrote, str) and _VERSION.fullmatch(wrote) else None
    if type(version) is int and version > NOTES_VERSION:
        raise InvalidInput(
            f"{place.name!r} must be a model that this truefit can read. It was saved by a later one"
            f"{f', {wrote}' if wrote else ''}. Update truefit, or save the model again with this version."
        )
    if not isinstance(columns, dict | None) or not isinstance(target, str | None):
        raise BrokenModel("the notes of truefit are not valid")
    # A column of a type that is not known is left as it was read.
    known = columns and {
        name: kind if isinstance(kind, str) and _COLUMN_TYPE.fullmatch(kind) else "" for name, kind in columns.items()
    }
    try:
        promise = None if notes.get("promise") is None else Promise.of(notes["promise"])
    except ValueError as error:
        raise BrokenModel(f"the estimate in the notes of truefit is not valid: {error}") from error
    return LoadedModel(None, known, target, promise, wrote)


def _shown(names: Sequence[str]) -> str:
    more = f" and {len(names) - 6:,} more" if len(names) > 6 else ""
    return ", ".join(ascii(name)[1:-1][:90] for name in names[:6]) + more


def _reason(error: Exception) -> str:
    if isinstance(error, RecursionError):
        return "its parts are nested too deep"
    lines = str(error).strip().splitlines()
    reason = (lines[0] if lines else "") or type(error).__name__
    return "".join(character if character.isprintable() else "?" for character in reason)[:200].rstrip(".")
