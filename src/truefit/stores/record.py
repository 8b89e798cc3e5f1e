"""Record: what a store in memory keeps of one outcome."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np

from truefit.core.outcome import Outcome
from truefit.core.task import Response
from truefit.core.tokens import Tokens
from truefit.stores.codec import Array, encodable

#: About what Python takes for a record, an answer and a list of rows beyond their arrays.
RECORD_BYTES = 600
ANSWER_BYTES = 300

V = TypeVar("V")

Name = tuple[Response, bytes]  # of an answer within its outcome: response, list of rows


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


def record_of(outcome: Outcome, tokens: dict[bytes, Tokens]) -> Record[Array] | None:
    """Return copies of what is kept of an outcome, or None; its tokens are put into ``tokens``."""
    classes = outcome.classes
    if outcome.error is not None or (classes is not None and not encodable(classes)):
        return None
    answers: dict[Name, tuple[bool, Array]] = {}
    nbytes = RECORD_BYTES
    last: Tokens | None = None
    for answer in outcome.answers:
        values = own(answer.values)
        if not encodable(values):
            return None
        # The answers of a fit mostly share one array of tokens, and hashing it is most of the work here.
        if last is None or answer.tokens is not last:
            rowset, last = answer.rowset, answer.tokens
            tokens[rowset] = last
        answers[answer.response, rowset] = (bool(answer.coded), values)
        nbytes += ANSWER_BYTES + values.nbytes
    return Record(outcome.solver, float(outcome.fit_seconds), classes, answers, nbytes)


def own(values: Array) -> Array:
    """Return a read-only copy: a view would hold the whole array that it looks into, and its owner may write there."""
    copy = np.array(values)
    copy.setflags(write=False)
    return copy
