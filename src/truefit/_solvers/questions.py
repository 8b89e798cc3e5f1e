"""Questions: what several fits are asked, gathered by the rows that they are asked about."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from truefit._core.rows import Rows
from truefit._core.task import Fit, Response

RowsKey = tuple[int | None, str, bytes]

#: So many rows, each time that a model is asked about one, are worked on at a time: they stay in the processor's cache.
BATCH_ROWS = 16384


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
    >>> from truefit._core.task import Ask
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


@dataclass(frozen=True, slots=True)
class Batch:
    """Fits that are asked for the same responses: all on the same rows, or each on as many of its own."""

    places: list[int]
    responses: tuple[Response, ...]
    rows: list[Rows]


def batches(fits: Sequence[Fit]) -> Iterator[Batch]:
    """Put together fits whose questions can be answered at once.

    Examples
    --------
    >>> from truefit._core.task import Ask
    >>> asked = [Rows.of([0, 1]), Rows.of([2, 3]), Rows.of([4])], [Rows.of([5, 6])] * 2
    >>> fits = [Fit("", b"", b"", None, Rows.all(7), (Ask(rows),)) for rows in sum(asked, [])]
    >>> [(batch.places, len(batch.rows)) for batch in batches(fits)]
    [([3, 4], 1), ([0, 1], 2), ([2], 1)]
    """
    alone: dict[tuple[int, tuple[Response, ...]], list[tuple[int, Rows]]] = defaultdict(list)
    for question in questions(fits):
        by_places: dict[tuple[int, ...], list[Response]] = defaultdict(list)
        for response, places in question.wanted.items():
            by_places[tuple(places)].append(response)
        for several, responses in by_places.items():
            if len(several) == 1:
                alone[len(question.rows), tuple(responses)].append((several[0], question.rows))
                continue
            step = max(1, BATCH_ROWS // len(question.rows))
            for start in range(0, len(several), step):
                yield Batch(list(several[start : start + step]), tuple(responses), [question.rows])
    for (length, wanted), pairs in alone.items():
        step = max(1, BATCH_ROWS // length)
        for start in range(0, len(pairs), step):
            some = pairs[start : start + step]
            yield Batch([place for place, _ in some], wanted, [rows for _, rows in some])
