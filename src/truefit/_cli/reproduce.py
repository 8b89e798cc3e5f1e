"""truefit reproduce."""

from __future__ import annotations

import importlib
import platform
import shlex
import sys
from pathlib import Path
from types import ModuleType
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
    """Run a paper's experiment again, and set its numbers beside ours. Needs a checkout of truefit's source.

    Example: truefit reproduce pmv-unlimited-tree --quick
    """
    papers, experiments = _load_papers(_find_checkout())
    if name is None:
        for each in papers.all_experiments():
            echo(f"{each.name}\n  {each.title}\n  Needs: {each.needs}.")
        return
    name = name if network is None else f"{name}-{network}"
    experiment = papers.find_experiment(name)
    if out is not None and out.suffix != ".md":
        raise InvalidInput(f"The name of a page must end in .md. Got {out.name!r} instead.")
    check_output(out, (store,))
    if data is not None and not data.is_dir():
        raise InvalidInput(f"The folder with the tables must exist. There is no {data}. Check --data or TRUEFIT_DATA.")
    with command_engine(store, workers, cluster, memory=memory) as engine:
        page = experiment.run(experiments.Setting(engine, data, quick, lambda line: echo(f"{line} ...", err=True)))
        echo(f"{engine.stats}.", err=True)
    section = page.to_markdown(experiment.name, experiment.title, _command_and_versions(name, quick))
    echo(section)
    if out is not None:
        before = out.read_text("utf-8") if out.exists() else "# The papers' numbers and ours\n"
        write_text(out, experiments.with_section(before, name, section))
        echo(f"The page is in {out}.", err=True)


def _find_checkout() -> Path:
    """Return the root of a checkout: the one that this package is part of, or one around the current directory."""
    here = Path.cwd()
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parents[1], here, *here.parents):
        # A folder called papers may be anybody's; beside the source of truefit it is ours.
        if (folder / "papers" / "__init__.py").is_file() and (folder / "src" / "truefit" / "__init__.py").is_file():
            return folder
    raise InvalidInput(
        "The papers' experiments are in the folder papers/ of truefit's source, a checkout or the source distribution, "
        f"and not in the installed package; neither {here} nor {package} is inside one, so change to it and run the "
        "command there."
    )


def _load_papers(checkout: Path) -> tuple[ModuleType, ModuleType]:
    """Return the modules papers and papers.experiment of a checkout."""
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))  # worker processes take it over, and import the papers' learners from it
    return importlib.import_module("papers"), importlib.import_module("papers.experiment")


def _command_and_versions(name: str, quick: bool) -> str:
    """Return the command and the versions; store, data folder and workers do not change the numbers."""
    import numpy
    import sklearn

    command = shlex.join(["truefit", "reproduce", name, *(["--quick"] if quick else [])])
    return (
        f"`{command}`, truefit {__version__}, scikit-learn {sklearn.__version__}, numpy {numpy.__version__}, "
        f"Python {platform.python_version()}, {sys.platform}."
    )
