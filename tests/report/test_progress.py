"""Progress on a terminal, in a notebook, and nowhere."""

from __future__ import annotations

import io
import subprocess
import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest
from rich.console import Console

from truefit._core.protocols import Progress
from truefit._report.progress import TerminalProgress, duration, line


def event(done: int = 3, total: int = 10, elapsed: float = 1.0, **changes: Any) -> Progress:
    values: dict[str, Any] = {"run": done, "shared": 0, "stored": 0, "failed": 0, "left": None} | changes
    return Progress(done=done, total=total, elapsed=elapsed, **values)


def terminal(width: int = 80) -> tuple[Console, io.StringIO]:
    target = io.StringIO()
    return Console(file=target, force_terminal=True, width=width, color_system=None), target


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (event(), "fits 3/10"),
        (event(shared=2, stored=1, failed=4), "fits 3/10 · 2 shared · 1 restored · 4 failed"),
        (event(left=65.0), "fits 3/10 · 1 min 5 s left"),
        (event(done=10, left=0.0), "fits 10/10"),
        (event(done=1500, total=20_000, description="ridge"), "ridge: fits 1,500/20,000"),
    ],
)
def test_line(given: Progress, words: str) -> None:
    assert line(given) == words


@pytest.mark.parametrize(
    ("seconds", "words"),
    [(0, "1 s"), (42.4, "42 s"), (60, "1 min"), (150, "2 min 30 s"), (3600, "1 h"), (7260, "2 h 1 min")],
)
def test_duration(seconds: float, words: str) -> None:
    assert duration(seconds) == words


def test_nothing_is_shown_before_the_work_has_lasted() -> None:
    console, target = terminal()
    with TerminalProgress(console=console) as progress:
        progress(event(elapsed=0.1))
        progress(event(elapsed=0.49))
        assert target.getvalue() == ""
        progress(event(elapsed=0.6))
        assert "fits 3/10" in target.getvalue()


def test_work_that_is_done_opens_no_bar() -> None:
    console, target = terminal()
    with TerminalProgress(console=console) as progress:
        progress(event(done=10, elapsed=60.0))
    assert target.getvalue() == ""


@pytest.mark.parametrize("width", [30, 80, 200])
def test_it_stays_one_line(width: int) -> None:
    console, target = terminal(width)
    with TerminalProgress(console=console) as progress:
        progress(event(shared=2, stored=4, failed=1, left=4000.0, description="a long description " * 4))
        assert "\n" not in target.getvalue()


def test_it_is_drawn_at_a_pace_and_at_the_end() -> None:
    console, target = terminal()
    with TerminalProgress(console=console) as progress:
        for done in range(1, 10):
            progress(event(done=done, elapsed=1.0 + done / 1000))
        assert "fits 1/10" in target.getvalue()
        assert "fits 9/10" not in target.getvalue()
        progress(event(done=10, elapsed=1.02))
        assert "fits 10/10" in target.getvalue()


def test_close_clears_the_line_and_shows_the_cursor_again() -> None:
    console, target = terminal()
    progress = TerminalProgress(console=console)
    progress(event())
    assert target.getvalue().count("\x1b[?25l") == 1
    progress.close()
    progress.close()
    assert target.getvalue().endswith("\x1b[1A\x1b[2K")
    assert target.getvalue().count("\x1b[?25h") == 1
    progress(event())
    progress.close()
    assert target.getvalue().count("\x1b[?25l") == 2


def test_a_log_stays_clean_and_rich_unloaded() -> None:
    code = """
import sys
from truefit._core.protocols import Progress
from truefit._report import TerminalProgress
with TerminalProgress() as progress:
    progress(Progress(done=1, total=9, run=1, shared=0, stored=0, failed=0, elapsed=5.0, left=40.0))
loaded = {"rich", "jinja2", "matplotlib", "IPython"} & set(sys.modules)
assert not loaded, loaded
"""
    done = subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True)
    assert done.stderr == ""
    assert done.stdout == ""


def test_a_notebook_gets_html_in_the_cell(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[str] = []

    class Handle:
        def update(self, html: str) -> None:
            shown.append(html)

    def display(html: str, display_id: bool) -> Handle:
        assert display_id
        return Handle()

    ipython, ipython_display = ModuleType("IPython"), ModuleType("IPython.display")
    ipython.get_ipython = lambda: SimpleNamespace(kernel=object())  # type: ignore[attr-defined]
    ipython_display.HTML, ipython_display.display = str, display  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "IPython", ipython)
    monkeypatch.setitem(sys.modules, "IPython.display", ipython_display)
    with TerminalProgress() as progress:
        progress(event(description="<b>ridge</b>"))
    text = "&lt;b&gt;ridge&lt;/b&gt;: fits 3/10"
    assert shown == [f'<progress value="3" max="10" aria-label="{text}"></progress> {text}', ""]
