"""What a store keeps of one outcome, and the handle by which an answer is read from its store."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Generic, Protocol, TypeVar

import numpy as np

from truefit._core.hashing import Tokens, rowset_id
from truefit._core.outcome import Outcome, Predictions
from truefit._core.task import Response
from truefit._core.typing import Array
from truefit._stores.codec import encodable

#: About what Python takes for a record, an answer and a list of rows beyond their arrays.
RECORD_BYTES = 600
ANSWER_BYTES = 300

V = TypeVar("V")

Name = tuple[Response, bytes]  # of an answer within its outcome: response, list of rows


class AnswerSource(Protocol):
    """What a stored answer reads from."""

    def read_tokens(self, rowset: bytes) -> Tokens:
        """Tokens of a list of rows."""
        ...

    def read_values(self, key: str, response: Response, rowset: bytes) -> Array:
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


@dataclass(slots=True)
class Record(Generic[V]):
    """One outcome; its answers are arrays, or where they are to be found.

    ``answers`` says of each whether it is of codes, and what it is. ``nbytes`` is about what all takes in memory, but
    for the lists of rows.
    """

    solver: str
    fit_seconds: float
    classes: Array | None
    answers: dict[Name, tuple[bool, V]]
    nbytes: int = RECORD_BYTES


class Rowsets:
    """The lists of rows of several outcomes, each once."""

    def __init__(self) -> None:
        self.tokens: dict[bytes, Tokens] = {}
        self._by_array: dict[int, bytes] = {}  # ids of arrays that are held here, so that they stay their own

    def of(self, answer: Predictions) -> bytes:
        """Return the identity of an answer's rows."""
        # Answers mostly share one array of tokens, and hashing it is most of the work of keeping them.
        tokens = answer.tokens
        rowset = self._by_array.get(id(tokens))
        if rowset is None:
            rowset = answer.rowset
            if self.tokens.setdefault(rowset, tokens) is tokens:
                self._by_array[id(tokens)] = rowset
        return rowset


def record_of(outcome: Outcome, rowsets: Rowsets) -> Record[Array] | None:
    """Return copies of what is kept of an outcome, or None; its lists of rows are put into ``rowsets``."""
    classes = outcome.classes
    if outcome.error is not None or (classes is not None and not encodable(classes)):
        return None
    answers: dict[Name, tuple[bool, Array]] = {}
    nbytes = RECORD_BYTES
    for answer in outcome.answers:
        values = own(answer.values)
        if not encodable(values):
            return None
        rowset = rowsets.of(answer)
        answers[answer.response, rowset] = (bool(answer.coded), values)
        nbytes += ANSWER_BYTES + values.nbytes
    return Record(outcome.solver, float(outcome.fit_seconds), classes, answers, nbytes)


def own(values: Array) -> Array:
    """Return a read-only copy: a view would hold the whole array that it looks into, and its owner may write there."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
