"""Inputs of a command: the table, its task and the models, truefit's or from a file of the user's own."""

from __future__ import annotations

import difflib
import importlib
import importlib.util
import sys
import traceback
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import blake2b
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, cast, get_args

from truefit._cli.messages import note
from truefit._core.errors import InvalidInput, TruefitError
from truefit._core.validation import Task

if TYPE_CHECKING:
    import pandas as pd

    from truefit._methods.selection.families import ModelFamily
    from truefit.sources.table import Table


def own_models(place: str) -> dict[str, Any]:
    """Return the estimators at ``FILE.py:NAME`` or ``MODULE:NAME``, by name."""
    where, _, name = place.rpartition(":")
    with _errors(place, where):
        module = _from_file(Path(where)) if where.endswith(".py") else importlib.import_module(where)
        if not hasattr(module, name):
            raise InvalidInput(
                f"The models of {place} could not be loaded: the module has no attribute {name!r}. Check the name."
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
    """Run a file as a module that worker processes can import."""
    if not path.is_file():
        raise InvalidInput(f"There is no file {path} to load models from. Check the path.")
    path = path.resolve()
    # For imports from the file's own folder. Last: a json.py there must not replace the standard library's.
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

        # Workers cannot import it by that name, so its classes and functions are pickled by value.
        cloudpickle.register_pickle_by_value(module)
    return module


def _is_importable(path: Path) -> bool:
    """Whether importing the file's name finds this file, and not another module."""
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
    """Turn what the user's own code raises into one sentence with its line number."""
    try:
        yield
    except TruefitError:
        raise
    except (Exception, SystemExit) as error:
        reason = next((line for line in str(error).splitlines() if line.strip()), "no message").strip().rstrip(".")
        raise InvalidInput(
            f"The models of {place} could not be loaded: {type(error).__name__}{_line(error, where)}: {reason[:300]}. "
            "Check the path and the name, and run the file by itself."
        ) from error


def _line(error: BaseException, where: str) -> str:
    """Return the line of the file in which an error was raised, or an empty text."""
    if isinstance(error, SyntaxError):
        return f" in {Path(error.filename or where).name}, line {error.lineno}"
    own = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if where.endswith(".py") and Path(frame.filename).resolve() == Path(where).resolve()
    ]
    return f" in {Path(where).name}, line {own[-1].lineno}" if own else ""


def load_table(data: str, target: str | None) -> Table:
    """Read the table, and print the notes about it."""
    from truefit.sources.load import load

    table = load(data, target)
    print_notes(table.notes)
    return table


def print_notes(notes: tuple[str, ...]) -> None:
    """Print how a table was read."""
    for text in notes:
        note(f"Note: {text}")


def load_test(data: str, table: Table, unused: Collection[str]) -> tuple[Any, ...]:
    """Read test rows with the columns of a table, in their order, and their groups where the file has them.

    Columns that are not features may be there or not.
    """
    from truefit.sources.load import load_rows
    from truefit.sources.table import check_names, find_column

    frame, name, notes = load_rows(data)
    print_notes(notes)
    names = [str(column) for column in frame.columns]
    check_names(names, name)
    find_column(names, table.target, name)
    known = {table.target, *unused}
    X = columns_as_fitted(
        frame, dtypes_of(table), name, trained_on=f"{table.name!r} has", lacking=f"{table.name!r} lacks", known=known
    )
    y = _as_fitted(frame.iloc[:, names.index(table.target)], str(table.y.dtype), name)
    groups = table.roles.get("groups")
    if groups is None:
        return X, y
    if str(groups.name) in names:
        return X, y, _as_fitted(frame.iloc[:, names.index(str(groups.name))], str(groups.dtype), name)
    note(f"Note: {name!r} has no column {str(groups.name)!r}. Its rows count as independent.")
    return X, y


def dtypes_of(table: Table) -> dict[str, str]:
    """Return the types of the columns, by name."""
    return {str(name): str(dtype) for name, dtype in zip(table.X.columns, table.X.dtypes, strict=True)}


def columns_as_fitted(
    frame: pd.DataFrame,
    columns: Mapping[str, str],
    name: str,
    *,
    trained_on: str = "the model was fitted on",
    lacking: str = "the model was not fitted on",
    known: Collection[str | None] = (),
) -> pd.DataFrame:
    """Return the columns that a model was fitted on, in their order and with their types; name the others.

    ``known`` are columns that are no features: they may be there or not.
    """
    import pandas as pd

    names = [str(column) for column in frame.columns]
    missing = [wanted for wanted in columns if wanted not in names]
    if missing:
        from truefit.sources.table import nearest

        near = nearest(missing[0], names)
        raise InvalidInput(
            f"{name!r} must have every column that {trained_on}. Missing: {_some(missing)}."
            + (f" Is it {near}?" if near else "")
        )
    # Row numbers of the training table were left out, too.
    others = [each for each in names if each not in {*columns, *known} and not each.startswith("Unnamed: 0")]
    if others:
        note(f"Note: {name!r} has columns that {lacking}: {_some(others)}. They are not used.")
    picked = {wanted: _as_fitted(frame.iloc[:, names.index(wanted)], kind, name) for wanted, kind in columns.items()}
    return pd.DataFrame(picked)


