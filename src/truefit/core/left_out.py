"""LeftOutOutcomes: what the fits without each row say of it, from one outcome that says it of all rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from functools import cached_property
from typing import Any, overload

import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.outcome import Answer, Outcome, lookup


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
    >>> together = Outcome("two fits", (Answer("predict", data.tokens, np.array([4.0, 3.0])),), 1.0)
    >>> outcomes = LeftOutOutcomes(together, data)
    >>> len(outcomes), outcomes[1].answers[0].values, outcomes[1].fit_seconds
    (2, array([3.]), 0.5)
    """

    def __init__(self, together: Outcome, data: Data) -> None:
        self.together = together
        self._data = data

    @cached_property
    def _said(self) -> list[tuple[Any, npt.NDArray[Any], bool]]:
        answers = tuple(self.together.answers)
        said = []
        for response in dict.fromkeys(answer.response for answer in answers):
            found = lookup(answers, response, self._data.tokens)
            if found is not None:
                said.append((response, *found))
        return said

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
        answers = [Answer(response, tokens, values[row : row + 1], coded) for response, values, coded in self._said]
        return Outcome(
            together.key, tuple(answers), together.fit_seconds / len(self), together.solver, together.classes
        )

    def __len__(self) -> int:
        return self._data.n
