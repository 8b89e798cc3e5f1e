"""Messages: only results go to standard output; a warning that many fits raise is shown once, with a count."""

from __future__ import annotations

import contextlib
import io
import os
import sys
import warnings
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, BinaryIO, Final, TextIO, cast

import typer

from truefit._core.credentials import without_credentials
from truefit._core.errors import WriteFailed


class ResultStream(io.TextIOBase):
    """Standard output for results: written at once, and quiet once nobody reads it any more.

    A reader that has gone (``truefit runs runs.db | head -1``) is no reason to end a command before its files are
    written, so the rest is dropped. Any other error ends the command with a sentence.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of the text, as standard output has it."""
        return "utf-8" if self._stream is None else self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """What becomes of characters that the encoding lacks."""
        return None if self._stream is None else self._stream.errors

    def write(self, text: str) -> int:
        """Write text, and have it on its way."""
        with self._errors() as stream:
            if stream is not None:
                stream.write(text)
                stream.flush()
        return len(text)

    def write_bytes(self, content: BinaryIO) -> None:
        """Write the bytes of a file as they are."""
        with self._errors() as stream:
            if stream is not None:
                stream.buffer.write(content.read())
                stream.flush()

    def isatty(self) -> bool:
        """Whether somebody looks at it on a terminal."""
        return self._stream is not None and self._stream.isatty()

    def writable(self) -> bool:
        """Return True."""
        return True

    @contextlib.contextmanager
    def _errors(self) -> Iterator[TextIO | None]:
        try:
            yield self._stream
        except OSError as error:
            self._drop()
            if not isinstance(error, BrokenPipeError):
                raise WriteFailed(
                    f"Standard output could not be written: {error.strerror}. Send it to a place with space, and run "
                    "the same again."
                ) from error

    def _drop(self) -> None:
        """Let what is still in the buffer go nowhere, or the interpreter would try to write it when it ends."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


_results: ResultStream | None = None
_CONTROL: Final = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}")


def results() -> TextIO:
    """Return where a command writes its results."""
    return cast("TextIO", _results or ResultStream(sys.stdout))


def echo(text: str = "", *, err: bool = False) -> None:
    """Write a line of a result, or a remark to standard error."""
    if err:
        typer.echo(printable(text), err=True)
    else:
        results().write(f"{printable(text)}\n")


def printable(text: str) -> str:
    """Return text without characters that control a terminal: names in a table or a store may be anybody's.

    Examples
    --------
    >>> printable("a\\x1b[2Jb\\n")
    'a�[2Jb\\n'
    """
    return text.translate(_CONTROL)


def print_table(
    columns: Sequence[str],
    rows: Iterable[Sequence[str]],
    *,
    right: Collection[int] = (),
    bold: Collection[int] = (),
    title: str = "",
    **options: Any,
) -> None:
    """Print a table on a terminal.

    Parameters
    ----------
    columns : sequence of str
    rows : iterable of sequences of str
    right : collection of int
        Columns that are aligned at the right.
    bold : collection of int
        Rows that stand out.
    title : str
    **options
        Further parameters of rich's Table.
    """
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table
    from rich.text import Text

    # Names of columns, files and models are no markup.
    table = Table(title=escape(title) or None, title_justify="left", caption_justify="left", **options)
    for place, column in enumerate(columns):
        table.add_column(Text(printable(column)), justify="right" if place in right else "left")
    for place, row in enumerate(rows):
        table.add_row(*(Text(printable(cell)) for cell in row), style="bold" if place in bold else None)
    Console(file=results()).print(table)


def print_lines(lines: Iterable[str], style: str | None = None) -> None:
    """Print lines below or above a table on a terminal."""
    from rich.console import Console

    console = Console(file=results())
    for line in lines:
        console.print(line, style=style, highlight=False, markup=False)


@contextlib.contextmanager
def results_only() -> Iterator[None]:
    """Keep standard output for results while a command runs: what anything else prints goes to standard error."""
    global _results
    out: object = sys.stdout
    before, _results = _results, out if isinstance(out, ResultStream) else ResultStream(sys.stdout)
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _results = before


@contextlib.contextmanager
def standard_output_claimed() -> Iterator[None]:
    """Keep a process's standard output for results, also from what is written below Python and by workers.

    File descriptor 1 becomes standard error for the rest of the process, and so for every process that it starts. What
    is printed while the process ends goes to standard error too.
    """
    if sys.stdout is None or sys.stdout.fileno() != 1:
        yield
        return
    sys.stdout.flush()
    own = os.dup(1)
    if sys.stderr is None:
        with open(os.devnull, "wb") as nowhere:
            os.dup2(nowhere.fileno(), 1)
    else:
        os.dup2(2, 1)
    with open(own, "w", encoding=sys.stdout.encoding, errors=sys.stdout.errors) as stream:
        sys.stdout = cast("TextIO", ResultStream(stream))
        try:
            yield
        finally:
            sys.stdout = sys.stderr


@contextmanager
def warnings_shown_once() -> Iterator[None]:
    """Show each warning once, as a line, and say at the end how often it came.

    Python's own filter forgets what it has shown whenever a fit changes the filters, as many do. Worker processes show
    theirs once each.
    """
    seen: Counter[tuple[str, str]] = Counter()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        warned = (category.__name__, without_credentials(str(message), sys.argv[1:]))
        seen[warned] += 1
        if seen[warned] == 1:
            typer.echo(_line(*warned), err=True)

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        finally:
            for warned, times in seen.items():
                if times > 1:
                    typer.echo(f"{times} times: {_line(*warned)}", err=True)


def _line(category: str, text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return f"{category}: {first if len(first) <= 160 else first[:159] + '…'}"
