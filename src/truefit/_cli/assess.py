"""truefit assess."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import check_choice, label_of
from truefit._cli.messages import echo
from truefit._cli.options import (
    CommandConfig,
    FoldsOption,
    GapOption,
    MetricOption,
    PlotOption,
    PositiveOption,
    WindowOption,
)
from truefit._cli.outputs import check_distinct, check_output, check_picture, csv_text, write_picture, write_text

if TYPE_CHECKING:
    from truefit._methods.assessment.result import Assessment
    from truefit._methods.splitting.designs import IntervalChoice

_DESIGNS = ("kfold", "holdout", "threeway", "nested", "loo", "bootstrap", ".632", ".632+")


@command
def assess(
    config: CommandConfig,
    design: Annotated[str, typer.Option(help=f"{', '.join(_DESIGNS[:-1])} or {_DESIGNS[-1]}.")] = "kfold",
    cv: FoldsOption = 5,
    window: WindowOption = None,
    gap: GapOption = None,
    repeats: Annotated[
        int | None, typer.Option(help="Repeats of the partition (default 1), or bootstrap samples (default 100).")
    ] = None,
    metric: MetricOption = None,
    also: Annotated[
        list[str] | None, typer.Option("--also", help="A further metric, or all, from the same fits. Repeatable.")
    ] = None,
    interval: Annotated[
        str, typer.Option(help="auto, pooled, bayle, corrected_t, triangle, nested_cv or conservative_z.")
    ] = "auto",
    conservative: Annotated[bool, typer.Option("--conservative", help="Use the wider corrected t interval.")] = False,
    plot: PlotOption = None,
    kind: Annotated[
        str | None,
        typer.Option(
            help="Plot: roc, precision_recall, calibration, decision_curve, confusion, residuals, predicted or time."
        ),
    ] = None,
    predictions: Annotated[
        Path | None, typer.Option(help="Write the predictions on held-out rows to this CSV file.")
    ] = None,
    pos_label: PositiveOption = None,
) -> None:
    """Estimate how good models are on new rows, with confidence intervals. Default model: linear.

    Example: truefit assess breast_cancer --model linear --model tree --design nested
    """
    from truefit._api.assess import assess as run

    check_picture(plot, config.files)
    check_output(predictions, config.files)
    check_distinct(plot, predictions)
    check_choice("--design", design, _DESIGNS)
    table, _, candidates = config.load(config.model or ["linear"])
    label = label_of(pos_label, table)
    with config.engine() as engine:
        result = run(
            candidates, table.X, table.y, cv=config.splits(cv, window, gap), design=design, repeats=repeats,
            metric=metric, level=config.level, interval=cast("IntervalChoice", interval), conservative=conservative,
            pos_label=label, random_state=config.seed, engine=engine, **table.roles,
        )  # fmt: skip
        config.store_result(engine, result, table)
        text, found = result.summary(), result.to_dict() | {"task": result.task, "fits": engine.stats.to_dict()}
        if also:
            further = result.metrics(None if "all" in also else also, pos_label=label)
            found["metrics"] = {name: row.to_dict() for name, row in further.iterrows()}
            text += "\n\n" + further.T.to_string(float_format="{:.4g}".format) + "\n"
        config.show(engine, found, partial(echo, text))
        if predictions is not None:
            _write_predictions(result, predictions)
        if plot is not None:
            write_picture(plot, partial(result.plot, kind=kind, pos_label=label), title=result.heading)


def _write_predictions(result: Assessment, place: Path) -> None:
    import pandas as pd

    found = result.predictions
    if isinstance(found, dict):
        found = pd.concat(found, names=["model"]).reset_index("model")
    write_text(place, csv_text(found))
