"""The application: what every command shares, and how it says what went wrong."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Annotated, Any, NoReturn

import typer

from truefit import __version__
from truefit.cli.warned import warnings_shown_once
from truefit.core.errors import Interrupted, InvalidInput, MissingDependency, StoreError, TruefitError

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Which model, how good is it really, does it fit, and would more data help?",
)


def in_plain_words(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command say in a sentence what went wrong, and leave with the exit code for it."""

    @functools.wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            with warnings_shown_once():
                command(*arguments, **options)
        except Interrupted as interrupt:
            _leave(str(interrupt), 130, interrupt)
        except (InvalidInput, MissingDependency, StoreError) as error:
            _leave(f"Error: {error}", 2, error)
        except TruefitError as error:
            _leave(f"Error: {error}", 1, error)

    return guarded


def _leave(message: str, code: int, reason: BaseException) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code) from reason


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
