"""Does it fit? Noise, the gap to the training rows, and bias and variance, read together."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

from truefit._methods.perturbation.verdict import MEMORISES, NoiseResponse
from truefit._methods.text import counted, listed, whole_percent
from truefit._study.answers import Answer
from truefit._study.evidence import StudyEvidence

Kind = Literal["guessing", "overfits", "memorises", "underfits", "unsteady", "fits", "unknown"]

#: Where more than this share of the error is variance, the model changes too much with its rows; below the second
#: share, following its rows closely does it little harm.
_UNSTEADY, _STEADY = 0.5, 0.25
#: Where training rows and others are this close, by the error, there is little that was memorised.
_NARROW = 0.25
#: What avoids more than this share of the errors of guessing on its training rows has learnt something, even where the
#: largest class leaves little to be gained.
_LEARNT = 0.25


@dataclass(frozen=True, slots=True)
class FitDiagnosis:
    """How the chosen model fits, in a word; and the candidate that memorises less and does about as well."""

    kind: Kind
    instead: str | None = None


def fit_diagnosis(found: StudyEvidence) -> FitDiagnosis:
    """Put the evidence together."""
    if found.no_better_than_baseline:
        return FitDiagnosis("guessing")
    result = found.perturbation
    flag = None if result is None else result.verdict[found.best]
    if flag == "underfitted" and not _has_learnt(found):
        return FitDiagnosis("underfits")
    variance = variance_share(found)
    if flag in ("overfitted", "memorises") and "perturbation" in found.sampled and has_narrow_gap(found):
        return FitDiagnosis("fits")  # few rows are memorised more easily than all of them
    if flag == "overfitted":
        other = _instead(found)
        ahead = other is not None and found.behind(other, found.best) <= 0
        harmless = variance is not None and variance < _STEADY and not ahead
        return FitDiagnosis("memorises" if harmless else "overfits", other)
    if flag == "memorises":
        return FitDiagnosis("memorises")
    if variance is not None and variance > _UNSTEADY:
        return FitDiagnosis("unsteady")
    if flag is None and variance is None:
        return FitDiagnosis("unknown")
    return FitDiagnosis("fits")


def has_narrow_gap(found: StudyEvidence) -> bool:
    """Whether the chosen one does nearly as well on rows left out as on its training rows."""
    gap, value = found.gap(found.best), abs(found.value(found.best))
    return gap is not None and value > 0 and not found.metric.greater_is_better and gap <= _NARROW * value


def _has_learnt(found: StudyEvidence) -> bool:
    share = _avoided(found)
    return share is not None and share > _LEARNT


def _avoided(found: StudyEvidence) -> float | None:
    """Return which share of the errors of guessing the chosen one avoids on its training rows."""
    own, baseline = found.training.get(found.best), found.baseline
    if own is None or baseline is None or baseline <= 0 or found.metric.greater_is_better:
        return None
    return 1 - own / baseline


def noise_response_of(found: StudyEvidence, name: str) -> NoiseResponse | None:
    """Return what noise did to a candidate, where that is known."""
    result = found.perturbation
    by_name = None if result is None else result.by_name.get(name)
    return by_name if by_name is not None and by_name.known else None


def memorised(found: StudyEvidence, name: str) -> float | None:
    """Return how much of the noise a candidate follows."""
    by_name = noise_response_of(found, name)
    return None if by_name is None else by_name.memorisation


def variance_share(found: StudyEvidence) -> float | None:
    """Return how much of the chosen one's expected loss is variance."""
    result = found.bias_variance
    if result is None or result.expected_loss[found.best] <= 0:
        return None
    return float(result.variance[found.best] / result.expected_loss[found.best])


def _instead(found: StudyEvidence) -> str | None:
    """Return the candidate that memorises less and is not worse."""
    result, own = found.perturbation, noise_response_of(found, found.best)
    if result is None or result.errors is None or own is None or own.memorisation_ends is None:
        return None
    known = {}
    for name in result.names:
        by_name = noise_response_of(found, name)
        ends = None if by_name is None else by_name.memorisation_ends
        apart = result.errors.difference(name, found.best) if name != found.best else None
        if ends is not None and apart is not None and ends[1] < own.memorisation_ends[0] and apart.mean <= apart.se:
            known[name] = apart.mean
    return min(known, key=lambda name: known[name]) if known else None


