"""Answers of a study: which model, how good it is, and whether more data would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Final, Literal

import numpy as np

from truefit._methods.learning_curve.result import LearningCurve
from truefit._methods.text import MetricText, counted, listed, new_rows, percent, searched_text
from truefit._metrics.metric import get_metric
from truefit._metrics.smooth import Ratios, Total
from truefit._study.evidence import Cause, StudyEvidence

Section = Literal["which", "how_good", "fit", "more_data", "columns"]


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
        return {**asdict(self), "sentences": list(self.sentences)}


#: A sentence gives at most this many differences; the table has them all.
_NAMED = 3
#: Scores this close are equal.
_EQUAL = 1e-12
_STOPPED: Final[Mapping[Cause, str]] = {
    "racing": "stopped early by racing",
    "budget": "left out to keep to the time budget",
    "failed": "failed",
}


def which_model(found: StudyEvidence) -> Answer:
    """Say which model to use, and which others do as well."""
    headline = f"Use {found.best}."
    if found.ensemble is not None and found.ensemble.recommended:
        count = len(found.ensemble.members)
        better = "which is better by more than one standard error"
        headline = f"Use {found.best}, or the ensemble of {count} settings, {better}."
    if found.baseline_reason is not None:
        headline = "None: no candidate is significantly better than the baseline."
    if found.nothing_fitted:
        headline = "None: the time budget was exhausted before any candidate but the baseline was fitted on every fold."
    sentences = [_best_candidate(found), *_simplest(found), *_compared(found), *_stability(found), *_ensemble(found)]
    return Answer("Which model?", headline, tuple(sentences), "which")


def _best_candidate(found: StudyEvidence) -> str:
    fmt, baseline = found.metric_text, found.baseline
    where = f"{found.assessment.splits.description} on {found.data.n:,} rows"
    against = "" if baseline is None or found.best in found.baselines else f" (baseline {fmt.value(baseline)})"
    text = f"{found.best}: {fmt.named(found.value(found.best))} in {where}{against}."
    if found.n_candidates == 1:
        return f"{text} It is the only candidate."
    stopped = [f"{found.stopped[cause]:,} {words}" for cause, words in _STOPPED.items() if found.stopped.get(cause)]
    equal = [name for name in found.learners if name != found.best and abs(found.behind(name, found.best)) < _EQUAL]
    if equal:
        others = listed(equal) if len(equal) <= _NAMED else f"{len(equal)} others"
        has, comes = ("has", "comes") if len(equal) == 1 else ("have", "come")
        stopped.insert(0, f"{others} {has} the same {fmt.name} and {comes} later in the list")
    among = f"{found.n_candidates:,} candidates"
    if found.settings:
        families = "1 model family" if found.n_families == 1 else f"{found.n_families} model families"
        among = f"{found.n_candidates:,} settings of {families}"
    return f"{text} Best of {among}{'; ' if stopped else ''}{', '.join(stopped)}."


def _compared(found: StudyEvidence) -> list[str]:
    """Say which candidates differ significantly from the selected model, and name the test once."""
    comparison = found.comparison
    pairs = [found.pairs[name] for name in found.ranked if name in found.pairs and found.pairs[name].found is not None]
    if comparison is None or not pairs:
        return []
    # From 20 groups on the standard error of a 0-1 loss is that of whole groups; the corrected t is on whole folds.
    by = " clustered by group" if all(str(pair.test).endswith("clustered by group") for pair in pairs) else ""
    # The notes name the adjustment of the comparison with a baseline too.
    adjusted = "".join(f", adjusted {each}" for each in comparison.adjustments[:1])
    test = f"paired t-test{'s' * (len(pairs) > 1)}{by}{adjusted}"
    ties = [pair for pair in pairs if pair.candidate in found.ties]
    same = [pair.candidate for pair in ties if pair.interval(found.level) == (0, 0)]
    ties = [pair for pair in ties if pair.candidate not in same]
    worse = [pair.candidate for pair in pairs if comparison.verdict_on(pair) == "worse"]
    sentences = []
    if same:
        sentences.append(f"No difference from {found.best} in any of the {found.folds_name}: {listed(same)}.")
    if ties:
        shown = [
            f"{pair.candidate} {found.metric_text.difference(pair.found.mean, pair.interval(found.level))}"
            for pair in ties[:_NAMED]
            if pair.found is not None
        ]
        more = [f"{len(ties) - _NAMED} more"] if len(ties) > _NAMED else []
        interval = f"{'unadjusted ' * bool(adjusted)}{found.level:.0%} interval"
        sentences.append(
            f"Not significantly different from {found.best} ({test}; difference with {interval}): "
            f"{listed([*shown, *more])}."
        )
        ends = [pair.interval(found.level) for pair in ties[:_NAMED]]
        if any(each is not None and each[0] * each[1] > 0 for each in ends):
            sentences.append("An unadjusted interval can exclude 0 although the adjusted test is not significant.")
    if worse:
        least = found.metric_text.change(found.behind(worse[0], found.best))
        how = "" if ties else f" ({test})"
        sentences.append(
            f"Significantly worse than {found.best}{how}: {listed(worse)}, by {least}{' or more' * (len(worse) > 1)}."
        )
    return sentences


def _simplest(found: StudyEvidence) -> list[str]:
    """Say which simpler setting ties with the best one."""
    if found.simplest is None:
        return []
    if found.simplest == found.best:
        return ["No simpler setting is within one standard error of it."]
    return [f"The simplest setting within one standard error of it is {found.simplest}."]


def _ensemble(found: StudyEvidence) -> list[str]:
    return [] if found.ensemble is None else [found.ensemble.text]


def _stability(found: StudyEvidence) -> list[str]:
    if found.nested is None or found.n_candidates < 2:
        return []
    selected, best = found.nested.chosen, found.best
    if not found.settings:
        return [_selected_in(selected, best, found.folds_name)]
    families, family = [found.family(name) for name in selected], found.family(best)
    of_family = [name for name in selected if found.family(name) == family]
    text = _selected_in(families, family, found.folds_name)
    if of_family and set(of_family) != {best}:
        text += f" The setting of {family} was the same in {of_family.count(best) or 'none'} of them."
    return [text]


def _selected_in(selected: Sequence[str], best: str, folds: str) -> str:
    """Say in how many folds the same was selected."""
    others = [name for name in dict.fromkeys(selected) if name != best]
    text = f"Nested cross-validation selected {best} in {selected.count(best)} of {len(selected)} {folds}"
    return f"{text}, otherwise {listed(others)}." if others else f"{text}."


def how_good(found: StudyEvidence) -> Answer:
    """Say what to expect on new rows."""
    fmt, interval = found.metric_text, found.interval
    ends = "" if interval is None else f" ({fmt.between(interval)})"
    headline = f"Expect {fmt.of_value(found.estimate)}{ends} on {new_rows(found.data)}."
    sentences = [_source(found), *_on_test_set(found), *_shuffled(found), *_extension(found)]
    sentences += [*_against_baseline(found), *_recall(found), *_agghoo(found)]
    return Answer("How good is it, really?", headline, (*sentences, *_assumptions(found)), "how_good")


def _on_test_set(found: StudyEvidence) -> list[str]:
    """Say how good the selected model is on a separate test set, and whether that agrees with the estimate."""
    test, fmt = found.test, found.metric_text
    if test is None:
        return []
    if np.isnan(test.estimate):
        return [f"No value on the separate test set of {counted(test.rows, 'row')}: {test.reason}"]
    ends = f" (no confidence interval: {test.reason})" if test.interval is None else f" ({fmt.between(test.interval)})"
    text = f"On the separate test set of {counted(test.rows, 'row')}, evaluated once: {fmt.named(test.estimate)}{ends}."
    if test.agrees is not None:
        verdict = "agrees with" if test.agrees else "differs significantly from"
        text += (
            f" This {verdict} the estimate (difference with {found.level:.0%} interval: "
            f"{fmt.difference(test.difference, test.difference_interval)})."
        )
    if test.unseen_classes:
        rows, names = sum(test.unseen_classes.values()), listed([repr(name) for name in test.unseen_classes])
        text += f" {counted(rows, 'test row')} of classes without training rows ({names}) count as errors."
    return [text]


def _source(found: StudyEvidence) -> str:
    fmt, own = found.metric_text, found.value(found.best)
    start = f"{found.level:.0%} confidence interval from "
    if found.interval is None:
        start = f"No confidence interval: {found.winner.reason}. The estimate is from "
    many = found.n_searched > 1
    every = searched_text(found.n_searched, found.n_candidates, "settings" if found.settings else "candidates")
    if found.nested is not None and many:
        how = f"nested cross-validation over {every} ({len(found.nested.chosen)} outer {found.folds_name})"
    elif many and found.interval is not None:
        how = f"cross-validation, corrected for the selection among {len(found.names)} candidates by the bootstrap"
    else:
        how = found.assessment.splits.description
    # Where the two numbers read the same, there is nothing to warn of.
    if not many or fmt.value(own) == fmt.value(found.estimate):
        return f"{start}{how}."
    return f"{start}{how}. The selected model's own CV score, {fmt.value(own)}, is optimistically biased."


def _shuffled(found: StudyEvidence) -> list[str]:
    """Give the number that one gets without regard to time."""
    value, fmt = found.shuffled, found.metric_text
    if value is None:
        return []
    text = f"Shuffled cross-validation, which ignores time, gives {fmt.value(value)} for {found.best}"
    better = found.sign * (found.estimate - value)
    if fmt.value(value) == fmt.value(found.estimate):
        return [f"{text}, the same."]
    return [f"{text}, {fmt.change(abs(better))} {'better' if better > 0 else 'worse'} than the estimate."]


def _extension(found: StudyEvidence) -> list[str]:
    """Say why an interval is not centred on its estimate, where that can be seen."""
    nested, interval = found.nested, found.interval
    if nested is None or interval is None or nested.interval != interval:
        return []
    if nested.reach < 0.05 * abs(interval[1] - interval[0]):
        return []
    by = found.metric_text.change(nested.reach)
    return [f"Interval extended by {by} at its better end: the final model is trained on all rows."]


def _against_baseline(found: StudyEvidence) -> list[str]:
    baseline = found.baseline
    if baseline is None or found.best in found.baselines:
        return []
    text = f"Baseline ({found.baseline_rule}): {found.metric_text.named(baseline)}"
    if found.metric.greater_is_better or baseline <= 0:
        return [f"{text}."]
    change = found.estimate / baseline - 1
    if abs(change) < 0.005:
        return [f"{text}, about the same."]
    return [f"{text}; the estimate is {abs(change):.0%} {'lower' if change < 0 else 'higher'}."]


#: The recall of the smaller of two classes is reported where it has less than this share of the rows.
_SMALL_CLASS = 0.2


def _recall(found: StudyEvidence) -> list[str]:
    codes, classes = found.data.codes, found.data.classes
    if codes is None or classes is None or len(classes) != 2:
        return []
    counts = np.bincount(codes)
    rare = int(counts.argmin())
    if counts[rare] >= _SMALL_CLASS * len(codes):
        return []
    tested = found.assessment.confusion()[found.best].to_numpy()[rare]
    right, label, rows = int(tested[rare]), classes[rare].item(), int(tested.sum())
    if not rows:  # in time order the first rows are not tested
        return []
    return [f"Recall of the rarer class {label!r}: {percent(right / rows)} ({right:,} of {counted(rows, 'row')})."]


def _agghoo(found: StudyEvidence) -> list[str]:
    result, fmt = found.cross_test, found.metric_text
    if result is None or found.nested is None:
        return []
    ends = "" if result.interval is None else f" ({fmt.between(result.interval)})"
    text = f"Agghoo (averages the models selected on single folds): {fmt.named(result.estimate)}{ends}"
    gain = found.sign * (found.estimate - result.estimate)
    width = 0.0 if found.interval is None else abs(found.interval[1] - found.interval[0])
    if abs(gain) <= 0.1 * width or fmt.value(result.estimate) == fmt.value(found.estimate):
        text += ", about the same"
    else:
        text += f", {fmt.change(gain)} {'better' if gain > 0 else 'worse'} than selecting a single model (not tested)"
    if found.shared is not None:
        text += f"; {f'{found.shared[1]:,}' if found.shared[1] else 'no'} additional fits"
    return [f"{text}."]


def _assumptions(found: StudyEvidence) -> list[str]:
    name, in_time = found.metric_text.name, found.data.time is not None
    kind = "period" if in_time else "fold"
    text = f"All candidates use the same {counted(len(found.assessment.splits), kind)}{' in time order' * in_time}"
    if not isinstance(found.metric.smooth, Ratios | Total):
        text += f", and each {name} is the mean over them"
    if in_time:
        return [
            f"{text}. Each period is predicted by models trained on the rows before it. Neighbouring periods may be "
            "dependent; if the future changes more than these periods did, results may be worse."
        ]
    if found.data.groups is not None:
        groups = counted(found.data.n_groups, "group")
        return [
            f"{text}. All numbers are for rows of new groups: none of the {groups} is in two folds. In later "
            "periods results may be worse."
        ]
    return [f"{text}. Rows are treated as independent: on new groups or in later periods results may be worse."]


Outlook = Literal["yes", "perhaps", "no", "hardly", "unclear", "unknown"]

#: A relative change of the error below the first is small, unless it may well be more than the second.
SMALL_CHANGE, _LARGEST_SMALL_CHANGE = 0.1, 0.25
#: An interval wider than this many times the error says nothing about twice the rows.
_TOO_WIDE = 1.5
#: The gain is given for twice the rows, and for this many times.
_MORE = 5


@dataclass(frozen=True, slots=True)
class DataGain:
    """What more rows are expected to bring: the fall of the error, with its interval.

    ``gain`` with ``low`` and ``high`` is that of twice the rows, ``more`` (value, low, high) that of five times as
    many. Where the curve has the metric of the study, ``now`` is the estimate of the study, and the relative changes of
    the curve are applied to it.
    """

    outlook: Outlook
    rows: int = 0
    now: float = float("nan")
    gain: float = float("nan")
    low: float = float("nan")
    high: float = float("nan")
    more: tuple[float, float, float] | None = None

    @property
    def then(self) -> float:
        """The error that is expected with twice the rows."""
        return self.now - self.gain


def data_gain(found: StudyEvidence) -> DataGain:
    """Read the learning curve of the selected model at twice the rows."""
    curve = found.curve
    if curve is None or curve.refused is not None:
        return DataGain("unknown")
    rows = found.data.n
    now = float(curve.predict(float(rows))[0])
    anchor = found.estimate if curve.metric == found.metric.name else now
    if now <= 0 or anchor <= 0:
        return DataGain("hardly", rows, anchor, 0.0, 0.0, 0.0)
    # A curve that was ended before all rows falls a little until there.
    until = float(curve.gain(float(rows))[0])
    scale = anchor / now

    def gain(multiple: float) -> tuple[float, float, float]:
        value, low, high = (float(each) - until for each in curve.gain(multiple * rows))
        return scale * value, scale * low, min(scale * high, anchor)

    (value, low, high), more = gain(2), gain(_MORE)
    outlook: Outlook = "perhaps"
    if value < SMALL_CHANGE * anchor:
        outlook = "hardly" if high < _LARGEST_SMALL_CHANGE * anchor else "unclear"
        if curve.plateau and high < SMALL_CHANGE * anchor and more[0] < SMALL_CHANGE / 2 * anchor:
            outlook = "no"
    elif low > 0:
        outlook = "yes"
    return DataGain(outlook, rows, anchor, value, low, high, more)


#: Multiples of the rows for which the page gives the extrapolated error.
_MULTIPLES = (2, 5, 10)


def forecasts(found: StudyEvidence) -> list[dict[str, Any]]:
    """Return the error of each learning curve now and with more rows, as plain JSON types.

    A curve of the study's metric starts at the candidate's cross-validated score. That of the selected model is given
    twice if nested cross-validation has another estimate: ``DataGain`` starts there.
    """
    curves = [] if found.curves is None else [*found.curves.curves.items()]
    starts: list[tuple[str, str | None, LearningCurve]] = [(name, name, curve) for name, curve in curves]
    fmt, best = found.metric_text, found.curve
    differs = fmt.value(found.estimate) != fmt.value(found.value(found.best))
    if best is not None and best.metric == found.metric.name and differs:
        starts.insert(0, (f"{found.best} (nested)", None, best))
    lines = []
    for title, name, curve in starts:
        rows, error, scale = int(curve.sizes[-1]), float(curve.errors[-1]), 1.0
        if curve.metric == found.metric.name:
            rows, error = found.data.n, found.estimate if name is None else found.value(name)
            scale = _scale(curve, rows, error)
        lines.append({"name": title, "rows": rows, "estimate": error, "interval": None, "source": "measured"})
        if curve.refused is not None or not scale > 0:
            continue
        for size in (multiple * found.data.n for multiple in _MULTIPLES):
            value, *ends = (scale * float(each) for each in curve.predict(float(size)))
            line = {"name": title, "rows": size, "estimate": value, "source": "extrapolated"}
            lines.append(line | {"interval": ends if np.isfinite(ends).all() else None})
    return lines


def _scale(curve: LearningCurve, rows: int, value: float) -> float:
    """Return the factor by which a curve has this value at this many rows; 0 where there is none."""
    now = float("nan") if curve.refused is not None else float(curve.predict(float(rows))[0])
    return value / now if now > 0 else 0.0


def curve_text(found: StudyEvidence) -> MetricText:
    """Return how values of the curves are written: they have the study's metric where that is a loss."""
    curve = found.curve
    return found.metric_text if curve is None else MetricText.of(get_metric(curve.metric, found.data.task))


