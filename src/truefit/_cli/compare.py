"""truefit compare."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import label_of
from truefit._cli.messages import echo, print_lines, print_table, results
from truefit._cli.options import CommandConfig, FoldsOption, MetricOption, PlotOption, PositiveOption
from truefit._cli.outputs import check_picture, write_picture

if TYPE_CHECKING:
    from truefit._methods.comparison.plan import TestChoice
    from truefit._methods.comparison.result import Comparison


@command
def compare(
    config: CommandConfig,
    design: Annotated[str, typer.Option(help="kfold, holdout, threeway, nested or loo.")] = "kfold",
    cv: FoldsOption = 5,
    repeats: Annotated[int, typer.Option(help="Number of partitions; more show smaller differences.")] = 1,
    metric: MetricOption = None,
    reference: Annotated[
        str | None, typer.Option(help="The model to compare with, or all for each with each; the best by default.")
    ] = None,
    rope: Annotated[float | None, typer.Option(help="Differences up to this much do not matter.")] = None,
    test: Annotated[str, typer.Option(help="corrected_t, or pooled: a test on single rows' losses.")] = "corrected_t",
    plot: PlotOption = None,
    pos_label: PositiveOption = None,
) -> None:
    """Say which model is best, and which cannot be told apart from it; a set that suits the table, if none is named.

    Example: truefit compare breast_cancer --model linear --model tree --repeats 4 --rope 0.01
    """
    from truefit._api.compare import compare as run

    check_picture(plot, config.files)
    table, _, candidates = config.load(config.model)
    with config.engine() as engine:
        result = run(
            candidates, table.X, table.y, cv=cv, design=design, repeats=repeats, metric=metric, reference=reference,
            rope=rope, test=cast("TestChoice", test), pos_label=label_of(pos_label, table),
            random_state=config.seed, engine=engine,
        )  # fmt: skip
        config.store_result(engine, result, table)
        config.show(engine, result.to_dict(), lambda: print_comparison(result))
        if plot is not None:
            write_picture(plot, result.plot, title=result.heading, quiet=config.as_json)


def print_comparison(result: Comparison) -> None:
    """Print the verdict and the differences: a table on a terminal, plain lines elsewhere."""
    if not results().isatty():
        echo(result.summary())
        return
    rows = []
    for pair in result.pairs:
        interval = pair.interval(result.level)
        ends = "none" if interval is None else "{:+.4g} to {:+.4g}".format(*interval)
        numbers = ("", "", "") if pair.found is None else (f"{pair.found.mean:+.4g}", ends, f"{pair.p_adjusted:.3g}")
        rows.append((pair.name, *numbers, result.verdict_on(pair)))
    print_lines((*result.verdict, ""))
    columns = ("difference", "", f"{result.level:.0%} interval", "adjusted p", "verdict")
    print_table(columns, rows, right=(1, 2, 3), title=result.heading)
    print_lines((f"Note: {note}" for note in result.notes), "dim")
