"""The templates and how they are filled in: everything is escaped unless it says otherwise."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from truefit.core.errors import InvalidInput

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


@cache
def environment() -> Environment:
    """Return the templates of this package, with escaping on and unknown names an error."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("truefit.report", "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )


def render(template: str, /, **values: Any) -> str:
    """Fill in one template."""
    return environment().get_template(template).render(**values)


@cache
def asset(name: str) -> Markup:
    """Return a file of the templates' folder as it is: our own style or script, put into the page."""
    from markupsafe import Markup

    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0])


def figure(svg: str | None) -> Markup | None:
    """Return a drawing of ours as markup. Only drawings: text would otherwise get in without being escaped."""
    from markupsafe import Markup

    if svg is None:
        return None
    if not svg.lstrip().startswith("<svg"):
        raise InvalidInput(f"A figure must be SVG markup that begins with '<svg'. Got {svg[:20]!r} instead.")
    return Markup(svg)