def more_data(found: StudyEvidence) -> Answer:
    """Say whether more rows would help, and by how much."""
    question = "Would more data help?"
    more, fmt, curve = data_gain(found), curve_text(found), found.curve
    if curve is None:
        why = [each.why for each in found.not_run if each.part == "learning_curve" and each.candidate == found.best]
        return Answer(question, "Not run.", tuple(f"{each[0].upper()}{each[1:]}." for each in why[:1]), "more_data")
    if more.outlook == "unknown":
        return Answer(question, "No forecast is possible.", (str(curve.refused),), "more_data")
    sentences = (*_more_gain(more, fmt), *_measured(found, fmt), *_crossing_curve(found))
    return Answer(question, _gain_text(more, fmt, curve.level), sentences, "more_data")


def _gain_text(more: DataGain, fmt: MetricText, level: float) -> str:
    """Return the answer in a sentence: the gain of twice the rows first."""
    if more.now <= 0:
        return f"No: the {fmt.name} is already {fmt.value(more.now)}."
    ends = f"{level:.0%} interval {fmt.signed(more.low)} to {fmt.signed(more.high)}"
    lower = f"lower the {fmt.name} by {fmt.change(more.gain)}"
    to = f"from {fmt.value(more.now)} to about {fmt.value(more.then)}"
    if more.gain <= 0:
        lower, to = f"lower the {fmt.name} no further", f"now {fmt.value(more.now)}"
    if more.outlook == "yes":
        return f"Yes: twice the rows would {lower} ({ends}), {to}."
    if more.outlook == "no":
        most = f"by {fmt.change(more.high)} at most" if more.high > 0 else "no further"
        flat = "more rows will not help. The learning curve is flat"
        return f"No: {flat}; twice the rows would lower the {fmt.name} {most}."
    expected = f"twice the rows are expected to {lower}"
    if more.outlook == "hardly":
        return f"Hardly: {expected} ({ends}), {to}."
    if more.outlook == "perhaps":
        return f"Perhaps: {expected}, {to}, but the {ends} includes 0."
    if more.high - more.low > _TOO_WIDE * more.now:
        return f"Unclear: for twice the rows the {ends} of the gain is wide ({fmt.name} now {fmt.value(more.now)})."
    return f"Probably not much: {expected}, {to}, but the {ends} allows a larger gain."


