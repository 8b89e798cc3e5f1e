"""Result: what every method returns."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._plots.svg import to_svg
from truefit._report.html import render_fragment

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


class Result:
    """Base of all results: a table, a few lines of text, a picture, and plain data."""

    #: What the result is about, as a heading.
    title = "Result"

    @property
    def table(self) -> pd.DataFrame:
        """One row per estimator, or per fold."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return a few lines of text that say what was found."""
        raise NotImplementedError

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types, with a version."""
        raise NotImplementedError

    def _repr_html_(self) -> str:
        svg = to_svg(self.plot(), title=self.title, description=self.summary())
        frame = self.table.reset_index()
        table = {"columns": list(frame.columns), "rows": frame.astype(object).to_numpy().tolist()}
        return render_fragment(self.title, self.summary().splitlines(), table, svg)

    def __repr__(self) -> str:
        return self.summary()


def plain(value: Any) -> Any:
    """Return a number as JSON has it: Python's type, and None for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
