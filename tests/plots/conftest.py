"""What holds for every picture: nothing is cut off and no words lie on others."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from matplotlib.axes import Axes
from matplotlib.text import Text
from matplotlib.transforms import Bbox

from truefit._plots.svg import to_svg

#: Pixels that a letter's box may reach over an edge: boxes are taller than letters.
SLACK = 2.0


@pytest.fixture
def check_layout() -> Callable[[Axes], None]:
    """Draw a picture, on the screen and as SVG, and look at where its words are."""

    def check(ax: Axes) -> None:
        figure = ax.figure.figure
        figure.draw_without_rendering()
        # Of an annotation the words alone, without the line to them.
        boxes = [(text.get_text(), Text.get_window_extent(text)) for text in _words(ax) if text.get_text().strip()]
        left, bottom, right, top = figure.bbox.extents
        for text, box in boxes:
            inside = left - SLACK <= box.x0 and box.x1 <= right + SLACK
            inside &= bottom - SLACK <= box.y0 and box.y1 <= top + SLACK
            assert inside, f"{text!r} is cut off"
        for i, (text, box) in enumerate(boxes):
            for other, second in boxes[i + 1 :]:
                shared = Bbox.intersection(box, second)
                overlap = shared is not None and min(shared.width, shared.height) > SLACK
                assert not overlap, f"{text!r} lies on {other!r}"
        assert ax.get_position().width > 0.2
        assert to_svg(ax, title="A picture", description="What is to be seen.").startswith("<svg")

    return check


def _words(ax: Axes) -> Iterator[Text]:
    for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
        low, high = sorted(limits)
        yield axis.label
        # Ticks outside the limits have labels too, which are never drawn.
        for place, label in zip(axis.get_majorticklocs(), axis.get_ticklabels(), strict=True):
            if low <= place <= high:
                yield label
    yield from ax.texts
    if ax.get_legend() is not None:
        yield from [ax.get_legend().get_title(), *ax.get_legend().get_texts()]
