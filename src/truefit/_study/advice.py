"""Advice of a study: next steps, each with the number behind it, and caveats."""

from __future__ import annotations

import numpy as np

from truefit._methods.text import counted, listed, percent, seconds, whole_percent
from truefit._study.answers import data_gain, described_curve
from truefit._study.evidence import StudyEvidence
from truefit._study.fit_diagnosis import FitDiagnosis, fit_diagnosis, memorised, variance_share

#: A model that takes so many times as long is worth a thought where another does as well.
_SLOWER = 5.0
#: Fewer rows than this for each column invite a model to follow chance.
_ROWS_PER_COLUMN = 20


def next_steps_of(found: StudyEvidence) -> list[str]:
    """Return what to try next."""
    fit = fit_diagnosis(found)
    return [
        *_no_better_than_baseline(found, fit),
        *_suspects(found),
        *_simpler(found, fit),
        *_steadier(found, fit),
        *_fewer_columns(found, fit),
        *_richer(found, fit),
        *_together(found),
        *_more_rows(found),
        *_quicker(found, fit),
    ]


def _no_better_than_baseline(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    if fit.kind != "guessing":
        return []
    best, baseline = found.metric_text.value(found.value(found.best)), found.baseline
    against = "" if baseline is None else f" against {found.metric_text.value(baseline)} for guessing"
    return [
        f"Look for other features first: the best of {len(found.names)} candidates has {found.metric_text.name} {best}"
        f"{against}, so these columns hold little about the target."
    ]


def _suspects(found: StudyEvidence) -> list[str]:
    # Those that say nothing take nothing away either.
    suspicious = (each.column for each in found.suspects if each.kind != "constant")
    columns = list(dict.fromkeys(column for column in suspicious if column is not None))
    if not columns:
        return []
    return [
        f"Check {listed(columns)} first, and study the table again without {'it' if len(columns) == 1 else 'them'} if "
        f"{'it is' if len(columns) == 1 else 'they are'} not known when a prediction is needed: the "
        f"{found.metric_text.value(found.estimate)} above would not hold."
    ]


def _not_worse(found: StudyEvidence, name: str) -> str:
    pair = found.pairs.get(name)
    if pair is None or pair.found is None:
        return found.metric_text.signed(found.value(name) - found.value(found.best))
    return found.metric_text.difference(pair.found.mean, pair.interval(found.level))


def _simpler(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    if fit.kind not in ("overfits", "memorises") or fit.instead is None:
        return []
    mine, its = memorised(found, found.best), memorised(found, fit.instead)
    if mine is None or its is None:
        return []
    return [
        f"Consider {fit.instead}, the simpler model, or {found.best} with more regularisation: {fit.instead} cannot be "
        f"told apart from it (difference {_not_worse(found, fit.instead)}) and memorises less ({whole_percent(its)} of "
        f"the noise against {whole_percent(mine)})."
    ]


def _steadier(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    share = variance_share(found)
    if fit.kind not in ("unsteady", "overfits") or share is None or share < _ROWS_PER_COLUMN / 100:
        return []
    return [
        f"Make {found.best} steadier, by stronger regularisation or by averaging several of it: {share:.0%} of its "
        "error is variance, which averaging can lower."
    ]


def _fewer_columns(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    per_column = found.data.n / max(found.columns, 1)
    if fit.kind not in ("unsteady", "overfits") or per_column >= _ROWS_PER_COLUMN:
        return []
    return [
        f"Try fewer features: there are only {per_column:.0f} rows for each of the {found.columns:,} columns, and the "
        "model follows chance in them."
    ]


def _richer(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    if fit.kind != "underfits" or found.best not in found.training:
        return []
    own = found.metric_text.of_value(found.training[found.best])
    return [f"Try a richer model, less regularisation or further features: even on its training rows it has {own}."]


def _together(found: StudyEvidence) -> list[str]:
    result, interval, fmt = found.cross_test, found.interval, found.metric_text
    if result is None or found.nested is None or interval is None:
        return []
    gain = found.sign * (found.estimate - result.estimate)
    if gain <= 0.25 * abs(interval[1] - interval[0]):
        return []
    return [
        f"Consider Agghoo ({'AgghooClassifier' if found.task == 'classification' else 'AgghooRegressor'}, or --agghoo "
        f"beside --save) over these candidates: {fmt.name} {fmt.value(result.estimate)} against "
        f"{fmt.value(found.estimate)} for choosing a single model."
    ]


def _more_rows(found: StudyEvidence) -> list[str]:
    more, fmt = data_gain(found), described_curve(found)
    if more.outlook not in ("yes", "perhaps"):
        return []
    sure = "would" if more.outlook == "yes" else "may"
    return [
        f"Get more rows: {more.rows:,} more of the same kind {sure} lower the {fmt.name} from "
        f"{fmt.value(more.now)} to about {fmt.value(more.then)} ({fmt.between((more.low, more.high))})."
    ]


def _quicker(found: StudyEvidence, fit: FitDiagnosis) -> list[str]:
    own = found.seconds[found.best]
    quick = [
        name for name in found.ties if name not in found.baselines and own > _SLOWER * max(found.seconds[name], 1e-4)
    ]
    if not quick or own < 0.1 or fit.kind == "guessing" or fit.instead is not None:
        return []
    name = quick[0]
    return [
        f"If training time matters, {name} takes {seconds(found.seconds[name])} a fit against {seconds(own)}, and "
        f"cannot be told apart from {found.best} (difference {_not_worse(found, name)})."
    ]


#: Fewer rows than this are few, and a largest class of more than this share hides the others.
_FEW_ROWS, _LARGE_CLASS = 500, 0.8
#: Of classes with fewer rows than this nothing much can be told.
_RARE = 30
#: What all rows would bring is said where it is more than this share of the way to the interval's end.
_WORTH_SAYING = 0.25


def caveats_of(found: StudyEvidence) -> list[str]:
    """Return what may make these numbers wrong."""
    return [
        *(suspect.text for suspect in found.suspects),
        *_few_rows(found),
        *_trained_on_fewer(found),
        *_unequal_classes(found),
        *_samples(found),
        *_always(found),
    ]


def _few_rows(found: StudyEvidence) -> list[str]:
    if found.data.n >= _FEW_ROWS:
        return []
    text = f"{found.data.n:,} rows are few: "
    if found.interval is None:
        return [f"{text}another table of this size may well say otherwise."]
    width = abs(found.interval[1] - found.interval[0]) / 2
    return [f"{text}the {found.metric_text.name} is known to about ±{found.metric_text.change(width)} only."]


def _trained_on_fewer(found: StudyEvidence) -> list[str]:
    """Say how much better the model trained on all rows should be than those of the folds, where that is much."""
    curve, interval = found.curve, found.interval
    if curve is None or curve.refused is not None or interval is None or curve.metric != found.metric.name:
        return []
    rows, share = found.data.n, found.assessment.splits.mean_train_rows / found.data.n
    # A size of the curve counts the rows of the test fold too: as many are trained on as there are here with more rows.
    with_folds, with_all = (float(curve.predict(size)[0]) for size in (float(rows), rows / share))
    gain = with_folds - with_all
    if gain <= _WORTH_SAYING * (found.estimate - interval[0]):
        return []
    fmt = found.metric_text
    within = interval[0] <= found.estimate - gain
    allows = "which is within the interval" if within else "for which the interval does not allow"
    return [
        f"The {fmt.name} to expect was seen on models trained on {share:.0%} of the rows. By the learning curve the "
        f"model trained on all of them does about {fmt.change(gain)} better, {allows}."
    ]


def _unequal_classes(found: StudyEvidence) -> list[str]:
    if found.data.codes is None or found.data.classes is None:
        return []
    counts = np.bincount(found.data.codes)
    labels = found.data.classes
    rare, share = labels[counts.argmin()].item(), float(counts.max() / counts.sum())
    texts = []
    if share > _LARGE_CLASS:
        lines = found.assessment.confusion()[found.best].to_numpy()
        caught = float(lines[counts.argmin(), counts.argmin()] / counts.min())
        texts.append(
            f"Classes are unequal: {share:.0%} of the rows are {labels[counts.argmax()].item()!r}. Of the "
            f"{counted(int(counts.min()), 'row')} of {rare!r} {found.best} finds {percent(caught)}; if these matter "
            "most, study another metric, such as balanced_accuracy or auc."
        )
    elif counts.min() < _RARE:
        texts.append(
            f"Class {rare!r} has only {counted(int(counts.min()), 'row')}: how well it is told from the others is "
            "hardly known."
        )
    return texts


def _samples(found: StudyEvidence) -> list[str]:
    names = {"perturbation": "The noise was put into", "bias_variance": "Bias and variance are those of"}
    return [
        f"{names[what]} a random sample of {rows:,} of the {found.data.n:,} rows, to save time."
        for what, rows in found.sampled.items()
    ]


def _always(found: StudyEvidence) -> list[str]:
    texts = []
    if found.n_candidates > 1:
        folds = len(found.assessment.splits)
        texts.append(
            f"All numbers come from the same {folds} folds and share their fits, so they err together: they are not "
            "independent confirmations of each other."
        )
    if found.data.groups is None:
        texts.append(
            "Rows are taken as independent of each other. If they come in groups or in order of time, new ones will be "
            "harder than this says."
        )
    return texts
