"""Answers of a study: which model, how good it is, and whether more data would help."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

from truefit._methods.text import MetricText, counted, listed
from truefit._metrics.metric import get_metric
from truefit._study.evidence import StudyEvidence

Section = Literal["which", "how_good", "fit", "more_data"]


@dataclass(frozen=True, slots=True)
class Answer:
    """A question, the answer in one short sentence, and the sentences behind it.

    ``section`` is the place in a report that shows the numbers.
    """

    question: str
    headline: str
    sentences: tuple[str, ...]
    section: Section

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "question": self.question,
            "headline": self.headline,
            "sentences": list(self.sentences),
            "section": self.section,
        }


#: So many differences are spelled out in a sentence; the table has them all.
_NAMED = 3


def which_model(found: StudyEvidence) -> Answer:
    """Say which model to use, and which others would do as well."""
    sentences = [_best_candidate(found), *_ties(found), *_worse(found), *_stability(found)]
    headline = f"Use {found.best}."
    if found.no_better_than_baseline:
        headline = "None of them: no candidate is clearly better than guessing."
    return Answer("Which model?", headline, tuple(sentences), "which")


def _best_candidate(found: StudyEvidence) -> str:
    fmt, value = found.metric_text, found.value(found.best)
    count = len(found.names)
    where = f"{found.assessment.splits.description} on {found.data.n:,} rows"
    if count == 1:
        alone = (
            "is the only candidate"
            if found.n_candidates == 1
            else f"is the one left of {found.n_candidates:,} candidates"
        )
        return f"{found.best} {alone}: {fmt.of_value(value)} in {where}."
    gone = found.n_candidates - count
    dropped = f", {gone:,} of which {'was' if gone == 1 else 'were'} dropped on the way," if gone else ""
    text = f"{found.best} does best of {found.n_candidates:,} candidates{dropped} in {where}: {fmt.of_value(value)}"
    baseline = found.baseline
    if baseline is not None and found.best not in found.baselines:
        text += f"; without looking at any feature it would be {fmt.value(baseline)}"
    return f"{text}."


def _difference_text(found: StudyEvidence, names: Sequence[str]) -> str:
    """Return differences to the chosen one with their intervals."""
    parts = []
    for name in names[:_NAMED]:
        pair = found.pairs[name]
        assert pair.found is not None
        parts.append(f"{name} {found.metric_text.difference(pair.found.mean, pair.interval(found.level))}")
    more = len(names) - _NAMED
    return "; ".join(parts) + (f"; and {more} more" if more > 0 else "")


def _ties(found: StudyEvidence) -> list[str]:
    names = [name for name in found.ties if found.pairs[name].found is not None]
    if not names:
        return []
    shown = listed(names[:_NAMED]) if len(names) <= _NAMED else f"{len(names)} others"
    words = "is" if len(names) == 1 else "are"
    return [
        f"{shown} cannot be told apart from it on these rows, and {words} as defensible a choice "
        f"(difference to {found.best} with its {found.level:.0%} interval: {_difference_text(found, names)})."
    ]


def _worse(found: StudyEvidence) -> list[str]:
    comparison = found.comparison
    if comparison is None:
        return []
    names = [name for name in found.ranked if name in found.pairs]
    worse = [name for name in names if comparison.verdict_on(found.pairs[name]) == "worse"]
    if not worse:
        return []
    shown = listed(worse) if len(worse) <= _NAMED else f"{len(worse)} others ({listed(worse)})"
    verb, more = ("is", "") if len(worse) == 1 else ("are", " or more")
    least = found.metric_text.change(found.behind(worse[0], found.best))
    return [f"{shown} {verb} worse beyond chance, by {least}{more}."]


def _stability(found: StudyEvidence) -> list[str]:
    if found.nested is None or found.n_candidates < 2:
        return []
    chosen = found.nested.chosen
    count = chosen.count(found.best)
    others = [name for name in dict.fromkeys(chosen) if name != found.best]
    if not others:
        return [f"The choice is steady: made anew without each of the {len(chosen)} folds, it was the same every time."]
    return [
        f"The choice is not clear-cut: made anew without each of the {len(chosen)} folds, it was {found.best} "
        f"{count} of {len(chosen)} times, otherwise {listed(others)}."
    ]


def how_good(found: StudyEvidence) -> Answer:
    """Say what to expect on new rows."""
    fmt, interval = found.metric_text, found.interval
    ends = "" if interval is None else f" ({fmt.between(interval)})"
    headline = f"Expect {fmt.of_value(found.estimate)}{ends} on new rows."
    return Answer(
        "How good is it, really?", headline, (*_origin(found), *_set_against(found), *_together(found)), "how_good"
    )


def _origin(found: StudyEvidence) -> list[str]:
    fmt = found.metric_text
    known = (
        f"The range is a {found.level:.0%} interval."
        if found.interval is not None
        else f"There is no interval: {found.winner.reason}."
    )
    count = found.n_candidates if found.nested is not None else len(found.names)
    if count < 2 or (found.nested is None and found.interval is None):
        return [known, *_reach(found)]
    how = "by choosing anew on bootstrap samples of the rows"
    if found.nested is not None:
        how = f"made anew without each of the {len(found.nested.chosen)} folds and judged there"
    return [
        f"{known} It is of the whole way of choosing among {count}, {how}; the cross-validation by which {found.best} "
        f"was chosen, which tends to flatter, says {fmt.value(found.value(found.best))}.",
        *_reach(found),
    ]


def _reach(found: StudyEvidence) -> list[str]:
    """Say why a range lies unevenly about its estimate, where that can be seen."""
    if found.nested is None or found.interval is None or found.nested.interval != found.interval:
        return []
    if found.nested.reach < 0.05 * abs(found.interval[1] - found.interval[0]):
        return []
    last = found.metric_text.change(found.nested.reach)
    return [
        f"The last {last} at the better end of the range are what the model of all rows may gain over those that were "
        "judged, each without the rows of a fold."
    ]


def _set_against(found: StudyEvidence) -> list[str]:
    baseline = found.baseline
    if baseline is None or found.best in found.baselines or baseline == 0:
        return []
    fmt = found.metric_text
    what = "always naming the largest class" if found.task == "classification" else "always predicting the mean"
    text = f"For comparison, {what} has {fmt.of_value(baseline)}"
    if found.metric.greater_is_better:
        return [f"{text}."]
    less = 1 - found.estimate / baseline
    return [f"{text}: this is {abs(less):.0%} {'less' if less >= 0 else 'more'}."]


def _together(found: StudyEvidence) -> list[str]:
    result = found.cross_test
    if result is None or found.nested is None:
        return []
    fmt = found.metric_text
    ends = "" if result.interval is None else f" ({fmt.between(result.interval)})"
    text = f"Agghoo, the average of the models that single folds would choose, has {fmt.of_value(result.estimate)}"
    text += ends
    gain = found.sign * (found.estimate - result.estimate)
    # A difference that is small beside the interval is not worth a second look.
    width = 0.0 if found.interval is None else abs(found.interval[1] - found.interval[0])
    if abs(gain) <= 0.1 * width:
        text += ", about the same"
    else:
        text += f", {fmt.change(gain)} {'better' if gain > 0 else 'worse'} than choosing a single model"
        text += ", which is well within the interval" if abs(gain) <= 0.5 * width else ""
    if found.shared is not None:
        asked, new = found.shared
        fresh = "none of them new" if new == 0 else f"{counted(new, 'of them')} new"
        text += f"; it took {counted(asked, 'fit')}, {fresh}"
    return [f"{text}."]


Outlook = Literal["yes", "perhaps", "hardly", "unclear", "unknown"]

#: A change of the error by less than this share of it is hardly one, if it cannot well be more than the second.
HARDLY, _AT_BEST = 0.1, 0.25
#: Where the interval is wider than this many times the error, it says nothing of what twice the rows bring.
_SAYS_NOTHING = 1.5


@dataclass(frozen=True, slots=True)
class DataGain:
    """What twice the rows are expected to bring: the error now and then, with an interval."""

    outlook: Outlook
    rows: int = 0
    now: float = float("nan")
    then: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")


def data_gain(found: StudyEvidence) -> DataGain:
    """Read the learning curve of the chosen one at twice the rows."""
    curve = found.curve
    if curve is None or curve.refused is not None:
        return DataGain("unknown")
    rows = found.data.n
    now = float(curve.predict(float(rows))[0])
    then, low, high = (float(each) for each in curve.predict(2.0 * rows))
    outlook: Outlook = "perhaps"
    if now <= 0 or (now - then) / now < HARDLY:
        outlook = "hardly" if now <= 0 or (now - low) / now < _AT_BEST else "unclear"
    elif high < now:
        outlook = "yes"
    return DataGain(outlook, rows, now, then, low, high)


def described_curve(found: StudyEvidence) -> MetricText:
    """Return how the metric of the curves is said: that of the study, where it is a loss."""
    curve = found.curve
    return found.metric_text if curve is None else MetricText.of(get_metric(curve.metric, found.task))


def more_data(found: StudyEvidence) -> Answer:
    """Say whether more rows would help, and by how much."""
    more, fmt = data_gain(found), described_curve(found)
    if more.outlook == "unknown":
        return Answer("Would more data help?", *_unknown(found), "more_data")
    change = f"{fmt.value(more.now)} to about {fmt.value(more.then)}"
    ends = f"({fmt.between((more.low, more.high))})"
    headline = {
        "yes": f"Yes: twice the rows would lower the {fmt.name} from {change} {ends}.",
        "perhaps": f"Perhaps: twice the rows are expected to bring the {fmt.name} from {change} {ends}.",
        "hardly": f"Hardly: twice the rows would bring the {fmt.name} from {change} {ends}.",
        "unclear": f"Hardly, as far as can be told: twice the rows would bring the {fmt.name} from {change} {ends}.",
    }[more.outlook]
    if more.outlook == "unclear" and more.high - more.low > _SAYS_NOTHING * more.now:
        headline = f"It can hardly be told: twice the rows may bring the {fmt.name} from {change} {ends}."
    return Answer(
        "Would more data help?", headline, (*_measured(found, fmt), *_crossing_curve(found, more, fmt)), "more_data"
    )


def _unknown(found: StudyEvidence) -> tuple[str, tuple[str, ...]]:
    curve = found.curve
    if curve is not None:
        return "It cannot be told.", (str(curve.refused),)
    why = [text for text in found.not_done if text.startswith(f"Learning curve of {found.best}")]
    return "Not looked into.", tuple(why)


def _measured(found: StudyEvidence, fmt: MetricText) -> list[str]:
    curve = found.curve
    assert curve is not None
    first, last = int(curve.sizes[0]), int(curve.sizes[-1])
    text = (
        f"Measured with {len(curve.sizes)} numbers of rows, from {first:,} ({fmt.value(float(curve.errors[0]))}) to "
        f"{last:,} ({fmt.value(float(curve.errors[-1]))}); the rest is extrapolated, with a {curve.level:.0%} "
        "interval"
    )
    if last < found.data.n:
        text += f". The other {found.data.n - last:,} rows were not used for this"
        text += ", since they would show little more" if curve.enough else ", for lack of time"
    if curve.metric != found.metric.name:
        text += f". Curves are of the {fmt.name}, since {found.metric_text.name} is no loss"
    now = fmt.value(data_gain(found).now)
    if last == found.data.n and now != fmt.value(float(curve.errors[-1])):
        text += f". The curve goes smoothly through all points: with all rows it is at {now}"
    return [f"{text}."]


def _crossing_curve(found: StudyEvidence, more: DataGain, fmt: MetricText) -> list[str]:
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
        f"With twice the rows {name} is expected to be ahead: about {fmt.value(ahead[name])} against "
        f"{fmt.value(more.then)}. Compare again when you have them."
    ]
