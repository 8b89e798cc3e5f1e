"""The schema of what --json prints. Every test that runs a command with --json checks its output by it (command.py)."""

import copy
import json

import pytest
import typer
from jsonschema import Draft202012Validator
from tests.cli.command import SCHEMA, check_json, truefit

from truefit.__main__ import app


def test_it_is_a_schema_and_has_one_for_every_command_that_prints_json():
    Draft202012Validator.check_schema(SCHEMA)
    commands = typer.main.get_command(app).commands
    printing = {name for name, each in commands.items() if any("--json" in option.opts for option in each.params)}
    assert printing == set(SCHEMA["commands"])
    assert all(address.removeprefix("#/$defs/") in SCHEMA["$defs"] for address in SCHEMA["commands"].values())


def test_stored_results_are_listed_and_shown_as_it_says_and_others_are_refused(tmp_path):
    study = ("study", "iris", "--model", "naive_bayes", "--workers", 1, "--store", "runs.db", "--json")
    printed = json.loads(truefit(*study, cwd=tmp_path).stdout)
    assert json.loads(truefit("show", "runs.db", "--json", cwd=tmp_path).stdout) == printed
    assert len(json.loads(truefit("runs", "runs.db", "--json", cwd=tmp_path).stdout)["reports"]) == 1
    for change in (lambda made: made.pop("estimate"), lambda made: made["findings"][0].update(severity="bad")):
        other = copy.deepcopy(printed)
        change(other)
        with pytest.raises(AssertionError):
            check_json("study", json.dumps(other))
