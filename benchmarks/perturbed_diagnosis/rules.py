"""Rules: when a verdict, the study or cross-validation says that a setting overfits, and how often that is true."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd

from benchmarks.markdown import table
from benchmarks.perturbed_diagnosis.settings import FOLDS
from benchmarks.perturbed_diagnosis.statistics import helps, large, share
from truefit._stats.paired import corrected_paired_t

#: The rule of the study, with which the others are compared.
STUDY = "study: overfits"
#: Rules that were not fixed beforehand, and are not compared with what was expected.
ADDED = " (added after the first 26 samples)"


def less_flexible(row, names):
    """Return settings whose gap between training and CV error is at most half as large, as a study finds them."""
    found = row["settings"]
    gaps = {each: found[each]["cv"] - found[each]["training"] for each in names}
    return [each for each in names if each != row["name"] and gaps[each] <= row["gap"] / 2] if row["gap"] > 0 else []


def behind(row, name):
    """Return by how much another setting is worse in cross-validation, fold by fold, and the standard error."""
    found = corrected_paired_t(np.subtract(row["settings"][name]["folds"], row["folds"]), 1 / (FOLDS - 1))
    return found.mean, found.se


def harmless(row, alternative):
    """Whether a candidate that memorises less is truly no worse, but for what does not count."""
    return not large(row["settings"][alternative]["test"] - row["test"], row)


def compared(row, answer):
    """Return the settings that an answer compares: those of the family, or all that a study has."""
    return row["within"]["compared"] if answer == "within" else list(row["settings"])


def is_best(row):
    """Whether a setting has the smallest CV error of its family, of equal ones the most rigid."""
    names = compared(row, "within")
    return len(names) > 1 and row["name"] == min(names, key=lambda each: row["settings"][each]["cv"])


def regularising_helps(row):
    """Whether a more rigid setting of the family has an error that is truly smaller; nan where there is none."""
    return row["regularising_helps"]


def selected_truth(row):
    """Whether a less flexible setting of the list has an error that is truly smaller."""
    others = less_flexible(row, list(row["settings"]))
    return any(large(row["test"] - row["settings"][each]["test"], row) for each in others)


def rules(row, said, names):
    """Return which rules would say that a setting overfits."""
    today, other = said["kind"] == "overfits", said["alternative"]
    rigid = less_flexible(row, names)
    steps = [behind(row, each) for each in rigid]
    better = any(mean < 0 for mean, _ in steps)
    others = [row["settings"][each]["cv"] for each in rigid]
    own = row | {"test": row["cv"]}
    return {
        STUDY: today,
        "study: overfits, and the alternative has the smaller CV error": today and behind(row, other)[0] < 0,
        "study: overfits or memorises": said["kind"] in ("overfits", "memorises"),
        "PMV: overfitted": said["verdict"] == "overfitted",
        "PMV: memorises or overfitted": said["verdict"] in ("memorises", "overfitted"),
        "CV: a less flexible setting has a smaller error": better,
        f"CV: the same, by more than what counts{ADDED}": any(large(row["cv"] - each, own) for each in others),
        "CV: the same, by more than one standard error": any(mean < -error for mean, error in steps),
        "CV: a less flexible setting is within one standard error": any(mean <= error for mean, error in steps),
        "CV gap above half of the CV error": row["relative_gap"] > 0.5,
        "CV gap above half, and a less flexible setting has a smaller error": row["relative_gap"] > 0.5 and better,
        "variance above 25%": row["variance"] > 0.25,
        "variance above 50%": row["variance"] > 0.5,
    }


def judged(rows, answer, truth):
    """Return the table of rules by their precision and recall, and these numbers.

    ``answer`` names what the study says of each setting, ``truth`` returns whether regularising it helps.
    """
    truths = np.array([truth(row) for row in rows], dtype=float)
    text = f"True in {share(truths)} cases."
    known = ~np.isnan(truths)
    truths = truths[known].astype(bool)
    said = [rules(row, row[answer], compared(row, answer)) for row, own in zip(rows, known, strict=True) if own]
    lines, numbers = [], {}
    for name in said[0] if said else ():
        fired = np.array([each[name] for each in said], dtype=bool)
        hits = int((fired & truths).sum())
        precision = hits / fired.sum() if fired.any() else math.nan
        recall = hits / truths.sum() if truths.any() else math.nan
        numbers[name] = precision, recall
        both = 2 * hits / (fired.sum() + truths.sum()) if fired.any() or truths.any() else math.nan
        cells = ["–" if each != each else f"{100 * each:.0f}%" for each in (precision, recall, both)]
        lines.append([name, int(fired.sum()), *cells])
    found = table(["it overfits, by", "cases", "precision", "recall", "F1"], lines)
    return f"{text}\n\n{found}", numbers


def verdicts(frame):
    """Return the table of PMV verdicts and how often they come true."""
    lines, numbers = [], {}
    for scope, text in (("within", "settings of its family"), ("all", "all settings")):
        for flag in ("memorises", "overfitted", "underfitted", "no flag"):
            part = frame[[each["verdict"] == flag for each in frame[scope]]]
            numbers[scope, flag] = part
            lines.append([flag, text, len(part), *helps(part)])
        flags = np.array([each["verdict"] in ("memorises", "overfitted") for each in frame[scope]])
        for least in (0.05, 0.25):
            low = frame[flags & (frame["learned"] <= least)]
            what = f"either of the first two, avoiding at most {100 * least:.0f}% of the baseline's training error"
            lines.append([what, text, len(low), *helps(low)])
    lines.append(["any", "", len(frame), *helps(frame)])
    return table(["verdict", "compared with", "settings", "regularising helps", "a richer one helps"], lines), numbers


def claims(rows, answer):
    """Say how the candidate that memorises less and does about as well in CV does on the test rows."""
    named = [(row, row[answer]["alternative"]) for row in rows if row[answer]["alternative"] is not None]
    if not named:
        return "No candidate that memorises less does about as well."
    fine = [harmless(row, other) for row, other in named]
    better = [large(row["test"] - row["settings"][other]["test"], row) for row, other in named]
    return (
        f"A candidate that memorises less and does about as well in cross-validation is named {len(named)} times. On "
        f"the test rows it is not worse by more than what counts in {share(fine)}, better by more in {share(better)}."
    )


def kinds(rows, answer):
    """Return the table of what the study says of settings, and what is true of them."""
    lines = []
    for kind in sorted({row[answer]["kind"] for row in rows}):
        part = pd.DataFrame([row for row in rows if row[answer]["kind"] == kind])
        gap = (part["true_gap"] / part["test"]).mean()
        lines.append([kind, len(part), f"{100 * gap:.0f}%", *helps(part)])
    header = ["Does it fit?", "cases", "true gap, of the error", "regularising helps", "a richer one helps"]
    return table(header, lines)
