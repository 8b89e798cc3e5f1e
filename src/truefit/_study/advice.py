"""Next steps: the advice of the findings, and steps that are not about a problem."""

from __future__ import annotations

from collections.abc import Iterable

from truefit._core.finding import Finding
from truefit._methods.text import seconds
from truefit._study.answers import curve_text, data_gain
from truefit._study.evidence import StudyEvidence
from truefit._study.fit_diagnosis import difference_to_best, fit_diagnosis

#: A tie that trains this many times faster than the selected model is suggested.
_FASTER = 5.0
#: Only where a fit takes more seconds than this.
_SLOW = 1.0


def next_steps_of(found: StudyEvidence, findings: Iterable[Finding]) -> list[str]:
    """Return what to try next."""
    advice = [
        f"{each.advice.rstrip('.')} ({each.code})." for each in findings if each.advice and each.severity != "info"
    ]
    return [*advice, *_agghoo(found), *_more_rows(found), *_faster(found)]


def _agghoo(found: StudyEvidence) -> list[str]:
    result, interval, fmt = found.cross_test, found.interval, found.metric_text
    if result is None or found.nested is None or interval is None:
        return []
    gain = found.sign * (found.estimate - result.estimate)
    if gain <= 0.25 * abs(interval[1] - interval[0]):
        return []
    return [
        f"Consider Agghoo over these candidates: {fmt.named(result.estimate)} against {fmt.value(found.estimate)} for "
        "selecting a single model."
    ]


def _more_rows(found: StudyEvidence) -> list[str]:
    more, fmt = data_gain(found), curve_text(found)
    if more.outlook not in ("yes", "perhaps"):
        return []
    sure = "would" if more.outlook == "yes" else "may"
    gain = f"{fmt.change(more.gain)} ({fmt.signed(more.low)} to {fmt.signed(more.high)})"
    return [
        f"Collect more rows: {more.rows:,} more of the same kind {sure} lower the {fmt.name} by {gain}, "
        f"from {fmt.value(more.now)} to about {fmt.value(more.then)}."
    ]


def _faster(found: StudyEvidence) -> list[str]:
    own, fit = found.seconds[found.best], fit_diagnosis(found)
    quick = [
        name for name in found.ties if name not in found.baselines and own > _FASTER * max(found.seconds[name], 1e-4)
    ]
    if not quick or own < _SLOW or fit.kind == "baseline" or fit.alternative is not None:
        return []
    name = quick[0]
    return [
        f"If training time matters, {name} takes {seconds(found.seconds[name])} per fit against {seconds(own)}, and "
        f"is not significantly different from {found.best}{difference_to_best(found, name)}."
    ]
