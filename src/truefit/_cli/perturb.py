"""truefit perturb."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import command
from truefit._cli.messages import echo, print_lines, print_table, results
from truefit._cli.options import CommandConfig, PlotOption
from truefit._cli.outputs import check_picture, write_picture
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._methods.perturbation.config import Mode, PerturbationKind
    from truefit._methods.perturbation.result import Perturbation

_PICTURES = ("rate", "errors")


@command
def perturb(
    config: CommandConfig,
    levels: Annotated[
        str | None,
        typer.Option(
            help="Shares of noise, such as 0.1,0.3,0.5; 0.05 to 0.5 by default. adaptive: three of them first, and all "
            "for the models that are still in the race."
        ),
    ] = None,
    repeats: Annotated[
        int | None, typer.Option(help="How often the noise is drawn: 10 times by default, in paper mode once.")
    ] = None,
    perturbation: Annotated[
        str, typer.Option(help="What is disturbed: auto, label, random, boundary, feature or target.")
    ] = "auto",
    mode: Annotated[str, typer.Option(help="default, or paper: rates as the paper has them.")] = "default",
    cv: Annotated[int, typer.Option(help="Folds that overfitting is told by; 0 for none.")] = 5,
    plot: PlotOption = None,
    kind: Annotated[
        str | None, typer.Option(help="Picture: rate or errors; the accuracy against the noise by default.")
    ] = None,
) -> None:
    """Say whether models memorise, over- or underfit, by noise in their training data; a set of them, if none is named.

    Example: truefit perturb breast_cancer --model linear --model tree --levels adaptive --plot rates.svg --kind rate
    """
    from truefit._api.perturb import perturb as run

    check_picture(plot, config.files)
    if kind is not None and kind not in _PICTURES:
        raise InvalidInput(f"--kind must be {' or '.join(_PICTURES)}. Got {kind!r} instead.")
    shares = levels_of(levels)
    table, _, candidates = config.load(config.model)
    with config.engine() as engine:
        result = run(
            candidates, table.X, table.y, levels=shares, repeats=repeats, cv=cv or None,
            perturbation=cast("PerturbationKind", perturbation), mode=cast("Mode", mode),
            random_state=config.seed, engine=engine,
        )  # fmt: skip
        config.store_result(engine, result, table)
        config.show(engine, result.to_dict(), lambda: print_perturbation(result))
        if plot is not None:
            draw = partial(result.plot, kind=kind)  # type: ignore[arg-type]
            write_picture(plot, draw, title=result.heading, quiet=config.as_json)


def levels_of(text: str | None) -> str | list[float] | None:
    """Return the shares that are written with commas between them; "adaptive" stays a word.

    Examples
    --------
    >>> levels_of("0.1, 0.3"), levels_of("adaptive"), levels_of(None)
    ([0.1, 0.3], 'adaptive', None)
    """
    if text is None or text == "adaptive":
        return text
    try:
        return [float(share) for share in text.split(",")]
    except ValueError as error:
        raise InvalidInput(
            f"--levels must be adaptive or shares with commas between them, such as 0.1,0.3,0.5. Got {text!r} instead."
        ) from error


def print_perturbation(result: Perturbation) -> None:
    """Print the rates and the verdicts: a table on a terminal, plain lines elsewhere."""
    if not results().isatty():
        echo(result.summary())
        return
    verdicts, rows = _by_name(result, result.verdict), []
    for name, verdict in verdicts.items():
        each = result.by_name[name]
        ends = "none" if each.interval is None else "{:.3f} to {:.3f}".format(*each.interval)
        memory = "cannot be told" if each.memorisation is None else f"{each.memorisation:.2f}"
        numbers = (f"{each.rate:.3f}", ends, f"{each.skill:.3f}", memory) if each.known else ("not known", "", "", "")
        rows.append((name, *numbers, verdict))
    print_table(
        ("model", "rate", f"{result.level:.0%} interval", "skill", "memorisation", "verdict"),
        rows,
        right=range(1, 5),
        bold=[i for i, name in enumerate(verdicts) if name in result.ties and not result.single],
        title=result.heading,
        caption=None if result.single else "Bold: the largest rate, and those that cannot be told apart from it.",
    )
    print_lines(f"{name}: {reason}" for name, reason in _by_name(result, result.reasons).items())
    print_lines((f"Note: {note}" for note in result.notes), "dim")


def _by_name(result: Perturbation, found: str | dict[str, str]) -> dict[str, str]:
    return {result.names[0]: found} if isinstance(found, str) else found
