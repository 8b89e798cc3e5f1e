"""truefit study."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from truefit._cli.agghoo import aggregate_of
from truefit._cli.app import command
from truefit._cli.inputs import candidates_of, label_of, load_table, task_of
from truefit._cli.messages import echo
from truefit._cli.options import CommandConfig, FoldsOption, MetricOption, PositiveOption
from truefit._cli.outputs import check_distinct, check_report, write_report
from truefit._cli.runs import stored_page
from truefit._cli.saved_model import check_model_file, write_model
from truefit._cli.stored_reports import (
    local_time,
    provenance,
    report_for,
    request_key,
    store_report,
    stored_content,
)
from truefit._cli.study_report import print_study, render_study, study_report, study_text
from truefit._core.errors import InvalidInput
from truefit._core.protocols import StoredReport


@command
def study(
    config: CommandConfig,
    out: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    save: Annotated[
        Path | None, typer.Option(help="Write the chosen model, fitted on all rows, to this file.skops.")
    ] = None,
    agghoo: Annotated[
        bool,
        typer.Option(
            "--agghoo", help="With --save: the average of the models that single folds choose, not a single one."
        ),
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="Time that it may take, such as 90s, 10m or 1h; what was left out is named.")
    ] = None,
    cv: FoldsOption = 5,
    metric: MetricOption = None,
    pos_label: PositiveOption = None,
) -> None:
    """Say which model to use, how good it really is, whether it fits, and whether more data would help.

    Example: truefit study breast_cancer --model linear --model tree --budget 2m --out report.html
    """
    from truefit._study.budget import seconds_of

    if out is not None:
        check_report(out, config.files)
    check_model_file(save, config.files)
    check_distinct(out, save)
    if agghoo and save is None:
        raise InvalidInput("--agghoo says which model to save. Name a file for it with --save model.skops.")
    seconds, seed, as_json = seconds_of(budget), config.seed, config.as_json
    table = load_table(config.data, config.target)
    task = task_of(config.task, table)
    names = [name for given in config.model or () for name in given.split(",")]
    request = None
    if config.store is not None and seconds is None and not any(":" in name for name in names):
        # A study that time ended goes on when it is run again, and models of one's own may have changed.
        options = {"models": names, "cv": cv, "metric": metric, "pos_label": pos_label, "task": task, "seed": seed}
        request = request_key(table, options)
        known = None if save is not None else report_for(config.store, request)
        if known is not None:
            _show_stored(known, out, as_json=as_json)
            return
    from truefit._study.study import study as run

    candidates = candidates_of(names, table, task)
    # What hundreds of fits have to say about categories and convergence would bury the answers.
    warnings.filterwarnings("ignore", module=r"(sklearn|skrub|lightgbm|xgboost)\b")
    with config.engine(default_workers=-1, on_error="record") as engine:
        label = label_of(pos_label, table)
        result = run(
            table.X, table.y, candidates, budget=seconds, cv=cv, metric=metric, pos_label=label, task=task,
            random_state=seed, engine=engine,
        )  # fmt: skip
        made, text = provenance(table, engine.stats, task=config.task), study_text(result)
        config.show(engine, result.to_dict(), lambda: print_study(text))
        if out is not None or config.store is not None:
            report = stored_content(engine, "study", result.to_dict(), made)
            report = report or study_report(result, title=f"Study of {table.name}")
            # What failed is not in the store, and is tried once more.
            store_report(engine, {**report, "text": text, "request": None if engine.stats.failed else request}, made)
            if out is not None:
                write_report(out, render_study(report, made), quiet=as_json)
        if save is not None:
            fitted = result.model
            if agghoo:
                fitted = aggregate_of(result, candidates, table, label, cv=cv, random_state=seed, engine=engine)
            write_model(fitted, save, table=table, quiet=as_json)


def _show_stored(report: StoredReport, out: Path | None, *, as_json: bool) -> None:
    """Show the report of a study that the store has the answer of."""
    if as_json:
        echo(json.dumps(report.content["result"], indent=2))
    else:
        print_study(report.content["text"])
        echo(f"Answered from the store, as found {local_time(report)}: no fits were needed.")
    if out is not None:
        write_report(out, stored_page(report), quiet=as_json)
