"""Tables and paragraphs of the pages of benchmarks."""

from benchmarks.markdown import table, wrapped


def test_a_table_aligns_its_first_columns_left():
    assert table(["a", "b", "c"], [["x", "y", 1]], left=2) == "| a | b | c |\n|---|---|---:|\n| x | y | 1 |"


def test_long_lines_are_wrapped_and_tables_are_not():
    words, row = "word " * 60, "| " + "cell " * 60 + "|"
    found = wrapped(f"{words}\n\n- {words}\n- short\n\n{row}")
    paragraph, items, last = found.split("\n\n")
    assert last == row
    assert max(map(len, [*paragraph.splitlines(), *items.splitlines()])) <= 120
    assert [each[:2] for each in items.splitlines()] == ["- ", "  ", "  ", "- "]


def test_no_line_begins_with_a_minus_that_makes_it_a_list():
    assert not any(each.startswith(("- ", "1")) for each in wrapped("m - 1 " * 60).splitlines())
