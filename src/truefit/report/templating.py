"""The templates and how they are filled in: everything is escaped unless it says otherwise."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, Any

from truefit.report.safe_svg import safe_svg

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
    """Return a drawing as markup, with nothing in it but what draws: it may come from the store of somebody else."""
    from markupsafe import Markup

    return None if svg is None else Markup(safe_svg(svg))
