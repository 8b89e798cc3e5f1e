"""Stats: what an engine has done so far, and KeySet: which fits it has done, in few bytes each."""

from __future__ import annotations

from array import array
from dataclasses import asdict, dataclass

_FIRST_SLOTS = 1 << 10


@dataclass(slots=True)
class Stats:
    """Counts of fits.

    Of the fits ``asked`` for, ``run`` were fitted, ``shared`` were answered by a fit of this engine that somebody
    else had asked for, or together with others from one piece of work, and ``stored`` came from the store as an
    earlier run left them. Work that answers several fits counts as one ``run``: a boosted model whose stages are the
    smaller ones, one factorisation for all rows that are left out in turn, one for all label vectors. Where each is
    still trained by itself, if faster (support vectors, what follows a pipeline's shared steps), each counts.
    ``refitted`` counts fits that the store knew, but whose model or further predictions were wanted. ``failed`` are
    those of the fitted ones that came to nothing, and ``seconds`` is the time spent inside the fits.
    """

    asked: int = 0
    run: int = 0
    shared: int = 0
    stored: int = 0
    refitted: int = 0
    failed: int = 0
    seconds: float = 0.0

    def to_dict(self) -> dict[str, float]:
        """Plain numbers by name."""
        return asdict(self)

    def __str__(self) -> str:
        text = f"{self.asked:,} fits asked for: {self.run:,} run, {self.shared:,} shared, {self.stored:,} restored"
        left = self.asked - self.run - self.shared - self.stored - self.refitted
        if left > 0:
            text += f", {left:,} not run"
        if self.refitted:
            text += f", {self.refitted:,} refitted"
        if self.failed:
            text += f", {self.failed:,} failed"
        return f"{text}; {self.seconds:.1f} s of fitting"


class KeySet:
    """Remembers 64 bits of each key: 12 to 24 bytes, where a set of the keys themselves would take 180.

    A key that was never added is taken for one of a million that were with a chance below 1e-13: good enough for
    what is only counted.

    Examples
    --------
    >>> seen = KeySet()
    >>> seen.add("a fit")
    >>> "a fit" in seen, "another" in seen
    (True, False)
    """

    def __init__(self) -> None:
        self._slots = array("Q", [0]) * _FIRST_SLOTS
        self._count = 0

    def add(self, key: str) -> None:
        """Remember a key."""
        self._put(_hash(key))
        if 3 * self._count > 2 * len(self._slots):
            full, self._count = self._slots, 0
            self._slots = array("Q", [0]) * (2 * len(full))
            for number in full:
                if number:
                    self._put(number)

    def __contains__(self, key: str) -> bool:
        number = _hash(key)
        return self._slots[self._place(number)] == number

    def _put(self, number: int) -> None:
        place = self._place(number)
        self._count += self._slots[place] == 0
        self._slots[place] = number

    def _place(self, number: int) -> int:
        """Return where a number stands, or the free slot for it."""
        slots, last = self._slots, len(self._slots) - 1
        place = number & last
        while slots[place] not in (0, number):
            place = (place + 1) & last
        return place


def _hash(key: str) -> int:
    return hash(key) & (2**64 - 1) or 1  # 0 is a free slot
