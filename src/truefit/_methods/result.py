"""Result: what every method returns."""

from __future__ import annotations

import math
import warnings
from collections.abc import Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import FitError
from truefit._core.outcome import Failure, grouped_failures, reasons
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


class EstimatorResult(Result):
    """A result about one or several estimators: with one a number is a float, with several each is a dict by name."""

    names: list[str]
    single: bool

    def _one_or_all(self, by_name: dict[str, Any]) -> Any:
        return by_name[self.names[0]] if self.single else by_name

    @property
    def heading(self) -> str:
        """What was measured, and how."""
        raise NotImplementedError

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        return []

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per estimator, with a column ``estimate``."""
        import pandas as pd

        return pd.DataFrame([{"estimator": name, **self._line(name)} for name in self.names]).set_index("estimator")

    def _line(self, name: str) -> dict[str, Any]:
        """Return an estimator's row of the table."""
        raise NotImplementedError

    def summary(self) -> str:
        """Return the numbers of each estimator, and what to know about them."""
        width = max(len(name) for name in self.names)
        lines = [self.heading, *(f"  {name:<{width}}  {self._text(name)}" for name in self.names), *self._remarks()]
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _text(self, name: str) -> str:
        """Return an estimator's numbers in a line."""
        raise NotImplementedError

    def _remarks(self) -> list[str]:
        """Return what is said of all estimators together."""
        return []


def report_failures(failures: Sequence[Failure], total: int) -> None:
    """Warn of fits that failed; all of them is an error."""
    if failures and len(failures) == total:
        raise FitError(f"All {total} fits failed. {reasons(failures)}", failures)
    if failures:
        warnings.warn(f"{len(failures)} of {total} fits failed.\n\n{grouped_failures(failures)}", stacklevel=3)


def plain(value: Any) -> Any:
    """Return a number as JSON has it: Python's type, and None for what is not finite."""
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
