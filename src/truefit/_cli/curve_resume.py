"""ResumedRows: rows on demand whose samples a store remembers, so that they come first when the table grows."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from truefit._core.hashing import IDENTITY_VERSION
from truefit._stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from truefit._core.outcome import Outcome
    from truefit.sources.on_demand import RowsOnDemand
    from truefit.sources.table import Table


@dataclass(frozen=True, slots=True)
class _Sample:
    """What is written down about a sample: whose rows, in which order, and what they were."""

    kind: str
    keys: list[Any]
    totals: list[int]
    digest: str
    schema: str
    identity: int = 1


def resumed_rows(
    data: str, target: str | None, *, table: str | None, key: str | None, seed: int | None, store: RecordingStore | None
) -> ResumedRows:
    """Open a table, in a sequence that goes on from what the store remembers of it."""
    from truefit.sources import open_rows

    rows = open_rows(data, target, table=table, key=key, seed=seed or 0)
    name = f"rows of {rows.place} with target {target}, seed {seed}"
    note = None if store is None else store.note(name)
    known = None if store is None or note is None else _sample_of(note, store)
    if known is not None and known.kind != rows.kind:
        # A file that has grown is still read as it was before, else its rows would not be found again.
        rows = open_rows(data, target, seed=seed or 0, whole=known.kind == "content")
    resumed = ResumedRows(rows, known, store, name)
    if store is not None:
        store.rows = resumed
    return resumed


class ResumedRows:
    """Rows in a sequence that goes on from the sample of an earlier call.

    What was fitted is known by content, whatever the sequence: forgetting one costs fits, and never changes an answer.

    Attributes
    ----------
    totals : list of int
        How many rows there were at earlier calls.
    change : str or None
        What has happened to the rows of the earlier sample, in words; None where they are what they were.
    """

    def __init__(self, rows: RowsOnDemand, known: _Sample | None, store: SqliteStore | None, name: str) -> None:
        same = known is not None and known.identity == IDENTITY_VERSION
        self._rows = rows if known is None or not same else rows.beginning_with(known.keys)
        self._store = store
        self._note = name
        self.change = None if known is None else self._change(known)
        # Where nothing is left of the sample, nothing was measured that could be gone on from.
        kept = known is not None and same and self._rows.missing < len(known.keys)
        self.totals = [total for total in known.totals if total < rows.total] if known is not None and kept else []
        self._taken = 0
        self._written = len(known.keys) if known is not None and self.change is None else 0

    def _change(self, known: _Sample) -> str | None:
        if known.identity != IDENTITY_VERSION:
            return (
                f"The rows of {self.name!r} were sampled by another version of truefit, which knew rows by other "
                "tokens; the sample begins anew, and every fit is run again."
            )
        if _short(self._rows.schema) != known.schema:
            return f"The columns of {self.name!r} or their types have changed since; every fit is run again."
        edited = self._rows.digest(len(known.keys)) != known.digest
        if not self._rows.missing and not edited:
            return None
        some = f"{self._rows.missing:,}" if self._rows.missing else "some"
        return (
            f"Edited or removed since the last call: {some} of the {len(known.keys):,} rows of {self.name!r} that were "
            "sampled then. The fits that they were part of are run again."
        )

    @property
    def name(self) -> str:
        """What messages call it."""
        return self._rows.name

    @property
    def total(self) -> int:
        """How many rows there are."""
        return self._rows.total

    @property
    def unlabelled(self) -> int:
        """How many rows have no target yet."""
        return self._rows.unlabelled

    def table(self, n: int) -> Table:
        """Return the first n rows, or all where there are fewer, with what their target looks like."""
        return self._rows.table(n)

    def take(self, n: int) -> tuple[Any, Any]:
        """Return X and y of the first n rows."""
        taken = self._rows.take(n)
        self._taken = len(taken[1])
        return taken

    def write_down(self) -> None:
        """Remember the rows that were taken, if they are more than is written down already."""
        if self._store is None or self._taken <= self._written:
            return
        sample = _Sample(
            kind=self._rows.kind,
            keys=self._rows.keys(self._taken).tolist(),
            totals=[*self.totals, self.total],
            digest=self._rows.digest(self._taken),
            schema=_short(self._rows.schema),
            identity=IDENTITY_VERSION,
        )
        self._store.write_note(self._note, json.dumps(asdict(sample)))
        self._written = self._taken


class RecordingStore(SqliteStore):
    """A store that remembers the rows with the first fit on them: a run that is killed goes on from both."""

    rows: ResumedRows | None = None

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes, and which rows were sampled."""
        super().put(outcomes)
        if self.rows is not None:
            self.rows.write_down()


def _sample_of(note: str, store: SqliteStore) -> _Sample:
    try:
        sample = _Sample(**json.loads(note))
    except (TypeError, ValueError, RecursionError) as error:
        raise store.damaged(f"what it remembers of a table does not read ({error})") from error
    types = {"kind": str, "keys": list, "totals": list, "digest": str, "schema": str, "identity": int}
    if not all(isinstance(getattr(sample, name), kind) for name, kind in types.items()) or not all(
        isinstance(total, int) for total in sample.totals
    ):
        raise store.damaged("what it remembers of a table is of another type than was written")
    return sample


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
