"""truefit reproduce."""

from __future__ import annotations

import platform
import shlex
import sys
from pathlib import Path
from typing import Annotated

import typer

from truefit import __version__
from truefit._cli.app import app, report_errors
from truefit._cli.messages import echo
from truefit._cli.options import ClusterOption, MemoryOption, StoreOption, WorkersOption, command_engine
from truefit._cli.outputs import check_output, write_text
from truefit._core.errors import InvalidInput


@app.command()
@report_errors
def reproduce(
    name: Annotated[
        str | None, typer.Argument(metavar="NAME", help="The experiment; without one they are listed.")
    ] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="TRUEFIT_DATA", help="Folder with the tables; else they are downloaded from OpenML."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Write the page to this Markdown file too; other experiments' sections in it stay."),
    ] = None,
    network: Annotated[
        str | None, typer.Option(help="Run the experiment with networks of this kind: cnn for agghoo; needs torch.")
    ] = None,
    quick: Annotated[bool, typer.Option("--quick", help="Make do with less; the page says what was left out.")] = False,
    store: StoreOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    memory: MemoryOption = None,
) -> None:
    """Run a paper's experiment again, and set its numbers beside ours.

    Example: truefit reproduce pmv-unlimited-tree --quick
    """
    from truefit.reproduce.experiment import Setting
    from truefit.reproduce.page import with_section
    from truefit.reproduce.registry import EXPERIMENTS, find_experiment

    if name is None:
        for each in EXPERIMENTS.values():
            echo(f"{each.name}\n  {each.title}\n  Needs: {each.needs}.")
        return
    name = name if network is None else f"{name}-{network}"
    experiment = find_experiment(name)
    if out is not None and out.suffix != ".md":
        raise InvalidInput(f"The name of a page must end in .md. Got {out.name!r} instead.")
    check_output(out, (store,))
    if data is not None and not data.is_dir():
        raise InvalidInput(f"The folder with the tables must exist. There is no {data}. Check --data or TRUEFIT_DATA.")
    with command_engine(store, workers, cluster, memory=memory) as engine:
        page = experiment.run(Setting(engine, data, quick, lambda line: echo(f"{line} ...", err=True)))
        echo(f"{engine.stats}.", err=True)
    section = page.to_markdown(experiment.name, experiment.title, _made(name, quick))
    echo(section)
    if out is not None:
        before = out.read_text("utf-8") if out.exists() else "# The papers' numbers and ours\n"
        write_text(out, with_section(before, name, section))
        echo(f"The page is in {out}.", err=True)


def _made(name: str, quick: bool) -> str:
    """Say by which command and with which versions, on whatever machine and whatever it was called with besides."""
    import numpy
    import sklearn

    command = shlex.join(["truefit", "reproduce", name, *(["--quick"] if quick else [])])
    return (
        f"`{command}`, truefit {__version__}, scikit-learn {sklearn.__version__}, numpy {numpy.__version__}, "
        f"Python {platform.python_version()}, {sys.platform}."
    )
