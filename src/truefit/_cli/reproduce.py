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
from truefit._cli.app import plain_command
from truefit._cli.messages import echo, note
from truefit._cli.options import (
    ClusterOption,
    MemoryOption,
    QuietOption,
    StoreOption,
    VerboseOption,
    WorkersOption,
    command_engine,
)
from truefit._cli.outputs import check_output, write_text
from truefit._core.errors import InvalidInput


@plain_command
def reproduce(
    name: Annotated[str | None, typer.Argument(metavar="NAME", help="The experiment. Default: list them.")] = None,
    data: Annotated[
        Path | None,
        typer.Option(envvar="TRUEFIT_DATA", help="Folder with the tables. Default: download from OpenML."),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="Also write the section to this Markdown file; its other sections are kept."),
    ] = None,
    network: Annotated[str | None, typer.Option(help="Use networks of this kind: cnn for agghoo. Needs torch.")] = None,
    quick: Annotated[
        bool, typer.Option("--quick", help="Run a smaller version; the page lists what was not run.")
    ] = False,
    store: StoreOption = None,
    workers: WorkersOption = None,
    cluster: ClusterOption = None,
    memory: MemoryOption = None,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Rerun a paper's experiment and compare the numbers. Needs a checkout of truefit's source.

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
    with command_engine(store, workers, cluster, memory=memory, progress=False if quiet else "auto") as engine:
        page = experiment.run(experiments.Setting(engine, data, quick, lambda line: note(f"{line} ...")))
        note(f"{engine.stats}.")
    section = page.to_markdown(experiment.name, experiment.title, _command_and_versions(name, quick))
    echo(section)
    if out is not None:
        before = out.read_text("utf-8") if out.exists() else "# The papers' numbers and ours\n"
        write_text(out, experiments.with_section(before, name, section))
        note(f"Page written to {out}.")


def _find_checkout() -> Path:
    """Return the root of a checkout: the one of this package, or one around the current directory."""
    here = Path.cwd()
    package = Path(__file__).resolve().parents[1]
    for folder in (package.parents[1], here, *here.parents):
        # Any project may have a folder papers: ours lies beside the source of truefit.
        if (folder / "papers" / "__init__.py").is_file() and (folder / "src" / "truefit" / "__init__.py").is_file():
            return folder
    raise InvalidInput(
        "The papers' experiments are in the folder papers/ of truefit's source, not in the installed package. Neither "
        f"{here} nor {package} is inside a checkout or source distribution. Change to one and rerun."
    )


def _load_papers(checkout: Path) -> tuple[ModuleType, ModuleType]:
    """Return the modules papers and papers.experiment of a checkout."""
    if str(checkout) not in sys.path:
        sys.path.insert(0, str(checkout))  # worker processes inherit it
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
