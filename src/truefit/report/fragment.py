"""The fragment: a result in a notebook's cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from truefit.report.cells import Grid
from truefit.report.templating import asset, figure, render


def render_fragment(
    title: str,
    lines: Sequence[str] = (),
    table: Mapping[str, Any] | None = None,
    figure_svg: str | None = None,
) -> str:
    """Render a result to a small piece of HTML, for ``_repr_html_``.

    Its style holds for itself only, takes the colours of the notebook, and needs no script.

    Parameters
    ----------
    title : str
    lines : sequence of str
        A few sentences.
    table : mapping, optional
        As in :func:`truefit.report.render_page`.
    figure_svg : str, optional
        As ``plots.to_svg`` makes it; only what draws is kept.

    Returns
    -------
    str

    Examples
    --------
    >>> html = render_fragment("Ridge & co", ["Error 0.12."])
    >>> "Ridge &amp; co" in html, "Error 0.12." in html
    (True, True)
    """
    return render(
        "fragment.html.j2",
        title=title,
        lines=[str(line) for line in lines],
        table=None if table is None else Grid.of(table),
        figure=figure(figure_svg),
        style=asset("fragment.css"),
    )
