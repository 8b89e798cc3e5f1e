"""Diagnostics: what each shows about the gain from regularising, alone and given others."""

from __future__ import annotations

import pandas as pd
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from benchmarks.markdown import table
from benchmarks.perturbed_diagnosis.settings import SHARE
from benchmarks.perturbed_diagnosis.statistics import (
    DEFINED,
    GAINS,
    auc,
    cell,
    helps,
    over_tables,
    partial,
    rank_correlation,
)

#: Diagnostics, and the signs with which they are expected to show that regularising, or a richer setting, would help.
DIAGNOSTICS = {
    "gap": ("CV error − training error", 1, -1),
    "relative_gap": ("the same, as a share of the CV error", 1, -1),
    "memorisation": ("memorisation", 1, -1),
    "rate": ("PMV rate", -1, 1),
    "skill": ("PMV skill", -1, 1),
    "variance": ("share of variance", 1, -1),
    "training": ("training error", -1, 1),
    "cv": ("CV error", 1, 1),
    "by_cv": ("gain by CV", 1, 1),
}
SHORT = {"gap": "CV gap", "memorisation": "memorisation", "variance": "variance", "by_cv": "CV gain"}
SETS = (
    ("gap",), ("memorisation",), ("variance",), ("gap", "memorisation"), ("gap", "variance"),
    ("memorisation", "variance"), ("gap", "memorisation", "variance"), ("by_cv",), ("by_cv", "gap"),
    ("by_cv", "memorisation"), ("by_cv", "variance"), ("by_cv", "gap", "memorisation", "variance"),
)  # fmt: skip


def column_of(key, truth):
    """Return the column of a diagnostic; the gain by CV has one for each gain, and none for the true gap."""
    return key if key != "by_cv" else None if truth == "true_gap" else f"cv_{truth}"


def alone(frame):
    """Return the table of each diagnostic alone, and the areas of each by what is to be shown."""
    lines, areas = [], {}
    known = frame.dropna(subset=DEFINED)
    for key, (text, *signs) in DIAGNOSTICS.items():
        cells = [text]
        for truth in ("true_gap", *GAINS):
            column = column_of(key, truth)
            if column is None:
                cells.append("–")
                continue
            part = known.dropna(subset=[truth, column])
            found = over_tables(part, lambda one, c=column, t=truth: rank_correlation(one[c], one[t]))
            cells.append(cell(found, sign=True))
        for truth, sign in zip(GAINS, signs, strict=True):
            column = column_of(key, truth)
            part = known.dropna(subset=[truth, column])
            found = over_tables(part, lambda one, c=column, t=truth, s=sign: auc(one[f"{t}_helps"], s * one[c]))
            areas[key, truth] = found
            cells.append(cell(found))
        lines.append(cells)
    header = [
        "diagnostic", "ρ true gap", "ρ gain from regularising", "ρ gain from a richer one", "AUC regularising",
        "AUC richer",
    ]  # fmt: skip
    return table(header, lines), areas


def by_share(frame):
    """Say what the areas are where a gain counts as a share of the error in a classification too."""
    known = frame.dropna(subset=[*DEFINED, "regularising"])
    texts = []
    for key, text in SHORT.items():
        column = column_of(key, "regularising")
        found = over_tables(known, lambda one, c=column: auc(one["regularising_relative"], one[c]))
        texts.append(f"{text} {cell(found)}")
    return (
        f"Where a gain counts above {100 * SHARE:.0f}% of the error in a classification too, AUC regularising: "
        f"{', '.join(texts)}."
    )


def partials(frame):
    """Return the table of partial rank correlations."""
    known = frame.dropna(subset=DEFINED)
    lines = []
    for key, given in (
        ("memorisation", ["gap"]), ("variance", ["gap"]), ("gap", ["memorisation"]), ("gap", ["variance"]),
        ("memorisation", ["gap", "variance"]), ("variance", ["gap", "memorisation"]),
        ("gap", ["memorisation", "variance"]), ("memorisation", ["by_cv"]), ("variance", ["by_cv"]),
        ("gap", ["by_cv"]), ("by_cv", ["gap", "memorisation", "variance"]),
    ):  # fmt: skip
        cells = [SHORT[key], " and ".join(SHORT[each] for each in given)]
        for truth in ("true_gap", *GAINS):
            columns = [column_of(each, truth) for each in (key, *given)]
            if None in columns:
                cells.append("–")
                continue
            part = known.dropna(subset=[truth, *columns])
            found = over_tables(
                part,
                lambda one, c=columns, t=truth: partial(one[c[0]], one[t], [one[each] for each in c[1:]]),
            )  # fmt: skip
            cells.append(cell(found, sign=True))
        lines.append(cells)
    return table(["diagnostic", "given", "true gap", "gain from regularising", "gain from a richer one"], lines)


def across(frame, truth, names):
    """Return the area within each table of a logistic regression of ranks, fitted on the other tables."""
    columns = [column_of(each, truth) for each in names]
    known = frame.dropna(subset=[*DEFINED, truth])
    ranks = known.groupby(["table", "rows"])[columns].rank(pct=True)
    scores = pd.Series(index=known.index, dtype=float)
    for name in known["table"].unique():
        inside = known["table"] == name
        model = LogisticRegression().fit(ranks[~inside], known.loc[~inside, f"{truth}_helps"].astype(bool))
        scores[inside] = model.decision_function(ranks[inside])
    return over_tables(known.assign(score=scores), lambda one: auc(one[f"{truth}_helps"], one["score"]))


def explained(frame, names):
    """Return the share of the variance of the true gap in each table that a regression on the other tables explains."""
    known, found = frame.dropna(subset=DEFINED), {}
    columns = ["relative_gap" if each == "gap" else each for each in names]
    truth = known["true_gap"] / known["test"]
    for name in known["table"].unique():
        inside = known["table"] == name
        model = make_pipeline(StandardScaler(), LinearRegression()).fit(known.loc[~inside, columns], truth[~inside])
        found[name] = model.score(known.loc[inside, columns], truth[inside])
    return pd.Series(found)


def together(frame):
    """Return the table of sets of diagnostics, and their areas."""
    lines, areas = [], {}
    for names in SETS:
        first = ("by_cv",) if "by_cv" in names else ("gap",)
        cells = [" + ".join(SHORT[each] for each in names)]
        for truth in GAINS:
            areas[truth, names] = found = across(frame, truth, names)
            cells.append(cell(found))
            cells.append("–" if names == first else cell(found - areas[truth, first], sign=True))
        cells.append("–" if "by_cv" in names else cell(explained(frame, names)))
        lines.append(cells)
    header = ["known", "AUC regularising", "less that of the first", "AUC richer", "less that of the first"]
    return table([*header, "R² true gap"], lines), areas


def by_setting(frame):
    """Return the table of means of each setting."""
    lines = []
    for task, part in frame.groupby("task", sort=False):
        for name, each in part.groupby("name", sort=False):
            means = [f"{each[key].mean():.2f}" for key in ("memorisation", "variance", "gap", "true_gap")]
            gains = ["–" if each[key].isna().all() else f"{100 * each[key].mean():+.1f}" for key in GAINS]
            both = [text for pair in zip(gains, helps(each), strict=True) for text in pair]
            lines.append([f"{name} ({task})", *means, *both])
    header = [
        "setting", "memorisation", "variance", "CV gap", "true gap", "gain from regularising", "helps",
        "gain from a richer one", "helps",
    ]  # fmt: skip
    return table(header, lines)
