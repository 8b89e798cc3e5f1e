"""Outcome: the predictions of one fit, or why it failed; and Outcomes: many of them in little memory."""

from __future__ import annotations

import threading
from array import array
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeAlias, overload

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import Failure
from truefit._core.rows import Rows, Tokens, rowset_id
from truefit._core.typing import Array, Positions

if TYPE_CHECKING:
    from truefit._core.protocols import Response, Store

#: Places that are held take at most this much; those computed last are held whatever they take.
HELD_BYTES = 16 << 20
#: About what Python takes for one of them beyond its numbers.
_ENTRY_BYTES = 400


class Placements:
    """Places of rows in the lists that hold them, shared by fits; the least recently used are dropped first."""

    def __init__(self, limit_bytes: int = HELD_BYTES) -> None:
        self.limit_bytes = limit_bytes
        self._held: OrderedDict[tuple[bytes, ...], Positions | None] = OrderedDict()
        self._bytes = 0
        self._lock = threading.Lock()  # results may be read in any thread

    def find(
        self,
        rowset: bytes,
        wanted: Callable[[], Tokens],
        rowsets: Sequence[bytes],
        known: Callable[[], Sequence[Tokens]],
    ) -> Positions | None:
        """Return the places of ``rowset`` in ``rowsets`` put together; None where they lack one of the rows."""
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

# There are as many of what follows as fits, and more: not frozen, because that takes three times as long to make.


@dataclass(slots=True, eq=False)
class Predictions:
    """Values of one response by the rows' tokens; ``coded`` ones are positions in the outcome's ``classes``."""

    response: Response
    tokens: Tokens
    values: Array
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
    classes: Array | None = None
    model: Any = None
    error: Failure | None = None
    hidden_input: str | None = None

    def answer(self, data: Data, rows: Rows, response: Response = "predict") -> Array:
        """Values for ``rows`` in ascending order of position; a KeyError if they were not requested of the fit."""
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


def lookup(answers: Iterable[Predictions], response: Response, tokens: Tokens) -> tuple[Array, bool] | None:
    """Values of ``response`` in the order of ``tokens`` and whether they are codes; None where a row lacks one."""
    found = _found(answers, response, rowset_id(tokens), lambda: tokens)
    return None if found is None else _values(*found)


_placements = Placements()


def _found(
    answers: Iterable[Predictions], response: Response, rowset: bytes, tokens: Callable[[], Tokens]
) -> tuple[list[Predictions], Positions | None] | None:
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


def _values(parts: list[Predictions], places: Positions | None) -> tuple[Array, bool]:
    values = parts[0].values if len(parts) == 1 else np.concatenate([part.values for part in parts])
    return values if places is None else values[places], parts[0].coded


class LeftOutOutcomes(Sequence[Outcome]):
    """An outcome for each row of a table, made when it is read from the outcome of a task with ``each_left_out``."""

    def __init__(self, together: Outcome, data: Data) -> None:
        self.together = together
        self._data = data

    @cached_property
    def _answers(self) -> list[tuple[Any, Array, bool]]:
        answers = tuple(self.together.answers)
        responses = dict.fromkeys(answer.response for answer in answers)
        found = {response: lookup(answers, response, self._data.tokens) for response in responses}
        return [(response, *values) for response, values in found.items() if values is not None]

    def __getitem__(self, place: Any) -> Any:
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


#: Characters of a key.
_KEY = 32

_Origin: TypeAlias = "tuple[Store, str, Array | None]"  # store, solver, classes


