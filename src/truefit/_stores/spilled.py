"""SpilledRecords: records in a temporary file, found by their keys."""

from __future__ import annotations

import json
from collections.abc import Hashable, Iterator
from typing import Any

import numpy as np

from truefit._core.hashing import Tokens
from truefit._core.spill import SpillFile
from truefit._core.typing import Array
from truefit._stores.codec import decode, encode
from truefit._stores.ledger import Ledger
from truefit._stores.recent import Recent
from truefit._stores.record import Record

#: Entry of a key that says: what was written before is void.
_VOID = b""
_DISTINCT_CLASSES = 256


class SpilledRecords:
    """Records that are written one after the other; of the same key they complete each other.

    The ledger has an entry for each record and for each list of tokens, the latter by its own name: many records
    share one.
    """

    def __init__(self) -> None:
        self._spill = SpillFile()
        self._ledger = Ledger(self._spill)
        self._recent = Recent()
        self._classes: dict[tuple[np.dtype[Any], bytes], int] = {}
        self._last: tuple[str, Record[int] | None] = ("", None)  # an outcome is looked up, and then each of its answers

    def add(self, key: str, record: Record[Array], tokens: dict[bytes, Tokens]) -> None:
        """Write a record; one of the same key that is there already stays, and counts too."""
        answers = []
        for (response, rowset), (coded, values) in record.answers.items():
            if next(self._ledger.entries(rowset), None) is None:
                self._ledger.add(rowset, encode(tokens[rowset], compress=False))
            answers.append([response, rowset.hex(), coded, self._append(values)])
        head = {
            "solver": record.solver,
            "fit_seconds": record.fit_seconds,
            "classes": None if record.classes is None else self._place_of(record.classes),
            "answers": answers,
        }
        self._last = ("", None)
        self._ledger.add(key.encode(), json.dumps(head).encode())

    def void(self, key: str) -> None:
        """Let what was written of a key count no more."""
        self._last = ("", None)
        self._ledger.add(key.encode(), _VOID)

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
        array = self._recent.get(place)
        return self._decoded(place, self._spill.read(place)) if array is None else array

    def tokens(self, rowset: bytes) -> Tokens | None:
        """Tokens of a list of rows, or None."""
        array = self._recent.get(rowset)
        if array is not None:
            return array
        packed = next(self._ledger.entries(rowset), None)
        return None if packed is None else self._decoded(rowset, packed)

    def _place_of(self, classes: Array) -> int:
        name = (classes.dtype, classes.tobytes())
        if name not in self._classes:
            if len(self._classes) >= _DISTINCT_CLASSES:
                self._classes.clear()  # only the sharing is lost
            self._classes[name] = self._append(classes)
        return self._classes[name]

    def _append(self, array: Array) -> int:
        return self._spill.append(encode(array, compress=False))

    def _decoded(self, name: Hashable, packed: bytes) -> Array:
        array = decode(packed, "the temporary file")
        self._recent.add(name, array)
        return array

    def _heads(self, key: str) -> Iterator[dict[str, Any]]:
        """What was written of a key, the latest first."""
        for entry in self._ledger.entries(key.encode()):
            if entry == _VOID:
                return
            yield json.loads(entry)
