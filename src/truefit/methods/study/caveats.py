"""Caveats: what a reader must know before believing the numbers."""

from __future__ import annotations

import numpy as np

from truefit.methods.study.findings import Findings
from truefit.methods.words import counted, percent

#: Fewer rows than this are few, and a largest class of more than this share hides the others.
_FEW_ROWS, _LARGE_CLASS = 500, 0.8
#: Of classes with fewer rows than this nothing much can be told.
_RARE = 30
#: What all rows would bring is said where it is more than this share of the way to the interval's end.
_WORTH_SAYING = 0.25


def caveats_of(found: Findings) -> list[str]:
    """Return what may make these numbers wrong."""
    return [
        *(suspect.text for suspect in found.suspects),
        *_few_rows(found),
        *_trained_on_fewer(found),
        *_unequal_classes(found),
        *_samples(found),
        *_always(found),
    ]


def _few_rows(found: Findings) -> list[str]:
    if found.data.n >= _FEW_ROWS:
        return []
    text = f"{found.data.n:,} rows are few: "
    if found.interval is None:
        return [f"{text}another table of this size may well say otherwise."]
    width = abs(found.interval[1] - found.interval[0]) / 2
    return [f"{text}the {found.spoken.name} is known to about ±{found.spoken.change(width)} only."]


def _trained_on_fewer(found: Findings) -> list[str]:
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
    spoken = found.spoken
    within = interval[0] <= found.estimate - gain
    allows = "which is within the interval" if within else "for which the interval does not allow"
    return [
        f"The {spoken.name} to expect was seen on models trained on {share:.0%} of the rows. By the learning curve the "
        f"model trained on all of them does about {spoken.change(gain)} better, {allows}."
    ]


def _unequal_classes(found: Findings) -> list[str]:
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


def _samples(found: Findings) -> list[str]:
    names = {"perturbation": "The noise was put into", "bias_variance": "Bias and variance are those of"}
    return [
        f"{names[what]} a random sample of {rows:,} of the {found.data.n:,} rows, to save time."
        for what, rows in found.sampled.items()
    ]


def _always(found: Findings) -> list[str]:
    texts = []
    if found.asked > 1:
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
