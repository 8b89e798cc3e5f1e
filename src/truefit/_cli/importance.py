"""truefit importance."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from truefit._cli.app import command
from truefit._cli.inputs import label_of
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
from truefit._cli.outputs import check_distinct, check_picture, check_report, write_picture, write_report
from truefit._core.errors import InvalidInput


@command
def importance(
    config: CommandConfig,
    cv: FoldsOption = 5,
    window: WindowOption = None,
    gap: GapOption = None,
    repeats: Annotated[int, typer.Option(help="Permutations of each column on each fold.")] = 5,
    correlated: Annotated[
        float, typer.Option(help="Association from which columns are also permuted together; 1: only copies.")
    ] = 0.8,
    fewest: Annotated[
        bool, typer.Option("--fewest", help="Also find the fewest columns that do as well as all.")
    ] = False,
    metric: MetricOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this .html file.")] = None,
    plot: PlotOption = None,
    pos_label: PositiveOption = None,
) -> None:
    """Measure which columns a model needs, by permuting them on held-out rows. Default model: linear.

    Example: truefit importance breast_cancer --model random_forest
    """
    from truefit._api.importance import importance as run

    check_picture(plot, config.files)
    check_report(out, config.files)
    check_distinct(plot, out)
    table, _, candidates = config.load(config.model or ["linear"])
    if len(candidates) > 1:
        raise InvalidInput(f"importance is of one model. Got {', '.join(candidates)}; give --model once.")
    label = label_of(pos_label, table)
    with config.engine() as engine:
        result = run(
            candidates, table.X, table.y, cv=config.splits(cv, window, gap), repeats=repeats, correlated=correlated,
            fewest=fewest, metric=metric, level=config.level, pos_label=label, random_state=config.seed, engine=engine,
            **table.roles,
        )  # fmt: skip
        config.store_result(engine, result, table)
        columns = result.table.drop(columns=["correlated_with"]).to_string(float_format="{:.4g}".format)
        config.show(engine, result.to_dict(), partial(echo, f"{result.summary()}\n\n{columns}\n"))
        if out is not None:
            write_report(out, result.to_html())
        if plot is not None:
            write_picture(plot, partial(result.plot), title=result.headline)
