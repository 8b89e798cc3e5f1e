"""LabelledRows: digests of all rows of a table with one list of labels after the other."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.rows import Rows
from truefit.core.tokens import Tokens, few_values, mix, value_tokens

#: Tokens of the rows with each of the labels take at most this much; tables for which they would take more do without.
HELD_BYTES = 32 << 20


class LabelledRows:
    """Digests of the rows of a table with other values at them, the same as :meth:`Data.label_digest` gives.

    A row with a label has the same token in whichever list of labels it has it. Noise draws many lists of the same few
    labels: the tokens of all rows with each of these are worked out once, and a list only picks them.

    Examples
    --------
    >>> data = Data([[0.0], [1.0], [2.0]], ["a", "b", "a"], task="classification")
    >>> labels = np.array(["b", "b", "a"])
    >>> LabelledRows(data).digest(Rows.all(3), labels) == data.label_digest(Rows.all(3), labels)
    True
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._most = HELD_BYTES // max(data.tokens.nbytes, 1)
        self._tokens: dict[bytes, Tokens] = {}

    def digest(self, rows: Rows, labels: npt.NDArray[Any]) -> tuple[int, int]:
        """Return the digest of rows with the labels that stand at them."""
        few = few_values(labels) if rows.whole and self._most else None
        if few is None or len(few) > self._most:
            return self._data.label_digest(rows, labels)
        first = second = 0
        for value in few:
            places = np.flatnonzero(labels == value)
            lanes = self._with(value, labels.dtype).take(places, axis=1).sum(axis=1, dtype=np.uint64)
            first, second = first + int(lanes[0]), second + int(lanes[1])
        return first % 2**64, second % 2**64

    def _with(self, value: Any, dtype: np.dtype[Any]) -> Tokens:
        """Tokens of all rows with one label, one lane after the other: along a lane they are added up faster."""
        token = value_tokens(np.array([value], dtype=dtype))
        name = token.tobytes()
        known = self._tokens.get(name)
        if known is None:
            if len(self._tokens) >= self._most:
                self._tokens.clear()
            tokens = mix(self._data.tokens, np.broadcast_to(token, self._data.tokens.shape))
            known = self._tokens[name] = np.ascontiguousarray(tokens.T)
        return known
