"""Does it fit? A diagnosis from perturbed validation, the training error, and bias and variance; what to try next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

import numpy as np

from truefit._core.finding import Finding
from truefit._methods.perturbation.verdict import MEMORISES, NoiseResponse
from truefit._methods.text import counted, listed, percent, points, seconds, whole_percent
from truefit._study.answers import Answer, curve_text, data_gain
from truefit._study.evidence import StudyEvidence

Kind = Literal["baseline", "overfits", "memorises", "underfits", "high_variance", "fits", "unknown"]

#: A share of variance in the expected loss above the first is high; below the second, memorising does little harm.
_HIGH_VARIANCE, _LOW_VARIANCE = 0.5, 0.25
#: A gap between training and held-out rows is narrow up to this share of the error on held-out rows.
_NARROW = 0.25
#: A model that avoids more than this share of the baseline's errors on its training rows does not underfit.
_AVOIDED = 0.25
#: A candidate is more flexible if its training error is lower by more than this share of the selected model's.
_MUCH = 0.1
#: Bias and variance are not interpreted below this many expected errors, or this share of the target's variance.
_FEWEST_ERRORS, _SMALLEST_SHARE = 5.0, 1e-3
#: Variance of the 0-1 loss below this reads as 0.
_NO_VARIANCE = 5e-4
#: A tie that trains this many times faster than the selected model is suggested.
_FASTER = 5.0
#: Only where a fit takes more seconds than this.
_SLOW = 1.0


@dataclass(frozen=True, slots=True)
class FitDiagnosis:
    """How the selected model fits, and the candidate that memorises less and does as well, where there is one."""

    kind: Kind
    alternative: str | None = None


def fit_diagnosis(found: StudyEvidence) -> FitDiagnosis:
    """Return the diagnosis."""
    if found.baseline_reason is not None:
        return FitDiagnosis("baseline")
    result = found.perturbation
    flag = None if result is None else result.verdict[found.best]
    avoided = _avoided(found)
    if flag == "underfitted" and avoided is not None and avoided <= _AVOIDED:
        return FitDiagnosis("underfits")
    variance = variance_share(found)
    if flag in ("overfitted", "memorises") and "perturbation" in found.sampled and has_narrow_gap(found):
        return FitDiagnosis("fits")  # few rows are memorised more easily than all of them
    if flag == "overfitted":
        other = _alternative(found)
        better = other is not None and found.behind(other, found.best) <= 0
        harmless = variance is not None and variance < _LOW_VARIANCE and not better
        return FitDiagnosis("memorises" if harmless else "overfits", other)
    if flag == "memorises":
        return FitDiagnosis("memorises")
    if variance is not None and variance > _HIGH_VARIANCE:
        return FitDiagnosis("high_variance")
    if flag is None and variance is None:
        return FitDiagnosis("unknown")
    return FitDiagnosis("fits")


def has_narrow_gap(found: StudyEvidence) -> bool:
    """Whether the selected model does nearly as well on held-out rows as on its training rows."""
    gap, value = found.gap(found.best), abs(found.value(found.best))
    return gap is not None and value > 0 and not found.metric.greater_is_better and gap <= _NARROW * value


def _avoided(found: StudyEvidence) -> float | None:
    """Return the share of the way from the baseline to a perfect score that the selected model's training score is."""
    own, baseline = found.training.get(found.best), found.baseline
    perfect = found.metric.bounds[1 if found.metric.greater_is_better else 0]
    if own is None or baseline is None or not np.isfinite(perfect) or baseline == perfect:
        return None
    return (baseline - own) / (baseline - perfect)


def more_flexible(found: StudyEvidence) -> list[str]:
    """Return candidates that fit their training rows much better than the selected model, the best first."""
    own = found.training.get(found.best)
    if own is None:
        return []
    enough = own - found.sign * _MUCH * abs(own)
    return [
        name for name in found.learners if name in found.training and found.sign * (found.training[name] - enough) < 0
    ]


def noise_response_of(found: StudyEvidence, name: str) -> NoiseResponse | None:
    """Return how a candidate responds to noise; None where that was not measured."""
    response = None if found.perturbation is None else found.perturbation.by_name.get(name)
    return response if response is not None and response.known else None


def memorisation(found: StudyEvidence, name: str) -> float | None:
    """Return the share of injected noise that a candidate memorises."""
    response = noise_response_of(found, name)
    return None if response is None else response.memorisation


