"""truefit study."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from truefit import __version__
from truefit.cli.app import app, in_plain_words
from truefit.cli.assess import print_assessment
from truefit.cli.inputs import candidates_of, label_of, load_table, task_of
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

if TYPE_CHECKING:
    from truefit.methods.study import Study
    from truefit.sources.table import Table


@app.command()
@in_plain_words
def study(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    k: FoldsOption = 5,
    metric: MetricOption = None,
    pos_label: PositiveOption = None,
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = 1,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which model to use, and how good it really is.

    Example: truefit study breast_cancer --out report.html
    """
    from truefit.api import Engine
    from truefit.api import study as run

    if out is not None:
        check_report(out, (data, store))
    table = load_table(data, target)
    chosen = task_of(task, table)
    candidates = candidates_of(model, table, chosen) if model else None
    with Engine(store, workers=workers) as engine:
        result = run(
            table.X, table.y, candidates, k=k, metric=metric, pos_label=label_of(pos_label, table), task=chosen,
            random_state=seed, engine=engine,
        )  # fmt: skip
        if as_json:
            typer.echo(json.dumps(result.to_dict(), indent=2))
        else:
            typer.echo("\n".join(result.verdict) + "\n")
            print_assessment(result.assessment)
            typer.echo(f"{engine.stats}.")
        if out is not None:
            write_text(out, _page(result, table))
            typer.echo(f"The report is in {out}.", err=as_json)


def _page(result: Study, table: Table) -> str:
    import numpy
    import sklearn

    from truefit.plots.svg import to_svg
    from truefit.report.page import render_page
    from truefit.report.study_page import study_content

    metric = result.assessment.metric
    svg = to_svg(
        result.plot(),
        title=f"{metric} of the candidates",
        description=f"Each candidate's {metric} with its interval; the best is {result.best}.",
    )
    versions = {"truefit": __version__, "scikit-learn": sklearn.__version__, "numpy": numpy.__version__}
    fits = {name: count for name, count in result.fits.items() if name != "seconds"}
    made = {
        "command": shlex.join(["truefit", *sys.argv[1:]]),
        "data": f"{table.name}: {len(table.y):,} rows, {table.X.shape[1]:,} columns, target {table.target}",
        "task": table.task_hint.reason,
        "fits": fits,
        "versions": {**versions, "Python": platform.python_version()},
    }
    return render_page(study_content(result.to_dict(), title=f"Study of {table.name}", figure_svg=svg, made=made))
