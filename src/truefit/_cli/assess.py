"""truefit assess."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import app, in_plain_words
from truefit._cli.inputs import candidates_of, label_of, load_table, task_of
from truefit._cli.messages import echo, results
from truefit._cli.options import (
    ClusterOption,
    DataArgument,
    FoldsOption,
    JsonOption,
    MemoryOption,
    MetricOption,
    ModelsOption,
    PlotOption,
    PositiveOption,
    SeedOption,
    StoreOption,
    TargetOption,
    TaskOption,
    WorkersOption,
    command_engine,
)
from truefit._cli.outputs import check_apart, check_picture, check_place, csv_text, write_picture, write_text
from truefit._cli.stored_reports import keep_result, provenance

if TYPE_CHECKING:
    from truefit._methods.assessment.estimate import IntervalChoice
    from truefit._methods.assessment.result import Assessment


@app.command()
@in_plain_words
def assess(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
    design: Annotated[
        str, typer.Option(help="kfold, holdout, threeway, nested, loo, bootstrap, .632 or .632+.")
    ] = "kfold",
    cv: FoldsOption = 5,
    repeats: Annotated[
        int | None, typer.Option(help="Number of partitions, 1 by default, or of bootstrap samples, 100 by default.")
    ] = None,
    metric: MetricOption = None,
    also: Annotated[
        list[str] | None, typer.Option("--also", help="A further metric, or all; from the same fits. Repeatable.")
    ] = None,
    interval: Annotated[
        str,
        typer.Option(help="auto, pooled, bayle, corrected_t, triangle, nested_cv or conservative_z."),
    ] = "auto",
    conservative: Annotated[bool, typer.Option("--conservative", help="Take the wide corrected t interval.")] = False,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    plot: PlotOption = None,
    kind: Annotated[
        str | None,
        typer.Option(help="Picture: roc, precision_recall, calibration, confusion, residuals or predicted."),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Write the predictions of rows that were left out to this CSV file.")
    ] = None,
    pos_label: PositiveOption = None,
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    memory: MemoryOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how good models are, with intervals; a linear model, if none is named.

    Example: truefit assess breast_cancer --model linear --model tree --design nested
    """
    from truefit._api.assess import assess as run

    read = (data, store, *(model or ()))
    check_picture(plot, read)
    check_place(predictions, read)
    check_apart(plot, predictions)
    table = load_table(data, target)
    candidates = candidates_of(model or ["linear"], table, task_of(task, table))
    label = label_of(pos_label, table)
    with command_engine(store, workers, cluster, memory=memory) as engine:
        result = run(
            candidates, table.X, table.y, cv=cv, design=design, repeats=repeats, metric=metric, level=level,
            interval=cast("IntervalChoice", interval), conservative=conservative, pos_label=label,
            random_state=seed, engine=engine,
        )  # fmt: skip
        keep_result(engine, result, provenance(table, engine.stats, task=task))
        further = result.metrics(None if "all" in also else also, pos_label=label) if also else None
        if as_json:
            found = result.to_dict() | {"task": result.task, "fits": engine.stats.to_dict()}
            if further is not None:
                found["metrics"] = {name: row.to_dict() for name, row in further.iterrows()}
            echo(json.dumps(found, indent=2))
        else:
            print_assessment(result)
            if further is not None:
                echo("\n" + further.T.to_string(float_format="{:.4g}".format) + "\n")
            echo(f"{engine.stats}.")
        if predictions is not None:
            _write_predictions(result, predictions)
        if plot is not None:
            write_picture(plot, lambda: result.plot(kind=kind, pos_label=label), title=result.heading, quiet=as_json)


def _write_predictions(result: Assessment, place: Path) -> None:
    import pandas as pd

    found = result.predictions
    if isinstance(found, dict):
        found = pd.concat(found, names=["model"]).reset_index("model")
    write_text(place, csv_text(found))


def print_assessment(result: Assessment) -> None:
    """Print the estimates: a table on a terminal, plain lines elsewhere."""
    if not results().isatty():
        echo(result.summary())
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    drawn = RichTable(title=result.heading, title_justify="left", caption_justify="left")
    for column, justify in (("model", "left"), (result.metric, "right"), (f"{result.level:.0%} interval", "right")):
        drawn.add_column(column, justify=justify)  # type: ignore[arg-type]
    for name, estimate in result.estimates.items():
        interval = "none" if estimate.interval is None else "{:.4g} to {:.4g}".format(*estimate.interval)
        style = "bold" if name == result.best and len(result.names) > 1 else None
        drawn.add_row(name, f"{estimate.value:.4g}", interval, style=style)
    console = Console(file=results())
    console.print(drawn)
    for line in (f"Estimated: {result.estimand}.", *(f"Note: {note}" for note in result.notes)):
        console.print(line, style="dim", highlight=False)
