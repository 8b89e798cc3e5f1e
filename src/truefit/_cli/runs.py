"""truefit runs and truefit show: the reports in a store."""

from __future__ import annotations

import json
from collections.abc import Mapping
from contextlib import closing
from pathlib import Path
from typing import Annotated, Any

import typer

from truefit._cli.app import app, report_errors
from truefit._cli.messages import echo, print_table, results
from truefit._cli.options import JsonOption
from truefit._cli.outputs import check_report, write_report
from truefit._cli.stored_reports import find_report, local_time, open_store, reports_of
from truefit._core.errors import StoreDamaged
from truefit._core.protocols import StoredReport


@app.command()
@report_errors
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
        print_table(
            ("id", "when", "what", "data and command", "headline"),
            [(r.id, _when(r), r.content["kind"], "\n".join(_source(r)), r.content["headline"]) for r in reports],
            show_lines=True,
        )
    else:
        for report in reports:
            data, command = _source(report)
            echo(f"{report.id}  {_when(report)}  {report.content['kind']}: {report.content['headline']}")
            echo(f"          {data}\n          {command}")
    counted = f"{len(reports):,} {'report' if len(reports) == 1 else 'reports'}"
    echo(f"{store} holds {counted} and {fits:,} {'fit' if fits == 1 else 'fits'}.")
    if reports:
        echo(f"Reopen one without fitting: truefit show {store} {reports[0].id} --out report.html")


def _when(report: StoredReport) -> str:
    return report.made_at[:16].replace("T", " ")


def _source(report: StoredReport) -> tuple[str, str]:
    """Return the data of a report, and the command that made it."""
    return str(report.made.get("data", "")), str(report.made.get("command", ""))


@app.command()
@report_errors
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
        echo(f"\nMade {local_time(report)} by: {report.made.get('command', '')}")
    if out is not None:
        write_report(out, stored_page(report), quiet=as_json)


def stored_page(report: StoredReport) -> str:
    """Render a report that was kept, as it was rendered then."""
    made = {**report.made, "made": local_time(report)}
    try:
        if report.content["kind"] == "study":
            from truefit._cli.study_report import render_study

            return render_study(report.content, made)
        return _plain_page(report.content, made)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreDamaged(
            f"A report in a store must have the parts of a page. The report {report.id} has not "
            f"({type(error).__name__}: {error}). Delete the store, or run the command again."
        ) from error


def _plain_page(content: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    from truefit._report.page import render_page

    lines = [line.strip() for line in content["summary"].splitlines() if line.strip()]
    section = {"title": content["kind"].capitalize(), "tables": [content["table"]], "notes": lines[1:]}
    return render_page(
        {"version": 2, "title": content["title"], "verdict": lines[:1], "sections": [section], "made": made}
    )
