"""truefit runs and truefit show: the reports in a store."""

from __future__ import annotations

import json
from contextlib import closing
from pathlib import Path
from typing import Annotated

import typer

from truefit._cli.app import plain_command
from truefit._cli.messages import echo
from truefit._cli.options import JsonOption, QuietOption
from truefit._cli.outputs import check_report, write_report
from truefit._cli.stored_reports import find_report, local_time, open_store, reports_of
from truefit._core.errors import StoreDamaged
from truefit._core.protocols import StoredReport


@plain_command
def runs(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The SQLite file given to --store.")],
    as_json: JsonOption = False,
) -> None:
    """List the finished reports in a store, and count its fits.

    Example: truefit runs runs.db
    """
    with closing(open_store(store)) as opened:
        reports, fits = reports_of(opened), opened.count_fits()
    if as_json:
        listed = [{"id": r.id, "made_at": r.made_at, "kind": r.content["kind"], "headline": r.content["headline"],
                   "made": dict(r.made)} for r in reports]  # fmt: skip
        echo(json.dumps({"fits": fits, "reports": listed}, indent=2))
        return
    for report in reports:
        when = report.made_at[:16].replace("T", " ")
        echo(f"{report.id}  {when}  {report.content['kind']}: {report.content['headline']}")
        echo(f"          {report.made.get('data', '')}\n          {report.made.get('command', '')}")
    counted = f"{len(reports):,} {'report' if len(reports) == 1 else 'reports'}"
    echo(f"{store} holds {counted} and {fits:,} {'fit' if fits == 1 else 'fits'}.")
    if reports:
        echo(f"Show one without fitting: truefit show {store} {reports[0].id} --out report.html")


@plain_command
def show(
    store: Annotated[Path, typer.Argument(metavar="STORE", help="The SQLite file given to --store.")],
    name: Annotated[
        str | None, typer.Argument(metavar="[ID]", help="Id of a report, or its first characters. Default: the latest.")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Show a finished report from a store again, without fitting.

    Example: truefit show runs.db --out report.html
    """
    check_report(out, (store,))
    with closing(open_store(store)) as opened:
        report = find_report(reports_of(opened), name, store)
    if as_json:
        echo(json.dumps(report.content["result"], indent=2))
    elif out is None:
        echo(report.content["summary"])
        echo(f"\nMade {local_time(report)} by: {report.made.get('command', '')}")
    if out is not None:
        write_report(out, stored_page(report))


def stored_page(report: StoredReport, *, tripod: bool = False) -> str:
    """Render the page of a stored report; that of a study on request with the items of TRIPOD+AI."""
    made = {"date": local_time(report), **report.made}
    try:
        if report.content["kind"] == "study":
            from truefit._study.page import render_study

            return render_study(report.content, made, tripod=tripod)
        from truefit._report.page import render_result

        return render_result(report.content, made)
    except (AttributeError, KeyError, IndexError, TypeError, ValueError) as error:
        raise StoreDamaged(
            f"Report {report.id} in the store is damaged ({type(error).__name__}: {error}). Rerun its command, or "
            "delete the store."
        ) from error
