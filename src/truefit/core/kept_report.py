"""KeptReport: a finished report as a store keeps it, and ReportStore: a store that does."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Protocol, runtime_checkable


@dataclass(frozen=True, slots=True)
class KeptReport:
    """A finished report: plain JSON types only, so that it is read without fitting and without unpickling.

    Attributes
    ----------
    id : str
        The same report has the same, and takes its own place when it is kept again.
    made_at : str
        When it was finished, as ISO 8601 in UTC.
    made : mapping
        The command, the data and the versions: what it takes to make it again.
    content : mapping
        The result, and the pictures of it.
    """

    id: str
    made_at: str
    made: Mapping[str, Any]
    content: Mapping[str, Any]


@runtime_checkable
class ReportStore(Protocol):
    """A store that also keeps finished reports.

    The contract, checked by ``truefit.testing.ReportContract``:

    - ``reports`` returns all that were kept, the one made last first.
    - ``put_report`` takes the place of a report of the same id; reports and fits do not touch each other.
    - ``count_fits`` is the number of outcomes that the store holds.
    """

    def put_report(self, report: KeptReport) -> None:
        """Keep a report."""
        ...

    def reports(self) -> list[KeptReport]:
        """Return all reports, the one made last first."""
        ...

    def count_fits(self) -> int:
        """How many fits are kept."""
        ...