def does_it_fit(found: StudyEvidence) -> Answer:
    """Say whether the chosen model over- or underfits, and what shows it."""
    fit = fit_diagnosis(found)
    sentences = [*_gap(found), *_noise(found, fit), *_parts(found), *_reading(found, fit)]
    return Answer("Does it fit?", _headline(found, fit), tuple(sentences), "fit")


def _headline(found: StudyEvidence, fit: FitDiagnosis) -> str:
    return _HEADLINES[fit.kind](found, fit)


def _guesses(found: StudyEvidence, fit: FitDiagnosis) -> str:
    return "There is nothing that it fits: it is not clearly better than guessing."


def _overfits(found: StudyEvidence, fit: FitDiagnosis) -> str:
    other = "a candidate that follows less does as well"
    if fit.instead is not None:
        other = f"{fit.instead}, which follows {_followed(found, fit.instead)}, does as well"
    return f"It overfits: it follows {_noise_followed(found)}, and {other}."


def _underfits(found: StudyEvidence, fit: FitDiagnosis) -> str:
    own = found.training.get(found.best)
    where = "" if own is None else f": even on its own training rows it has {found.metric_text.of_value(own)}"
    return f"It underfits{where}."


def _memorises(found: StudyEvidence, fit: FitDiagnosis) -> str:
    begin = f"It memorises ({_noise_followed(found)})"
    if fit.instead is not None:
        return f"{begin} with little harm: {variance_share(found) or 0:.0%} of its error is variance."
    if _some_follow_less(found):
        return f"{begin}, but nothing here that memorises less does as well."
    return f"{begin}; nothing that memorises less was looked at beside it."


def _unsteady(found: StudyEvidence, fit: FitDiagnosis) -> str:
    return f"It is unsteady: {variance_share(found) or 0:.0%} of its error comes from which rows it was trained on."


def _unknown(found: StudyEvidence, fit: FitDiagnosis) -> str:
    gap = found.gap(found.best)
    seen = "" if gap is None else f"; on its training rows it is {found.metric_text.change(gap)} better than on others"
    return f"Not looked into{seen}."


def _fits(found: StudyEvidence, fit: FitDiagnosis) -> str:
    noise = _noise_followed(found)
    if noise and "perturbation" not in found.sampled:
        if (memorised(found, found.best) or 0.0) > MEMORISES:
            return f"It may memorise: it follows {noise}, but whether that is more than half is not beyond doubt."
        return f"No sign of over- or underfitting: it follows {noise}."
    gap, share = found.gap(found.best), variance_share(found)
    seen = ""
    if gap is not None and has_narrow_gap(found):
        seen = f": rows left out are only {found.metric_text.change(gap)} worse than training rows"
    elif share is not None:
        seen = f": {whole_percent(share)} of its error comes from which rows it was trained on"
    return f"No sign of over- or underfitting{seen}."


_HEADLINES: dict[Kind, Callable[[StudyEvidence, FitDiagnosis], str]] = {
    "guessing": _guesses,
    "overfits": _overfits,
    "memorises": _memorises,
    "underfits": _underfits,
    "unsteady": _unsteady,
    "fits": _fits,
    "unknown": _unknown,
}


def _noise_followed(found: StudyEvidence) -> str:
    follows = memorised(found, found.best)
    return "" if follows is None else f"{whole_percent(follows)} of the noise"


def _some_follow_less(found: StudyEvidence) -> bool:
    own = noise_response_of(found, found.best)
    if found.perturbation is None or own is None or own.memorisation_ends is None:
        return False
    by_name = [noise_response_of(found, name) for name in found.perturbation.names if name != found.best]
    ends = [each.memorisation_ends for each in by_name if each is not None]
    return any(each is not None and each[1] < own.memorisation_ends[0] for each in ends)


def _followed(found: StudyEvidence, name: str) -> str:
    return whole_percent(memorised(found, name) or 0.0)


