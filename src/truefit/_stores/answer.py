"""StoredAnswer: an answer that stays in its store until it is looked at."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from truefit._core.hashing import Tokens, rowset_id
from truefit._core.outcome import Predictions
from truefit._core.task import Response


class AnswerSource(Protocol):
    """What a stored answer reads from."""

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows."""
        ...

    def read_values(self, key: str, response: Response, rowset: bytes) -> npt.NDArray[Any]:
        """Values of one answer of a fit."""
        ...


class StoredAnswer(Predictions):
    """A handle: which answer it is is known, its tokens and values are read each time they are looked at.

    They are not kept in the handle, because a plan may hold the handles of all its fits: that would be all
    the memory that the store was to save.
    """

    __slots__ = ("_key", "_source", "rowset")

    rowset: bytes  # takes the place of the property: known without the tokens
    _source: AnswerSource
    _key: str

    @classmethod
    def of(cls, source: AnswerSource, key: str, response: Response, rowset: bytes, coded: bool) -> StoredAnswer:
        """Return the handle of one answer of the fit ``key`` in ``source``."""
        answer = cls.__new__(cls)
        answer.response, answer.coded, answer.rowset = response, coded, rowset
        answer._source, answer._key = source, key
        return answer

    def __getattr__(self, name: str) -> Any:
        # Reached for the two fields that `of` leaves out, and for the rows where only a part was replaced.
        if name == "values":
            return self._source.read_values(self._key, self.response, self.rowset)
        if name == "tokens":
            return self._source.read_tokens(self.rowset)
        if name == "rowset":
            return rowset_id(self.tokens)
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Away from its store an answer has to bring its values along.
        return Predictions, (self.response, self.tokens, self.values, self.coded)
