"""Recent: the arrays last read from disk, up to a number of bytes."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Hashable
from typing import Any

import numpy.typing as npt

#: Several metrics look at the same answer in turn, and many answers share their rows.
RECENT_BYTES = 1 << 20

#: About what Python takes for an array and its place here, beyond the numbers in it.
_ARRAY_BYTES = 350


class Recent:
    """Arrays by key, the least recently used let go first; at least one is held, whatever its size.

    Examples
    --------
    >>> import numpy as np
    >>> recent = Recent(limit_bytes=800)
    >>> for name in "abc":
    ...     recent.add(name, np.zeros(1))
    >>> recent.get("a") is None, recent.get("c")
    (True, array([0.]))
    """

    def __init__(self, limit_bytes: int = RECENT_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._arrays: OrderedDict[Hashable, npt.NDArray[Any]] = OrderedDict()
        self._bytes = 0

    def get(self, key: Hashable) -> npt.NDArray[Any] | None:
        """Return the array, which is now the most recent, or None."""
        array = self._arrays.get(key)
        if array is not None:
            self._arrays.move_to_end(key)
        return array

    def add(self, key: Hashable, array: npt.NDArray[Any]) -> None:
        """Hold an array that is not held yet."""
        self._arrays[key] = array
        self._bytes += _ARRAY_BYTES + array.nbytes
        while self._bytes > self.limit_bytes and len(self._arrays) > 1:
            self._bytes -= _ARRAY_BYTES + self._arrays.popitem(last=False)[1].nbytes

    def clear(self) -> None:
        """Let go of everything."""
        self._arrays.clear()
        self._bytes = 0
