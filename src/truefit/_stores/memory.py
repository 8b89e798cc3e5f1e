"""MemoryStore: outcomes for as long as the process lives, the oldest of many in a temporary file."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput, StoreUnusable
from truefit._core.outcome import Outcome
from truefit._core.protocols import Response, StoredReport
from truefit._core.rows import Tokens
from truefit._core.typing import Array
from truefit._stores.codec import StoredAnswer, encodable

if TYPE_CHECKING:
    from truefit._stores.sqlite import TemporaryStore

#: About what Python takes for a record, an answer and a list of rows beyond their arrays.
_RECORD_BYTES = 600
_ANSWER_BYTES = 300
_INTERNED_CLASSES = 256


@dataclass(slots=True)
class _Record:
    """One outcome. An answer has a name, its response and its list of rows; it says whether it is of codes."""

    solver: str
    fit_seconds: float
    classes: Array | None
    answers: dict[tuple[Response, bytes], tuple[bool, Array]]

    @property
    def nbytes(self) -> int:
        """About what it takes in memory, but for the lists of rows."""
        return _RECORD_BYTES + sum(_ANSWER_BYTES + values.nbytes for _, values in self.answers.values())


@dataclass(slots=True)
class _Rowset:
    """A list of tokens, and how many answers in memory are on these rows."""

    tokens: Tokens
    uses: int = 0

    @property
    def nbytes(self) -> int:
        return _ANSWER_BYTES + self.tokens.nbytes


class MemoryStore:
    """Keeps outcomes in memory up to ``limit_bytes``, and the oldest beyond it in a temporary file without a name.

    Its outcomes are handles that read from the store, so memory does not grow with the number of fits, also where
    somebody holds all outcomes. Arrays are the store's own copies, and read-only.
    """

    #: It ends with this process.
    durable = False

    def __init__(self, limit_bytes: int = 8 << 20) -> None:
        if limit_bytes < 0:
            raise InvalidInput(
                f"limit_bytes must not be negative. Got {limit_bytes}. Pass 0 to keep almost nothing in memory."
            )
        self.limit_bytes = limit_bytes
        self._lock = threading.RLock()  # records are spilled by handles that read from here
        self._held = 0
        #: A key is here or in the temporary file, never in both.
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._rowsets: dict[bytes, _Rowset] = {}
        self._classes: dict[tuple[np.dtype[Any], bytes], Array] = {}
        self._spilled: TemporaryStore | None = None
        self._reports: dict[str, StoredReport] = {}

    def get(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Outcomes of those keys that are in the store, their answers read when looked at."""
        with self._lock:
            found = {key: self._outcome(key) for key in keys if key in self._records}
            if self._spilled is not None and len(found) < len(keys):
                found.update(self._spilled.get([key for key in keys if key not in found]))
        return found

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes, all or none; failures, and what only a pickle could hold, are passed over."""
        # Whatever can go wrong with what is given goes wrong here, before anything is changed.
        rowsets: dict[int, tuple[Tokens, bytes]] = {}
        records = [(outcome.key, record) for outcome in outcomes if (record := _record(outcome, rowsets)) is not None]
        tokens = {rowset: tokens for tokens, rowset in rowsets.values()}
        with self._lock:
            self._make_room(sum(record.nbytes for _, record in records))
            spilled = set()
            if self._spilled is not None:
                spilled = {key for key, _ in records if self._spilled.has(key)}
                self._spilled.put([outcome for outcome in outcomes if outcome.key in spilled])
            for key, record in records:
                if key not in spilled:
                    self._hold(key, record, tokens)

    def put_report(self, report: StoredReport) -> None:
        """Keep a report, in place of one of the same id."""
        with self._lock:
            self._reports[report.id] = report

    def reports(self) -> list[StoredReport]:
        """Return all reports, the one made last first."""
        with self._lock:
            return sorted(self._reports.values(), key=lambda report: report.made_at, reverse=True)

    def count_fits(self) -> int:
        """How many fits are kept."""
        with self._lock:
            return len(self._records) + (0 if self._spilled is None else self._spilled.count_fits())

    def close(self) -> None:
        """Do nothing: what is held here is gone with the store itself, and results may still read from it."""

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows, for a stored answer."""
        with self._lock:
            if rowset in self._rowsets:
                return self._rowsets[rowset].tokens
            return self._file().read_tokens(rowset)

    def read_values(self, key: str, response: Response, rowset: bytes) -> Array:
        """Values of one answer of a fit, for a stored answer."""
        with self._lock:
            record = self._records.get(key)
            if record is not None and (response, rowset) in record.answers:
                return record.answers[response, rowset][1]
            return self._file().read_values(key, response, rowset)

    def _file(self) -> TemporaryStore:
        if self._spilled is None:
            raise StoreUnusable(
                "An answer must still be in its store when it is read. This one was replaced by an outcome with other "
                "classes; get it from the store again."
            )
        return self._spilled

    def _outcome(self, key: str) -> Outcome:
        record = self._records[key]
        answers = [StoredAnswer.of(self, key, *name, coded) for name, (coded, _) in record.answers.items()]
        return Outcome(key, tuple(answers), record.fit_seconds, record.solver, record.classes)

    def _hold(self, key: str, record: _Record, tokens: dict[bytes, Tokens]) -> None:
        """Hold a record, or what it adds to one that is there."""
        classes = None if record.classes is None else self._interned(record.classes)
        there = self._records.get(key)
        known = None if there is None else there.classes
        if known is not None and classes is not None and not np.array_equal(known, classes):
            self._drop(key)  # codes mean nothing under other classes
            there = None
        if there is None:
            there = self._records[key] = _Record(record.solver, record.fit_seconds, classes, {})
            self._held += _RECORD_BYTES
        # The first fit's seconds stay: a budget must decide alike on replay.
        there.classes = classes if there.classes is None else there.classes
        for name, (coded, values) in record.answers.items():
            if name in there.answers:
                continue
            there.answers[name] = coded, values
            self._held += _ANSWER_BYTES + values.nbytes
            _, rowset = name
            if rowset not in self._rowsets:
                self._rowsets[rowset] = _Rowset(_own(tokens[rowset]))
                self._held += self._rowsets[rowset].nbytes
            self._rowsets[rowset].uses += 1

    def _interned(self, classes: Array) -> Array:
        name = (classes.dtype, classes.tobytes())
        if name not in self._classes:
            if len(self._classes) >= _INTERNED_CLASSES:
                self._classes.clear()  # only the sharing is lost
            self._classes[name] = _own(classes)
        return self._classes[name]

    def _make_room(self, nbytes: int) -> None:
        """Move the oldest records to the temporary file, some more than is needed so that it is done rarely."""
        excess = self._held + nbytes - self.limit_bytes
        if excess <= 0 or not self._records:
            return
        excess += self.limit_bytes // 8
        oldest = []
        for key, record in self._records.items():
            if excess > 0:
                oldest.append(key)
                excess -= record.nbytes
        if self._spilled is None:
            from truefit._stores.sqlite import TemporaryStore

            self._spilled = TemporaryStore()
        self._spilled.put([self._outcome(key) for key in oldest])
        for key in oldest:
            self._drop(key)

    def _drop(self, key: str) -> None:
        """Let a record go from memory, and the lists of rows that only it was using."""
        record = self._records.pop(key)
        self._held -= record.nbytes
        for _, rowset in record.answers:
            held = self._rowsets[rowset]
            held.uses -= 1
            if held.uses == 0:
                self._held -= held.nbytes
                del self._rowsets[rowset]


def _record(outcome: Outcome, rowsets: dict[int, tuple[Tokens, bytes]]) -> _Record | None:
    """Return copies of what is kept of an outcome, or None; its lists of rows are put into ``rowsets`` by their id."""
    classes = outcome.classes
    if outcome.error is not None or (classes is not None and not encodable(classes)):
        return None
    answers: dict[tuple[Response, bytes], tuple[bool, Array]] = {}
    for answer in outcome.answers:
        values = _own(answer.values)
        if not encodable(values):
            return None
        # Answers mostly share one array of tokens, and hashing it is most of the work of keeping them.
        tokens = answer.tokens
        if id(tokens) not in rowsets:
            rowsets[id(tokens)] = tokens, answer.rowset
        answers[answer.response, rowsets[id(tokens)][1]] = bool(answer.coded), values
    return _Record(outcome.solver, float(outcome.fit_seconds), classes, answers)


def _own(values: Array) -> Array:
    """Return a read-only copy: a view would hold the whole array that it looks into, and its owner may write there."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
