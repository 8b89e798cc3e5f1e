"""Would more data help? What the learning curve says of twice the rows."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from truefit.methods.study.answer import Answer
from truefit.methods.study.findings import Findings
from truefit.methods.words import Spoken
from truefit.metrics.metric import get_metric

Outlook = Literal["yes", "perhaps", "hardly", "unclear", "unknown"]

#: A change of the error by less than this share of it is hardly one, if it cannot well be more than the second.
HARDLY, _AT_BEST = 0.1, 0.25
#: Where the interval is wider than this many times the error, it says nothing of what twice the rows bring.
_SAYS_NOTHING = 1.5


@dataclass(frozen=True, slots=True)
class More:
    """What twice the rows are expected to bring: the error now and then, with an interval."""

    outlook: Outlook
    rows: int = 0
    now: float = float("nan")
    then: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def more_of(found: Findings) -> More:
    """Read the learning curve of the chosen one at twice the rows."""
    curve = found.curve
    if curve is None or curve.refused is not None:
        return More("unknown")
    rows = found.data.n
    now = float(curve.predict(float(rows))[0])
    then, low, high = (float(each) for each in curve.predict(2.0 * rows))
    outlook: Outlook = "perhaps"
    if now <= 0 or (now - then) / now < HARDLY:
        outlook = "hardly" if now <= 0 or (now - low) / now < _AT_BEST else "unclear"
    elif high < now:
        outlook = "yes"
    return More(outlook, rows, now, then, low, high)


def spoken_curve(found: Findings) -> Spoken:
    """Return how the metric of the curves is said: that of the study, where it is a loss."""
    curve = found.curve
    return found.spoken if curve is None else Spoken.of(get_metric(curve.metric, found.task))


def more_data(found: Findings) -> Answer:
    """Say whether more rows would help, and by how much."""
    more, spoken = more_of(found), spoken_curve(found)
    if more.outlook == "unknown":
        return Answer("Would more data help?", *_unknown(found), "more_data")
    change = f"{spoken.value(more.now)} to about {spoken.value(more.then)}"
    ends = f"({spoken.between((more.low, more.high))})"
    headline = {
        "yes": f"Yes: twice the rows would lower the {spoken.name} from {change} {ends}.",
        "perhaps": f"Perhaps: twice the rows are expected to bring the {spoken.name} from {change} {ends}.",
        "hardly": f"Hardly: twice the rows would bring the {spoken.name} from {change} {ends}.",
        "unclear": f"Hardly, as far as can be told: twice the rows would bring the {spoken.name} from {change} {ends}.",
    }[more.outlook]
    if more.outlook == "unclear" and more.high - more.low > _SAYS_NOTHING * more.now:
        headline = f"It can hardly be told: twice the rows may bring the {spoken.name} from {change} {ends}."
    return Answer(
        "Would more data help?", headline, (*_measured(found, spoken), *_overtaken(found, more, spoken)), "more_data"
    )


def _unknown(found: Findings) -> tuple[str, tuple[str, ...]]:
    curve = found.curve
    if curve is not None:
        return "It cannot be told.", (str(curve.refused),)
    why = [text for text in found.not_done if text.startswith(f"Learning curve of {found.best}")]
    return "Not looked into.", tuple(why)


def _measured(found: Findings, spoken: Spoken) -> list[str]:
    curve = found.curve
    assert curve is not None
    first, last = int(curve.sizes[0]), int(curve.sizes[-1])
    text = (
        f"Measured with {len(curve.sizes)} numbers of rows, from {first:,} ({spoken.value(float(curve.errors[0]))}) to "
        f"{last:,} ({spoken.value(float(curve.errors[-1]))}); the rest is extrapolated, with a {curve.level:.0%} "
        "interval"
    )
    if last < found.data.n:
        text += f". The other {found.data.n - last:,} rows were not used for this"
        text += ", since they would show little more" if curve.enough else ", for lack of time"
    if curve.metric != found.metric.name:
        text += f". Curves are of the {spoken.name}, since {found.spoken.name} is no loss"
    now = spoken.value(more_of(found).now)
    if last == found.data.n and now != spoken.value(float(curve.errors[-1])):
        text += f". The curve goes smoothly through all points: with all rows it is at {now}"
    return [f"{text}."]


def _overtaken(found: Findings, more: More, spoken: Spoken) -> list[str]:
    """Say who is expected to be ahead of the chosen one with more rows."""
    assert found.curves is not None
    ahead = {}
    for name, curve in found.curves.curves.items():
        if name == found.best or curve.refused is not None:
            continue
        then = float(curve.predict(2.0 * more.rows)[0])
        if then < (1 - HARDLY) * more.then:
            ahead[name] = then
    if not ahead:
        return []
    name = min(ahead, key=lambda each: ahead[each])
    return [
        f"With twice the rows {name} is expected to be ahead: about {spoken.value(ahead[name])} against "
        f"{spoken.value(more.then)}. Compare again when you have them."
    ]
