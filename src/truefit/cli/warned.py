"""Warned: a warning that comes from every one of many fits is shown once, and counted."""

from __future__ import annotations

import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import typer

from truefit.core.credentials import without_credentials


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
