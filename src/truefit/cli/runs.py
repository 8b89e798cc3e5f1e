"""truefit runs."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from truefit.cli.app import app, in_plain_words
from truefit.cli.kept import open_store, reports_of
from truefit.cli.options import JsonOption
from truefit.cli.standard_output import echo, printable, results
from truefit.core.kept_report import KeptReport


@app.command()
@in_plain_words
def runs(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The SQLite file that --store named.")],
    as_json: JsonOption = False,
) -> None:
    """List the finished reports that a store holds, and how many fits.

    Example: truefit runs runs.db
    """
    with closing(open_store(store)) as opened:
        reports, fits = reports_of(opened), opened.count_fits()
    if as_json:
        listed = [{"id": r.id, "made_at": r.made_at, "kind": r.content["kind"], "headline": r.content["headline"],
                   "made": dict(r.made)} for r in reports]  # fmt: skip
        echo(json.dumps({"fits": fits, "reports": listed}, indent=2))
        return
    if results().isatty() and reports:
        _print_table(reports)
    else:
        for report in reports:
            echo(f"{report.id}  {_when(report)}  {report.content['kind']}: {report.content['headline']}")
            echo(f"          {_data(report)}")
            echo(f"          {report.made.get('command', '')}")
    counted = f"{len(reports):,} {'report' if len(reports) == 1 else 'reports'}"
    echo(f"{store} holds {counted} and {fits:,} {'fit' if fits == 1 else 'fits'}.")
    if reports:
        echo(f"Reopen one without fitting: truefit show {store} {reports[0].id} --out report.html")


def _print_table(reports: list[KeptReport]) -> None:
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    drawn = Table(show_lines=True)
    for name in ("id", "when", "what", "data and command", "headline"):
        drawn.add_column(name)
    for report in reports:
        made = f"{_data(report)}\n{report.made.get('command', '')}"
        cells = (report.id, _when(report), str(report.content["kind"]), made, str(report.content["headline"]))
        # As text: names of columns and files are no markup.
        drawn.add_row(*(Text(printable(cell)) for cell in cells))
    Console(file=results()).print(drawn)


def _when(report: KeptReport) -> str:
    return report.made_at[:16].replace("T", " ")


def _data(report: KeptReport) -> str:
    return str(report.made.get("data", ""))
