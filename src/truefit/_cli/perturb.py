"""truefit perturb."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import command
from truefit._cli.inputs import check_choice, numbers_of
from truefit._cli.messages import echo
from truefit._cli.options import CommandConfig, PlotOption
from truefit._cli.outputs import check_picture, write_picture

if TYPE_CHECKING:
    from truefit._methods.perturbation.config import Mode, PerturbationKind


@command
def perturb(
    config: CommandConfig,
    levels: Annotated[
        str | None,
        typer.Option(
            help="Noise levels, such as 0.1,0.3,0.5. Default: 0.05 to 0.5. adaptive: three levels first, all of them "
            "only for models that can still be the best."
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="Random draws of the noise. Default: 10; in paper mode 1.")
    ] = None,
    perturbation: Annotated[
        str, typer.Option(help="What is perturbed: auto, label, random, boundary, feature or target.")
    ] = "auto",
    mode: Annotated[str, typer.Option(help="default, or paper: rates as defined in the paper.")] = "default",
    cv: Annotated[int, typer.Option(help="Folds of the check for overfitting; 0 for none.")] = 5,
    plot: PlotOption = None,
    kind: Annotated[
        str | None, typer.Option(help="Plot: rate or errors. Default: accuracy against noise level.")
    ] = None,
) -> None:
    """Perturbed Model Validation: do models memorise label noise, overfit or underfit? Default: several models.

    Example: truefit perturb breast_cancer --model linear --model tree --levels adaptive --plot rates.svg --kind rate
    """
    from truefit._api.perturb import perturb as run

    check_picture(plot, config.files)
    check_choice("--kind", kind, ("rate", "errors"))
    shares = None if levels is None else numbers_of("--levels", levels, float, ("adaptive",))
    table, _, candidates = config.load(config.model)
    with config.engine() as engine:
        result = run(
            candidates, table.X, table.y, levels=shares, repeats=repeats, cv=cv or None,
            perturbation=cast("PerturbationKind", perturbation), mode=cast("Mode", mode),
            level=config.level, random_state=config.seed, engine=engine, **table.roles,
        )  # fmt: skip
        config.store_result(engine, result, table)
        config.show(engine, result.to_dict(), partial(echo, result.summary()))
        if plot is not None:
            write_picture(plot, partial(result.plot, kind=kind), title=result.heading)  # type: ignore[arg-type]
