"""truefit study."""

from __future__ import annotations

import json
import math
import warnings
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.agghoo import aggregate_of
from truefit._cli.app import command
from truefit._cli.inputs import candidates_of, check_choice, families_of, label_of, load_table, load_test, task_of
from truefit._cli.messages import echo, note, printable, results
from truefit._cli.options import CommandConfig, FoldsOption, GapOption, MetricOption, PositiveOption, WindowOption
from truefit._cli.outputs import check_distinct, check_report, write_report
from truefit._cli.runs import stored_page
from truefit._cli.saved_model import check_model_file, write_model
from truefit._cli.stored_reports import local_time, provenance, report_for, request_key
from truefit._core.credentials import redacted
from truefit._core.errors import FitError, InvalidInput
from truefit._core.finding import at_least
from truefit._core.protocols import StoredReport

if TYPE_CHECKING:
    from truefit._study.result import Study


@command
def study(
    config: CommandConfig,
    test: Annotated[
        str | None,
        typer.Option(metavar="DATA", help="Held-out rows: the selected model is evaluated on them once, at the end."),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this .html file.")] = None,
    save: Annotated[
        Path | None,
        typer.Option(help=r"Save the selected model, fitted on all rows, to this .skops file. Needs truefit\[skops]."),
    ] = None,
    agghoo: Annotated[
        bool, typer.Option("--agghoo", help="With --save: save Agghoo, the average of the best models of the folds.")
    ] = False,
    ensemble: Annotated[
        bool, typer.Option("--ensemble", help="With --save: save the weighted average of several settings.")
    ] = False,
    intervals: Annotated[
        bool, typer.Option("--intervals", help="With --save: save prediction intervals too, for truefit predict.")
    ] = False,
    budget: Annotated[
        str | None, typer.Option(help="Time budget, such as 90s, 10m or 1h. Steps that did not fit in it are listed.")
    ] = None,
    tune: Annotated[
        bool,
        typer.Option(
            "--tune/--no-tune",
            help="Select among many settings of each model, or compare one fixed setting of each, which is faster.",
        ),
    ] = True,
    importance: Annotated[
        bool, typer.Option("--importance", help="Also measure which columns the selected model needs.")
    ] = False,
    cv: FoldsOption = 5,
    window: WindowOption = None,
    gap: GapOption = None,
    metric: MetricOption = None,
    pos_label: PositiveOption = None,
    fail_on: Annotated[
        str | None, typer.Option(help="warning or error: exit with code 3 if a finding is at least that severe.")
    ] = None,
    report: Annotated[
        str | None, typer.Option(help="tripod: add the items of the TRIPOD+AI statement to the page of --out.")
    ] = None,
    ignore: Annotated[
        list[str] | None, typer.Option(help="Code of a finding to leave out, such as TF101. Repeatable.")
    ] = None,
) -> None:
    """Answer four questions: which model, how good is it, does it over- or underfit, and would more data help?

    Several rows of one patient: --groups patient_id. Rows in time order: --time date.

    Example: truefit study breast_cancer --model linear --model tree --budget 2m --out report.html
    """
    from truefit._study.budget import seconds_of

    check_report(out, (*config.files, test))
    if save is not None:
        check_model_file(save, (*config.files, test))
    check_distinct(out, save)
    check_choice("--fail-on", fail_on, ("warning", "error"))
    check_choice("--report", report, ("tripod",))
    if report is not None and out is None:
        raise InvalidInput("--report adds a section to the page. Name a file for the page with --out report.html.")
    if agghoo and save is None:
        raise InvalidInput("--agghoo selects the model to save. Name a file for it with --save model.skops.")
    if ensemble and (save is None or not tune or agghoo):
        raise InvalidInput(
            "--ensemble saves the weighted average of several settings of a tuned study. Use it with "
            "--save model.skops, without --agghoo and --no-tune."
        )
    if intervals and save is None:
        raise InvalidInput("--intervals is for the model that is saved. Name a file for it with --save model.skops.")
    if intervals and config.time is not None:
        raise InvalidInput(
            "--intervals needs new rows that are like those of the table, and with --time they are later. Leave out "
            "one of the two."
        )
    seconds, seed, ignored = seconds_of(budget), config.seed, _codes(ignore)
    splits = config.splits(cv, window, gap)
    table = config.with_roles(load_table(config.data, config.target))
    task = task_of(config.task, table)
    held_out: dict[str, Any] = {} if test is None else {"test": load_test(test, table, config.not_features)}
    names = [name for given in config.model or () for name in given.split(",")]
    request = None
    if config.store is not None and seconds is None and not any(":" in name for name in names):
        # A study that ran out of time resumes when it is rerun, and the user's own models may have changed.
        options = {"models": names, "tune": tune, "cv": cv, "metric": metric, "pos_label": pos_label, "task": task,
                   "seed": seed, "window": window, "gap": gap, "ignore": ignored, "level": config.level}  # fmt: skip
        options |= {"importance": True} if importance else {}
        request = request_key(table, options, *held_out.get("test", ()))
        known = None if save is not None else report_for(config.store, request)
        if known is not None:
            _show_stored(known, out, as_json=config.as_json, tripod=report == "tripod")
            _check_severity(known.content["result"], fail_on)
            return
    from truefit._methods.selection.families import settings_of
    from truefit._study.page import store_study
    from truefit._study.study import study as run

    models: dict[str, Any] = {}
    if tune:
        families = families_of(names, table, task)
        models = {
            name: (family.estimator, family.grid) if family.grid else family.estimator
            for name, family in families.items()
        }
        candidates = {name: setting.estimator for name, setting in settings_of(families).items()}
    else:
        models = candidates = candidates_of(names, table, task)
    # Hundreds of fits would repeat the same warnings about categories and convergence.
    warnings.filterwarnings("ignore", module=r"(sklearn|skrub|lightgbm|xgboost|catboost)\b")
    with config.engine(default_workers=-1, on_error="record") as engine:
        label = label_of(pos_label, table)
        result = run(
            table.X, table.y, models, budget=seconds, cv=splits, metric=metric, pos_label=label, task=task,
            level=config.level, ignore=ignored, importance=importance, random_state=seed, engine=engine,
            **table.roles, **held_out,
        )  # fmt: skip

        def to_save() -> tuple[Any, Any]:
            if ensemble:
                return _ensemble_of(result, intervals=intervals)
            if not agghoo:
                return result.interval_model() if intervals else result.model, result.promise
            model = aggregate_of(
                result, candidates, table, label, intervals=intervals, cv=cv, random_state=seed, engine=engine
            )
            return model, None if result.cross_test is None else result.cross_test.promise

        saved = unsaved = None
        try:
            # Before the page, which shows the coverage of the intervals.
            saved = to_save() if intervals and not (ensemble and result.averaged is None) else None
        except (InvalidInput, FitError) as error:
            unsaved = error  # raised when the study has been shown
        result.title, result.made = f"Study of {table.name}", provenance(table, engine.stats, task=config.task)
        if test is not None:
            result.made["data"] += f"; test rows of {redacted(test)}: {len(held_out['test'][1]):,}"
        found, text = result.to_dict(), _study_text(result)
        config.show(engine, found, lambda: _print_study(text))
        # Failed fits are not stored, and are run again next time.
        store_study(engine.store, result, text=text, request=None if engine.stats.failed else request)
        if out is not None:
            write_report(out, result.to_html(report="tripod" if report else None))
        if unsaved is not None:
            raise unsaved
        if save is not None:
            fitted, promise = to_save() if saved is None else saved
            write_model(fitted, save, table=table, promise=promise)
    _check_severity(found, fail_on)


def _ensemble_of(result: Study, *, intervals: bool) -> tuple[Any, Any]:
    """Return the ensemble and its estimate; raise where the study has none, after it was shown."""
    if result.averaged is None:
        why = next((why for what, why in result.not_run if what == "Ensemble"), "its members could not be fitted")
        raise InvalidInput(f"There is no ensemble to save: {why}. Save the selected model: leave out --ensemble.")
    model = result.ensemble
    return result.interval_model(model, name="the ensemble") if intervals else model, result.averaged.promise


def _show_stored(report: StoredReport, out: Path | None, *, as_json: bool, tripod: bool) -> None:
    """Show the report of a study that the store can answer."""
    if as_json:
        echo(json.dumps(report.content["result"], indent=2))
    else:
        _print_study(report.content["text"])
        note(f"From the store, computed {local_time(report)}. No fits were run.")
    if out is not None:
        write_report(out, stored_page(report, tripod=tripod))


def _codes(ignore: list[str] | None) -> list[str]:
    """Return the codes of findings to ignore."""
    if not ignore:
        return []  # a study from the store must not load scikit-learn
    from truefit._study.checks import resolve_ignored

    return sorted(resolve_ignored(ignore))


def _check_severity(result: Mapping[str, Any], fail_on: str | None) -> None:
    """Exit with code 3 if a finding is at least as severe as ``--fail-on``."""
    codes = [each["code"] for each in result["findings"] if fail_on is not None and at_least(each["severity"], fail_on)]
    if codes:
        note(f"Exit code 3: findings of severity {fail_on} or worse ({', '.join(codes)}).")
        raise typer.Exit(3)


def _study_text(result: Study) -> dict[str, Any]:
    """Return what is printed, as plain JSON types: a store keeps it."""
    from truefit._study.page_tables import VERDICTS

    columns = ["model", result.metric_text.name, f"{result.level:.0%} interval", "on training rows", "fit seconds"]
    rows, fmt = [], result.metric_text
    for name, line in result.table.iterrows():
        interval = "none" if math.isnan(line["low"]) else fmt.between((line["low"], line["high"]))
        training = "" if math.isnan(line["training"]) else fmt.value(line["training"])
        seconds, verdict = f"{line['fit_seconds']:.2g}", str(line["verdict"])
        rows.append(
            [str(name), fmt.value(line["estimate"]), interval, training, seconds, VERDICTS.get(verdict, verdict)]
        )
    return {
        "summary": result.summary(),
        "heading": result.assessment.heading,
        "columns": [*columns, f"compared with {result.best}"],
        "rows": rows,
        "best": result.best,
    }


def _print_study(text: Mapping[str, Any]) -> None:
    """Print what ``_study_text`` returned: with rich on a terminal, as plain lines elsewhere."""
    summary, columns, rows = text["summary"], text["columns"], text["rows"]
    if not results().isatty():
        lines = [columns, *rows]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        cells = ("  ".join(map(str.ljust, line, widths)).rstrip() for line in lines)
        echo("\n".join([f"{summary}\n", text["heading"], *(f"  {line}" for line in cells), ""]))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.padding import Padding
    from rich.table import Table
    from rich.text import Text

    console = Console(file=results())
    for line in summary.splitlines():
        content = printable(line.strip())
        indent = len(line) - len(line.lstrip())
        console.print(Padding(Text(content, style="" if indent else "bold"), (0, 0, 0, indent)))
    console.print()
    # Names of columns, files and models must not be read as markup.
    table = Table(title=escape(text["heading"]) or None, title_justify="left")
    for place, column in enumerate(columns):
        table.add_column(Text(printable(column)), justify="right" if 0 < place < len(columns) - 1 else "left")
    for row in rows:
        table.add_row(*(Text(printable(cell)) for cell in row), style="bold" if row[0] == text["best"] else None)
    console.print(table)
