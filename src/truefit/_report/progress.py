"""Progress as a person sees it: one line with a bar, on a terminal or in a notebook, and silence elsewhere."""

from __future__ import annotations

import html
import sys
import weakref
from collections.abc import Callable
from importlib import import_module
from typing import TYPE_CHECKING, Any, Protocol

from truefit._core.protocols import Progress

if TYPE_CHECKING:
    from rich.console import Console

#: Seconds that work must have lasted before a bar is worth showing.
DELAY = 0.5
#: Seconds between two drawings of the line.
PACE = 0.1


class TerminalProgress:
    """Shows how far a run is: a listener for progress events.

    One line on standard error, ``fits done/total · shared · restored · time left``, once the work has lasted a
    moment; it is cleared at the end. In a notebook the line is part of the cell's output. Where neither is at
    hand (a log, a pipe) nothing is written.

    Parameters
    ----------
    delay : float, default=0.5
        Seconds of work before anything is shown.
    console : rich Console, optional
        Where to draw. Standard error by default.

    Examples
    --------
    >>> with TerminalProgress() as listener:
    ...     listener(Progress(done=3, total=10, run=3, shared=0, stored=0, failed=0, elapsed=0.1, left=0.3))
    """

    def __init__(self, *, delay: float = DELAY, console: Console | None = None) -> None:
        self.delay = delay
        self._console = console
        self._bar: _Bar | None = None
        self._clear: Callable[[], object] | None = None
        self._silent = False
        self._drawn = float("-inf")

    def __call__(self, event: Progress) -> None:
        """Take note of an event, and draw it if it is time to."""
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
            # A terminal whose cursor stays hidden is worse than no bar: closed at exit if nobody did.
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
    """Return an event in words.

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
    """Return seconds in words, with two units at most.

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


class _Bar(Protocol):
    def draw(self, event: Progress) -> None: ...

    def close(self) -> None: ...


def _bar(console: Console | None) -> _Bar | None:
    """Return what fits the place: a line on a terminal, a line in a notebook, or nothing."""
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
    # Only a shell with a kernel behind it has a front end that shows HTML.
    return getattr(shell, "kernel", None) is not None


class _TerminalBar:
    def __init__(self, console: Console) -> None:
        from rich.live import Live

        self._live = Live(
            console=console,
            transient=True,
            # No thread that draws: the engine forks workers, and a lock held by a thread stays locked in them.
            auto_refresh=False,
            # Output that goes to a file must not come out on the terminal instead.
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
    """A line that is part of the cell's output. rich would need ipywidgets for it."""

    def __init__(self) -> None:
        # By name: IPython is there in a notebook, and nowhere else needed.
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
