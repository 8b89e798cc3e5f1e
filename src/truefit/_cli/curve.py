"""truefit curve."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import candidates_of, label_of, numbers_of, print_notes, task_of
from truefit._cli.messages import echo, note
from truefit._cli.options import CommandConfig, FoldsOption, PlotOption, PositiveOption
from truefit._cli.outputs import check_picture, write_picture
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._methods.learning_curve.extrapolation import Mode
    from truefit._methods.learning_curve.result import Labelling, LearningCurve

#: Rows from which the task and the default models are inferred.
_SAMPLE_ROWS = 10_000


@command
def curve(
    config: CommandConfig,
    table: Annotated[str | None, typer.Option(help="Table of the database, if it has several.")] = None,
    key: Annotated[
        str | None, typer.Option(help="Column that identifies a row of the database. Default: its primary key.")
    ] = None,
    unlabelled: Annotated[
        int | None, typer.Option(min=0, help="Rows that can still be labelled. Default: those without a target.")
    ] = None,
    horizon: Annotated[
        float | None, typer.Option(help="Largest sample size to predict for. Default: labelled plus unlabelled rows.")
    ] = None,
    tolerance: Annotated[
        float | None, typer.Option(help="Improvement of the error that is irrelevant. Default: 0.02.")
    ] = None,
    target_error: Annotated[float | None, typer.Option(help="Error to reach.")] = None,
    budget: Annotated[
        str | None,
        typer.Option(help="Rows that may be used, such as 2000; or rows=2000,seconds=60,money=500,price_per_row=0.25."),
    ] = None,
    schedule: Annotated[str, typer.Option(help="adaptive, paper, or sample sizes such as 100,200,400.")] = "adaptive",
    cv: FoldsOption = 10,
    metric: Annotated[
        str | None,
        typer.Option(help="A loss: error, log_loss, brier, mse, rmse, mae, ... Default: error; for regression mse."),
    ] = None,
    mode: Annotated[str, typer.Option(help="default, or paper: the procedure of Brumen et al. (2007).")] = "default",
    plot: PlotOption = None,
    pos_label: PositiveOption = None,
) -> None:
    """Learning curve: would more rows help, and how many to label next? Default model: linear.

    Of large Parquet, CSV and TSV files and of databases only the rows that are needed are read; with --groups or
    --weights all of them. Rerun with the same store after adding rows: only new fits are run.

    Example: truefit curve breast_cancer --unlabelled 40000 --store runs.db --plot curve.svg
    """
    from truefit._api.learning_curve import learning_curve
    from truefit._cli.curve_resume import RecordingStore, resumed_rows
    from truefit._methods.learning_curve.result import LearningCurves, labelling

    check_picture(plot, config.files)
    config.refuse_time("the samples of a learning curve are drawn at random from all periods.")
    allowed, sizes = budget_of(budget), numbers_of("--schedule", schedule, int, ("adaptive", "paper"))
    store = None if config.store is None else RecordingStore(config.store)
    rows = resumed_rows(config.data, config.target, table=table, key=key, drop=config.drop or (), seed=config.seed,
                        store=store)  # fmt: skip
    # Samples of whole groups need every row; otherwise no more rows are read than needed.
    whole = config.groups is not None or config.weights is not None
    sample = config.with_roles(rows.source.table(rows.total if whole else _SAMPLE_ROWS))
    X, y, batches = (sample.X, sample.y, None) if whole else (rows, None, rows.totals or None)
    print_notes(sample.notes)
    if rows.change is not None:
        note(f"Note: {rows.change}")
    candidates = candidates_of(config.model or ["linear"], sample, task_of(config.task, sample))
    left = unlabelled if unlabelled is not None else rows.source.unlabelled or None
    far = horizon if horizon is not None or not left else rows.total + left
    with config.engine(store) as engine:
        result = learning_curve(
            candidates, X, y, schedule=sizes, cv=cv, tolerance=tolerance, horizon=far, budget=allowed,
            target=target_error, mode=cast("Mode", mode), metric=metric, level=config.level, batches=batches,
            pos_label=label_of(pos_label, sample), random_state=config.seed, engine=engine, **sample.roles,
        )  # fmt: skip
        rows.save_sample()
        curves = result.curves if isinstance(result, LearningCurves) else {result.name: result}
        advice = {name: labelling(each, rows.total, unlabelled=left) for name, each in curves.items()}
        counted = f"{rows.name}: {sample.contents(rows.total)}"
        config.store_result(engine, result, sample, data=counted)
        found: dict[str, Any] = {"rows": rows.total, "unlabelled": left, "fits": engine.stats.to_dict()}
        found["curves"] = [each.to_dict() | {"label": advice[name].to_dict()} for name, each in curves.items()]
        config.show(engine, found, lambda: _print_curves(curves, advice))
        if plot is not None:
            drawn = result if len(curves) > 1 else next(iter(curves.values()))
            write_picture(plot, drawn.plot, title=f"Learning curve of {', '.join(curves)}")


def budget_of(text: str | None) -> int | dict[str, float] | None:
    """Parse a number of rows, or parts with commas between them.

    Examples
    --------
    >>> budget_of("2000"), budget_of("seconds=60, rows=500")
    (2000, {'seconds': 60.0, 'rows': 500})
    """
    from truefit._methods.learning_curve.config import BUDGET_PARTS

    if text is None:
        return None
    try:
        if "=" not in text:
            return int(text)
        parts = dict(part.split("=") for part in text.replace(" ", "").split(","))
        if set(parts) <= set(BUDGET_PARTS):
            return {name: int(value) if name == "rows" else float(value) for name, value in parts.items()}
    except ValueError:
        pass
    raise InvalidInput(
        f"--budget must be a number of rows, or some of {', '.join(BUDGET_PARTS)}, such as rows=2000,seconds=60. "
        f"Got {text!r} instead."
    )


def _print_curves(curves: dict[str, LearningCurve], advice: dict[str, Labelling]) -> None:
    for name, each in curves.items():
        sizes: Any = each.table.index
        points = [f"  {size:>12,} rows  {error:.4g}" for size, error in zip(sizes, each.errors, strict=True)]
        echo("\n".join(["Measured:", *points, each.summary(), f"{advice[name]}\n"]))
