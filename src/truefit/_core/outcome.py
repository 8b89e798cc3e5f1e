"""Outcome: the predictions of one fit, or why it failed; found again by the rows they are for."""

from __future__ import annotations

import threading
import traceback
from collections import Counter, OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, overload

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.hashing import Tokens, rowset_id
from truefit._core.rows import Rows
from truefit._core.task import Response
from truefit._core.typing import Positions

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
        self._held: OrderedDict[tuple[bytes, ...], Positions | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()  # results are read in whatever thread the user likes

    def find(
        self,
        rowset: bytes,
        wanted: Callable[[], Tokens],
        rowsets: Sequence[bytes],
        known: Callable[[], Sequence[Tokens]],
    ) -> Positions | None:
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


def _size(places: Positions | None) -> int:
    return _ENTRY_BYTES + (0 if places is None else places.nbytes)


def _places(wanted: Tokens, known: Tokens) -> Positions | None:
    order = np.lexsort((known[:, 1], known[:, 0]))
    rows = np.ascontiguousarray(known[order]).view([("a", np.uint64), ("b", np.uint64)]).reshape(-1)
    looked_for = np.ascontiguousarray(wanted).view(rows.dtype).reshape(-1)
    place = np.searchsorted(rows, looked_for)
    if (place >= len(rows)).any() or (rows[place] != looked_for).any():
        return None
    return order[place]


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
class Predictions:
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
    answers: Sequence[Predictions] = ()
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


def lookup(answers: Iterable[Predictions], response: Response, tokens: Tokens) -> tuple[npt.NDArray[Any], bool] | None:
    """Values of ``response`` in the order of ``tokens`` and whether they are codes; None where a row lacks one."""
    found = _found(answers, response, rowset_id(tokens), lambda: tokens)
    return None if found is None else _values(*found)


_placements = Placements()


def _found(
    answers: Iterable[Predictions], response: Response, rowset: bytes, tokens: Callable[[], Tokens]
) -> tuple[list[Predictions], npt.NDArray[np.intp] | None] | None:
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


def _values(parts: list[Predictions], places: npt.NDArray[np.intp] | None) -> tuple[npt.NDArray[Any], bool]:
    values = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
    return values if places is None else values[places], parts[0].coded


class LeftOutOutcomes(Sequence[Outcome]):
    """An outcome for each row of a table, made when it is looked at.

    Parameters
    ----------
    together : Outcome
        Of a task with ``each_left_out``; its answers are about every row.
    data : Data

    Examples
    --------
    >>> import numpy as np
    >>> data = Data(np.array([[1.0], [2.0]]), np.array([3.0, 4.0]), task="regression")
    >>> together = Outcome("two fits", (Predictions("predict", data.tokens, np.array([4.0, 3.0])),), 1.0)
    >>> outcomes = LeftOutOutcomes(together, data)
    >>> len(outcomes), outcomes[1].answers[0].values, outcomes[1].fit_seconds
    (2, array([3.]), 0.5)
    """

    def __init__(self, together: Outcome, data: Data) -> None:
        self.together = together
        self._data = data

    @cached_property
    def _answers(self) -> list[tuple[Any, npt.NDArray[Any], bool]]:
        answers = tuple(self.together.answers)
        found_answers = []
        for response in dict.fromkeys(answer.response for answer in answers):
            found = lookup(answers, response, self._data.tokens)
            if found is not None:
                found_answers.append((response, *found))
        return found_answers

    @overload
    def __getitem__(self, place: int) -> Outcome: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Outcome]: ...
    def __getitem__(self, place: int | slice) -> Outcome | Sequence[Outcome]:
        places = range(len(self))[place]
        if not isinstance(places, range):
            return self._at(places)
        return self if places == range(len(self)) else [self._at(each) for each in places]

    def __iter__(self) -> Iterator[Outcome]:
        return map(self._at, range(len(self)))

    def _at(self, row: int) -> Outcome:
        tokens, together = self._data.tokens[row : row + 1], self.together
        answers = [
            Predictions(response, tokens, values[row : row + 1], coded) for response, values, coded in self._answers
        ]
        return Outcome(
            together.key, tuple(answers), together.fit_seconds / len(self), together.solver, together.classes
        )

    def __len__(self) -> int:
        return self._data.n
