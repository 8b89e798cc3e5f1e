"""Outcome: what a fit answered."""

from __future__ import annotations

import traceback
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.rows import Rows
from truefit.core.task import Response
from truefit.core.tokens import Tokens, rowset_id

FailureKind = Literal["raised", "timeout", "died", "wrong answer", "not fitted"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a fit has no answers."""

    kind: FailureKind
    message: str
    traceback: str = ""

    @classmethod
    def of(cls, error: BaseException, kind: FailureKind = "raised") -> Failure:
        """Record an exception with its traceback."""
        text = "".join(traceback.format_exception(error))
        return cls(kind, f"{type(error).__name__}: {error}", text)


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
    ``classes`` are the model's own classes, in the order of the columns of its probabilities.
    """

    key: str
    answers: Sequence[Answer] = ()
    fit_seconds: float = 0.0
    solver: str = "plain"
    classes: npt.NDArray[Any] | None = None
    model: Any = None
    error: Failure | None = None

    def answer(self, data: Data, rows: Rows, response: Response = "predict") -> npt.NDArray[Any]:
        """Values for ``rows`` in ascending order of position: labels or numbers; probabilities by ``classes``.

        Raises
        ------
        KeyError
            If the fit was never asked for this.
        """
        wanted = data.tokens_of(rows)
        found = lookup(self.answers, response, wanted, data.rowset if rows.whole else None)
        if found is None:
            raise KeyError(f"The fit has no {response} for all of the {len(wanted)} rows.")
        values, coded = found
        return self.classes[values] if coded and self.classes is not None else values

    def covers(self, response: Response, tokens: Tokens) -> bool:
        """Whether all these rows are answered."""
        return lookup(self.answers, response, tokens) is not None


def lookup(
    answers: Iterable[Answer], response: Response, tokens: Tokens, rowset: bytes | None = None
) -> tuple[npt.NDArray[Any], bool] | None:
    """Values of ``response`` in the order of ``tokens`` and whether they are codes; None where a row lacks one.

    ``rowset`` is the identity of the tokens, where it is known.
    """
    parts = [answer for answer in answers if answer.response == response]
    rowset = rowset_id(tokens) if rowset is None else rowset
    for part in parts:
        if part.rowset == rowset:  # a stored answer knows it without reading its tokens
            return part.values, part.coded
    if not parts or len(tokens) == 0:
        return None
    # The rows stand in another order, or in several parts.
    known = np.concatenate([part.tokens for part in parts])
    order = np.lexsort((known[:, 1], known[:, 0]))
    known = np.ascontiguousarray(known[order]).view([("a", np.uint64), ("b", np.uint64)]).reshape(-1)
    wanted = np.ascontiguousarray(tokens).view(known.dtype).reshape(-1)
    place = np.searchsorted(known, wanted)
    if (place >= len(known)).any() or (known[place] != wanted).any():
        return None
    values = np.concatenate([part.values for part in parts])
    return values[order[place]], parts[0].coded
