import sys
from types import ModuleType

import pytest
from benchmarks.page import Page
from benchmarks.table import HEADS, Row, markdown, times

from benchmarks import __main__ as command
from benchmarks import page as page_module
from truefit._core.errors import InvalidInput

ROWS = [Row("fast", 10.0, 2.0, 50, 15, 1e-12, 2.7), Row("slow", 1.0, 2.0, target=0.9), Row("alone", 1.0, 1.0)]


@pytest.fixture
def two(monkeypatch):
    """Two benchmarks, one of which has no data; how often the other was run."""
    runs = []

    def rows():
        runs.append(1)
        yield ROWS[0]
        print("  a note")
        yield from ROWS[1:]

    def none():
        raise InvalidInput("no table")
        yield

    for name, function in (("one", rows), ("other", none)):
        module = ModuleType(f"benchmarks.{name}", f"What {name} is.\n\nAnd more.")
        module.rows = function
        monkeypatch.setitem(sys.modules, module.__name__, module)
    for owner, attribute in ((page_module, "NAMES"), (command, "SPEED"), (command, "NAMES")):
        monkeypatch.setattr(owner, attribute, ("one", "other"))
    return runs


def test_rows_say_what_they_missed():
    assert [row.missed for row in ROWS] == [False, True, False]
    cells = [row.cells() for row in ROWS]
    assert cells[0] == ("fast", "10", "2", "5x", "2.7x", "50", "15", "1.0e-12")
    assert cells[1][3] == "0.5x (missed)"
    assert cells[2][4:] == ("", "", "", "")
    lines = markdown(ROWS).splitlines()
    assert len(lines) == 5
    assert {line.count("|") for line in lines} == {len(HEADS) + 1}


@pytest.mark.parametrize(("ratio", "text"), [(0.8666, "0.867x"), (12.34, "12.3x"), (1234.5, "1,234x"), (99.7, "100x")])
def test_ratios_are_short(ratio, text):
    assert times(ratio) == text


def test_a_page_is_gone_on_with(two, tmp_path, capsys):
    path = tmp_path / "speed.md"
    command.main(["--page", str(path)])
    assert "left out: no table" in capsys.readouterr().out
    text = path.read_text()
    assert "Targets that are met: 1 of 2." in text
    assert "## What one is\n" in text
    assert "    a note" in text
    assert "| fast | 10 | 2 | 5x |" in text
    assert "What other is" not in text
    command.main(["--page", str(path)])
    assert len(two) == 1
    assert Page(path).found["one"].rows == tuple(ROWS)
    command.main(["--page", str(path), "--rerun"])
    command.main(["--page", str(path), "one"])
    assert len(two) == 3
    assert path.read_text() == text


def test_the_page_says_nothing_of_where_it_was_made(two, tmp_path):
    path = tmp_path / "speed.md"
    command.main(["--page", str(path), "one"])
    text = path.read_text() + path.with_suffix(".json").read_text()
    assert "cores" in text
    assert "/" not in page_module.machine()
    assert page_module.platform.node() not in page_module.machine()


def test_names_that_are_unknown_are_refused(two, tmp_path, capsys):
    with pytest.raises(SystemExit):
        command.main(["nothing"])
    assert "no such benchmark: nothing" in capsys.readouterr().err
