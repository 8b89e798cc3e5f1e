"""Inputs of a command: the table, its task and the models, truefit's or from a file of the user's own."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast, get_args

import typer

from truefit._core.data import Task
from truefit._core.errors import InvalidInput, TruefitError

if TYPE_CHECKING:
    from truefit.sources.table import Table


def own_models(place: str) -> dict[str, Any]:
    """Return estimators by name: one, a dict or list of them, or what a function without arguments makes.

    Parameters
    ----------
    place : str
        ``FILE.py:NAME`` or ``MODULE:NAME``.
    """
    where, _, name = place.rpartition(":")
    with _errors(place, where):
        module = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
        if not hasattr(module, name):
            raise InvalidInput(
                f"No models could be taken from {place}: the module has no attribute {name!r}. Check the name."
            )
        found = getattr(module, name)
        if callable(found) and not hasattr(found, "fit"):
            found = found()
    if isinstance(found, dict):
        return found
    estimators = found if isinstance(found, list | tuple) else [found]
    from truefit._methods.candidates import names_of

    return dict(zip(names_of(estimators), estimators, strict=True))


def _from_file(path: Path) -> ModuleType:
    """Run a file as a module that the workers find too."""
    if not path.is_file():
        raise InvalidInput(f"There is no file {path} to take models from. Check the path.")
    path = path.resolve()
    # For what the file imports from beside it, here and in the workers. Last: a json.py there must not become Python's.
    if str(path.parent) not in sys.path:
        sys.path.append(str(path.parent))
    importable = _is_importable(path)
    name = path.stem if importable else f"models_of_{path.stem}_{blake2b(bytes(path), digest_size=4).hexdigest()}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    try:
        spec.loader.exec_module(module)
    except BaseException:
        del sys.modules[name]  # as an import that fails does
        raise
    if not importable:
        import cloudpickle  # type: ignore[import-untyped]

        # No import finds it by that name, so workers are sent its classes and functions themselves.
        cloudpickle.register_pickle_by_value(module)
    return module


def _is_importable(path: Path) -> bool:
    """Whether an import of the file's name finds the file, and not another module, such as the standard library's."""
    name = path.stem
    if not name.isidentifier() or name in sys.stdlib_module_names:
        return False
    importlib.invalidate_caches()
    known = sys.modules.get(name)
    if known is not None:
        return getattr(known, "__file__", None) == str(path)
    found = importlib.util.find_spec(name)
    return found is not None and found.origin is not None and Path(found.origin).resolve() == path


@contextmanager
def _errors(place: str, where: str) -> Iterator[None]:
    """Say in a sentence what the user's own code raised, and in which line of it."""
    try:
        yield
    except TruefitError:
        raise
    except (Exception, SystemExit) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no message").strip().rstrip(".")
        raise InvalidInput(
            f"No models could be taken from {place}: {type(error).__name__}{_line(error, where)}: {reason[:300]}. "
            "Check the path and the name, and run the file by itself."
        ) from error


def _line(error: BaseException, where: str) -> str:
    """Return in which line of the file an error was raised, in words; nothing where it was not raised there."""
    if isinstance(error, SyntaxError):
        return f" in {Path(error.filename or where).name}, line {error.lineno}"
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if where.endswith(".py") and Path(frame.filename).resolve() == Path(where).resolve()
    ]
    return f" in {Path(where).name}, line {own[-1].lineno}" if own else ""


def load_table(data: str, target: str | None) -> Table:
    """Read the table, and say what was noticed about it."""
    from truefit.sources.load import load

    table = load(data, target)
    print_notes(table.notes)
    return table


def print_notes(notes: tuple[str, ...]) -> None:
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


def candidates_of(names: list[str] | None, table: Table, task: Task) -> dict[str, Any]:
    """Return the models of these names, truefit's or one's own; without names a set that suits the table."""
    from truefit._methods.selection.default_candidates import default_candidates

    if not names:
        return default_candidates(table.X, task)
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
