"""truefit compare."""

from __future__ import annotations

import json
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
from truefit._cli.outputs import check_picture, write_picture
from truefit._cli.stored_reports import keep_result, provenance

if TYPE_CHECKING:
    from truefit._methods.comparison.plan import TestChoice
    from truefit._methods.comparison.result import Comparison


@app.command()
@in_plain_words
def compare(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
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
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    memory: MemoryOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which model is best, and which cannot be told apart from it; a set that suits the table, if none is named.

    Example: truefit compare breast_cancer --model linear --model tree --repeats 4 --rope 0.01
    """
    from truefit._api.compare import compare as run
    from truefit._methods.selection.default_candidates import default_candidates

    check_picture(plot, (data, store, *(model or ())))
    table = load_table(data, target)
    chosen = task_of(task, table)
    candidates = candidates_of(model, table, chosen) if model else default_candidates(table.X, chosen)
    with command_engine(store, workers, cluster, memory=memory) as engine:
        result = run(
            candidates, table.X, table.y, cv=cv, design=design, repeats=repeats, metric=metric, reference=reference,
            rope=rope, test=cast("TestChoice", test), pos_label=label_of(pos_label, table),
            random_state=seed, engine=engine,
        )  # fmt: skip
        keep_result(engine, result, provenance(table, engine.stats, task=task))
        if as_json:
            echo(json.dumps(result.to_dict(), indent=2))
        else:
            print_comparison(result)
            echo(f"{engine.stats}.")
        if plot is not None:
            write_picture(plot, result.plot, title=result.heading, quiet=as_json)


def print_comparison(result: Comparison) -> None:
    """Print the verdict and the differences: a table on a terminal, plain lines elsewhere."""
    if not results().isatty():
        echo(result.summary())
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    drawn = RichTable(title=result.heading, title_justify="left", caption_justify="left")
    columns = ("difference", "", f"{result.level:.0%} interval", "adjusted p", "verdict")
    for column, justify in zip(columns, ("left", "right", "right", "right", "left"), strict=True):
        drawn.add_column(column, justify=justify)  # type: ignore[arg-type]
    for pair in result.pairs:
        interval = pair.interval(result.level)
        ends = "none" if interval is None else "{:+.4g} to {:+.4g}".format(*interval)
        numbers = ("", "", "") if pair.found is None else (f"{pair.found.mean:+.4g}", ends, f"{pair.p_adjusted:.3g}")
        drawn.add_row(pair.name, *numbers, result.verdict_on(pair))
    console = Console(file=results())
    console.print("\n".join(result.verdict) + "\n", highlight=False, markup=False)
    console.print(drawn)
    for note in result.notes:
        console.print(f"Note: {note}", style="dim", highlight=False, markup=False)
