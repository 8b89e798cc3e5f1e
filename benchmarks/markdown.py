"""Markdown: the tables and paragraphs of the pages."""

from __future__ import annotations

import re
import textwrap


def table(header, lines, left=1):
    """Return a table; the first columns are aligned left, the others right."""
    aligned = "|" + "---|" * left + "---:|" * (len(header) - left)
    rows = ["| " + " | ".join(map(str, line)) + " |" for line in (header, *lines)]
    return "\n".join([rows[0], aligned, *rows[1:]])


def wrapped(text):
    """Return paragraphs and lists in lines of at most 120 characters; tables and code stay as they are."""
    return "\n\n".join(
        part if part.startswith(("|", "    ")) else "\n".join(map(_filled, re.split(r"\n(?=- )", part)))
        for part in text.split("\n\n")
    )


def _filled(text):
    indent = "  " if text.startswith("- ") else ""
    whole = " ".join(text.split()).replace(" - ", "\xa0-\xa0")  # a line with a minus first would be an item of a list
    found = textwrap.fill(whole, 120, subsequent_indent=indent, break_long_words=False, break_on_hyphens=False)
    return found.replace("\xa0", " ")
