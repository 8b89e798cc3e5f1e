"""Progress: one line with a bar on a terminal or in a notebook, nothing elsewhere."""

from __future__ import annotations

import html
import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any

from truefit._core.protocols import Progress

if TYPE_CHECKING:
    from rich.console import Console

#: Seconds of work before a bar is shown.
DELAY = 0.5
#: Seconds between two updates of the line.
PACE = 0.1


class TerminalProgress:
    """Shows the progress of a run: a listener for progress events.

    One line on standard error, ``fits done/total · shared · restored · time left``, after a short delay; it is cleared
    at the end. In a notebook the line is part of the cell's output. In a log or a pipe nothing is written.

    Examples
    --------
    >>> with TerminalProgress() as listener:
    ...     listener(Progress(done=3, total=10, run=3, shared=0, stored=0, failed=0, elapsed=0.1, left=0.3))
    """

    def __init__(self, *, delay: float = DELAY, console: Console | None = None) -> None:
        self.delay = delay
        self._console = console
        self._bar: _TerminalBar | _NotebookBar | None = None
        self._clear: Callable[[], object] | None = None
        self._silent = False
        self._drawn = float("-inf")

    def __call__(self, event: Progress) -> None:
        """Draw an event, unless the last one was drawn a moment ago."""
        if self._silent or event.elapsed < self.delay:
            return
        if self._bar is None:
            if event.done >= event.total:
                return
            self._open()
        if self._bar is not None and (event.elapsed - self._drawn >= PACE or event.done >= event.total):
            self._drawn = event.elapsed
            self._bar.draw(event)

    def _open(self) -> None:
        bar = _bar(self._console)
        self._silent = bar is None
        if bar is not None:
            self._bar = bar
            # Closed at exit at the latest: the cursor of the terminal must not stay hidden.
            self._clear = weakref.finalize(self, bar.close)

    def close(self) -> None:
        """Clear the line. May be called more than once; a later event opens a new line."""
        if self._clear is not None:
            self._clear()
        self._bar = self._clear = None
        self._drawn = float("-inf")

    def __enter__(self) -> TerminalProgress:
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()


def line(event: Progress) -> str:
    """Return an event as text.

    Examples
    --------
    >>> line(Progress(done=34, total=120, run=20, shared=10, stored=4, failed=0, elapsed=12.0, left=65.0))
    'fits 34/120 · 10 shared · 4 restored · 1 min 5 s left'
    """
    parts = [f"fits {event.done:,}/{event.total:,}"]
    counts = {"shared": event.shared, "restored": event.stored, "failed": event.failed}
    parts += [f"{count:,} {name}" for name, count in counts.items() if count]
    if event.left is not None and event.done < event.total:
        parts.append(f"{duration(event.left)} left")
    words = " · ".join(parts)
    return f"{event.description}: {words}" if event.description else words


def duration(seconds: float) -> str:
    """Return seconds as text, with at most two units.

    Examples
    --------
    >>> duration(0.3), duration(59.6), duration(95), duration(3600 * 5 + 61)
    ('1 s', '1 min', '1 min 35 s', '5 h 1 min')
    """
    whole = max(round(seconds), 1)
    if whole < 60:
        return f"{whole} s"
    large, small, names = (
        (whole // 60, whole % 60, ("min", "s")) if whole < 3600 else (whole // 3600, whole % 3600 // 60, ("h", "min"))
    )
    return f"{large} {names[0]}" + (f" {small} {names[1]}" if small else "")


def _bar(console: Console | None) -> _TerminalBar | _NotebookBar | None:
    """Return the bar of a terminal or of a notebook, or None where there is neither."""
    if console is None:
        if _in_notebook():
            return _NotebookBar()
        if not sys.stderr.isatty():
            return None
        from rich.console import Console

        console = Console(stderr=True)
    return _TerminalBar(console)


def _in_notebook() -> bool:
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None else None
    # Only a shell with a kernel has a front end that shows HTML.
    return getattr(shell, "kernel", None) is not None


class _TerminalBar:
    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._live = Live(
            console=console,
            transient=True,
            # No drawing thread: the engine forks workers, in which a lock held by a thread would stay locked.
            auto_refresh=False,
            # Output redirected to a file must not appear on the terminal instead.
            redirect_stdout=sys.stdout.isatty(),
        )
        self._live.start()

    def draw(self, event: Progress) -> None:
        from rich.progress_bar import ProgressBar
        from rich.table import Table
        from rich.text import Text

        grid = Table.grid(padding=(0, 1))
        grid.add_column(width=24)
        grid.add_column(no_wrap=True, overflow="ellipsis")
        bar = ProgressBar(total=max(event.total, 1), completed=event.done, complete_style="cyan", finished_style="cyan")
        grid.add_row(bar, Text(line(event)))
        self._live.update(grid, refresh=True)

    def close(self) -> None:
        self._live.stop()


class _NotebookBar:
    """A line in the output of the cell; rich would need ipywidgets for it."""

    def __init__(self) -> None:
        # Imported by name: IPython is needed in notebooks only.
        shown: Any = import_module("IPython.display")
        self._html = shown.HTML
        self._handle = shown.display(shown.HTML(""), display_id=True)

    def draw(self, event: Progress) -> None:
        text = html.escape(line(event))
        self._handle.update(
            self._html(
                f'<progress value="{event.done}" max="{max(event.total, 1)}" aria-label="{text}"></progress> {text}'
            )
        )

    def close(self) -> None:
        self._handle.update(self._html(""))
