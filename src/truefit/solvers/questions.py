"""Questions: what several fits are asked, gathered by the rows that they are asked about."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from truefit.core.rows import Rows
from truefit.core.task import Fit, Response

RowsKey = tuple[int | None, str, bytes]


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Rows, and which of the fits (by their positions) want which response on them."""

    rows: Rows
    wanted: dict[Response, list[int]] = field(default_factory=dict)


def rows_key(rows: Rows) -> RowsKey:
    """Return what equal rows in the same form have in common."""
    return rows.total, rows.listed.dtype.str, rows.listed.tobytes()


def questions(fits: Sequence[Fit]) -> list[Question]:
    """Gather the asks of several fits: each set of rows once, sets without rows left out.

    Examples
    --------
    >>> from truefit.core.task import Ask
    >>> asks = (Ask(Rows.of([0, 1])), Ask(Rows.of([0, 1]), "predict_proba"), Ask(Rows.of([])))
    >>> fits = [Fit("a", b"", b"", None, Rows.all(3), asks), Fit("b", b"", b"", None, Rows.all(3), asks[:1])]
    >>> [question] = questions(fits)
    >>> question.rows, question.wanted
    (Rows.of([0, 1]), {'predict': [0, 1], 'predict_proba': [0]})
    """
    by_rows: dict[RowsKey, Question] = {}
    keys: dict[int, RowsKey] = {}  # plans ask all their fits about the same object: its bytes are made once
    for place, fit in enumerate(fits):
        for ask in fit.asks:
            if len(ask.rows) == 0:
                continue
            key = keys.get(id(ask.rows))
            if key is None:
                key = keys[id(ask.rows)] = rows_key(ask.rows)
            question = by_rows.setdefault(key, Question(ask.rows))
            places = question.wanted.setdefault(ask.response, [])
            if not places or places[-1] != place:
                places.append(place)
    return list(by_rows.values())
