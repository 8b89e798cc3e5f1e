"""What a terminal is told of a study: plain types, which a store keeps, and the printing of them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from truefit.cli.standard_output import echo, results

if TYPE_CHECKING:
    from truefit.methods.study.study import Study


def study_text(result: Study) -> dict[str, Any]:
    """Return the answers, what else there is to say, and the candidates, as plain JSON types."""
    columns, rows = _lines(result)
    return {
        "summary": result.summary(),
        "answers": [[each.question, each.headline, list(each.sentences)] for each in result.answers],
        "notes": [[title, texts] for title, texts in result.notes.items() if texts],
        "heading": result.assessment.heading,
        "columns": columns,
        "rows": rows,
        "best": result.best,
    }


def _lines(result: Study) -> tuple[list[str], list[list[str]]]:
    """Return the table of the candidates as text, the chosen one first."""
    columns = ["model", result.spoken.name, f"{result.level:.0%} interval", "training rows", "seconds a fit", "verdict"]
    rows, spoken = [], result.spoken
    for name, line in result.table.iterrows():
        ends = "none" if math.isnan(line["low"]) else spoken.between((line["low"], line["high"]))
        own = "" if math.isnan(line["training"]) else spoken.value(line["training"])
        value = spoken.value(line["estimate"])
        rows.append([str(name), value, ends, own, f"{line['fit_seconds']:.2g}", line["verdict"]])
    return columns, rows


def print_study(text: Mapping[str, Any]) -> None:
    """Print what ``study_text`` returned, now or long ago: with rich on a terminal, plainly elsewhere."""
    if not results().isatty():
        echo(text["summary"] + "\n")
        echo(_plain_table(text["heading"], [text["columns"], *text["rows"]]) + "\n")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console(file=results())
    for question, headline, sentences in text["answers"]:
        console.print(Text(question, style="dim"))
        console.print(Text(headline, style="bold"))
        for sentence in sentences:
            console.print(Padding(Text(sentence), (0, 0, 0, 2)))
        console.print()
    for title, notes in text["notes"]:
        console.print(Text(title, style="dim"))
        for note in notes:
            console.print(Padding(Text(f"• {note}"), (0, 0, 0, 2)))
        console.print()
    drawn = RichTable(title=Text(text["heading"]), title_justify="left")
    columns = text["columns"]
    for place, column in enumerate(columns):
        drawn.add_column(Text(column), justify="right" if 0 < place < len(columns) - 1 else "left")
    for row in text["rows"]:
        drawn.add_row(*map(Text, row), style="bold" if row[0] == text["best"] else None)
    console.print(drawn)


def _plain_table(heading: str, lines: Sequence[Sequence[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    texts = ["  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in lines]
    return "\n".join([heading, *(f"  {text.rstrip()}" for text in texts)])
