"""JSON lines: a check that every line is an object, with the line that is not."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Final

from truefit._core.errors import InvalidInput
from truefit.sources.layout import MOST_COLUMNS, check_width

_LINES_AT_ONCE: Final = 10_000
#: What a line is, by the character that it begins with.
_KINDS: Final = {"[": "a list", '"': "text", "n": "null", "t": "true or false", "f": "true or false"}


def check_json_lines(path: Path) -> None:
    """Refuse a file that has a line which is no object; blank lines do not count.

    pandas takes lists and numbers for rows of columns without names, and mixed with objects it falls over them.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "shells.jsonl")
    ...     _ = path.write_text('{"size": 1.5}\\n[2.5]\\n')
    ...     check_json_lines(path)
    Traceback (most recent call last):
        ...
    truefit._core.errors.InvalidInput: 'shells.jsonl' must have one JSON object per line, such as {"size": 1.5, "kind":
    "a"}. Got a list in line 2. Write each row as an object with the names of its columns.
    """
    import pandas as pd

    try:
        # A separator that no text has gives whole lines, unpacked and decoded as the reading itself will.
        chunks = pd.read_csv(
            path, sep="\x1f", header=None, names=["line"], dtype=str, keep_default_na=False, quoting=csv.QUOTE_NONE,
            skip_blank_lines=False, chunksize=_LINES_AT_ONCE, index_col=False,
        )  # fmt: skip
        with chunks:
            for chunk in chunks:
                lines = chunk["line"].str.strip("\ufeff \t\r")
                others = lines.index[~((lines.str[:1] == "{") & (lines.str[-1:] == "}")) & (lines != "")]
                if len(others):
                    _refuse(path, int(others[0]), lines[others[0]])
                if lines.index[0] == 0 and lines[0].count(":") > MOST_COLUMNS:
                    check_width(len(json.loads(lines[0])), path)
    except pd.errors.ParserError as error:
        reason = " ".join(str(error).split())
        raise InvalidInput(f"{path.name!r} must be lines of text. The reader says: {reason}.") from error


def _refuse(path: Path, line: int, text: str) -> None:
    start = text[0]
    kind = _KINDS.get(start, "a number" if start.isdecimal() or start == "-" else f"what begins with {start!r}")
    if start == "{":
        kind = "an object that does not end with the line"
    raise InvalidInput(
        f'{path.name!r} must have one JSON object per line, such as {{"size": 1.5, "kind": "a"}}. '
        f"Got {kind} in line {line + 1:,}. Write each row as an object with the names of its columns."
    )
