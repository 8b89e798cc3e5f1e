"""truefit show."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from truefit.cli.app import app, in_plain_words
from truefit.cli.kept import find_report, open_store, reports_of, spoken_time
from truefit.cli.options import JsonOption
from truefit.cli.outputs import check_report, write_text
from truefit.cli.standard_output import echo
from truefit.core.errors import StoreDamaged
from truefit.core.kept_report import KeptReport


@app.command()
@in_plain_words
def show(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The SQLite file that --store named.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a report, or how it begins; the last by default.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    as_json: JsonOption = False,
) -> None:
    """Reopen a finished report from a store, without fitting anything.

    Example: truefit show runs.db --out report.html
    """
    if out is not None:
        check_report(out, (store,))
    with closing(open_store(store)) as opened:
        report = find_report(reports_of(opened), name, store)
    if as_json:
        echo(json.dumps(report.content["result"], indent=2))
    elif out is None:
        echo(report.content["summary"])
        echo(f"\nMade {spoken_time(report)} by: {report.made.get('command', '')}")
    if out is not None:
        write_text(out, page_of_kept(report))
        echo(f"The report is in {out}.", err=as_json)


def page_of_kept(report: KeptReport) -> str:
    """Render a report that was kept, as it was rendered then."""
    made = {**report.made, "made": spoken_time(report)}
    try:
        if report.content["kind"] == "study":
            from truefit.cli.study_report import page_of

            return page_of(report.content, made)
        return _plain_page(report.content, made)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreDamaged(
            f"A report in a store must have the parts of a page. The report {report.id} has not "
            f"({type(error).__name__}: {error}). Delete the store, or run the command again."
        ) from error


def _plain_page(content: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    from truefit.report.page import render_page

    lines = [line.strip() for line in content["summary"].splitlines() if line.strip()]
    section = {"title": content["kind"].capitalize(), "tables": [content["table"]], "notes": lines[1:]}
    return render_page(
        {"version": 2, "title": content["title"], "verdict": lines[:1], "sections": [section], "made": made}
    )
