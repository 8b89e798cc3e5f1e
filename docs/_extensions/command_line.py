"""Sphinx extension: the directive ``commands``, a section with the help of every command of truefit."""

from __future__ import annotations

import os
from typing import Any
from unittest.mock import patch

from docutils import nodes
from sphinx.util.docutils import SphinxDirective
from typer.main import get_command
from typer.testing import CliRunner

from truefit.__main__ import app

#: Help is printed in the width of a page, without colours.
TERMINAL = {"TERMINAL_WIDTH": "72", "COLUMNS": "72", "NO_COLOR": "1", "TERM": "dumb"}


def command_names() -> list[str]:
    """Return the names of the commands."""
    commands: Any = get_command(app)
    return sorted(commands.commands)


def help_of(name: str) -> str:
    """Return what ``truefit NAME --help`` prints."""
    with patch.dict(os.environ, TERMINAL):
        printed = CliRunner().invoke(app, [name, "--help"], prog_name="truefit").output
    return "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())


class Commands(SphinxDirective):
    """A section for each command."""

    def run(self) -> list[nodes.Node]:
        """Return the sections."""
        found: list[nodes.Node] = []
        for name in command_names():
            section = nodes.section(ids=[f"truefit-{name}"], names=[f"truefit-{name}"])
            text = help_of(name)
            section += [nodes.title(text=f"truefit {name}"), nodes.literal_block(text, text, language="none")]
            found.append(section)
        return found


def setup(app: Any) -> dict[str, Any]:
    """Connect the extension to Sphinx."""
    app.add_directive("commands", Commands)
    return {"parallel_read_safe": True}