def variance_share(found: StudyEvidence) -> float | None:
    """Return the share of variance in the expected loss of the selected model; None where the loss is about 0."""
    result = found.bias_variance
    if result is None:
        return None
    loss = result.expected_loss[found.best]
    smallest = _FEWEST_ERRORS / found.data.n
    if result.loss != "0-1":
        smallest = _SMALLEST_SHARE * float(np.var(found.data.y.astype(np.float64)))
    return float(result.variance[found.best] / loss) if loss > smallest else None


def _less_memorising(found: StudyEvidence) -> list[str]:
    """Return candidates that memorise significantly less than the selected model."""
    ends = {}
    for name in [] if found.perturbation is None else found.perturbation.names:
        response = noise_response_of(found, name)
        if response is not None and response.memorisation_ends is not None:
            ends[name] = response.memorisation_ends
    return [name for name in ends if found.best in ends and ends[name][1] < ends[found.best][0]]


def _alternative(found: StudyEvidence) -> str | None:
    """Return the best candidate that memorises less and is within one standard error of the selected model."""
    errors = None if found.perturbation is None else found.perturbation.errors
    if errors is None:
        return None
    differences = {name: errors.difference(name, found.best) for name in _less_memorising(found)}
    means = {
        name: each.mean for name, each in differences.items() if each is not None and each.mean <= each.se
    }  # fmt: skip
    return min(means, key=lambda name: means[name]) if means else None


def as_well(found: StudyEvidence, name: str) -> str:
    """Say that a candidate is as good as the selected model: by the paired test where there is one."""
    return (
        "is not significantly different" if name in found.ties else "is within one standard error in cross-validation"
    )


def difference_to_best(found: StudyEvidence, name: str) -> str:
    """Return a candidate's difference from the selected model with its interval, after a colon; nothing if unknown."""
    pair = found.pairs.get(name)
    if pair is None or pair.found is None:
        return ""
    return f": {found.metric_text.named_difference(pair.found.mean, pair.interval(found.level))}"


def does_it_fit(found: StudyEvidence) -> Answer:
    """Say whether the selected model over- or underfits, and what shows it."""
    fit = fit_diagnosis(found)
    sentences = [*_gap(found), *_noise(found), *_bias_and_variance(found), *_explanation(found, fit)]
    return Answer("Does it fit?", _headline(found, fit), tuple(sentences), "fit")


def _headline(found: StudyEvidence, fit: FitDiagnosis) -> str:
    noise, variance = memorised_noise(found, found.best), whole_percent(variance_share(found) or 0.0)
    match fit.kind:
        case "baseline" if found.nothing_fitted:
            return "Not applicable: only the baseline was fitted."
        case "baseline":
            return "Not applicable: no candidate is significantly better than the baseline."
        case "overfits":
            other = "a candidate that memorises less is within one standard error in cross-validation"
            if fit.alternative is not None:
                theirs = whole_percent(memorisation(found, fit.alternative) or 0.0)
                other = f"{fit.alternative}, which memorises {theirs}, {as_well(found, fit.alternative)}"
            return f"It overfits: it memorises {noise}, and {other}."
        case "underfits":
            own = found.training.get(found.best)
            return (
                f"It underfits{'' if own is None else f': {found.metric_text.named(own)} even on its training rows'}."
            )
        case "memorises":
            if fit.alternative is not None:
                return f"It memorises {noise} with little harm: {variance} of its expected loss is variance."
            if _less_memorising(found):
                others = "no candidate that memorises less is within one standard error of its score"
                return f"It memorises {noise}; {others}."
            return f"It memorises {noise}; no candidate that memorises less was tested."
        case "high_variance":
            return f"High variance: {variance} of its expected loss depends on which rows it was trained on."
        case "unknown":
            why = next((f": {each.why}" for each in found.not_run if each.part == "perturbation"), "")
            return f"Not run{why}."
    share, gap = memorisation(found, found.best), found.gap(found.best)
    if share is not None and "perturbation" not in found.sampled:
        if share > MEMORISES:
            return f"It may memorise: {noise}, but the interval includes {MEMORISES:.0%}."
        return f"No sign of over- or underfitting: it memorises {noise}."
    if gap is not None and has_narrow_gap(found):
        held_out = f"held-out rows are only {found.metric_text.change(gap)} worse than training rows"
        return f"No sign of over- or underfitting: {held_out}."
    known = "" if variance_share(found) is None else f": {variance} of its expected loss is variance"
    return f"No sign of over- or underfitting{known}."


def memorised_noise(found: StudyEvidence, name: str) -> str:
    """Return how much of the injected noise a candidate memorises, in words."""
    kind = "label" if found.data.task == "classification" else "target"
    return f"{whole_percent(memorisation(found, name) or 0.0)} of injected {kind} noise"


