"""truefit curve."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import candidates_of, label_of, print_notes, task_of
from truefit._cli.messages import echo, print_lines, print_table, results
from truefit._cli.options import CommandConfig, FoldsOption, MetricOption, PlotOption, PositiveOption
from truefit._cli.outputs import check_picture, write_picture
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._methods.learning_curve.extrapolation import Mode
    from truefit._methods.learning_curve.result import Labelling, LearningCurve

#: Rows by which the task and the models that suit are told.
_LOOKED_AT = 10_000


@dataclass(frozen=True)
class CurveConfig(CommandConfig):
    """Options of a command that reads no more rows than it needs."""

    data: Annotated[
        str,
        typer.Argument(
            metavar="DATA",
            help="A CSV, TSV, Parquet, Feather or JSON-lines file, a built-in name, sqlite:///FILE or "
            "postgresql://USER@HOST/NAME. Of large Parquet, CSV and TSV files, and of databases, no more rows are "
            "read than are needed.",
        ),
    ]


@command
def curve(
    config: CurveConfig,
    table: Annotated[str | None, typer.Option(help="The table, of a database that has several.")] = None,
    key: Annotated[
        str | None, typer.Option(help="The column that tells a database's rows apart; its primary key by default.")
    ] = None,
    unlabelled: Annotated[
        int | None,
        typer.Option(min=0, help="How many rows could still be labelled; those without a target by default."),
    ] = None,
    horizon: Annotated[
        float | None, typer.Option(help="Rows that could be had at most; by default those labelled and unlabelled.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="How much of an error does not matter; 0.02 by default.")
    ] = None,
    target_error: Annotated[float | None, typer.Option(help="An error that is enough.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Rows that may be used, such as 2000; or rows=2000,seconds=60,money=500,price_per_row=0.25."),
    ] = None,
    schedule: Annotated[
        str, typer.Option(help="adaptive, paper, or the sizes to measure at, such as 100,200,400.")
    ] = "adaptive",
    cv: FoldsOption = 10,
    metric: MetricOption = None,
    level: Annotated[float, typer.Option(help="Coverage of the intervals.")] = 0.95,
    mode: Annotated[str, typer.Option(help="default, or paper: the procedure of Brumen et al. (2007).")] = "default",
    plot: PlotOption = None,
    pos_label: PositiveOption = None,
) -> None:
    """Say whether more rows would help, and how many to label next; of a linear model, if none is named.

    Call it again with the same store after rows were added: only what is new is fitted.

    Example: truefit curve breast_cancer --unlabelled 40000 --store runs.db --plot curve.svg
    """
    from truefit._api.learning_curve import learning_curve
    from truefit._cli.curve_resume import RecordingStore, resumed_rows
    from truefit._methods.learning_curve.result import LearningCurves, labelling

    check_picture(plot, config.files)
    allowed, sizes = budget_of(budget), sizes_of(schedule)
    store = None if config.store is None else RecordingStore(config.store)
    rows = resumed_rows(config.data, config.target, table=table, key=key, seed=config.seed, store=store)
    sample = rows.table(_LOOKED_AT)
    print_notes(sample.notes)
    if rows.change is not None:
        echo(f"Note: {rows.change}", err=True)
    candidates = candidates_of(config.model or ["linear"], sample, task_of(config.task, sample))
    left = unlabelled if unlabelled is not None else rows.unlabelled or None
    far = horizon if horizon is not None or not left else rows.total + left
    with config.engine(store) as engine:
        result = learning_curve(
            candidates, rows, schedule=sizes, cv=cv, tolerance=tolerance, horizon=far, budget=allowed,
            target=target_error, mode=cast("Mode", mode), metric=metric, level=level, batches=rows.totals or None,
            pos_label=label_of(pos_label, sample), random_state=config.seed, engine=engine,
        )  # fmt: skip
        rows.write_down()
        curves = result.curves if isinstance(result, LearningCurves) else {result.name: result}
        advice = {name: labelling(each, rows.total, unlabelled=left) for name, each in curves.items()}
        counted = f"{rows.name}: {rows.total:,} rows, {sample.X.shape[1]:,} columns, target {sample.target}"
        config.store_result(engine, result, sample, data=counted)
        found: dict[str, Any] = {"rows": rows.total, "unlabelled": left, "fits": engine.stats.to_dict()}
        found["curves"] = [each.to_dict() | {"label": advice[name].to_dict()} for name, each in curves.items()]
        config.show(engine, found, lambda: print_curves(curves, advice))
        if plot is not None:
            title = f"Learning curve of {', '.join(curves)}"
            drawn = result if len(curves) > 1 else next(iter(curves.values()))
            write_picture(plot, drawn.plot, title=title, quiet=config.as_json)


def budget_of(text: str | None) -> int | dict[str, float] | None:
    """Return a budget that is written as a number of rows, or as parts with commas between them.

    Examples
    --------
    >>> budget_of("2000"), budget_of("seconds=60, rows=500")
    (2000, {'seconds': 60.0, 'rows': 500})
    """
    if text is None:
        return None
    try:
        if "=" not in text:
            return int(text)
        parts = dict(part.split("=") for part in text.replace(" ", "").split(","))
        return {name: int(value) if name == "rows" else float(value) for name, value in parts.items()}
    except ValueError as error:
        raise InvalidInput(
            f"--budget must be a number of rows, or parts such as rows=2000,seconds=60. Got {text!r} instead."
        ) from error


def sizes_of(text: str) -> str | list[int]:
    """Return sizes that are written with commas between them; "adaptive" and "paper" stay words.

    Examples
    --------
    >>> sizes_of("100, 200"), sizes_of("paper")
    ([100, 200], 'paper')
    """
    if text in ("adaptive", "paper"):
        return text
    try:
        return [int(size) for size in text.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"--schedule must be adaptive, paper or sizes with commas between them. Got {text!r} instead."
        ) from error


def print_curves(curves: dict[str, LearningCurve], advice: dict[str, Labelling]) -> None:
    """Print what was measured and what more rows would bring: a table on a terminal, plain lines elsewhere."""
    for name, each in curves.items():
        if results().isatty():
            _print_curve(each)
        else:
            echo(f"{_measured(each)}\n{each.summary()}")
        echo(f"{advice[name]}\n")


def _measured(each: LearningCurve) -> str:
    errors: Any = each.table.iloc[:, 0]
    points = (f"  {size:>12,} rows  {error:.4g}" for size, error in zip(errors.index, each.errors, strict=True))
    return "\n".join(("Measured:", *points))


def _print_curve(each: LearningCurve) -> None:
    rows = [
        (f"{size:,.0f}", f"{error:.4g}", "", "measured") for size, error in zip(each.sizes, each.errors, strict=True)
    ]
    measured = len(rows)
    if each.refused is None:
        for n in (2 * each.sizes[-1], 5 * each.sizes[-1], 10 * each.sizes[-1]):
            value, low, high = each.predict(float(n))
            rows.append((f"{n:,.0f}", f"{value:.4g}", f"{low:.4g} to {high:.4g}", "expected"))
    print_table(
        ("rows", each.metric, f"{each.level:.4g} interval", ""),
        rows,
        right=range(4),
        bold=range(measured, len(rows)),
        title=f"{each.metric} of {each.name}, {each.k}-fold",
    )
    words = [f"No extrapolation: {each.refused}"] if each.refused is not None else []
    words.append(each.reason)
    if each.target is not None and each.refused is None:
        words.append(str(each.rows_for(each.target)))
    print_lines((*words, *(f"Note: {warning}" for warning in each.warnings)))
