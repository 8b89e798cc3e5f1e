"""RowSource: rows on demand, for methods that read no more of a table than they need."""

from __future__ import annotations

from typing import Any, Protocol, runtime_checkable


@runtime_checkable
class RowSource(Protocol):
    """A table with its target that is read from the front, in one fixed random sequence of its rows.

    A sample of n rows is the first n of the sequence, so a larger sample contains every smaller one.
    """

    @property
    def name(self) -> str:
        """What messages call it."""
        ...

    @property
    def total(self) -> int | None:
        """How many rows there are; None where that is not known."""
        ...

    def take(self, n: int) -> tuple[Any, Any]:
        """Return X and y of the first n rows, or of all where there are fewer."""
        ...
