"""Result: what every method returns."""

from __future__ import annotations

import json
import math
import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property, wraps
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar, cast, overload

import numpy as np

from truefit._core.errors import Failure, FitError, InvalidInput, commonest_reason, grouped_failures, reasons
from truefit._core.provenance import now, versions
from truefit._plots.svg import to_svg
from truefit._report.html import render_fragment
from truefit._report.page import check_page_path, render_result, write_page

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

Plot = TypeVar("Plot", bound="Callable[..., Axes]")


def plot_method(*kinds: str) -> Callable[[Plot], Plot]:
    """Let ``plot`` take its kind, or the Axes to draw on, as the first argument, and check the kind.

    >>> class Coin:
    ...     @plot_method("pie")
    ...     def plot(self, kind=None, *, ax=None):
    ...         return kind, ax
    >>> Coin().plot("pie")
    ('pie', None)
    >>> Coin().plot("bar")
    Traceback (most recent call last):
    ...
    truefit._core.errors.InvalidInput: The 'kind' parameter of plot must be one of 'pie' or None. Got 'bar' instead.
    """

    def decorate(plot: Plot) -> Plot:
        @wraps(plot)
        def wrapper(self: Any, first: Any = None, /, **options: Any) -> Axes:
            if first is not None:
                options["kind" if isinstance(first, str) else "ax"] = first
            kind = options.get("kind")
            if kind is not None and kind not in kinds:
                allowed = f"one of {', '.join(map(repr, kinds))} or None" if kinds else "None"
                raise InvalidInput(f"The 'kind' parameter of plot must be {allowed}. Got {kind!r} instead.")
            return plot(self, **options)

        return cast("Plot", wrapper)

    return decorate


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

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the result, on a new figure or on the Axes given."""
        raise NotImplementedError

    def to_dict(self) -> dict[str, Any]:
        """Return the result as plain JSON types, with a version."""
        raise NotImplementedError

    def _values(self, *names: str) -> dict[str, Any]:
        """Return attributes as plain JSON types."""
        return {name: plain(getattr(self, name)) for name in names}

    @property
    def headline(self) -> str:
        """The result in one line."""
        return self.summary().splitlines()[0]

    def _details(self) -> list[str]:
        """Return the lines of text below the headline and beside the table."""
        return [line for line in self.summary().splitlines()[1:] if line]

    @overload
    def to_html(self, path: None = None) -> str: ...

    @overload
    def to_html(self, path: str | os.PathLike[str]) -> Path: ...

    def to_html(self, path: str | os.PathLike[str] | None = None) -> str | Path:
        """Return the result as a standalone HTML page, or write that page to a file.

        The page needs no other file and no network: text, tables that can be sorted, and pictures are all in it.

        Parameters
        ----------
        path : str or path-like, optional
            File to write to. Its name must end in ``.html`` or ``.htm``. An existing file is replaced once the new
            page is complete, so that an error never leaves half a page.

        Returns
        -------
        str or Path
            The page itself without a path, the path of the written file otherwise.

        Raises
        ------
        InvalidInput
            If the path is a folder, has another ending, or cannot be written.

        Examples
        --------
        >>> from sklearn.datasets import load_iris
        >>> from sklearn.naive_bayes import GaussianNB
        >>> from truefit import assess
        >>> page = assess(GaussianNB(), *load_iris(return_X_y=True)).to_html()
        >>> page[:15]
        '<!doctype html>'
        """
        return self._written(path, self._page)

    def _written(self, path: str | os.PathLike[str] | None, page: Callable[[], str]) -> str | Path:
        """Return a page, or write it to a file once it is known that it can be written there."""
        if path is None:
            return page()
        place = Path(path).expanduser()
        check_page_path(place)
        write_page(place, page())
        return place

    def _page(self) -> str:
        made = {"date": now(), "versions": versions()}
        return render_result({**report_of(self), "picture": self._svg()}, made)

    def _svg(self) -> str:
        return to_svg(self.plot(), title=self.title, description=self.summary())

    def _repr_html_(self) -> str:
        table = {**_table_of(self), "caption": ""}  # it would repeat the heading
        return render_fragment(self.title, self.headline, lines=self._details(), table=table, figure_svg=self._svg())

    def __repr__(self) -> str:
        return self.summary()


class EstimatorResult(Result):
    """A result about one or several estimators: with one a number is a float, with several each is a dict by name."""

    names: list[str]
    single: bool

    def _one_or_all(self, by_name: dict[str, Any]) -> Any:
        return by_name[self.names[0]] if self.single else by_name

    def _each(self, attribute: str, found: Mapping[str, Any]) -> Any:
        """Return an attribute of what was found for each estimator."""
        return self._one_or_all({name: getattr(each, attribute) for name, each in found.items()})

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
        return frame([{"estimator": name, **self._line(name)} for name in self.names], "estimator")

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
        """Return lines about all estimators together."""
        return []

    @property
    def headline(self) -> str:
        """The number of the only estimator, or what was measured for several."""
        first, *rest = self.summary().splitlines()
        return " ".join(rest[0].split()) if self.single and rest and rest[0].startswith("  ") else first

    def _details(self) -> list[str]:
        first, *rest = self.summary().splitlines()
        # Indented lines are rows of the table.
        return [line for line in [first, *rest] if line and line != self.headline and not line.startswith("  ")]


def frame(rows: Any, index: str) -> pd.DataFrame:
    """Return rows as a data frame, with one of their columns as its index."""
    import pandas as pd

    return pd.DataFrame(rows).set_index(index)


def report_of(result: Result) -> dict[str, Any]:
    """Return the report of a result as plain JSON types: its text, its table and its plain data."""
    data = result.to_dict()
    return {
        "kind": str(data["kind"]).replace("_", " "),
        "version": 2,
        "title": result.title,
        "headline": result.headline,
        "lines": result._details(),
        "summary": result.summary(),
        "result": data,
        "table": _table_of(result),
    }


def _table_of(result: Result) -> dict[str, Any]:
    table = result.table.reset_index()
    rows = json.loads(table.to_json(orient="values", double_precision=15) or "[]")
    return {"columns": list(map(str, table.columns)), "rows": rows, "caption": result.title}


def report_failures(failures: Sequence[Failure], total: int) -> None:
    """Warn of fits that failed; all of them is an error."""
    if failures and len(failures) == total:
        raise FitError(f"All {total} fits failed. {reasons(failures)}", failures)
    if failures:
        head = f"{len(failures)} of {total} fits failed{commonest_reason(failures)}"
        warnings.warn(f"{head}\n\n{grouped_failures(failures)}", stacklevel=3)


def plain(value: Any) -> Any:
    """Return a value as JSON has it: Python's types, and None for numbers that are not finite."""
    if isinstance(value, dict):
        return {key: plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | np.ndarray):
        return [plain(each) for each in value]
    if isinstance(value, np.generic):
        value = value.item()
    return None if isinstance(value, float) and not math.isfinite(value) else value
