"""Messages: results go to standard output, notes and warnings to standard error."""

from __future__ import annotations

import codecs
import contextlib
import io
import logging
import os
import re
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping
from typing import Any, BinaryIO, Final, TextIO, cast

import typer

from truefit._core.credentials import without_credentials
from truefit._core.errors import WriteFailed


class ResultStream(io.TextIOBase):
    """Standard output for results, flushed at once.

    A reader that closes the pipe (``truefit runs runs.db | head -1``) must not keep a command from writing its files:
    the rest of the output is dropped. Any other error ends the command.
    """

    def __init__(self, stream: TextIO | None) -> None:
        self._stream = stream

    @property
    def encoding(self) -> str:  # type: ignore[override]
        """Encoding of standard output."""
        return "utf-8" if self._stream is None else self._stream.encoding

    @property
    def errors(self) -> str | None:  # type: ignore[override]
        """How characters that cannot be encoded are handled."""
        return None if self._stream is None else self._stream.errors

    def write(self, text: str) -> int:
        """Write text and flush."""
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
        """Whether it is a terminal."""
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
                    f"Standard output could not be written: {error.strerror}. Redirect it to a disk with free space "
                    "and rerun."
                ) from error

    def _drop(self) -> None:
        """Discard the buffer, which the interpreter would otherwise try to write at exit."""
        stream, self._stream = self._stream, None
        if stream is not None:
            with open(os.devnull, "wb") as nowhere:
                os.dup2(nowhere.fileno(), stream.fileno())


#: Where the encoding of standard output lacks a character, as in a file on Windows, a plain one stands for it.
_PLAIN_TEXT: Final = "truefit-plain-text"
_PLAIN: Final = {"\N{MINUS SIGN}": "-", "\N{EN DASH}": "-", "…": "...", "×": "x", "²": "2", "≤": "<=", "≥": ">="}


def _as_plain_text(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeEncodeError)
    return "".join(_PLAIN.get(each, "?") for each in error.object[error.start : error.end]), error.end


codecs.register_error(_PLAIN_TEXT, _as_plain_text)

_results: ResultStream | None = None
_quiet = False
_CONTROL: Final = dict.fromkeys([*range(9), *range(11, 32), *range(127, 160)], "\N{REPLACEMENT CHARACTER}")


def results() -> TextIO:
    """Return the stream for results."""
    return cast("TextIO", _results or ResultStream(sys.stdout))


def echo(text: str = "") -> None:
    """Write a line of a result."""
    results().write(f"{printable(text)}\n")


def note(text: str) -> None:
    """Write a line about the run to standard error; nothing with ``--quiet``."""
    if not _quiet:
        typer.echo(printable(text), err=True)


def printable(text: str) -> str:
    """Replace terminal control characters, which names in a table or a store may contain.

    Examples
    --------
    >>> printable("a\\x1b[2Jb\\n")
    'a�[2Jb\\n'
    """
    return text.translate(_CONTROL)


@contextlib.contextmanager
def results_only(*, quiet: bool = False) -> Iterator[None]:
    """Reserve standard output for results while a command runs: other prints go to standard error."""
    global _results, _quiet
    before = _results, _quiet
    out: object = sys.stdout
    _results, _quiet = out if isinstance(out, ResultStream) else ResultStream(sys.stdout), quiet
    try:
        with contextlib.redirect_stdout(sys.stderr):
            yield
    finally:
        _results, _quiet = before


@contextlib.contextmanager
def standard_output_claimed() -> Iterator[None]:
    """Reserve the process's standard output for results, also from C code and worker processes.

    File descriptor 1 becomes standard error for the rest of the process and for every process that it starts.
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
    errors = _PLAIN_TEXT if sys.stdout.errors == "strict" else sys.stdout.errors
    with open(own, "w", encoding=sys.stdout.encoding, errors=errors) as stream:
        sys.stdout = cast("TextIO", ResultStream(stream))
        try:
            yield
        finally:
            sys.stdout = sys.stderr


class _NoteHandler(logging.Handler):
    """Writes records of the log as notes, those below a warning with where they come from."""

    def emit(self, record: logging.LogRecord) -> None:
        text = record.getMessage()
        note(text if record.levelno >= logging.WARNING else f"{record.name}: {text}")


@contextlib.contextmanager
def log_shown(*, verbose: bool = False) -> Iterator[None]:
    """Show the log of truefit as notes: warnings, and all that is done with ``--verbose``."""
    logger, handler = logging.getLogger("truefit"), _NoteHandler()
    before = logger.level, logger.propagate
    logger.addHandler(handler)
    logger.setLevel(logging.INFO if verbose else logging.WARNING)
    logger.propagate = False
    try:
        yield
    finally:
        logger.removeHandler(handler)
        logger.setLevel(before[0])
        logger.propagate = before[1]


#: How messages for Python name a parameter: "the 'cv' parameter", "design='loo'", "Engine(memory=...)", "pos_label".
_PARAMETER: Final = re.compile(
    r"[Tt]he '(?P<named>\w+)' parameter(?: of Engine)?|Engine\((?P<engine>\w+)=\.\.\.\)"
    r"|(?<![\w.('\"])(?<!, )(?P<given>\w+)=(?:'(?P<text>[^']*)'|(?P<value>(?:[\w.+-]*\w)?))"
    r"|(?<![\w'\"-])(?P<word>[a-z]+_[a-z_]+)(?![\w'\"=(])"
)
#: Parameters whose option has another name.
_OTHER_NAMES: Final = {"sample_weight": "weights", "random_state": "seed"}


def as_options(text: str, options: Mapping[str, str]) -> str:
    """Name options where a message names parameters of Python's that are options of the command.

    Examples
    --------
    >>> options = {"cv": "--cv", "pos_label": "--pos-label", "conservative": "--conservative", "weights": "--weights"}
    >>> as_options("The 'cv' parameter must be a number. Use cv=4, or conservative=True, or model=None.", options)
    '--cv must be a number. Use --cv 4, or --conservative, or model=None.'
    >>> as_options("With sample_weight pass one as pos_label. The column 'pos_label' of SVC(cv=4, cv=5).", options)
    "With --weights pass one as --pos-label. The column 'pos_label' of SVC(cv=4, cv=5)."
    """

    def option(found: re.Match[str]) -> str:
        name = found["named"] or found["engine"] or found["given"] or found["word"]
        named = options.get(_OTHER_NAMES.get(name, name))
        if named is None:
            return found[0]
        value = found["text"] or found["value"]
        return named if value in (None, "", "True") else f"{named} {value}"

    return _PARAMETER.sub(option, text)


@contextlib.contextmanager
def warnings_shown_once(options: Mapping[str, str] | None = None) -> Iterator[None]:
    """Show each warning once, as a line, and at the end how often it was raised; it names these options.

    Python's own filter forgets what it has shown whenever a fit changes the filters. Worker processes show theirs once
    each.
    """
    seen: Counter[tuple[str, str]] = Counter()

    def show(message: Warning | str, category: type[Warning], *_: Any, **__: Any) -> None:
        warned = (category.__name__, without_credentials(as_options(str(message), options or {}), sys.argv[1:]))
        seen[warned] += 1
        if seen[warned] == 1:
            note(_line(*warned))

    with warnings.catch_warnings():
        warnings.showwarning = show
        try:
            yield
        finally:
            for warned, times in seen.items():
                if times > 1:
                    note(f"{times} times: {_line(*warned)}")


def _line(category: str, text: str) -> str:
    first = text.strip().splitlines()[0] if text.strip() else ""
    return f"{category}: {first if len(first) <= 160 else first[:159] + '…'}"
