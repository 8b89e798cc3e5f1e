"""Question: what a command was asked, known by content, so that a store finds the answer without asking again."""

from __future__ import annotations

import json
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truefit.cli.made import versions

if TYPE_CHECKING:
    from truefit.sources.table import Table


def question_of(table: Table, options: Mapping[str, Any]) -> str:
    """Return what a question is known by: its table, its options, and all code that may change the answer.

    Parameters
    ----------
    table : Table
    options : mapping
        Everything that was asked for, as plain JSON types.
    """
    from truefit.core.tokens import row_tokens, rowset_id, table_blocks

    columns, schema = table_blocks(table.X)
    target, kind = table_blocks(table.y.to_frame())
    rows = rowset_id(row_tokens([*columns, *target])).hex()
    asked = [rows, schema, kind, table.name, table.target, dict(options), versions(), _code()]
    return blake2b(json.dumps(asked, sort_keys=True).encode(), digest_size=16).hexdigest()


def _code() -> str:
    """Return what truefit's own code is known by: a version that is worked on changes without its number."""
    import truefit

    found = blake2b(digest_size=16)
    package = Path(truefit.__file__).parent
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".json"):
            found.update(f"{file.relative_to(package)} ".encode() + file.read_bytes())
    return found.hexdigest()
