"""Fingerprints: a set of keys in few bytes each."""

from __future__ import annotations

from array import array

_FIRST_SLOTS = 1 << 10


class Fingerprints:
    """Remembers 64 bits of each key: 12 to 24 bytes, where a set of the keys themselves would take 180.

    A key that was never added is taken for one of a million that were with a chance below 1e-13: good enough for
    what is only counted.

    Examples
    --------
    >>> seen = Fingerprints()
    >>> seen.add("a fit")
    >>> "a fit" in seen, "another" in seen
    (True, False)
    """

    def __init__(self) -> None:
        self._slots = array("Q", [0]) * _FIRST_SLOTS
        self._count = 0

    def add(self, key: str) -> None:
        """Remember a key."""
        self._put(_fingerprint(key))
        if 3 * self._count > 2 * len(self._slots):
            full, self._count = self._slots, 0
            self._slots = array("Q", [0]) * (2 * len(full))
            for fingerprint in full:
                if fingerprint:
                    self._put(fingerprint)

    def __contains__(self, key: str) -> bool:
        fingerprint = _fingerprint(key)
        return self._slots[self._place(fingerprint)] == fingerprint

    def _put(self, fingerprint: int) -> None:
        place = self._place(fingerprint)
        self._count += self._slots[place] == 0
        self._slots[place] = fingerprint

    def _place(self, fingerprint: int) -> int:
        """Return where a fingerprint stands, or the free slot for it."""
        slots, last = self._slots, len(self._slots) - 1
        place = fingerprint & last
        while slots[place] not in (0, fingerprint):
            place = (place + 1) & last
        return place


def _fingerprint(key: str) -> int:
    return hash(key) & (2**64 - 1) or 1  # 0 is a free slot
