"""truefit study."""

from __future__ import annotations

import json
import math
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truefit.cli.app import app, in_plain_words
from truefit.cli.inputs import candidates_of, label_of, load_table, task_of
from truefit.cli.kept import keep_report, kept_content
from truefit.cli.made import made_of
from truefit.cli.options import (
    DataArgument,
    FoldsOption,
    JsonOption,
    MetricOption,
    ModelsOption,
    PositiveOption,
    SeedOption,
    StoreOption,
    TargetOption,
    TaskOption,
    WorkersOption,
)
from truefit.cli.outputs import check_report, write_text
from truefit.cli.saved import check_model_file, write_model
from truefit.cli.study_report import page_of, study_report

if TYPE_CHECKING:
    from truefit.methods.study.study import Study


@app.command()
@in_plain_words
def study(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the chosen model, fitted on all rows, to this file.skops.")
    ] = None,
    budget: Annotated[
        str | None, typer.Option(help="Time that it may take, such as 90s, 10m or 1h; what was left out is named.")
    ] = None,
    k: FoldsOption = 5,
    metric: MetricOption = None,
    pos_label: PositiveOption = None,
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = -1,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which model to use, how good it really is, whether it fits, and whether more data would help.

    Example: truefit study breast_cancer --model linear --model tree --budget 2m --out report.html
    """
    from truefit.api.engine import Engine
    from truefit.api.study import study as run
    from truefit.methods.study.allowance import seconds_of

    if out is not None:
        check_report(out, (data, store))
    check_model_file(save, (data, store))
    seconds = seconds_of(budget)
    table = load_table(data, target)
    chosen = task_of(task, table)
    names = [name for given in model or () for name in given.split(",")]
    candidates = candidates_of(names, table, chosen) if names else None
    # What hundreds of fits have to say about categories and convergence would bury the answers.
    warnings.filterwarnings("ignore", module=r"(sklearn|skrub|lightgbm|xgboost)\b")
    with Engine(store, workers=workers, on_error="record") as engine:
        result = run(
            table.X, table.y, candidates, budget=seconds, k=k, metric=metric, pos_label=label_of(pos_label, table),
            task=chosen, random_state=seed, engine=engine,
        )  # fmt: skip
        made = made_of(table, engine.stats, task=task)
        if as_json:
            typer.echo(json.dumps(result.to_dict(), indent=2))
        else:
            print_study(result)
            typer.echo(f"{engine.stats}.")
        if out is not None or store is not None:
            report = kept_content(engine, "study", result.to_dict(), made)
            report = report or study_report(result, title=f"Study of {table.name}")
            keep_report(engine, report, made)
            if out is not None:
                write_text(out, page_of(report, made))
                typer.echo(f"The report is in {out}.", err=as_json)
        if save is not None:
            write_model(result.model, save, table=table, quiet=as_json)


def print_study(result: Study) -> None:
    """Print the answers, what else there is to say, and the candidates: with rich on a terminal, plainly elsewhere."""
    if not sys.stdout.isatty():
        typer.echo(result.summary() + "\n")
        typer.echo(_plain_table(result) + "\n")
        return
    from rich.console import Console
    from rich.padding import Padding
    from rich.table import Table as RichTable
    from rich.text import Text

    console = Console()
    for answer in result.answers:
        console.print(Text(answer.question, style="dim"))
        console.print(Text(answer.headline, style="bold"))
        for sentence in answer.sentences:
            console.print(Padding(Text(sentence), (0, 0, 0, 2)))
        console.print()
    for title, texts in result.notes.items():
        if texts:
            console.print(Text(title, style="dim"))
            for text in texts:
                console.print(Padding(Text(f"• {text}"), (0, 0, 0, 2)))
            console.print()
    heading = result.assessment.heading
    drawn = RichTable(title=Text(heading), title_justify="left")
    columns, rows = _lines(result)
    for place, column in enumerate(columns):
        drawn.add_column(Text(column), justify="right" if 0 < place < len(columns) - 1 else "left")
    for row in rows:
        drawn.add_row(*map(Text, row), style="bold" if row[0] == result.best else None)
    console.print(drawn)


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


def _plain_table(result: Study) -> str:
    columns, rows = _lines(result)
    widths = [max(len(line[place]) for line in (columns, *rows)) for place in range(len(columns))]
    lines = [
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) for line in (columns, *rows)
    ]
    return "\n".join([result.assessment.heading, *(f"  {line.rstrip()}" for line in lines)])
