"""Inputs: the table, its task and the models that a command is given."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING, Any, cast, get_args

import typer

from truefit.cli.model_files import own_models
from truefit.core.data import Task
from truefit.core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit.sources.table import Table


def load_table(data: str, target: str | None) -> Table:
    """Read the table, and say what was noticed about it."""
    from truefit.sources.load import load

    table = load(data, target)
    say_notes(table.notes)
    return table


def say_notes(notes: tuple[str, ...]) -> None:
    """Say what was done to a table on the way in."""
    for note in notes:
        typer.echo(f"Note: {note}", err=True)


def task_of(task: str | None, table: Table) -> Task:
    """Return the task that was asked for, or the one that the target suggests, and say why."""
    if task is None:
        typer.echo(f"Taken as a {table.task_hint.task}: {table.task_hint.reason}", err=True)
        return table.task_hint.task
    if task not in get_args(Task):
        raise InvalidInput(f"--task must be {' or '.join(get_args(Task))}. Got {task!r} instead.")
    return cast("Task", task)


def label_of(text: str | None, table: Table) -> Any:
    """Return the class that is written like this; the text itself where there is none, to be refused by name."""
    return next((label for label in table.y.unique().tolist() if str(label) == text), text)


def candidates_of(names: list[str], table: Table, task: Task) -> dict[str, Any]:
    """Return the models of these names, truefit's or one's own."""
    from truefit.methods.selection.default_candidates import default_candidates

    known = default_candidates(table.X, task) if any(":" not in name for name in names) else {}
    candidates: dict[str, Any] = {}
    for name in names:
        if ":" in name:
            candidates |= own_models(name)
        elif name in known:
            candidates[name] = known[name]
        else:
            near = difflib.get_close_matches(name, known, n=1)
            raise InvalidInput(
                f"--model must be one of {', '.join(known)}, or FILE.py:NAME or MODULE:NAME for your own; give it "
                f"several times for several. Got {name!r} instead." + (f" Did you mean {near[0]!r}?" if near else "")
            )
    return candidates
