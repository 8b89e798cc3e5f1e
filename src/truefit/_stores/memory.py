"""MemoryStore: outcomes for as long as the process lives, the oldest of many in a temporary file."""

from __future__ import annotations

import json
import threading
from array import array
from collections import OrderedDict
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from struct import Struct
from typing import Any

import numpy as np

from truefit._core.errors import InvalidInput, StoreUnusable
from truefit._core.hashing import Tokens
from truefit._core.outcome import Outcome
from truefit._core.protocols import StoredReport
from truefit._core.spill import SpillFile
from truefit._core.task import Response
from truefit._core.typing import Array
from truefit._stores.codec import ArrayCache, decode, encode
from truefit._stores.record import ANSWER_BYTES, RECORD_BYTES, Record, Rowsets, StoredAnswer, own, record_of

_INTERNED_CLASSES = 256
#: Entry of a key that says: what was written before is void.
_VOID = b""
_FIRST_CHAINS = 1 << 16
_PER_CHAIN = 2  # entries on average before there are more chains
_READ_AT_ONCE = 4000  # most entries are smaller, and of a large one that is not meant no more is read
_LINK = Struct("<QH")  # one past the offset of the entry before it in its chain, or 0; length of the name


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
    >>> from truefit._core.outcome import Predictions
    >>> tokens = np.arange(6, dtype=np.uint64).reshape(3, 2)
    >>> store = MemoryStore()
    >>> store.put([Outcome("a fit", (Predictions("predict", tokens, np.array([0.5, 1.0, 2.0])),))])
    >>> store.get(["a fit", "another"])["a fit"].answers[0].values
    array([0.5, 1. , 2. ])
    >>> store.close()
    """

    #: It ends with this process.
    durable = False

    def __init__(self, limit_bytes: int = 8 << 20) -> None:
        if limit_bytes < 0:
            raise InvalidInput(f"limit_bytes must not be negative. Got {limit_bytes}. Pass 0 to hold next to nothing.")
        self.limit_bytes = limit_bytes
        self._lock = threading.Lock()
        self._held = 0
        self._records: OrderedDict[str, Record[Array]] = OrderedDict()
        self._rowsets: dict[bytes, _Rowset] = {}
        self._classes: dict[tuple[np.dtype[Any], bytes], Array] = {}
        self._spilled: RecordFile | None = None
        self._fits = 0
        self._reports: dict[str, StoredReport] = {}

    def get(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Outcomes of those keys that are in the store, their answers read when looked at."""
        found = {}
        with self._lock:
            for key in keys:
                record = self._whole(key)
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
        rowsets = Rowsets()
        records = [(outcome.key, record) for outcome in outcomes if (record := record_of(outcome, rowsets)) is not None]
        with self._lock:
            self._make_room(sum(record.nbytes for _, record in records))
            for key, record in records:
                if record.classes is not None:
                    record.classes = self._interned(record.classes)
                there = self._whole(key)
                self._fits += there is None
                new = record if there is None else self._only_new(key, there, record)
                if new is not None:
                    self._hold(key, new, rowsets.tokens)

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
            return self._fits

    def close(self) -> None:
        """Do nothing: what is held here is gone with the store itself, and results may still read from it."""

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows, for a stored answer."""
        with self._lock:
            held = self._rowsets.get(rowset)
            if held is not None:
                return held.tokens
            spilled = None if self._spilled is None else self._spilled.tokens(rowset)
        if spilled is None:
            raise _gone("The rows of an answer")
        return spilled

    def read_values(self, key: str, response: Response, rowset: bytes) -> Array:
        """Values of one answer of a fit, for a stored answer."""
        name = (response, rowset)
        with self._lock:
            record = self._records.get(key)
            if record is not None and name in record.answers:
                return record.answers[name][1]
            spilled = None if self._spilled is None else self._spilled.find(key)
            if self._spilled is not None and spilled is not None and name in spilled.answers:
                return self._spilled.values(spilled.answers[name][1])
        raise _gone(f"{response} of the fit {key}")

    def _whole(self, key: str) -> Record[Any] | None:
        """Return what memory and file hold of a key together."""
        here = self._records.get(key)
        spilled = None if self._spilled is None else self._spilled.find(key)
        if spilled is None or here is None:
            return spilled if here is None else here
        classes = spilled.classes if here.classes is None else here.classes
        return Record(here.solver, here.fit_seconds, classes, {**spilled.answers, **here.answers})

    def _hold(self, key: str, record: Record[Array], tokens: dict[bytes, Tokens]) -> None:
        there = self._records.get(key)
        if there is None:
            self._records[key] = record
        else:
            there.answers.update(record.answers)
            there.nbytes += record.nbytes
        self._held += record.nbytes
        for _, rowset in record.answers:
            held = self._rowsets.get(rowset)
            if held is None:
                held = self._rowsets[rowset] = _Rowset(own(tokens[rowset]))
                self._held += held.tokens.nbytes + ANSWER_BYTES
            held.uses += 1

    def _only_new(self, key: str, there: Record[Any], record: Record[Array]) -> Record[Array] | None:
        """Return what a record adds to what is there; with other classes it takes the place of all that."""
        known, classes = there.classes, record.classes
        if known is not None and classes is not None and not np.array_equal(known, classes):
            # Codes mean nothing under other classes.
            if self._spilled is not None:
                self._spilled.void(key)
            self._drop(key)
            return record
        if known is None and key in self._records:
            self._records[key].classes = known = classes
        answers = {name: answer for name, answer in record.answers.items() if name not in there.answers}
        if not answers and (known is not None or classes is None):
            return None
        # The first fit's seconds stay: a budget must decide alike on replay.
        nbytes = RECORD_BYTES + sum(ANSWER_BYTES + values.nbytes for _, values in answers.values())
        return Record(there.solver, there.fit_seconds, classes if known is None else known, answers, nbytes)

    def _interned(self, classes: Array) -> Array:
        name = (classes.dtype, classes.tobytes())
        known = self._classes.get(name)
        if known is None:
            if len(self._classes) >= _INTERNED_CLASSES:
                self._classes.clear()  # only the sharing is lost
            known = self._classes[name] = own(classes)
        return known

    def _make_room(self, nbytes: int) -> None:
        while self._records and self._held + nbytes > self.limit_bytes:
            key, record = next(iter(self._records.items()))
            if self._spilled is None:
                self._spilled = RecordFile()
            self._spilled.add(key, record, {rowset: self._rowsets[rowset].tokens for _, rowset in record.answers})
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
                self._held -= held.tokens.nbytes + ANSWER_BYTES
                del self._rowsets[rowset]


def _gone(what: str) -> StoreUnusable:
    # An outcome with other classes has taken its place.
    return StoreUnusable(
        f"An answer must still be in its store when it is looked at. {what} was replaced there; ask it again."
    )


class RecordFile:
    """Records that are written one after the other; of the same key they complete each other.

    The file has an entry for each record and for each list of tokens, the latter by its own name: many records
    share one.
    """

    def __init__(self) -> None:
        self._spill = SpillFile()
        self._entries = HashFile(self._spill)
        self._cache = ArrayCache()
        self._classes: dict[tuple[np.dtype[Any], bytes], int] = {}
        self._last: tuple[str, Record[int] | None] = ("", None)  # an outcome is looked up, and then each of its answers

    def add(self, key: str, record: Record[Array], tokens: dict[bytes, Tokens]) -> None:
        """Write a record; one of the same key that is there already stays, and counts too."""
        answers = []
        for (response, rowset), (coded, values) in record.answers.items():
            if next(self._entries.entries(rowset), None) is None:
                self._entries.add(rowset, encode(tokens[rowset], compress=False))
            answers.append([response, rowset.hex(), coded, self._append(values)])
        head = {
            "solver": record.solver,
            "fit_seconds": record.fit_seconds,
            "classes": None if record.classes is None else self._place_of(record.classes),
            "answers": answers,
        }
        self._last = ("", None)
        self._entries.add(key.encode(), json.dumps(head).encode())

    def void(self, key: str) -> None:
        """Let what was written of a key count no more."""
        self._last = ("", None)
        self._entries.add(key.encode(), _VOID)

    def find(self, key: str) -> Record[int] | None:
        """All that was written of a key, with the places of its answers' values."""
        if self._last[0] == key:
            return self._last[1]
        found: Record[int] | None = None
        for head in self._heads(key):
            if found is None:
                found = Record(head["solver"], head["fit_seconds"], None, {})
            if found.classes is None and head["classes"] is not None:
                found.classes = self.values(head["classes"])
            for response, rowset, coded, place in head["answers"]:
                found.answers[response, bytes.fromhex(rowset)] = (coded, place)
        self._last = (key, found)
        return found

    def values(self, place: int) -> Array:
        """Values at a place."""
        array = self._cache.get(place)
        return self._decoded(place, self._spill.read(place)) if array is None else array

    def tokens(self, rowset: bytes) -> Tokens | None:
        """Tokens of a list of rows, or None."""
        array = self._cache.get(rowset)
        if array is not None:
            return array
        packed = next(self._entries.entries(rowset), None)
        return None if packed is None else self._decoded(rowset, packed)

    def _place_of(self, classes: Array) -> int:
        name = (classes.dtype, classes.tobytes())
        if name not in self._classes:
            if len(self._classes) >= _INTERNED_CLASSES:
                self._classes.clear()  # only the sharing is lost
            self._classes[name] = self._append(classes)
        return self._classes[name]

    def _append(self, array: Array) -> int:
        return self._spill.append(encode(array, compress=False))

    def _decoded(self, name: Hashable, packed: bytes) -> Array:
        array = decode(packed, "the temporary file")
        self._cache.add(name, array)
        return array

    def _heads(self, key: str) -> Iterator[dict[str, Any]]:
        """What was written of a key, the latest first."""
        for entry in self._entries.entries(key.encode()):
            if entry == _VOID:
                return
            yield json.loads(entry)


