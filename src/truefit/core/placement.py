"""Placements: where rows stand among others, worked out once for all answers on the same rows."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np
import numpy.typing as npt

from truefit.core.tokens import Tokens

Places = npt.NDArray[np.intp]

#: Places that are held take at most this much; those last worked out are held whatever they take.
HELD_BYTES = 16 << 20
#: About what Python takes for one of them beyond its numbers.
_ENTRY_BYTES = 400


class Placements:
    """Places of rows in the lists that hold them, the least recently used let go first.

    Fits of the same training set are asked about the same rows, and each of their answers holds them alike: so where a
    row stands in one it stands in all.

    Examples
    --------
    >>> known = np.array([[1, 1], [2, 2], [3, 3]], dtype=np.uint64)
    >>> placements = Placements()
    >>> placements.find(b"two", lambda: known[[2, 0]], [b"three"], lambda: [known])
    array([2, 0])
    >>> placements.find(b"two", lambda: 1 / 0, [b"three"], lambda: 1 / 0)
    array([2, 0])
    """

    def __init__(self, limit_bytes: int = HELD_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._held: OrderedDict[tuple[bytes, ...], Places | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()  # results are read in whatever thread the user likes

    def find(
        self,
        rowset: bytes,
        wanted: Callable[[], Tokens],
        rowsets: Sequence[bytes],
        known: Callable[[], Sequence[Tokens]],
    ) -> Places | None:
        """Return the places of rows in some lists put together; None where one of the rows is in none of them.

        Parameters
        ----------
        rowset, rowsets
            Identities of the rows that are looked for, and of the lists.
        wanted, known : callable
            Return their tokens, where these have to be looked at.
        """
        name = (rowset, *rowsets)
        with self._lock:
            if name in self._held:
                self._held.move_to_end(name)
                return self._held[name]
        places = _places(wanted(), np.concatenate(known()))
        with self._lock:
            if name not in self._held:
                self._held[name] = places
                self._bytes += _size(places)
            while self._bytes > self.limit_bytes and len(self._held) > 1:
                self._bytes -= _size(self._held.popitem(last=False)[1])
        return places


def _size(places: Places | None) -> int:
    return _ENTRY_BYTES + (0 if places is None else places.nbytes)


def _places(wanted: Tokens, known: Tokens) -> Places | None:
    order = np.lexsort((known[:, 1], known[:, 0]))
    rows = np.ascontiguousarray(known[order]).view([("a", np.uint64), ("b", np.uint64)]).reshape(-1)
    looked_for = np.ascontiguousarray(wanted).view(rows.dtype).reshape(-1)
    place = np.searchsorted(rows, looked_for)
    if (place >= len(rows)).any() or (rows[place] != looked_for).any():
        return None
    return order[place]
