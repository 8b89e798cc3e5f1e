"""Learning curves that resume: the store records which rows were sampled, so a grown table starts with them."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from hashlib import blake2b
from typing import TYPE_CHECKING, Any

from truefit._core.packages import IDENTITY_VERSION
from truefit._stores.sqlite import SqliteStore

if TYPE_CHECKING:
    from truefit._core.outcome import Outcome
    from truefit.sources.on_demand import RowsOnDemand


@dataclass(frozen=True, slots=True)
class _Sample:
    """The record of a sample: keys of its rows in their order, and a digest of their content."""

    kind: str
    keys: list[Any]
    totals: list[int]
    digest: str
    schema: str
    identity: int = 1


def resumed_rows(
    data: str,
    target: str | None,
    *,
    table: str | None,
    key: str | None,
    drop: Sequence[str],
    seed: int | None,
    store: RecordingStore | None,
) -> ResumedRows:
    """Open a table; rows that the store recorded come first. Columns to ``drop`` are not features."""
    from truefit.sources import open_rows

    rows = open_rows(data, target, table=table, key=key, seed=seed or 0)
    name = f"rows of {rows.place} with target {target}, seed {seed}"
    note = None if store is None else store.note(name)
    known = None if store is None or note is None else _sample_of(note, store)
    if known is not None and known.kind != rows.kind:
        # A file that has grown is read in the same way as before: only then are its rows recognised.
        rows = open_rows(data, target, seed=seed or 0, whole=known.kind == "content")
    resumed = ResumedRows(rows, known, store, name, drop)
    if store is not None:
        store.rows = resumed
    return resumed


class ResumedRows:
    """Rows in an order that starts with the sample of an earlier call.

    Fits are identified by the content of their rows, so a lost sample costs fits but never changes a result. ``totals``
    are the numbers of rows at earlier calls; ``change`` describes edits of the earlier sample, or is None.
    """

    def __init__(
        self, rows: RowsOnDemand, known: _Sample | None, store: SqliteStore | None, name: str, drop: Sequence[str]
    ) -> None:
        same = known is not None and known.identity == IDENTITY_VERSION
        self.source = rows if known is None or not same else rows.beginning_with(known.keys)
        self.name, self.total = rows.name, rows.total
        self._store = store
        self._note = name
        self._drop = drop
        self.change = None if known is None else self._change(known)
        kept = known is not None and same and self.source.missing < len(known.keys)
        self.totals = [total for total in known.totals if total < rows.total] if known is not None and kept else []
        self._taken = 0
        self._written = len(known.keys) if known is not None and self.change is None else 0

    def _change(self, known: _Sample) -> str | None:
        if known.identity != IDENTITY_VERSION:
            return (
                f"The rows of {self.name!r} were sampled by another version of truefit, with another hash of "
                "rows. A new sample is drawn, and every fit is run again."
            )
        if _short(self.source.schema) != known.schema:
            return f"The columns of {self.name!r} or their types have changed. Every fit is run again."
        edited = self.source.digest(len(known.keys)) != known.digest
        if not self.source.missing and not edited:
            return None
        some = f"{self.source.missing:,}" if self.source.missing else "some"
        return (
            f"Edited or removed since the last call: {some} of the {len(known.keys):,} sampled rows of "
            f"{self.name!r}. Fits that used them are run again."
        )

    def take(self, n: int) -> tuple[Any, Any]:
        """Return X and y of the first n rows."""
        table = self.source.table(n).with_roles(drop=self._drop)
        self._taken = len(table.y)
        return table.X, table.y

    def save_sample(self) -> None:
        """Record the rows that were taken, if they are more than recorded before."""
        if self._store is None or self._taken <= self._written:
            return
        sample = _Sample(
            kind=self.source.kind,
            keys=self.source.keys(self._taken).tolist(),
            totals=[*self.totals, self.total],
            digest=self.source.digest(self._taken),
            schema=_short(self.source.schema),
            identity=IDENTITY_VERSION,
        )
        self._store.write_note(self._note, json.dumps(asdict(sample)))
        self._written = self._taken


class RecordingStore(SqliteStore):
    """A store that records the sampled rows with the first fit on them, so that a killed run can resume."""

    rows: ResumedRows | None = None

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Store outcomes, and which rows were sampled."""
        super().put(outcomes)
        if self.rows is not None:
            self.rows.save_sample()


def _sample_of(note: str, store: SqliteStore) -> _Sample:
    try:
        sample = _Sample(**json.loads(note))
    except (TypeError, ValueError, RecursionError) as error:
        raise store.damaged(f"the record of a sample cannot be read ({error})") from error
    types = {"kind": str, "keys": list, "totals": list, "digest": str, "schema": str, "identity": int}
    valid = all(isinstance(getattr(sample, name), kind) for name, kind in types.items())
    if not valid or not all(isinstance(total, int) for total in sample.totals):
        raise store.damaged("the record of a sample has another type than expected")
    return sample


def _short(text: str) -> str:
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()
