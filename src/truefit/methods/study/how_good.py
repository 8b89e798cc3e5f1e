"""How good is it, really? The value to expect of the choice, and what it is to be set against."""

from __future__ import annotations

from truefit.methods.study.answer import Answer
from truefit.methods.study.findings import Findings
from truefit.methods.words import counted


def how_good(found: Findings) -> Answer:
    """Say what to expect on new rows."""
    spoken, interval = found.spoken, found.interval
    ends = "" if interval is None else f" ({spoken.between(interval)})"
    headline = f"Expect {spoken.of_value(found.estimate)}{ends} on new rows."
    return Answer(
        "How good is it, really?", headline, (*_origin(found), *_set_against(found), *_together(found)), "how_good"
    )


def _origin(found: Findings) -> list[str]:
    spoken = found.spoken
    known = (
        f"The range is a {found.level:.0%} interval."
        if found.interval is not None
        else f"There is no interval: {found.winner.reason}."
    )
    count = found.asked if found.honest is not None else len(found.names)
    if count < 2 or (found.honest is None and found.interval is None):
        return [known, *_reach(found)]
    how = "by choosing anew on bootstrap samples of the rows"
    if found.honest is not None:
        how = f"made anew without each of the {len(found.honest.chosen)} folds and judged there"
    return [
        f"{known} It is of the whole way of choosing among {count}, {how}; the cross-validation by which {found.best} "
        f"was chosen, which tends to flatter, says {spoken.value(found.value(found.best))}.",
        *_reach(found),
    ]


def _reach(found: Findings) -> list[str]:
    """Say why a range lies unevenly about its estimate, where that can be seen."""
    if found.honest is None or found.interval is None or found.honest.interval != found.interval:
        return []
    if found.honest.reach < 0.05 * abs(found.interval[1] - found.interval[0]):
        return []
    last = found.spoken.change(found.honest.reach)
    return [
        f"The last {last} at the better end of the range are what the model of all rows may gain over those that were "
        "judged, each without the rows of a fold."
    ]


def _set_against(found: Findings) -> list[str]:
    guess = found.guess
    if guess is None or found.best in found.dummies or guess == 0:
        return []
    spoken = found.spoken
    what = "always naming the largest class" if found.task == "classification" else "always predicting the mean"
    text = f"For comparison, {what} has {spoken.of_value(guess)}"
    if found.metric.greater_is_better:
        return [f"{text}."]
    less = 1 - found.estimate / guess
    return [f"{text}: this is {abs(less):.0%} {'less' if less >= 0 else 'more'}."]


def _together(found: Findings) -> list[str]:
    result = found.cross_test
    if result is None or found.honest is None:
        return []
    spoken = found.spoken
    ends = "" if result.interval is None else f" ({spoken.between(result.interval)})"
    text = f"Agghoo, the average of the models that single folds would choose, has {spoken.of_value(result.estimate)}"
    text += ends
    gain = found.sign * (found.estimate - result.estimate)
    # A difference that is small beside the interval is not worth a second look.
    width = 0.0 if found.interval is None else abs(found.interval[1] - found.interval[0])
    if abs(gain) <= 0.1 * width:
        text += ", about the same"
    else:
        text += f", {spoken.change(gain)} {'better' if gain > 0 else 'worse'} than choosing a single model"
        text += ", which is well within the interval" if abs(gain) <= 0.5 * width else ""
    if found.shared is not None:
        asked, new = found.shared
        fresh = "none of them new" if new == 0 else f"{counted(new, 'of them')} new"
        text += f"; it took {counted(asked, 'fit')}, {fresh}"
    return [f"{text}."]
