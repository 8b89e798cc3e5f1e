"""StoredAnswer: an answer that stays in its store until it is looked at."""

from __future__ import annotations

from typing import Any, Protocol

import numpy.typing as npt

from truefit.core.outcome import Answer
from truefit.core.task import Response
from truefit.core.tokens import Tokens

# The dataclass is frozen, and this way a handle takes 120 bytes: through its __dict__ it would be 250.
_set = object.__setattr__


class AnswerSource(Protocol):
    """What a stored answer reads from."""

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows."""
        ...

    def read_values(self, key: str, response: Response, rowset: bytes) -> npt.NDArray[Any]:
        """Values of one answer of a fit."""
        ...


class StoredAnswer(Answer):
    """A handle: which answer it is is known, its tokens and values are read each time they are looked at.

    They are not kept in the handle, because a plan may hold the handles of all its fits: that would be all
    the memory that the store was to save.
    """

    @classmethod
    def of(cls, source: AnswerSource, key: str, response: Response, rowset: bytes, coded: bool) -> StoredAnswer:
        """Return the handle of one answer of the fit ``key`` in ``source``."""
        answer = cls.__new__(cls)
        _set(answer, "response", response)
        _set(answer, "coded", coded)
        _set(answer, "rowset", rowset)  # takes the place of the cached property: known without the tokens
        _set(answer, "_source", source)
        _set(answer, "_key", key)
        return answer

    def __getattr__(self, name: str) -> Any:
        # Reached for the two fields that `of` leaves out.
        state = self.__dict__
        if name == "values" and "_source" in state:
            return state["_source"].read_values(state["_key"], state["response"], state["rowset"])
        if name == "tokens" and "_source" in state:
            return state["_source"].read_tokens(state["rowset"])
        raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")

    def __reduce__(self) -> tuple[Any, ...]:
        # Away from its store an answer has to bring its values along.
        return Answer, (self.response, self.tokens, self.values, self.coded)
