"""The application: what every command shares, and how errors become messages and exit codes."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import inspect
import sys
from collections.abc import Callable, Iterator
from typing import Annotated, Any, NoReturn, get_args, get_type_hints

import typer
from typer.core import TyperGroup
from typer.models import OptionInfo

from truefit import __version__
from truefit._cli.messages import as_options, log_shown, note, results_only, warnings_shown_once
from truefit._cli.options import RENAMED_OPTIONS
from truefit._core.credentials import without_credentials
from truefit._core.errors import Interrupted, InvalidInput, MissingDependency, StoreError, TruefitError

#: What typer raises for arguments that a command does not take.
_UsageError: Any = typer.BadParameter.__base__

EXIT_CODES = (
    "Exit codes: 0 success; 1 the run failed; 2 invalid input; 3 a finding reached the severity of --fail-on (study); "
    "130 interrupted."
)


class Commands(TyperGroup):
    """The commands. Usage errors never repeat a password; renamed options still work."""

    def resolve_command(self, ctx: Any, args: list[str]) -> Any:
        """Find the command, and replace old names of options by the new ones."""
        name, command, rest = super().resolve_command(ctx, args)
        return name, command, [_renamed(word) for word in rest]

    def make_context(self, *arguments: Any, **options: Any) -> Any:
        """Parse the arguments before the command's own."""
        with _usage_errors():
            return super().make_context(*arguments, **options)

    def invoke(self, ctx: Any) -> Any:
        """Parse the command's arguments, and run it."""
        with _usage_errors():
            return super().invoke(ctx)


def _renamed(word: str) -> str:
    option, equals, value = word.partition("=")
    if option not in RENAMED_OPTIONS:
        return word
    new = RENAMED_OPTIONS[option]
    note(f"Warning: {option} was renamed to {new} in 0.3 and will be removed in 0.4: write {new}.")
    return new + equals + value


@contextlib.contextmanager
def _usage_errors() -> Iterator[None]:
    try:
        yield
    except _UsageError as error:
        error.message = _redacted(str(error.message))
        raise


app = typer.Typer(
    cls=Commands,
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Which model, how good is it really, does it fit, and would more data help?",
    epilog=EXIT_CODES,
)

#: Options that come first in the help of a command; the other common ones come after the command's own.
_FIRST = ("data", "target", "groups", "time", "weights", "drop", "model")


def command(function: Callable[..., None]) -> Callable[..., None]:
    """Add a command with a table and models: the fields of its ``config`` parameter, a dataclass, become options."""
    given = inspect.signature(function, eval_str=True).parameters
    config = given["config"].annotation
    types = get_type_hints(config, include_extras=True)
    common = {
        field.name: inspect.Parameter(
            field.name,
            inspect.Parameter.KEYWORD_ONLY,
            default=inspect.Parameter.empty if field.default is dataclasses.MISSING else field.default,
            annotation=types[field.name],
        )
        for field in dataclasses.fields(config)
    }
    own = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for name, each in given.items() if name != "config"]
    first = [parameter for field, parameter in common.items() if field in _FIRST]
    last = [parameter for field, parameter in common.items() if field not in _FIRST]
    parameters = [*first, *own, *last]

    @functools.wraps(function)
    def called(**options: Any) -> None:
        function(config(**{field: options.pop(field) for field in common}), **options)

    called.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
    called.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
    return plain_command(called)


def plain_command(function: Callable[..., None]) -> Callable[..., None]:
    """Add a command: errors become one sentence and an exit code.

    ``--quiet``, if it has that, silences notes; ``--verbose`` shows the log.
    """

    names = _option_names(function)

    @functools.wraps(function)
    def guarded(**options: Any) -> None:
        try:
            quiet, verbose = options.get("quiet", False), options.get("verbose", False)
            with results_only(quiet=quiet), warnings_shown_once(names), log_shown(verbose=verbose):
                function(**options)
        except Interrupted as interrupt:
            _exit(str(interrupt), 130, interrupt)
        except TruefitError as error:
            invalid = isinstance(error, InvalidInput | MissingDependency | StoreError)
            _exit(f"Error: {as_options(str(error), names)}", 2 if invalid else 1, error)

    return app.command(epilog=EXIT_CODES)(guarded)


def _option_names(function: Callable[..., None]) -> dict[str, str]:
    """Return the option of each parameter of a command that is one."""
    found = {}
    for name, parameter in inspect.signature(function, eval_str=True).parameters.items():
        for each in get_args(parameter.annotation):
            if isinstance(each, OptionInfo):
                found[name] = (each.param_decls or [f"--{name.replace('_', '-')}"])[0]
    return found


def _exit(message: str, code: int, reason: BaseException) -> NoReturn:
    typer.echo(_redacted(message), err=True)
    raise typer.Exit(code) from reason


def _redacted(message: str) -> str:
    return without_credentials(message, sys.argv[1:])


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"truefit {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Which model, how good is it really, does it fit, and would more data help?"""
