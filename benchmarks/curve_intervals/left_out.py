"""The procedure that the constants are learnt by, on families of data sets that it is not given."""

from __future__ import annotations

from dataclasses import replace
from textwrap import fill

import numpy as np

from benchmarks.curve_intervals.constants import folds_of, learn
from benchmarks.curve_intervals.page import FACTORS, Checked, checked
from benchmarks.curve_intervals.sources import TABLES
from papers.lcdb.constants import EXEMPT, TAILS
from truefit._stats.curve_single_runs import SingleRuns, shipped_single_runs


def left_out(parts, kind):
    """Return the checked errors and gains of the curves of one kind, set by set, each with constants of others."""
    parts = [part.chosen(part.learn) for part in parts]
    folds = [folds_of(part.sources) for part in parts]
    found = [[] for part in parts if part.kind == kind]
    for fold in sorted(set(np.concatenate(folds))):
        others = [part.chosen(each != fold) for part, each in zip(parts, folds, strict=True)]
        stored = {"tails": TAILS, kind: learn([part for part in others if len(part)], kind)}
        constants = SingleRuns.from_dict(kind, stored)
        own = [part.chosen(each == fold) for part, each in zip(parts, folds, strict=True) if part.kind == kind]
        for rows, part in zip(found, own, strict=True):
            if len(part):
                rows.append(checked(part, constants))
    return [tuple(Checked.joined(each) for each in zip(*rows, strict=True)) for rows in found]


def needed(found, place):
    """Return the median width with which intervals of this shape hold in 95% of the curves, whatever it takes.

    The ends of all are moved by one factor; a share of the present error.
    """
    used = ~found.refused & ~np.isin(found.groups, EXEMPT) & np.isfinite(found.truth[:, place])
    value, low, high, truth = (each[used, place] for each in (found.value, found.low, found.high, found.truth))
    reach = np.where(truth < value, value - low, high - value)
    factor = np.quantile(np.abs(truth - value) / np.maximum(reach, 1e-12), 0.95)
    moved = replace(found, low=found.value - factor * (found.value - found.low),
                    high=found.value + factor * (found.high - found.value))  # fmt: skip
    return moved.at(place).width


def distances(found, place):
    """Return by how many standard errors forecasts are too high, and the families of their curves."""
    used = ~found.refused & ~np.isin(found.groups, EXEMPT) & np.isfinite(found.truth[:, place])
    return (found.value - found.truth)[used, place] / found.unit[used], found.sources[used]


def chance(found, place, count):
    """Return the standard deviation of the mean distance over so many families, from that between families."""
    off, sources = distances(found, place)
    means = [off[sources == source].mean() for source in sorted(set(sources))]
    return np.std(means, ddof=1) / np.sqrt(count) if len(means) >= _FEWEST else np.nan


#: Fewer families say nothing about the differences between them.
_FEWEST = 5

TEXT = """## Families left out

The curves for learning, in six parts by the family of data sets, each with constants learnt from the others. *By
chance* is the standard deviation of the mean between sets of as many families as the check has, from the differences
between those here: a mean may be off by about twice that in the check whatever the constants are. *Needed* is the
median width with which intervals of this shape hold in exactly 95% here.

{table}

## What is missed

*Mean off.* The reference curves for learning are forecast without bias, and nearly so without a correction ({raw}), so
there is no more to correct that is known from them. The curves of the check fall further. Without the twentieth of them
that is farthest off, the means at 2, 4 and 8 times the rows are {trimmed}.

*Width for classification.* On the tables and generators for learning, intervals that hold in exactly 95% need {classes}
of the present error in the median; 0.60, 0.75 and 1.00 are wanted.
"""


def trimmed(found, place):
    """Return the mean distance without the 5% of curves that are farthest off."""
    off = distances(found, place)[0]
    return off[np.abs(off) <= np.quantile(np.abs(off), 0.95)].mean()


def left_out_table(sets):
    """Return a table in Markdown; a set has a title, the number of families in its check, and errors and gains."""
    heads = ("curves", "interval of the", "at", "curves", "hold", "width", "needed", "off, mean", "by chance")
    lines = ["| " + " | ".join((*heads, "off, median")) + " |", "|" + "---|" * (len(heads) + 1)]
    for title, count, both in sets:
        for what, found in zip(("error", "gain"), both, strict=True):
            for place, factor in enumerate(FACTORS):
                row, by_chance = found.at(place), chance(found, place, count)
                lines.append(
                    f"| {title} | {what} | {factor:g}× | {row.count:,} | {row.held:.1%} | {row.width:.2f} "
                    f"| {needed(found, place):.2f} | {row.off:+.2f} "
                    f"| {'–' if np.isnan(by_chance) else f'±{by_chance:.2f}'} | {row.usual_off:+.2f} |"
                )
    return "\n".join(lines)


def section(reference, tables, checks):
    """Return the parts of the page; ``checks`` are its sets of curves: reference, and tables of both kinds."""
    shares = [reference, tables["share"]]
    half, classes = left_out(shares, "share")
    (numbers,) = left_out([tables["loss"], *shares], "loss")
    real, counts = np.isin(numbers[0].sources, TABLES), [len(set(errors.sources)) for _, _, (errors, _) in checks]
    sets = [
        ("reference", counts[0], half),
        ("tables and generators, classification", counts[1], classes),
        ("tables, regression", counts[2], [each.of(real) for each in numbers]),
        ("generators, regression", counts[2], [each.of(~real) for each in numbers]),
    ]
    shipped, places = shipped_single_runs("share"), range(len(FACTORS))
    plain, _ = checked(reference.chosen(reference.learn), replace(shipped, centre=np.zeros_like(shipped.centre)))
    text = TEXT.format(
        table=left_out_table(sets),
        raw=", ".join(f"{plain.at(place).off:+.2f}" for place in places),
        trimmed="; ".join(
            f"{', '.join(f'{trimmed(errors, place):+.2f}' for place in places)} ({title})"
            for title, _, (errors, _) in checks
        ),
        classes=", ".join(f"{needed(classes[0], place):.2f}" for place in places),
    )
    return "\n\n".join(part if part.startswith(("|", "#")) else fill(part, 118) for part in text.split("\n\n")) + "\n"
