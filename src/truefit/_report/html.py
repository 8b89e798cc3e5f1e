"""HTML: templates that escape everything not marked safe, results in a notebook, and safe SVG.

A picture may come from a store that somebody else wrote, and it is markup in the page. So it is parsed, and only the
elements, attributes and styles listed below are kept.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from typing import TYPE_CHECKING, Any, Final
from xml.etree import ElementTree

from truefit._core.errors import InvalidInput
from truefit._report.tables import TableCells

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup


Element = ElementTree.Element

#: Limits: pictures of truefit are far smaller, and larger ones slow a browser down.
MOST_ELEMENTS: Final = 200_000
MOST_LEVELS: Final = 64

_SVG: Final = "{http://www.w3.org/2000/svg}"
_XLINK: Final = "{http://www.w3.org/1999/xlink}"
#: HTML parses the content of these two as HTML, so they may hold text only.
_TEXT_ONLY: Final = frozenset({"title", "desc"})
_ELEMENTS: Final = _TEXT_ONLY | frozenset(
    {"svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "use"}
    | {"image", "clipPath", "pattern", "linearGradient", "radialGradient", "stop"}
)
#: Targets of references. No references inside them: a short file could otherwise draw without end.
_REFERRED: Final = frozenset({"defs", "clipPath", "pattern", "linearGradient", "radialGradient"})
_STYLES: Final = frozenset(
    {"fill", "fill-opacity", "fill-rule", "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "opacity"}
    | {"stroke-linejoin", "stroke-miterlimit", "stroke-dasharray", "stroke-dashoffset", "clip-path", "clip-rule"}
    | {"font-size", "font-style", "font-weight", "font-variant", "font-stretch", "text-anchor", "dominant-baseline"}
    | {"image-rendering", "stop-color", "stop-opacity"}
)
#: Overflow is visible up to the edge of the box around the picture, which clips it.
_ROOT_STYLES: Final = frozenset({"max-width", "min-width", "height", "overflow"})
_ATTRIBUTES: Final = _STYLES | frozenset(
    {"d", "x", "y", "x1", "y1", "x2", "y2", "cx", "cy", "r", "rx", "ry", "dx", "dy", "fx", "fy", "width", "height"}
    | {"points", "transform", "viewBox", "preserveAspectRatio", "patternUnits", "patternContentUnits", "offset"}
    | {"patternTransform", "gradientUnits", "gradientTransform", "clipPathUnits", "role", "aria-labelledby"}
)
_ID: Final = re.compile(r"tf[0-9a-f]+-[\w\-]+")
_INSIDE: Final = re.compile(r"url\(#tf[0-9a-f]+-[\w\-]+\)")
_VALUE: Final = re.compile(r"[\w#.,%+\- ]*|rgba?\([\d., %]*\)")
_GEOMETRY: Final = re.compile(r"[\w#.,%+\- ()]*")
_PIXELS: Final = re.compile(r"data:image/png;base64,[A-Za-z0-9+/=\s]*")


def safe_svg(markup: str) -> str:
    """Return an ``svg`` element without scripts, styles that load anything, or links to other files.

    Pictures drawn by truefit are returned unchanged; what is not SVG is refused.

    Examples
    --------
    >>> safe_svg('<svg onload="alert(1)"><script>alert(2)</script><path d="M0 0" style="fill: url(http://a.b)"/></svg>')
    '<svg><path d="M0 0" /></svg>'
    """
    if not markup.lstrip().startswith("<svg"):
        raise InvalidInput(f"A figure must be SVG markup that begins with '<svg'. Got {markup[:20]!r} instead.")
    # Entities need a declaration; pictures of truefit have neither declarations nor instructions.
    if "<!" in markup or "<?" in markup:
        raise InvalidInput("A figure must be one svg element. Got declarations, comments or instructions in it.")
    try:
        parser = ElementTree.XMLParser(target=_Builder())
        parser.feed(markup)
        root = parser.close()
    except ElementTree.ParseError as error:
        raise InvalidInput(f"A figure must be well-formed SVG. The parser reports: {error}.") from error
    _clean(root, inside=False, root=True)
    _cut_chains(root)
    return ElementTree.tostring(root, encoding="unicode")


class _Builder(ElementTree.TreeBuilder):
    """Builds the tree of a picture, up to a maximum size."""

    def __init__(self) -> None:
        super().__init__()
        self._levels = self._elements = 0

    def start(self, tag: str, attrs: dict[Any, Any]) -> Element:
        self._levels += 1
        self._elements += 1
        if self._levels > MOST_LEVELS or self._elements > MOST_ELEMENTS:
            raise InvalidInput(
                f"A figure must have at most {MOST_ELEMENTS:,} elements, nested at most {MOST_LEVELS} deep. Got more."
            )
        return super().start(tag.removeprefix(_SVG), attrs)

    def end(self, tag: str) -> Element:
        self._levels -= 1
        return super().end(tag.removeprefix(_SVG))


def _clean(element: Element, *, inside: bool, root: bool = False) -> None:
    """Keep what is listed, in an element and all below it; ``inside`` is true below a target of references."""
    inside = inside or element.tag in _REFERRED
    allowed = dict(_allowed_attributes(element, inside=inside, root=root))
    element.attrib.clear()
    element.attrib.update(allowed)
    for child in list(element):
        known = child.tag in _ELEMENTS and child.tag != "svg" and element.tag not in _TEXT_ONLY
        if not known or (inside and child.tag == "use") or (child.tag in ("use", "image") and not _target(child)):
            element.remove(child)
        else:
            _clean(child, inside=inside)


def _allowed_attributes(element: Element, *, inside: bool, root: bool) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        if name in ("href", f"{_XLINK}href"):
            if element.tag in ("use", "image"):
                yield "href", value
        elif name == "id":
            if _ID.fullmatch(value):
                yield name, value
        elif name == "style":
            style = "; ".join(_allowed_styles(value, inside=inside, root=root))
            if style:
                yield name, style
        elif name in _ATTRIBUTES and _fits(value, _GEOMETRY, inside=inside):
            yield name, value


def _allowed_styles(style: str, *, inside: bool, root: bool) -> Iterator[str]:
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        known = name in _STYLES or (root and name in _ROOT_STYLES)
        if known and _fits(value, _VALUE, inside=inside):
            yield f"{name}: {value}"


def _fits(value: str, form: re.Pattern[str], *, inside: bool) -> bool:
    """Whether a value matches, or refers to a part of the same picture where that is allowed."""
    if "url" in value.lower():
        return not inside and _INSIDE.fullmatch(value) is not None
    return form.fullmatch(value) is not None


def _target(element: Element) -> bool:
    """Whether an element shows a part of the same picture, or embedded pixels."""
    href = element.attrib.get("href") or element.attrib.get(f"{_XLINK}href") or ""
    if element.tag == "image":
        return _PIXELS.fullmatch(href) is not None
    return href.startswith("#") and _ID.fullmatch(href[1:]) is not None


def _cut_chains(root: Element) -> None:
    """Remove references to parts that contain references: each step would multiply what is drawn."""
    repeating = {element.attrib.get("id") for element in root.iter() if next(element.iter("use"), None) is not None}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "use" and child.attrib["href"][1:] in repeating:
                parent.remove(child)


@cache
def environment() -> Environment:
    """Return the templates of this package, with escaping, and errors for unknown names."""
    from jinja2 import Environment, PackageLoader, StrictUndefined

    return Environment(
        loader=PackageLoader("truefit._report", "templates"),
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
    """Return the style or script of the page, a file of the templates' folder."""
    from markupsafe import Markup

    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0])


def figure(svg: str | None) -> Markup | None:
    """Return a picture as safe markup: it may come from a store that somebody else wrote."""
    from markupsafe import Markup

    return None if svg is None else Markup(safe_svg(svg))


def render_fragment(
    title: str,
    headline: str,
    *,
    terms: Sequence[tuple[str, str]] = (),
    lines: Sequence[str] = (),
    table: Mapping[str, Any] | None = None,
    figure_svg: str | None = None,
) -> str:
    """Render a result to a small piece of HTML, for ``_repr_html_``.

    Its style holds for itself only, takes the colours of the notebook, and needs no script. ``terms`` are questions
    with their answers, ``lines`` are in small print below the table, which is as in ``TableCells.of``.

    Examples
    --------
    >>> html = render_fragment("Ridge & co", "Error 0.12.")
    >>> "Ridge &amp; co" in html, "Error 0.12." in html
    (True, True)
    """
    return render(
        "fragment.html.j2",
        title=title,
        headline=headline,
        terms=terms,
        lines=[str(line) for line in lines],
        table=None if table is None else TableCells.of(table),
        figure=figure(figure_svg),
        style=asset("fragment.css"),
    )