class StoredPredictions(Sequence[Predictions]):
    """Answers that stay in the store until somebody looks at them."""

    __slots__ = ("key", "store")

    def __init__(self, store: Store, key: str) -> None:
        self.store = store
        self.key = key

    def _load(self) -> Sequence[Predictions]:
        return self.store.get([self.key])[self.key].answers

    def __getitem__(self, place: Any) -> Any:
        return self._load()[place]

    def __iter__(self) -> Iterator[Predictions]:
        return iter(self._load())

    def __len__(self) -> int:
        return len(self._load())

    def __reduce__(self) -> tuple[Any, ...]:
        # A pickle takes the answers themselves along: the store may be in this process's memory.
        return tuple, ([Predictions(a.response, a.tokens, a.values, a.coded) for a in self._load()],)


class Outcomes(Sequence[Outcome | None]):
    """A list of outcomes, None where there is none yet.

    Of an outcome whose answers are in a store 44 bytes are held. One with a model, an error or answers of its own is
    held as it is.
    """

    __slots__ = ("_as_they_are", "_keys", "_known", "_origin", "_origins", "_seconds")

    def __init__(self, outcomes: Iterable[Outcome | None] = ()) -> None:
        self._keys = bytearray()
        self._seconds = array("d")
        self._origin = array("I")  # 0: none, or held as it is; else which of the origins
        self._origins: list[_Origin] = []
        self._known: dict[Any, int] = {}
        self._as_they_are: dict[int, Outcome] = {}
        self.extend(outcomes)

    @property
    def ready(self) -> int:
        """How many there are, not counting None."""
        return len(self) - self._origin.count(0) + len(self._as_they_are)

    def extend(self, outcomes: Iterable[Outcome | None]) -> None:
        """Add outcomes at the end."""
        for outcome in outcomes:
            self._keys.extend(bytes(_KEY))
            self._seconds.append(0.0)
            self._origin.append(0)
            if outcome is not None:
                self[len(self._origin) - 1] = outcome

    def __setitem__(self, place: int, outcome: Outcome) -> None:
        place = range(len(self))[place]
        origin = self._origin_of(outcome)
        self._origin[place] = origin
        if origin == 0:
            self._as_they_are[place] = outcome
            return
        self._as_they_are.pop(place, None)
        self._seconds[place] = outcome.fit_seconds
        self._keys[_KEY * place : _KEY * (place + 1)] = outcome.key.encode().ljust(_KEY, b"\0")

    def _origin_of(self, outcome: Outcome) -> int:
        """Return the number of an outcome's origin, or 0 if it has to be held as it is."""
        answers, classes = outcome.answers, outcome.classes
        if outcome.model is not None or outcome.error is not None or len(outcome.key) > _KEY:
            return 0
        if not isinstance(answers, StoredPredictions) or (classes is not None and classes.dtype.hasobject):
            return 0
        return self._number(answers.store, outcome.solver, classes)

    def _number(self, store: Store, solver: str, classes: Array | None) -> int:
        # Every model has an array of classes of its own; those that are equal are held once.
        name = (id(store), solver, None if classes is None else (classes.dtype, classes.tobytes()))
        number = self._known.get(name)
        if number is None:
            self._origins.append((store, solver, classes))
            number = self._known[name] = len(self._origins)
        return number

    @overload
    def __getitem__(self, place: int) -> Outcome | None: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Outcome | None]: ...
    def __getitem__(self, place: int | slice) -> Outcome | Sequence[Outcome | None] | None:
        places = range(len(self))[place]
        return Outcomes(map(self._at, places)) if isinstance(places, range) else self._at(places)

    def _at(self, place: int) -> Outcome | None:
        origin = self._origin[place]
        if origin == 0:
            return self._as_they_are.get(place)
        store, solver, classes = self._origins[origin - 1]
        key = self._keys[_KEY * place : _KEY * (place + 1)].rstrip(b"\0").decode()
        return Outcome(key, StoredPredictions(store, key), self._seconds[place], solver, classes)

    def __iter__(self) -> Iterator[Outcome | None]:
        return map(self._at, range(len(self)))

    def __len__(self) -> int:
        return len(self._origin)

    def __reduce__(self) -> tuple[Any, ...]:
        return Outcomes, (list(self),)
