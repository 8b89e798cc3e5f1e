"""HTML: templates in which everything is escaped unless marked safe, a result in a notebook, and safe SVG.

A picture may come from a store that somebody else wrote, and it stands in the page as markup. So it is parsed, and only
elements, attributes and styles from the lists below are written again.
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

#: More than this is no picture of ours, and takes a browser long to draw.
MOST_ELEMENTS: Final = 200_000
MOST_LEVELS: Final = 64

_SVG: Final = "{http://www.w3.org/2000/svg}"
_XLINK: Final = "{http://www.w3.org/1999/xlink}"
#: HTML parses what is inside these two as HTML: they hold text only.
_TEXT_ONLY: Final = frozenset({"title", "desc"})
_ELEMENTS: Final = _TEXT_ONLY | frozenset(
    {"svg", "g", "defs", "path", "rect", "circle", "ellipse", "line", "polyline", "polygon", "text", "tspan", "use"}
    | {"image", "clipPath", "pattern", "linearGradient", "radialGradient", "stop"}
)
#: What others refer to. Inside them nothing refers on, or a short file could draw without an end.
_REFERRED: Final = frozenset({"defs", "clipPath", "pattern", "linearGradient", "radialGradient"})
_STYLES: Final = frozenset(
    {"fill", "fill-opacity", "fill-rule", "stroke", "stroke-opacity", "stroke-width", "stroke-linecap", "opacity"}
    | {"stroke-linejoin", "stroke-miterlimit", "stroke-dasharray", "stroke-dashoffset", "clip-path", "clip-rule"}
    | {"font-size", "font-style", "font-weight", "font-variant", "font-stretch", "text-anchor", "dominant-baseline"}
    | {"image-rendering", "stop-color", "stop-opacity"}
)
_ROOT_STYLES: Final = frozenset({"max-width", "min-width", "height"})
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
    """Return a picture with nothing in it but what draws: no scripts, no styles that load, no links to elsewhere.

    Pictures that truefit has drawn come back as they are.

    Parameters
    ----------
    markup : str
        An ``svg`` element.

    Raises
    ------
    InvalidInput
        If it is no SVG.

    Examples
    --------
    >>> safe_svg('<svg onload="alert(1)"><script>alert(2)</script><path d="M0 0" style="fill: url(http://a.b)"/></svg>')
    '<svg><path d="M0 0" /></svg>'
    """
    if not markup.lstrip().startswith("<svg"):
        raise InvalidInput(f"A figure must be SVG markup that begins with '<svg'. Got {markup[:20]!r} instead.")
    # Entities, external ones too, need a declaration; the pictures of truefit have none, nor instructions.
    if "<!" in markup or "<?" in markup:
        raise InvalidInput("A figure must be one svg element. Got declarations, comments or instructions in it.")
    try:
        parser = ElementTree.XMLParser(target=_Builder())
        parser.feed(markup)
        root = parser.close()
    except ElementTree.ParseError as error:
        raise InvalidInput(f"A figure must be well-formed SVG. The parser says: {error}.") from error
    _clean(root, inside=False, root=True)
    _cut_chains(root)
    return ElementTree.tostring(root, encoding="unicode")


class _Builder(ElementTree.TreeBuilder):
    """Builds the tree of a picture, up to a size."""

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
    """Keep what is on the lists, in an element and all below it; ``inside`` of what others refer to."""
    inside = inside or element.tag in _REFERRED
    kept = dict(_kept(element, inside=inside, root=root))
    element.attrib.clear()
    element.attrib.update(kept)
    for child in list(element):
        allowed = child.tag in _ELEMENTS and child.tag != "svg" and element.tag not in _TEXT_ONLY
        if not allowed or (inside and child.tag == "use") or (child.tag in ("use", "image") and not _target(child)):
            element.remove(child)
        else:
            _clean(child, inside=inside)


def _kept(element: Element, *, inside: bool, root: bool) -> Iterator[tuple[str, str]]:
    for name, value in element.attrib.items():
        if name in ("href", f"{_XLINK}href"):
            if element.tag in ("use", "image"):
                yield "href", value
        elif name == "id":
            if _ID.fullmatch(value):
                yield name, value
        elif name == "style":
            style = "; ".join(_kept_styles(value, inside=inside, root=root))
            if style:
                yield name, style
        elif name in _ATTRIBUTES and _fits(value, _GEOMETRY, inside=inside):
            yield name, value


def _kept_styles(style: str, *, inside: bool, root: bool) -> Iterator[str]:
    for declaration in style.split(";"):
        name, _, value = (part.strip() for part in declaration.partition(":"))
        known = name in _STYLES or (root and name in _ROOT_STYLES)
        if known and _fits(value, _VALUE, inside=inside):
            yield f"{name}: {value}"


def _fits(value: str, form: re.Pattern[str], *, inside: bool) -> bool:
    """Whether a value has this form, or refers to a part of the same picture where that is allowed."""
    if "url" in value.lower():
        return not inside and _INSIDE.fullmatch(value) is not None
    return form.fullmatch(value) is not None


def _target(element: Element) -> bool:
    """Whether an element shows something of the picture itself: a part of it, or pixels that it brings along."""
    href = element.attrib.get("href") or element.attrib.get(f"{_XLINK}href") or ""
    if element.tag == "image":
        return _PIXELS.fullmatch(href) is not None
    return href.startswith("#") and _ID.fullmatch(href[1:]) is not None


def _cut_chains(root: Element) -> None:
    """Take out what repeats a part that itself repeats parts: each step would multiply what is drawn."""
    repeating = {element.attrib.get("id") for element in root.iter() if next(element.iter("use"), None) is not None}
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "use" and child.attrib["href"][1:] in repeating:
                parent.remove(child)


@cache
def environment() -> Environment:
    """Return the templates of this package, with escaping on and unknown names an error."""
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
    """Return a file of the templates' folder as it is: our own style or script, put into the page."""
    from markupsafe import Markup

    loader = environment().loader
    assert loader is not None
    return Markup(loader.get_source(environment(), name)[0])


def figure(svg: str | None) -> Markup | None:
    """Return a drawing as markup, with nothing in it but what draws: it may come from the store of somebody else."""
    from markupsafe import Markup

    return None if svg is None else Markup(safe_svg(svg))


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
        As in :func:`truefit._report.render_page`.
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
        table=None if table is None else TableCells.of(table),
        figure=figure(figure_svg),
        style=asset("fragment.css"),
    )