def _some(names: Sequence[str]) -> str:
    return ", ".join(map(repr, names[:5])) + (f" and {len(names) - 5:,} more" if len(names) > 5 else "")


def _as_fitted(values: pd.Series[Any], kind: str, name: str) -> pd.Series[Any]:
    """Give a column the type that it had when the model was fitted: a short file may be read as another type."""
    import pandas as pd

    if not kind or str(values.dtype) == kind:
        return values
    numeric = kind.lower().startswith(("int", "uint", "float"))
    dtype: Any = kind
    try:
        if numeric:
            # Not to integers: the model may accept missing values.
            return pd.to_numeric(values)
        if kind.startswith("datetime"):
            return pd.to_datetime(values).astype(dtype)
        if kind in ("str", "object", "string"):
            return values.astype(object).map(str, na_action="ignore").astype(dtype)
        return values.astype(dtype)
    except (TypeError, ValueError) as error:
        reason = str(error).strip().splitlines()[0]
        held = "numbers" if numeric else kind
        raise InvalidInput(
            f"The column {str(values.name)!r} of {name!r} must contain {held}, as in the training data. The "
            f"conversion failed: {reason.rstrip('.')}."
        ) from error


def task_of(task: str | None, table: Table) -> Task:
    """Return the requested task, or the one inferred from the target."""
    if task is None:
        note(f"Task: {table.task_hint.task} ({table.task_hint.reason}).")
        return table.task_hint.task
    check_choice("--task", task, get_args(Task))
    return cast("Task", task)


def check_choice(option: str, given: str | None, choices: Sequence[str]) -> None:
    """Refuse the value of an option that is none of its choices."""
    if given is not None and given not in choices:
        first = f"{', '.join(choices[:-1])} or " if len(choices) > 1 else ""
        raise InvalidInput(f"{option} must be {first}{choices[-1]}. Got {given!r} instead.")


def numbers_of(option: str, text: str, kind: Callable[[str], Any], words: Sequence[str]) -> Any:
    """Parse numbers with commas between them; words that the option knows are returned as they are.

    Examples
    --------
    >>> numbers_of("--levels", "0.1, 0.3", float, ["adaptive"]), numbers_of("--levels", "adaptive", float, ["adaptive"])
    ([0.1, 0.3], 'adaptive')
    """
    if text in words:
        return text
    try:
        return [kind(number) for number in text.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"{option} must be {', '.join(words)} or numbers with commas between them. Got {text!r} instead."
        ) from error


def label_of(text: str | None, table: Table) -> Any:
    """Return the class with this text; the text itself if there is none, which is refused later with its name."""
    return None if text is None else label_in(text, table.y)


def label_in(text: str, column: pd.Series[Any], kind: type = str) -> Any:
    """Return the label of a column with this text; if there is none, the text itself as another ``kind``."""
    return next((label for label in column.unique().tolist() if str(label) == text), kind(text))


def families_of(names: list[str] | None, table: Table, task: Task) -> dict[str, ModelFamily]:
    """Return the models of these names as families: default candidates with their search spaces, others as they are."""
    from truefit._methods.selection.families import default_families, family_named

    known = default_families(table.X, task, table.y) if _with_default(names) else {}
    candidates = candidates_of(names, table, task, known={name: each.estimator for name, each in known.items()})
    return {name: family_named(name, each, known) for name, each in candidates.items()}


def _with_default(names: list[str] | None) -> bool:
    """Whether any default candidate is among the models of these names."""
    return not names or any(":" not in name for name in names)


def candidates_of(
    names: list[str] | None, table: Table, task: Task, *, known: dict[str, Any] | None = None
) -> dict[str, Any]:
    """Return the models of these names; without names all ``known`` ones, by default those for the table."""
    from truefit._core.parameters import weight_parameter
    from truefit._methods.selection.default_candidates import default_candidates

    if known is None and _with_default(names):
        known = default_candidates(table.X, task)
    candidates = _named(names, known or {}) if names else dict(known or {})
    if "sample_weight" not in table.roles:
        return candidates
    weighted = {name: each for name, each in candidates.items() if weight_parameter(each) is not None}
    others = ", ".join(name for name in candidates if name not in weighted)
    if others and names:
        raise InvalidInput(f"With --weights every model must take weights. These do not: {others}. Leave them out.")
    if others:
        note(f"Note: {others} left out: with --weights every model must take weights.")
    return weighted


def _named(names: list[str], known: dict[str, Any]) -> dict[str, Any]:
    from truefit._methods.selection.default_candidates import candidate_named

    candidates: dict[str, Any] = {}
    for name in names:
        if ":" in name:
            candidates |= own_models(name)
        elif (candidate := candidate_named(name, known)) is not None:
            candidates[name] = candidate
        else:
            near = difflib.get_close_matches(name, known, n=1)
            raise InvalidInput(
                f"--model must be one of {', '.join(known)}, for a classifier also with +platt or +isotonic, or "
                "FILE.py:NAME or MODULE:NAME for your own. "
                f"Got {name!r} instead." + (f" Did you mean {near[0]!r}?" if near else "")
            )
    return candidates
