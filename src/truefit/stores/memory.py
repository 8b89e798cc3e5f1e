"""MemoryStore: outcomes for as long as the process lives, the oldest of many in a temporary file."""

from __future__ import annotations

import json
import threading
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, cast

import numpy as np

from truefit.core.errors import InvalidInput, StoreUnusable
from truefit.core.outcome import Outcome
from truefit.core.task import Response
from truefit.core.tokens import Tokens
from truefit.stores.answer import StoredAnswer
from truefit.stores.codec import Array, decode, encodable, encode
from truefit.stores.recent import Recent
from truefit.stores.spill import Spill

#: About what Python takes for a record, an answer and a list of rows beyond their arrays.
_RECORD_BYTES = 600
_ANSWER_BYTES = 300
_INTERNED_CLASSES = 256

_Name = tuple[Response, bytes]  # of an answer within its outcome: response, list of rows


@dataclass(slots=True)
class _Record:
    """What is held of one outcome."""

    solver: str
    fit_seconds: float
    classes: Array | None
    answers: dict[_Name, tuple[bool, Array]]
    nbytes: int = _RECORD_BYTES


@dataclass(slots=True)
class _Rowset:
    """A list of tokens, and how many answers in memory are on these rows."""

    tokens: Tokens
    uses: int = 0


