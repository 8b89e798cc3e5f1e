"""The palette: one ink for everything that is not data, one colour for data, one for what stands out.

The two colours contrast at least 3:1 with a white page and with a nearly black one, the minimum that WCAG
2.2 asks of graphics (1.4.11), so that one picture reads on both. Blue and orange stay apart in the common
kinds of colour blindness. What stands out also has a shape or a weight of its own, never a colour alone.
"""

from __future__ import annotations

#: Text, axes, and with some transparency the grid. Becomes ``currentColor`` in SVG.
INK = "#1d222b"
#: Data.
DATA = "#3a80c1"
#: The one thing that the eye should find first.
MARK = "#d2641a"

#: How much of the ink is left in lines that should stay behind the data.
FAINT = 0.16
