"""The palette: one ink for everything that is not data, one colour for data, one for what stands out, five for series.

Every colour contrasts at least 3:1 with a white page and with a nearly black one, the minimum that WCAG 2.2
asks of graphics (1.4.11), so that one picture reads on both. Any two of them stay apart in the common kinds of
colour blindness. What stands out also has a shape or a weight of its own, and every series a stroke of its own:
never a colour alone.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

#: A line style as matplotlib takes it: unbroken, or an offset and the lengths of dashes and gaps.
Stroke: TypeAlias = Literal["-"] | tuple[float, tuple[float, ...]]

#: Text, axes, and with some transparency the grid. Becomes ``currentColor`` in SVG.
INK = "#1d222b"
#: Data.
DATA = "#3a80c1"
#: The one thing that the eye should find first.
MARK = "#d2641a"
#: Several series in one picture: blue, orange, violet, moss, rose.
SERIES = (DATA, MARK, "#9333ea", "#5f7048", "#cb7a9c")
STROKES: tuple[Stroke, ...] = ("-", (0, (5, 1.6)), (0, (5, 1.4, 1.4, 1.4)), (0, (1.6, 1.3)), (0, (9, 2)))

#: How much of the ink is left in lines that should stay behind the data.
FAINT = 0.16
#: How much of a series' colour is left in the band around it: two bands that overlap are still seen through.
BAND = 0.22


def series_style(place: int) -> tuple[str, Stroke]:
    """Return colour and stroke of a series by its place: no two of the first 25 have both in common.

    Examples
    --------
    >>> series_style(0)
    ('#3a80c1', '-')
    >>> series_style(5)[0] == series_style(0)[0], series_style(5)[1] == series_style(0)[1]
    (True, False)
    """
    count = len(SERIES)
    return SERIES[place % count], STROKES[(place + place // count) % count]
