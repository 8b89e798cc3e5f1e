"""Outputs: files that a command is asked to write."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import typer

from truefit.core.errors import InvalidInput

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: Kinds of pictures, by the end of the file's name.
PICTURES = (".svg", ".png", ".pdf")


def check_place(place: Path | None, read: Sequence[str | Path | None]) -> None:
    """Refuse a place to write to that would fail after all the work, or destroy what the run reads."""
    if place is None:
        return
    if not place.absolute().parent.is_dir():
        raise InvalidInput(
            f"The folder of {place.name} must exist. There is no {place.absolute().parent}. Make it first."
        )
    if place.is_dir():
        raise InvalidInput(f"A file is to be written, but {place} is a folder. Name a file in it.")
    if any(place.absolute() == Path(other).absolute() for other in read if other is not None):
        raise InvalidInput(f"This would overwrite {place}, which the run reads. Name another file.")


def check_picture(place: Path | None, read: Sequence[str | Path | None]) -> None:
    """Refuse a place for a picture, also by the end of its name."""
    check_place(place, read)
    if place is not None and place.suffix not in PICTURES:
        raise InvalidInput(f"The name of a picture must end in {', '.join(PICTURES)}. Got {place.name!r} instead.")


def check_report(place: Path, read: Sequence[str | Path | None]) -> None:
    """Refuse a place for a page, also one that holds something else than a page."""
    check_place(place, read)
    if place.exists() and "<html" not in place.read_text("utf-8", "replace")[:2000].lower():
        raise InvalidInput(f"This would overwrite {place}, which is no report. Name another file, or remove it first.")


def write_text(place: Path, text: str) -> None:
    """Write a file, or say in a sentence why it cannot be."""
    try:
        place.write_text(text, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"{place} could not be written: {error.strerror}. Name another file.") from error


def write_picture(place: Path, draw: Callable[[], Axes], *, title: str, quiet: bool) -> None:
    """Draw into a file whose name ends in .svg, .png or .pdf."""
    from truefit.plots.svg import to_svg

    axes = draw()
    if place.suffix == ".svg":
        write_text(place, to_svg(axes, title=title, description=title))
    else:
        figure: Any = axes.get_figure()
        figure.savefig(place, dpi=150, bbox_inches="tight")
    typer.echo(f"The picture is in {place}.", err=quiet)