def _more_gain(more: DataGain, fmt: MetricText) -> list[str]:
    if more.more is None:
        return []
    value, low, high = more.more
    lower = f"lower the {fmt.name} by {fmt.change(value)}" if value > 0 else f"not lower the {fmt.name}"
    return [f"{_MORE} times the rows are expected to {lower} ({fmt.signed(low)} to {fmt.signed(high)})."]


def _measured(found: StudyEvidence, fmt: MetricText) -> list[str]:
    curve = found.curve
    assert curve is not None
    first, last = int(curve.sizes[0]), int(curve.sizes[-1])
    text = (
        f"The learning curve of {found.best} was measured at {len(curve.sizes)} sizes, from {first:,} to {last:,} "
        "rows, and extrapolated beyond"
    )
    if last < found.data.n:
        why = "the curve was flat by then" if curve.enough else "time budget exhausted"
        text += f"; the other {found.data.n - last:,} rows were not used ({why})"
    if curve.metric != found.metric.name:
        return [f"{text}. It is a curve of the {fmt.name}, because {found.metric_text.name} is not a loss."]
    if found.estimate:
        text += f". Its relative change is applied to the estimate of {fmt.value(found.estimate)}"
    return [f"{text}."]


def _crossing_curve(found: StudyEvidence) -> list[str]:
    """Say which candidate is expected to be better than the selected one with more rows."""
    assert found.curves is not None
    rows = found.data.n
    then = {
        name: float(curve.predict(2.0 * rows)[0])
        * (_scale(curve, rows, found.value(name)) if curve.metric == found.metric.name else 1.0)
        for name, curve in found.curves.curves.items()
        if curve.refused is None
    }
    name = min(then, key=lambda each: then[each])
    if name == found.best or then[name] >= (1 - SMALL_CHANGE) * then[found.best]:
        return []
    lower, fmt = 1 - then[name] / then[found.best], curve_text(found)
    return [
        f"With twice the rows, the extrapolated {fmt.name} of {name} is {lower:.0%} lower than that of {found.best} "
        "(not tested). Compare them again when you have more rows."
    ]
