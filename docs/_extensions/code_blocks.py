"""Sphinx extension: code blocks without the empty last line that ends a doctest in Markdown."""

from __future__ import annotations

from typing import Any

from docutils import nodes


def _without_empty_end(app: Any, doctree: nodes.document) -> None:
    for block in doctree.findall(nodes.literal_block):
        if len(block) == 1 and block.rawsource == block.astext():  # Sphinx highlights only where these are equal
            block.rawsource = block.rawsource.rstrip("\n")
            block[0] = nodes.Text(block.rawsource)


def setup(app: Any) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.connect("doctree-read", _without_empty_end)
    return {"parallel_read_safe": True}