def _gap(found: StudyEvidence) -> list[str]:
    gap = found.gap(found.best)
    if gap is None:
        return []
    fmt = found.metric_text
    own, outside = fmt.value(found.training[found.best]), fmt.value(found.value(found.best))
    text = f"On its training rows {found.best} has {fmt.name} {own}, on rows left out {outside}"
    text += f": a gap of {fmt.change(gap)}." if gap > 0 else ": no gap."
    other = found.simpler
    if other is not None and other in found.training:
        text = (
            f"{text[:-1]} (the less flexible {other}: {fmt.value(found.training[other])} and "
            f"{fmt.value(found.value(other))})."
        )
    return [text]


def _noise(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    result, by_name = found.perturbation, noise_response_of(found, found.best)
    if result is None or by_name is None:
        return []
    what = "labels were flipped" if found.task == "classification" else "targets were shuffled"
    rows = f" (of {found.sampled['perturbation']:,} rows)" if "perturbation" in found.sampled else ""
    start = f"Trained on tables in which up to {max(by_name.levels):.0%} of the {what}{rows}, {found.best}"
    if by_name.memorisation is None:
        return [f"{start} did not have enough to lose for its memory to be told: it is too near to guessing."]
    ends = by_name.memorisation_interval
    sure = "" if ends is None else f" ({found.level:.0%} interval {whole_percent(ends[0])} to {whole_percent(ends[1])})"
    text = f"{start} follows {whole_percent(by_name.memorisation)} of that noise{sure}"
    others = [name for name in result.names if name != found.best and memorised(found, name) is not None]
    if others:
        text += ", against " + listed([f"{_followed(found, name)} by {name}" for name in others])
    if rows:
        return [f"{text}. So few rows are memorised more easily than all {found.data.n:,}."]
    return [f"{text}. A model that learns only what repeats follows none of it, one that memorises all."]


def _parts(found: StudyEvidence) -> list[str]:
    result = found.bias_variance
    if result is None:
        return []
    share = variance_share(found)
    rounds = counted(result.rounds, "bootstrap sample")
    rows = f" of {found.sampled['bias_variance']:,} rows" if "bias_variance" in found.sampled else ""
    loss = result.expected_loss[found.best]
    bias, variance = result.bias[found.best], result.variance[found.best]
    if result.loss == "0-1":
        sign = "+" if variance >= 0 else "−"
        text = (
            f"Over {rounds}{rows} its error of {100 * loss:.1f}% is {100 * bias:.1f} points bias (rows that it mostly "
            f"gets wrong) {sign} {100 * abs(variance):.1f} points variance (rows on which it depends on the sample)"
        )
    elif share is None:
        return [f"Over {rounds}{rows} its squared error is 0."]
    else:
        text = (
            f"Over {rounds}{rows} {1 - share:.0%} of its squared error is bias and noise, which stay whatever rows it "
            f"is trained on, and {share:.0%} is variance, which changes with them"
        )
    other = found.simpler
    if other is not None and other in result.names and result.expected_loss[other] > 0:
        text += (
            f"; of {other}'s error {whole_percent(result.variance[other] / result.expected_loss[other])} is variance"
        )
    return [f"{text}."]


def _reading(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    """Return what noise alone cannot show."""
    if fit.kind == "memorises" and fit.instead is not None:
        pair = found.pairs.get(fit.instead)
        apart = (
            ""
            if pair is None or pair.found is None
            else (f" (difference {found.metric_text.difference(pair.found.mean, pair.interval(found.level))})")
        )
        return [f"{fit.instead}, which memorises less, cannot be told apart from it{apart}."]
    if fit.kind not in ("fits", "memorises"):
        return []
    sentences = []
    avoided, result = _avoided(found), found.perturbation
    if avoided is not None and result is not None and result.verdict[found.best] == "underfitted":
        sentences.append(
            "Perturbed validation alone would call it underfitted, since its training accuracy is within 5 points of "
            "the largest class's. Classes as unequal as these leave little room for more: of the errors of guessing it "
            f"avoids {whole_percent(avoided)} on its training rows."
        )
    share = variance_share(found)
    if share is not None and share < _STEADY and has_narrow_gap(found):
        sentences.append(
            "Training rows and others are close and little is variance, so what error is left is noise, missing "
            "features, or a model that is somewhat too simple; no richer candidate here did better."
        )
    return sentences
