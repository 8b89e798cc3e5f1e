"""Ledger: entries in a spill file by name, found without an index in memory."""

from __future__ import annotations

from array import array
from collections.abc import Iterator
from struct import Struct

from truefit._core.spill import SpillFile

_FIRST_CHAINS = 1 << 16
_PER_CHAIN = 2  # entries on average before there are more chains
_READ_AT_ONCE = 4000  # most entries are smaller, and of a large one that is not meant no more is read
_LINK = Struct("<QH")  # one past the offset of the entry before it in its chain, or 0; length of the name


class Ledger:
    """Entries that stand in chains: each names the one before it, and memory holds the last of each chain.

    That takes half a megabyte, and from 131,072 entries on 4 to 8 bytes for each.

    Parameters
    ----------
    spill : SpillFile
    chains : int
        How many to begin with.

    Examples
    --------
    >>> ledger = Ledger(SpillFile(), chains=1)
    >>> for name, content in (("a", b"1"), ("b", b"2"), ("a", b"3")):
    ...     ledger.add(name.encode(), content)
    >>> list(ledger.entries(b"a")), list(ledger.entries(b"c"))
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
