"""The command line, run in this process: a process per test would import everything again each time."""

from __future__ import annotations

import contextlib
import sys
from dataclasses import dataclass
from unittest import mock

from typer.testing import CliRunner

from truefit._cli.__main__ import app


@dataclass(frozen=True)
class Said:
    """What a command wrote, and the code it left with."""

    returncode: int
    stdout: str
    stderr: str


def truefit(*arguments, cwd="."):
    """Run a command in a folder."""
    words = [str(argument) for argument in arguments]
    with contextlib.chdir(cwd), mock.patch.object(sys, "argv", ["truefit", *words]):
        result = CliRunner().invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Said(result.exit_code, result.stdout, result.stderr)