class HashFile:
    """Entries that stand in chains: each names the one before it, and memory holds the last of each chain.

    That takes half a megabyte, and from 131,072 entries on 4 to 8 bytes for each.

    Parameters
    ----------
    spill : SpillFile
    chains : int
        How many to begin with.

    Examples
    --------
    >>> file = HashFile(SpillFile(), chains=1)
    >>> for name, content in (("a", b"1"), ("b", b"2"), ("a", b"3")):
    ...     file.add(name.encode(), content)
    >>> list(file.entries(b"a")), list(file.entries(b"c"))
    ([b'3', b'1'], [])
    """

    def __init__(self, spill: SpillFile, *, chains: int = _FIRST_CHAINS) -> None:
        self._spill = spill
        self._lasts = [array("Q", [0]) * chains]
        self._free = _PER_CHAIN * chains

    def add(self, name: bytes, content: bytes) -> None:
        """Write an entry; earlier ones of that name stay."""
        if self._free == 0:
            # Further chains beside the full ones, twice as many: nothing that is written has to move.
            chains = 2 * len(self._lasts[-1])
            self._lasts.append(array("Q", [0]) * chains)
            self._free = _PER_CHAIN * chains
        last = self._lasts[-1]
        chain = hash(name) % len(last)
        last[chain] = self._spill.append(_LINK.pack(last[chain], len(name)) + name + content) + 1
        self._free -= 1

    def entries(self, name: bytes) -> Iterator[bytes]:
        """Contents of the entries of that name, the latest first."""
        place = hash(name)
        start = _LINK.size + len(name)
        for last in reversed(self._lasts):
            after = last[place % len(last)]
            while after:
                offset = after - 1
                entry = self._spill.read(offset, most=_READ_AT_ONCE)
                after, length = _LINK.unpack_from(entry)
                if length == len(name) and entry[_LINK.size : start] == name:
                    yield (entry if len(entry) < _READ_AT_ONCE else self._spill.read(offset))[start:]
