"""truefit study."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Annotated

import typer

from truefit._cli.agghoo import aggregate_of
from truefit._cli.app import app, in_plain_words
from truefit._cli.inputs import candidates_of, label_of, load_table, task_of
from truefit._cli.messages import echo
from truefit._cli.options import (
    ClusterOption,
    DataArgument,
    FoldsOption,
    JsonOption,
    MemoryOption,
    MetricOption,
    ModelsOption,
    PositiveOption,
    SeedOption,
    StoreOption,
    TargetOption,
    TaskOption,
    WorkersOption,
    command_engine,
)
from truefit._cli.outputs import check_apart, check_report, write_text
from truefit._cli.runs import page_of_kept
from truefit._cli.saved_model import check_model_file, write_model
from truefit._cli.stored_reports import answered, keep_report, kept_content, local_time, provenance, request_key
from truefit._cli.study_report import page_of, print_study, study_report, study_text
from truefit._core.errors import InvalidInput
from truefit._core.protocols import StoredReport


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
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    memory: MemoryOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which model to use, how good it really is, whether it fits, and whether more data would help.

    Example: truefit study breast_cancer --model linear --model tree --budget 2m --out report.html
    """
    from truefit._study.budget import seconds_of

    read = (data, store, *(model or ()))
    if out is not None:
        check_report(out, read)
    check_model_file(save, read)
    check_apart(out, save)
    if agghoo and save is None:
        raise InvalidInput("--agghoo says which model to save. Name a file for it with --save model.skops.")
    seconds = seconds_of(budget)
    table = load_table(data, target)
    chosen = task_of(task, table)
    names = [name for given in model or () for name in given.split(",")]
    question = None
    if store is not None and seconds is None and not any(":" in name for name in names):
        # A study that time ended goes on when it is run again, and models of one's own may have changed.
        options = {"models": names, "cv": cv, "metric": metric, "pos_label": pos_label, "task": chosen, "seed": seed}
        question = request_key(table, options)
        known = None if save is not None else answered(store, question)
        if known is not None:
            _show_again(known, out, as_json=as_json)
            return
    from truefit._methods.selection.default_candidates import default_candidates
    from truefit._study.study import study as run

    candidates = candidates_of(names, table, chosen) if names else default_candidates(table.X, chosen)
    # What hundreds of fits have to say about categories and convergence would bury the answers.
    warnings.filterwarnings("ignore", module=r"(sklearn|skrub|lightgbm|xgboost)\b")
    with command_engine(store, workers, cluster, default_workers=-1, memory=memory, on_error="record") as engine:
        result = run(
            table.X, table.y, candidates, budget=seconds, cv=cv, metric=metric, pos_label=label_of(pos_label, table),
            task=chosen, random_state=seed, engine=engine,
        )  # fmt: skip
        made, text = provenance(table, engine.stats, task=task), study_text(result)
        if as_json:
            echo(json.dumps(result.to_dict(), indent=2))
        else:
            print_study(text)
            echo(f"{engine.stats}.")
        if out is not None or store is not None:
            report = kept_content(engine, "study", result.to_dict(), made)
            report = report or study_report(result, title=f"Study of {table.name}")
            # What failed is not in the store, and is tried once more.
            keep_report(engine, {**report, "text": text, "question": None if engine.stats.failed else question}, made)
            if out is not None:
                write_text(out, page_of(report, made))
                echo(f"The report is in {out}.", err=as_json)
        if save is not None:
            options = {"cv": cv, "random_state": seed, "engine": engine}
            label = label_of(pos_label, table)
            fitted = aggregate_of(result, candidates, table, label, **options) if agghoo else result.model
            write_model(fitted, save, table=table, quiet=as_json)


def _show_again(report: StoredReport, out: Path | None, *, as_json: bool) -> None:
    """Show the report of a study that the store has the answer of."""
    if as_json:
        echo(json.dumps(report.content["result"], indent=2))
    else:
        print_study(report.content["text"])
        echo(f"Answered from the store, as found {local_time(report)}: no fits were needed.")
    if out is not None:
        write_text(out, page_of_kept(report))
        echo(f"The report is in {out}.", err=as_json)
