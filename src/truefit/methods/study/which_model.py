"""Which model? The answer, and the differences behind it."""

from __future__ import annotations

from collections.abc import Sequence

from truefit.methods.study.answer import Answer
from truefit.methods.study.findings import Findings
from truefit.methods.words import listed

#: So many differences are spelled out in a sentence; the table has them all.
_SPELLED_OUT = 3


def which_model(found: Findings) -> Answer:
    """Say which model to use, and which others would do as well."""
    sentences = [_lead(found), *_ties(found), *_worse(found), *_steadiness(found)]
    headline = f"Use {found.best}."
    if found.no_better_than_guessing:
        headline = "None of them: no candidate is clearly better than guessing."
    return Answer("Which model?", headline, tuple(sentences), "which")


def _lead(found: Findings) -> str:
    spoken, value = found.spoken, found.value(found.best)
    count = len(found.names)
    where = f"{found.assessment.splits.description} on {found.data.n:,} rows"
    if count == 1:
        alone = "is the only candidate" if found.asked == 1 else f"is the one left of {found.asked:,} candidates"
        return f"{found.best} {alone}: {spoken.of_value(value)} in {where}."
    gone = found.asked - count
    dropped = f", {gone:,} of which {'was' if gone == 1 else 'were'} dropped on the way," if gone else ""
    text = f"{found.best} does best of {found.asked:,} candidates{dropped} in {where}: {spoken.of_value(value)}"
    guess = found.guess
    if guess is not None and found.best not in found.dummies:
        text += f"; without looking at any feature it would be {spoken.value(guess)}"
    return f"{text}."


def _told(found: Findings, names: Sequence[str]) -> str:
    """Return differences to the chosen one with their intervals."""
    parts = []
    for name in names[:_SPELLED_OUT]:
        pair = found.pairs[name]
        assert pair.found is not None
        parts.append(f"{name} {found.spoken.difference(pair.found.mean, pair.interval(found.level))}")
    more = len(names) - _SPELLED_OUT
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def _ties(found: Findings) -> list[str]:
    names = [name for name in found.ties if found.pairs[name].found is not None]
    if not names:
        return []
    shown = listed(names[:_SPELLED_OUT]) if len(names) <= _SPELLED_OUT else f"{len(names)} others"
    words = "is" if len(names) == 1 else "are"
    return [
        f"{shown} cannot be told apart from it on these rows, and {words} as defensible a choice "
        f"(difference to {found.best} with its {found.level:.0%} interval: {_told(found, names)})."
    ]


def _worse(found: Findings) -> list[str]:
    comparison = found.comparison
    if comparison is None:
        return []
    names = [name for name in found.ranked if name in found.pairs]
    worse = [name for name in names if comparison.verdict_on(found.pairs[name]) == "worse"]
    if not worse:
        return []
    shown = listed(worse) if len(worse) <= _SPELLED_OUT else f"{len(worse)} others ({listed(worse)})"
    verb, more = ("is", "") if len(worse) == 1 else ("are", " or more")
    least = found.spoken.change(found.behind(worse[0], found.best))
    return [f"{shown} {verb} worse beyond chance, by {least}{more}."]


def _steadiness(found: Findings) -> list[str]:
    if found.honest is None or found.asked < 2:
        return []
    chosen = found.honest.chosen
    count = chosen.count(found.best)
    others = [name for name in dict.fromkeys(chosen) if name != found.best]
    if not others:
        return [f"The choice is steady: made anew without each of the {len(chosen)} folds, it was the same every time."]
    return [
        f"The choice is not clear-cut: made anew without each of the {len(chosen)} folds, it was {found.best} "
        f"{count} of {len(chosen)} times, otherwise {listed(others)}."
    ]
