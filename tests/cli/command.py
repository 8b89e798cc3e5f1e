"""The command line, run in this process: a process per test would import everything again each time."""

from __future__ import annotations

import contextlib
import inspect
import json
import sys
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

from jsonschema import Draft202012Validator
from typer.testing import CliRunner

import truefit._cli as truefit_cli
from truefit.__main__ import app

SCHEMA = json.loads((Path(truefit_cli.__file__).parent / "json_schema.json").read_text())

#: click 8.1 has one stream for both unless it is told; later versions have always two.
RUNNER = CliRunner(**({"mix_stderr": False} if "mix_stderr" in inspect.signature(CliRunner).parameters else {}))


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
        result = RUNNER.invoke(app, words)
    if result.exception is not None and not isinstance(result.exception, SystemExit):
        raise result.exception
    made_up = result.stdout.strip() == "{}"  # a report that a test has put into a store
    if "--json" in words and result.exit_code == 0 and not made_up:
        check_json(words[0], result.stdout)
    return Said(result.exit_code, result.stdout, result.stderr)


def check_json(command, text):
    """What a command prints as JSON must be as its schema says; and strict JSON, which has no NaN."""

    def refuse(constant):
        raise AssertionError(f"{constant} is no JSON")

    schema = {"$ref": SCHEMA["commands"][command], "$defs": SCHEMA["$defs"]}
    wrong = sorted(Draft202012Validator(schema).iter_errors(json.loads(text, parse_constant=refuse)), key=str)
    assert not wrong, [f"{error.json_path}: {error.message}" for error in wrong]
