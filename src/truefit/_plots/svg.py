"""SVG for HTML: a figure as markup that lives inside a page and takes on its colours and its font."""

from __future__ import annotations

import io
import re
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import TYPE_CHECKING
from xml.etree import ElementTree

from truefit._plots.canvas import INK, NARROW, canvas, close

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Element = ElementTree.Element

#: How much smaller than drawn a picture may be shown: letters of 10 points are then about 9 pixels high.
SHRINK = 0.7

_GEOMETRY = frozenset({"d", "x", "y", "width", "height", "transform"})
_LONG = re.compile(r"-?\d+\.\d{3,}")
_REFERENCE = re.compile(r"url\(#([^)]+)\)")


def to_svg(ax: Axes, *, title: str, description: str) -> str:
    """Return the figure of these axes as inline SVG: an ``svg`` element without prolog or namespaces.

    Text stays text, in the font of the page; everything in the ink of the palette, or in black, becomes
    ``currentColor``, so that one picture serves light and dark pages. The same figure gives the same
    string, and identifiers are not shared between figures of one page. A screen reader reads the title and the
    description. A notebook does not display the figure a second time.
    """
    root = ElementTree.fromstring(_rendered(ax))
    _strip(root)
    salt = blake2b(ElementTree.tostring(root), key=title.encode()[:64], digest_size=5).hexdigest()
    _rename(root, f"tf{salt}")
    _frame(root, f"tf{salt}", title, description)
    return ElementTree.tostring(root, encoding="unicode")


def to_svgs(draw: Callable[..., Axes], *, title: str, description: str, fixed: bool = False) -> tuple[str, str | None]:
    """Return a picture as SVG, as wide as a column of text and for a phone; a ``fixed`` one keeps its shape on both."""
    wide = draw()
    svg = to_svg(wide, title=title, description=description)
    if fixed:
        return svg, None
    narrow = draw(ax=canvas(NARROW, float(wide.figure.figure.get_size_inches()[1])))
    return svg, to_svg(narrow, title=title, description=description)


def _rendered(ax: Axes) -> str:
    import matplotlib

    target = io.StringIO()
    # A subfigure cannot be saved alone: its own figure is the whole.
    figure = ax.figure.figure
    # Both settings are read while drawing: text as text, and the same identifiers on every run.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "truefit"}):
        figure.savefig(target, format="svg", transparent=True, metadata={"Date": None})
    close(figure)
    return target.getvalue()


def _strip(root: Element) -> None:
    """Take out what HTML has no use for, and what would reach outside the picture."""
    for parent in list(root.iter()):
        for child in list(parent):
            # matplotlib's style rule is for "*": inside a page that is the whole page.
            if child.tag.endswith(("}metadata", "}style")):
                parent.remove(child)
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        element.text = _text(element.text, keep=element.tag in ("text", "tspan"))
        element.tail = _text(element.tail, keep=False)
        for name in list(element.attrib):
            element.attrib[name.rpartition("}")[2]] = _value(name, element.attrib.pop(name))
        if element.attrib.get("transform", "").startswith("rotate(-0 "):
            del element.attrib["transform"]
    for element in root.iter("g"):
        _hoist(element)


def _hoist(group: Element) -> None:
    """Move a style that all children share to the group."""
    styles = {child.attrib.get("style") for child in group}
    style = styles.pop() if len(styles) == 1 and len(group) > 1 else None
    # Opacity is of the group as one picture: overlapping points would no longer add up.
    if style and "style" not in group.attrib and not re.search(r"(^|; )opacity", style):
        group.attrib["style"] = style
        for child in group:
            del child.attrib["style"]


def _text(text: str | None, *, keep: bool) -> str | None:
    return text if keep or (text and text.strip()) else None


def _value(name: str, value: str) -> str:
    if name in _GEOMETRY:
        # A hundredth of a point is finer than any screen; matplotlib writes a millionth.
        return _LONG.sub(lambda hit: f"{float(hit[0]):.2f}", " ".join(value.split()))
    if name == "style":
        parts = [part.strip() for part in value.split(";")]
        value = "; ".join(part for part in parts if part and not part.startswith("font-family"))
        return re.sub(rf"{INK}|#000000|#000\b", "currentColor", value)
    return value


def _references(root: Element) -> Iterator[str]:
    for element in root.iter():
        for name, value in element.attrib.items():
            if name == "href" and value.startswith("#"):
                yield value[1:]
            yield from _REFERENCE.findall(value)


def _rename(root: Element, salt: str) -> None:
    """Keep the identifiers that something refers to, under names that no other figure of the page has."""
    used = {name: f"{salt}-{i}" for i, name in enumerate(dict.fromkeys(_references(root)))}
    for element in root.iter():
        identifier = element.attrib.pop("id", None)
        if identifier in used:
            element.attrib["id"] = used[identifier]
        for name, value in element.attrib.items():
            if name == "href" and value.startswith("#"):
                element.attrib[name] = f"#{used[value[1:]]}"
            else:
                element.attrib[name] = _REFERENCE.sub(lambda hit: f"url(#{used[hit[1]]})", value)


def _frame(root: Element, salt: str, title: str, description: str) -> None:
    width, height = (float(root.attrib.pop(side).removesuffix("pt")) for side in ("width", "height"))
    root.attrib.pop("version", None)
    root.attrib |= {
        "role": "img",
        "aria-labelledby": f"{salt}-title {salt}-desc",
        # Points become CSS pixels. A narrow column shrinks the picture as long as it is legible, and then scrolls.
        "width": f"{width * 4 / 3:.0f}",
        "height": f"{height * 4 / 3:.0f}",
        "fill": "currentColor",
        "style": f"max-width: 100%; min-width: {width * 4 / 3 * SHRINK:.0f}px; height: auto; "
        "stroke-linejoin: round; stroke-linecap: butt",
    }
    for position, (tag, text) in enumerate((("title", title), ("desc", description))):
        element = ElementTree.Element(tag, id=f"{salt}-{tag}")
        element.text = text
        root.insert(position, element)
