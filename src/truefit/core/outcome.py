"""Outcome: what a fit answered."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.placement import Placements
from truefit.core.rows import Rows
from truefit.core.task import Response
from truefit.core.tokens import Tokens, rowset_id

_NO_ROWS = rowset_id(np.empty((0, 2), dtype=np.uint64))

FailureKind = Literal["raised", "timeout", "died", "memory", "wrong answer", "not fitted", "other code"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a fit has no answers."""

    kind: FailureKind
    message: str
    traceback: str = ""

    @classmethod
    def of(cls, error: BaseException, kind: FailureKind = "raised") -> Failure:
        """Record an exception with its traceback; a MemoryError is of its own kind."""
        if isinstance(error, MemoryError):
            kind = "memory"
        text = "".join(traceback.format_exception(error))
        return cls(kind, f"{type(error).__name__}: {error}", text)


#: So many different reasons are said in the text of an error; the others are counted.
_REASONS = 5
#: Characters of one reason.
_REASON_LENGTH = 400


def reasons(failures: Iterable[Failure]) -> str:
    """Failures as sentences without tracebacks, equal reasons once with their count, the most frequent first.

    Examples
    --------
    >>> reasons([Failure("raised", "ValueError: no luck"), Failure("raised", "ValueError: no luck")])
    '2 fits failed (raised): ValueError: no luck'
    """
    counts = Counter((failure.kind, _first_line(failure.message)) for failure in failures)
    parts = [
        f"{count} fit{'s' if count > 1 else ''} failed ({kind}): {text}"
        for (kind, text), count in counts.most_common(_REASONS)
    ]
    left = len(counts) - len(parts)
    return "\n".join([*parts, f"{left} other reason{'s' if left > 1 else ''}."] if left else parts)


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _REASON_LENGTH else line[: _REASON_LENGTH - 1] + "…"


def grouped_failures(failures: Iterable[Failure]) -> str:
    """Failures as text, identical ones once with their count, the most frequent first."""
    counts = Counter(failures)
    parts = []
    for failure, count in counts.most_common():
        head = f"{count} fit{'s' if count > 1 else ''} failed ({failure.kind}): {failure.message}"
        parts.append(head + ("\n" + failure.traceback.rstrip() if failure.traceback else ""))
    return "\n\n".join(parts)


# There are as many of what follows as fits, and more: not frozen, because that takes three times as long to make.


@dataclass(slots=True, eq=False)
class Answer:
    """Values of one response, a row's value found by the row's token.

    ``coded`` values are class codes: positions in the outcome's ``classes``.
    """

    response: Response
    tokens: Tokens
    values: npt.NDArray[Any]
    coded: bool = False

    @property
    def rowset(self) -> bytes:
        """Identity of the rows in their order, by which stores keep each list of tokens once."""
        return rowset_id(self.tokens)


@dataclass(slots=True, eq=False)
class Outcome:
    """What came of a fit: its answers, or the failure.

    ``answers`` may be a lazy sequence that reads from a store: nothing is held until a value is looked at.
    ``classes`` are the model's own classes, in the order of the columns of its probabilities. ``hidden_input`` says
    what the fit depends on besides its estimator and rows, if anything: then it must not be stored.
    """

    key: str
    answers: Sequence[Answer] = ()
    fit_seconds: float = 0.0
    solver: str = "plain"
    classes: npt.NDArray[Any] | None = None
    model: Any = None
    error: Failure | None = None
    hidden_input: str | None = None

    def answer(self, data: Data, rows: Rows, response: Response = "predict") -> npt.NDArray[Any]:
        """Values for ``rows`` in ascending order of position: labels or numbers; probabilities by ``classes``.

        Raises
        ------
        KeyError
            If the fit was never asked for this.
        """
        found = _found(self.answers, response, data.rowset_of(rows), lambda: data.tokens_of(rows))
        if found is None:
            raise KeyError(f"The fit has no {response} for all of the {len(rows)} rows.")
        values, coded = _values(*found)
        return self.classes[values] if coded and self.classes is not None else values

    def has(self, data: Data, rows: Rows, response: Response) -> bool:
        """Whether all these rows of a table are answered."""
        return _found(self.answers, response, data.rowset_of(rows), lambda: data.tokens_of(rows)) is not None

    def covers(self, response: Response, tokens: Tokens) -> bool:
        """Whether all rows of these tokens are answered."""
        return _found(self.answers, response, rowset_id(tokens), lambda: tokens) is not None


def lookup(answers: Iterable[Answer], response: Response, tokens: Tokens) -> tuple[npt.NDArray[Any], bool] | None:
    """Values of ``response`` in the order of ``tokens`` and whether they are codes; None where a row lacks one."""
    found = _found(answers, response, rowset_id(tokens), lambda: tokens)
    return None if found is None else _values(*found)


_placements = Placements()


def _found(
    answers: Iterable[Answer], response: Response, rowset: bytes, tokens: Callable[[], Tokens]
) -> tuple[list[Answer], npt.NDArray[np.intp] | None] | None:
    """Return the answers that hold some rows, and the places of these in them; no places where they are all of one."""
    parts = [answer for answer in answers if answer.response == response]
    rowsets = [part.rowset for part in parts]  # a stored answer knows it without reading its tokens
    if rowset in rowsets:
        return [parts[rowsets.index(rowset)]], None
    if not parts or rowset == _NO_ROWS:
        return None
    # The rows stand in another order, or in several parts.
    places = _placements.find(rowset, tokens, rowsets, lambda: [part.tokens for part in parts])
    return None if places is None else (parts, places)


def _values(parts: list[Answer], places: npt.NDArray[np.intp] | None) -> tuple[npt.NDArray[Any], bool]:
    values = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
    return values if places is None else values[places], parts[0].coded