class MemoryStore:
    """Keeps outcomes in memory up to a limit, and the oldest beyond it in an anonymous temporary file.

    What it hands out are handles that read from the store, so memory does not grow with the number of fits,
    also where somebody holds all outcomes. Arrays are the store's own copies, and read-only.

    Parameters
    ----------
    limit_bytes : int
        How much is held in memory before the oldest records are spilled to disk.

    Examples
    --------
    >>> from truefit.core.outcome import Answer
    >>> tokens = np.arange(6, dtype=np.uint64).reshape(3, 2)
    >>> store = MemoryStore()
    >>> store.put([Outcome("a fit", (Answer("predict", tokens, np.array([0.5, 1.0, 2.0])),))])
    >>> store.get(["a fit", "another"])["a fit"].answers[0].values
    array([0.5, 1. , 2. ])
    >>> store.close()
    """

    def __init__(self, limit_bytes: int = 16 << 20) -> None:
        if limit_bytes < 0:
            raise InvalidInput(f"limit_bytes must not be negative. Got {limit_bytes}. Pass 0 to hold next to nothing.")
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._held = 0
        self._records: OrderedDict[str, _Record] = OrderedDict()
        self._rowsets: dict[bytes, _Rowset] = {}
        self._classes: dict[tuple[np.dtype[Any], bytes], Array] = {}
        self._spill: Spill | None = None
        self._spilled: dict[str, int] = {}
        self._spilled_rowsets: dict[bytes, int] = {}
        self._recent = Recent()

    def get(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Outcomes of those keys that are in the store, their answers read when looked at."""
        found = {}
        with self._lock:
            for key in keys:
                record = self._whole(key) if key in self._spilled else self._records.get(key)
                if record is None:
                    continue
                answers = [
                    StoredAnswer.of(self, key, response, rowset, coded)
                    for (response, rowset), (coded, _) in record.answers.items()
                ]
                found[key] = Outcome(key, tuple(answers), record.fit_seconds, record.solver, record.classes)
        return found

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes, all or none; failures, and what only a pickle could hold, are passed over."""
        # Whatever can go wrong with what is given goes wrong here, before anything is changed.
        tokens: dict[bytes, Tokens] = {}
        records = [(outcome.key, record) for outcome in outcomes if (record := _record(outcome, tokens)) is not None]
        with self._lock:
            self._make_room(sum(record.nbytes for _, record in records))
            for key, record in records:
                if record.classes is not None:
                    record.classes = self._interned(record.classes)
                new = self._only_new(key, record) if key in self._records or key in self._spilled else record
                if new is not None:
                    self._hold(key, new, tokens)

    def close(self) -> None:
        """Do nothing: what is held here is gone with the store itself, and results may still read from it."""

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows, for a stored answer."""
        with self._lock:
            held = self._rowsets.get(rowset)
            if held is not None:
                return held.tokens
            if rowset in self._spilled_rowsets:
                return self._read_back(rowset, self._spilled_rowsets[rowset])
        raise _gone("The rows of an answer")

    def read_values(self, key: str, response: Response, rowset: bytes) -> Array:
        """Values of one answer of a fit, for a stored answer."""
        name = (response, rowset)
        with self._lock:
            record = self._records.get(key)
            if record is not None and name in record.answers:
                return record.answers[name][1]
            for head in self._heads(key):
                for *spilled, _, offset in head["answers"]:
                    if spilled == [response, rowset.hex()]:
                        return self._read_back(offset, offset)
        raise _gone(f"{response} of the fit {key}")

    def _hold(self, key: str, record: _Record, tokens: dict[bytes, Tokens]) -> None:
        there = self._records.get(key)
        if there is None:
            self._records[key] = record
            self._held += record.nbytes
        else:
            there.answers.update(record.answers)
            there.nbytes += record.nbytes
            self._held += record.nbytes
        for _, rowset in record.answers:
            held = self._rowsets.get(rowset)
            if held is None:
                held = self._rowsets[rowset] = _Rowset(_own(tokens[rowset]))
                self._held += held.tokens.nbytes + _ANSWER_BYTES
            held.uses += 1

    def _only_new(self, key: str, record: _Record) -> _Record | None:
        """Return what a record adds to what is there; with other classes it takes the place of all that."""
        there = self._whole(key)
        known, classes = there.classes, record.classes
        if known is not None and classes is not None and not np.array_equal(known, classes):
            # Codes mean nothing under other classes.
            self._drop(key)
            self._spilled.pop(key, None)
            return record
        if known is None and key in self._records:
            self._records[key].classes = known = classes
        answers = {name: answer for name, answer in record.answers.items() if name not in there.answers}
        if not answers and (known is not None or classes is None):
            return None
        # The first fit's seconds stay: a budget must decide alike on replay.
        nbytes = _RECORD_BYTES + sum(_ANSWER_BYTES + values.nbytes for _, values in answers.values())
        return _Record(there.solver, there.fit_seconds, classes if known is None else known, answers, nbytes)

    def _interned(self, classes: Array) -> Array:
        name = (classes.dtype, classes.tobytes())
        known = self._classes.get(name)
        if known is None:
            if len(self._classes) >= _INTERNED_CLASSES:
                self._classes.clear()  # only the sharing is lost
            known = self._classes[name] = _own(classes)
        return known

    def _make_room(self, nbytes: int) -> None:
        while self._records and self._held + nbytes > self.limit_bytes:
            key, record = next(iter(self._records.items()))
            self._spilled[key] = self._write(key, record)
            self._drop(key)

    def _drop(self, key: str) -> None:
        """Let a record go from memory, and the lists of rows that only it was using."""
        record = self._records.pop(key, None)
        if record is None:
            return
        self._held -= record.nbytes
        for _, rowset in record.answers:
            held = self._rowsets[rowset]
            held.uses -= 1
            if held.uses == 0:
                self._held -= held.tokens.nbytes + _ANSWER_BYTES
                del self._rowsets[rowset]

    def _write(self, key: str, record: _Record) -> int:
        """Append a record to the spill file and return where its head stands.

        A head names the head before it of the same key, so that a fit that was asked again takes no more
        memory than any other.
        """
        if self._spill is None:
            self._spill = Spill()
        append = self._spill.append
        answers = []
        for (response, rowset), (coded, values) in record.answers.items():
            if rowset not in self._spilled_rowsets:
                self._spilled_rowsets[rowset] = append(encode(self._rowsets[rowset].tokens))
            answers.append([response, rowset.hex(), coded, append(encode(values))])
        head = {
            "before": self._spilled.get(key),
            "solver": record.solver,
            "fit_seconds": record.fit_seconds,
            "classes": None if record.classes is None else append(encode(record.classes)),
            "answers": answers,
        }
        return append(json.dumps(head).encode())

    def _heads(self, key: str) -> Iterator[dict[str, Any]]:
        """Heads of a key's spilled records, the latest first."""
        offset = self._spilled.get(key)
        while offset is not None and self._spill is not None:
            head = json.loads(self._spill.read(offset))
            yield head
            offset = head["before"]

    def _whole(self, key: str) -> _Record:
        """Return what memory and file hold of a key together; the values of what is spilled are left out."""
        here = self._records.get(key)
        whole = None
        if here is not None:
            whole = _Record(here.solver, here.fit_seconds, here.classes, dict(here.answers))
        nothing = np.empty(0)
        for head in self._heads(key):
            if whole is None:
                whole = _Record(head["solver"], head["fit_seconds"], None, {})
            if whole.classes is None and head["classes"] is not None and self._spill is not None:
                whole.classes = self._interned(decode(self._spill.read(head["classes"])))
            for response, rowset, coded, _ in head["answers"]:
                whole.answers[response, bytes.fromhex(rowset)] = (coded, nothing)
        return cast(_Record, whole)

    def _read_back(self, name: object, offset: int) -> Array:
        array = self._recent.get(name)
        if array is None and self._spill is not None:
            array = decode(self._spill.read(offset), "the temporary file")
            self._recent.add(name, array)
        return cast(Array, array)


def _record(outcome: Outcome, tokens: dict[bytes, Tokens]) -> _Record | None:
    """Return copies of what is kept of an outcome, or None; its tokens are put into ``tokens``."""
    classes = outcome.classes
    if outcome.error is not None or (classes is not None and not encodable(classes)):
        return None
    answers: dict[_Name, tuple[bool, Array]] = {}
    nbytes = _RECORD_BYTES
    last: Tokens | None = None
    for answer in outcome.answers:
        values = _own(answer.values)
        if not encodable(values):
            return None
        # The answers of a fit mostly share one array of tokens, and hashing it is most of the work here.
        if last is None or answer.tokens is not last:
            rowset, last = answer.rowset, answer.tokens
            tokens[rowset] = last
        answers[answer.response, rowset] = (bool(answer.coded), values)
        nbytes += _ANSWER_BYTES + values.nbytes
    return _Record(outcome.solver, float(outcome.fit_seconds), classes, answers, nbytes)


def _gone(what: str) -> StoreUnusable:
    # An outcome with other classes has taken its place.
    return StoreUnusable(
        f"An answer must still be in its store when it is looked at. {what} was replaced there; ask it again."
    )


def _own(values: Array) -> Array:
    # A copy: a view would hold the whole array that it looks into, and a caller may write into his own again.
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
