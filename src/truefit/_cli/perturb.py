"""truefit perturb."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated, cast

import typer

from truefit._cli.app import app, in_plain_words
from truefit._cli.inputs import candidates_of, load_table, task_of
from truefit._cli.messages import echo, results
from truefit._cli.options import (
    ClusterOption,
    DataArgument,
    JsonOption,
    MemoryOption,
    ModelsOption,
    PlotOption,
    SeedOption,
    StoreOption,
    TargetOption,
    TaskOption,
    WorkersOption,
    command_engine,
)
from truefit._cli.outputs import check_picture, write_picture
from truefit._cli.stored_reports import keep_result, provenance
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._methods.perturbation.config import Mode, PerturbationKind
    from truefit._methods.perturbation.result import Perturbation

_PICTURES = ("rate", "errors")


@app.command()
@in_plain_words
def perturb(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
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
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    memory: MemoryOption = None,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say whether models memorise, over- or underfit, by noise in their training data; a set of them, if none is named.

    Example: truefit perturb breast_cancer --model linear --model tree --levels adaptive --plot rates.svg --kind rate
    """
    from truefit._api.perturb import perturb as run
    from truefit._methods.selection.default_candidates import default_candidates

    check_picture(plot, (data, store, *(model or ())))
    if kind is not None and kind not in _PICTURES:
        raise InvalidInput(f"--kind must be {' or '.join(_PICTURES)}. Got {kind!r} instead.")
    shares = levels_of(levels)
    table = load_table(data, target)
    chosen = task_of(task, table)
    candidates = candidates_of(model, table, chosen) if model else default_candidates(table.X, chosen)
    with command_engine(store, workers, cluster, memory=memory) as engine:
        result = run(
            candidates, table.X, table.y, levels=shares, repeats=repeats, cv=cv or None,
            perturbation=cast("PerturbationKind", perturbation), mode=cast("Mode", mode),
            random_state=seed, engine=engine,
        )  # fmt: skip
        keep_result(engine, result, provenance(table, engine.stats, task=task))
        if as_json:
            echo(json.dumps(result.to_dict(), indent=2))
        else:
            print_perturbation(result)
            echo(f"{engine.stats}.")
        if plot is not None:
            write_picture(plot, lambda: result.plot(kind=kind), title=result.heading, quiet=as_json)  # type: ignore[arg-type]


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
    from rich.console import Console
    from rich.table import Table as RichTable

    told = None if result.single else "Bold: the largest rate, and those that cannot be told apart from it."
    drawn = RichTable(title=result.heading, caption=told, title_justify="left", caption_justify="left")
    columns = ("model", "rate", f"{result.level:.0%} interval", "skill", "memorisation", "verdict")
    for column, justify in zip(columns, ("left", *["right"] * 4, "left"), strict=True):
        drawn.add_column(column, justify=justify)  # type: ignore[arg-type]
    for name, verdict in _by_name(result, result.verdict).items():
        each = result.by_name[name]
        ends = "none" if each.interval is None else "{:.3f} to {:.3f}".format(*each.interval)
        memory = "cannot be told" if each.memorisation is None else f"{each.memorisation:.2f}"
        numbers = (f"{each.rate:.3f}", ends, f"{each.skill:.3f}", memory) if each.known else ("not known", "", "", "")
        drawn.add_row(name, *numbers, verdict, style="bold" if name in result.ties and not result.single else None)
    console = Console(file=results())
    console.print(drawn)
    for name, reason in _by_name(result, result.reasons).items():
        console.print(f"{name}: {reason}", highlight=False, markup=False)
    for note in result.notes:
        console.print(f"Note: {note}", style="dim", highlight=False, markup=False)


def _by_name(result: Perturbation, found: str | dict[str, str]) -> dict[str, str]:
    return {result.names[0]: found} if isinstance(found, str) else found
