"""Outcomes: many of them in little memory, their answers where they are stored."""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, overload

import numpy.typing as npt

from truefit._core.outcome import Outcome, Predictions
from truefit._core.protocols import Store

#: Characters of a key.
_KEY = 32

_Origin = tuple[Store, str, npt.NDArray[Any] | None]  # store, solver, classes


class StoredPredictions(Sequence[Predictions]):
    """Answers that stay in the store until somebody looks at them."""

    __slots__ = ("key", "store")

    def __init__(self, store: Store, key: str) -> None:
        self.store = store
        self.key = key

    def _load(self) -> Sequence[Predictions]:
        return self.store.get([self.key])[self.key].answers

    @overload
    def __getitem__(self, place: int) -> Predictions: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Predictions]: ...
    def __getitem__(self, place: int | slice) -> Predictions | Sequence[Predictions]:
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

    Of an outcome whose answers are in a store 44 bytes are held, and it is made anew when it is looked at. What has a
    model, an error or answers of its own is held as it is. A slice looks into the list, and copies nothing.

    Parameters
    ----------
    outcomes : iterable of Outcome or None

    Examples
    --------
    >>> outcomes = Outcomes([Outcome("a fit"), None])
    >>> outcomes.extend([Outcome("another")])
    >>> [outcome and outcome.key for outcome in outcomes], outcomes[::2][1].key
    (['a fit', None, 'another'], 'another')
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
        if isinstance(outcomes, Outcomes):
            self._join(outcomes)
            return
        for outcome in outcomes:
            self._keys.extend(bytes(_KEY))
            self._seconds.append(0.0)
            self._origin.append(0)
            if outcome is not None:
                self[len(self._origin) - 1] = outcome

    def _join(self, others: Outcomes) -> None:
        start = len(self)
        numbers = [0, *(self._number(*origin) for origin in others._origins)]
        self._keys += others._keys
        self._seconds += others._seconds
        self._origin.extend(numbers[origin] for origin in others._origin)
        self._as_they_are.update({start + place: outcome for place, outcome in others._as_they_are.items()})

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

    def _number(self, store: Store, solver: str, classes: npt.NDArray[Any] | None) -> int:
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
        return OutcomeSlice(self, places) if isinstance(places, range) else self._at(places)

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


class OutcomeSlice(Sequence[Outcome | None]):
    """Some of a list of outcomes."""

    __slots__ = ("_outcomes", "_places")

    def __init__(self, outcomes: Outcomes, places: range) -> None:
        self._outcomes = outcomes
        self._places = places

    @overload
    def __getitem__(self, place: int) -> Outcome | None: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Outcome | None]: ...
    def __getitem__(self, place: int | slice) -> Outcome | Sequence[Outcome | None] | None:
        places = self._places[place]
        return OutcomeSlice(self._outcomes, places) if isinstance(places, range) else self._outcomes._at(places)

    def __iter__(self) -> Iterator[Outcome | None]:
        return map(self._outcomes._at, self._places)

    def __len__(self) -> int:
        return len(self._places)

    def __reduce__(self) -> tuple[Any, ...]:
        return Outcomes, (list(self),)
