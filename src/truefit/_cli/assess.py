"""truefit assess."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import label_of
from truefit._cli.messages import echo, print_lines, print_table, results
from truefit._cli.options import CommandConfig, FoldsOption, MetricOption, PlotOption, PositiveOption
from truefit._cli.outputs import check_distinct, check_output, check_picture, csv_text, write_picture, write_text

if TYPE_CHECKING:
    import pandas as pd

    from truefit._methods.assessment.estimate import IntervalChoice
    from truefit._methods.assessment.result import Assessment


@command
def assess(
    config: CommandConfig,
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
) -> None:
    """Say how good models are, with intervals; a linear model, if none is named.

    Example: truefit assess breast_cancer --model linear --model tree --design nested
    """
    from truefit._api.assess import assess as run

    check_picture(plot, config.files)
    check_output(predictions, config.files)
    check_distinct(plot, predictions)
    table, _, candidates = config.load(config.model or ["linear"])
    label = label_of(pos_label, table)
    with config.engine() as engine:
        result = run(
            candidates, table.X, table.y, cv=cv, design=design, repeats=repeats, metric=metric, level=level,
            interval=cast("IntervalChoice", interval), conservative=conservative, pos_label=label,
            random_state=config.seed, engine=engine,
        )  # fmt: skip
        config.store_result(engine, result, table)
        further = result.metrics(None if "all" in also else also, pos_label=label) if also else None
        found = result.to_dict() | {"task": result.task, "fits": engine.stats.to_dict()}
        if further is not None:
            found["metrics"] = {name: row.to_dict() for name, row in further.iterrows()}
        config.show(engine, found, lambda: print_assessment(result, further))
        if predictions is not None:
            _write_predictions(result, predictions)
        if plot is not None:
            draw = partial(result.plot, kind=kind, pos_label=label)
            write_picture(plot, draw, title=result.heading, quiet=config.as_json)


def _write_predictions(result: Assessment, place: Path) -> None:
    import pandas as pd

    found = result.predictions
    if isinstance(found, dict):
        found = pd.concat(found, names=["model"]).reset_index("model")
    write_text(place, csv_text(found))


def print_assessment(result: Assessment, further: pd.DataFrame | None) -> None:
    """Print the estimates, and further metrics: a table on a terminal, plain lines elsewhere."""
    if results().isatty():
        ends = [
            "none" if e.interval is None else "{:.4g} to {:.4g}".format(*e.interval) for e in result.estimates.values()
        ]
        print_table(
            ("model", result.metric, f"{result.level:.0%} interval"),
            [(name, f"{e.value:.4g}", end) for (name, e), end in zip(result.estimates.items(), ends, strict=True)],
            right=(1, 2),
            bold=[i for i, name in enumerate(result.estimates) if name == result.best and len(result.names) > 1],
            title=result.heading,
        )
        print_lines((f"Estimated: {result.estimand}.", *(f"Note: {note}" for note in result.notes)), "dim")
    else:
        echo(result.summary())
    if further is not None:
        echo("\n" + further.T.to_string(float_format="{:.4g}".format) + "\n")
