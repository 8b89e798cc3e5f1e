"""truefit compare."""

from __future__ import annotations

from functools import partial
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
from truefit._cli.outputs import check_picture, write_picture

if TYPE_CHECKING:
    from truefit._methods.comparison.plan import TestChoice

_DESIGNS = ("kfold", "holdout", "threeway", "nested", "loo")


@command
def compare(
    config: CommandConfig,
    design: Annotated[str, typer.Option(help=f"{', '.join(_DESIGNS[:-1])} or {_DESIGNS[-1]}.")] = "kfold",
    cv: FoldsOption = 5,
    window: WindowOption = None,
    gap: GapOption = None,
    repeats: Annotated[
        int, typer.Option(help="Repeats of the partition. More repeats detect smaller differences.")
    ] = 1,
    metric: MetricOption = None,
    reference: Annotated[
        str | None, typer.Option(help="Model to compare with, or all for every pair. Default: the best.")
    ] = None,
    rope: Annotated[float | None, typer.Option(help="Largest difference that is practically irrelevant.")] = None,
    test: Annotated[
        str, typer.Option(help="auto, corrected_t (on folds), or pooled (on the losses of single rows).")
    ] = "auto",
    plot: PlotOption = None,
    pos_label: PositiveOption = None,
) -> None:
    """Find the best model and the models that are not significantly worse. Default models: chosen for the table.

    Example: truefit compare breast_cancer --model linear --model tree --repeats 4 --rope 0.01
    """
    from truefit._api.compare import compare as run

    check_picture(plot, config.files)
    check_choice("--design", design, _DESIGNS)
    table, _, candidates = config.load(config.model)
    with config.engine(on_error="record") as engine:
        result = run(
            candidates, table.X, table.y, cv=config.splits(cv, window, gap), design=design, repeats=repeats,
            metric=metric, reference=reference, rope=rope, test=cast("TestChoice", test), level=config.level,
            pos_label=label_of(pos_label, table), random_state=config.seed, engine=engine, **table.roles,
        )  # fmt: skip
        config.store_result(engine, result, table)
        config.show(engine, result.to_dict(), partial(echo, result.summary()))
        if plot is not None:
            write_picture(plot, result.plot, title=result.heading)