def _gap(found: StudyEvidence) -> list[str]:
    gap = found.gap(found.best)
    if gap is None:
        return []
    fmt = found.metric_text
    own, outside = fmt.value(found.training[found.best]), fmt.value(found.value(found.best))
    text = f"On its training rows {found.best} has {fmt.name} {own}, on held-out rows {outside}: "
    text += f"a gap of {fmt.change(gap)}" if gap > 0 else "no gap"
    other = found.simpler
    if other is not None and other in found.training:
        text += f" (the less flexible {other}: {fmt.value(found.training[other])} and {fmt.value(found.value(other))})"
    return [f"{text}."]


def _noise(found: StudyEvidence) -> list[str]:
    result, response = found.perturbation, noise_response_of(found, found.best)
    if result is None or response is None:
        return []
    what = "labels flipped" if found.data.task == "classification" else "targets shuffled"
    rows = f" in a sample of {found.sampled['perturbation']:,} rows" if "perturbation" in found.sampled else ""
    start = f"With up to {max(response.levels):.0%} of the {what}{rows}, {found.best}"
    if response.memorisation is None:
        return [f"{start} is too close to the baseline for its memorisation to be measured."]
    own, ends = whole_percent(response.memorisation), response.memorisation_interval
    text = f"{start} memorises {own} of the noise"
    if ends is not None and {whole_percent(end) for end in ends} != {own}:
        text += f" ({found.level:.0%} interval {whole_percent(ends[0])} to {whole_percent(ends[1])})"
    others = {name: memorisation(found, name) for name in result.names if name != found.best}
    known = [f"{name} {whole_percent(share)}" for name, share in others.items() if share is not None]
    text += f", {listed(known)}" if known else ""
    if rows:
        return [f"{text}. A sample is memorised more easily than all {found.data.n:,} rows."]
    return [f"{text}. At 0% a model memorises none of the noise, at 100% all of it."]


def _bias_and_variance(found: StudyEvidence) -> list[str]:
    result, share = found.bias_variance, variance_share(found)
    if result is None or share is None:
        return []
    rows = f" of {found.sampled['bias_variance']:,} rows" if "bias_variance" in found.sampled else ""
    start = f"Models trained on {counted(result.rounds, 'bootstrap sample')}{rows}: "
    if result.loss == "0-1":
        bias, variance = result.bias[found.best], result.variance[found.best]
        text = f"{start}error {percent(result.expected_loss[found.best])}"
        if abs(variance) < _NO_VARIANCE:
            text += ", all of it bias"
        elif variance < 0:
            why = "some models are right where most are wrong"
            text += f" = bias {points(bias)} − variance {points(-variance)} ({why})"
        else:
            text += f" = bias {points(bias)} + variance {points(variance)}"
    else:
        text = f"{start}{1 - share:.0%} of the squared error is bias and noise, {share:.0%} is variance"
    other = found.simpler
    if other is not None and other in result.names and result.expected_loss[other] > 0:
        theirs = whole_percent(result.variance[other] / result.expected_loss[other])
        text += f" (variance of {other}: {theirs} of its loss)"
    if not rows and result.loss == "0-1":
        text += (
            ". Each sample has about 63% of the distinct rows, so errors are usually higher than in cross-validation"
        )
    return [f"{text}."]


def _explanation(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    """Return what noise alone cannot show."""
    if fit.kind == "memorises" and fit.alternative is not None:
        return [
            f"{fit.alternative}, which memorises less, {as_well(found, fit.alternative)}"
            f"{difference_to_best(found, fit.alternative)}."
        ]
    if fit.kind not in ("fits", "memorises"):
        return []
    sentences = []
    avoided, result = _avoided(found), found.perturbation
    if avoided is not None and result is not None and result.verdict[found.best] == "underfitted":
        does = f"it avoids {whole_percent(avoided)} of the baseline's errors on its training rows"
        if found.metric.greater_is_better:
            does = (
                f"on its training rows its {found.metric_text.name} is {whole_percent(avoided)} of the way from the "
                "baseline to a perfect one"
            )
        sentences.append(
            "Perturbed validation alone would report underfitting, because the training accuracy is within 5 points of "
            f"the majority class. With classes this unequal that is expected: {does}."
        )
    variance = variance_share(found)
    if variance is not None and variance < _LOW_VARIANCE and has_narrow_gap(found):
        tried = ""
        if more_flexible(found):
            tried = " No more flexible candidate was better."
        elif found.n_candidates == len(found.names) and found.training.keys() >= set(found.learners):
            tried = " No more flexible candidate was tried."
        sentences.append(
            "Training and held-out error are close and variance is low: the remaining error is noise, missing features "
            f"or a model that is slightly too simple.{tried}"
        )
    return sentences


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
