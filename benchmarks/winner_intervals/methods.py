"""Methods: the intervals for the error of the selected model, all from the stored losses of a study."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.winner_intervals.studies import FOLDS
from truefit._stats.bootstrap_error import bbc
from truefit._stats.intervals import Tail, averaged_repeats, inflated
from truefit._stats.triangle import change_to_all_rows

DRAWS = 1_000
FACTORS = (1.4, 1.3, 1.2, 1.1)
#: What truefit computes today, and the yardstick of widths.
NAIVE, TODAY = "naive_1.2", "nested_today"


@dataclass(frozen=True)
class Method:
    """A method: its name in the results, its label, and its fits per candidate."""

    name: str
    label: str
    fits: int


def _variants(name, label):
    """Return the methods of one centre, with each factor, extended at the better end and not."""
    return [
        Method(f"{name}_{factor}{end}", f"{label} × {factor}{', extended' if end else ''}", 15)
        for end in ("_extended", "")
        for factor in FACTORS
    ]


PUBLISHED = (
    Method("naive_1", "naive: winner's own CV, pooled Wald", 5),
    Method(NAIVE, "naive: winner's own CV × 1.2", 5),
    Method("bbc_5", "BBC × 1.1, K=5 (`Assessment.winner`)", 5),
    Method("bbc_15", "BBC × 1.1, 3×K=5", 15),
    Method("bbc_5_percentile", "BBC, percentiles, K=5", 5),
    Method("bbc_15_percentile", "BBC, percentiles, 3×K=5", 15),
    Method("bbc_f_5", "BBC-F, percentiles, K=5", 5),
    Method("bbc_f_15", "BBC-F, percentiles, 3×K=5", 15),
    Method(TODAY, "nested × 1.3, squared losses × 1.4, extended (`HonestSearchCV`)", 15),
)
NESTED = _variants("nested", "nested")
REPEATED = _variants("bbc", "BBC centre, K=5,")
#: Added when the first studies had been seen: what factor BBC needs with the fits of the triangle.
OFTEN = [Method(f"bbc_15_{factor}", f"BBC centre, 3×K=5, × {factor}", 15) for factor in FACTORS]


def redrawn(losses, draws=DRAWS, seed=0):
    """Repeat the selection on bootstrap samples of the units: the error of each on the units not drawn.

    ``losses`` have a line per unit, a row or a fold of equal size, and a column per candidate.
    """
    units = len(losses)
    places = np.random.default_rng(seed).integers(0, units, size=(draws, units)) + units * np.arange(draws)[:, None]
    counts = np.bincount(places.ravel(), minlength=draws * units).reshape(draws, units).astype(float)
    winners = (counts @ losses).argmin(axis=1)
    out = counts == 0
    usable = out.any(axis=1)
    sums = (out @ losses)[np.arange(draws), winners]
    return sums[usable] / out.sum(axis=1)[usable]


def repeated(losses):
    """Draw rows with all their partitions; of sums, since those of 0-1 losses are whole numbers and ties stay ties."""
    return redrawn(losses.repeats.sum(axis=0)) / len(losses.repeats)


def percentiles(errors):
    """Return the mean of bootstrap errors with their 2.5% and 97.5% quantiles."""
    return errors.mean(), *np.quantile(errors, (0.025, 0.975))


def fold_losses(losses, repeats):
    """Return the mean loss of each candidate on each fold of some partitions: the units of BBC-F."""
    return np.concatenate(
        [
            [losses.repeats[r][losses.folds[r] == fold].mean(axis=0) for fold in range(FOLDS)]
            for r in range(repeats)
        ]
    )  # fmt: skip


def nested(losses):
    """Return the losses on each fold of what was selected without it, and the possible gain from all rows."""
    found, fewer = [], []
    for a in range(FOLDS):
        others = [b for b in range(FOLDS) if b != a]
        chosen = int(losses.triangle[others, a].sum(axis=(0, 1)).argmin())
        found.append(losses.triangle[a, a, :, chosen])
        fewer.append(losses.triangle[a, others, :, chosen].mean())
    one = float(np.mean(found))
    gain = -change_to_all_rows(one, float(np.mean(fewer)), FOLDS)
    return np.concatenate(found), min(max(gain, 0.0), one / FOLDS)


def intervals(losses):
    """Return estimate, low and high end by method."""
    zero_one, n = losses.zero_one, losses.n
    own = losses.repeats[0][:, losses.best]
    sd, tail = float(own.std(ddof=1)), None if zero_one else Tail.of(own)
    outer, gain = nested(losses)
    once = bbc(losses.repeats[0], seed=0, zero_one=zero_one)
    often = bbc(losses.repeats, seed=0, zero_one=zero_one)
    half = 1.959964 * sd / np.sqrt(n)
    found = {
        "naive_1": (own.mean(), own.mean() - half, own.mean() + half),
        NAIVE: (own.mean(), *averaged_repeats([own], factor=1.2, zero_one=zero_one)),
        "bbc_5": (once.estimate, once.low, once.high),
        "bbc_15": (often.estimate, often.low, often.high),
        "bbc_5_percentile": percentiles(redrawn(losses.repeats[0])),
        "bbc_15_percentile": percentiles(repeated(losses)),
        "bbc_f_5": percentiles(redrawn(fold_losses(losses, 1))),
        "bbc_f_15": percentiles(redrawn(fold_losses(losses, len(losses.repeats)))),
    }
    runs = losses.repeats[:, :, losses.best_of_repeats]
    sd_often = float(runs.std(axis=1, ddof=1).mean())
    tail_often = None if zero_one else Tail.mean_of(Tail.of(run) for run in runs)
    for factor in FACTORS:
        found[f"bbc_15_{factor}"] = (
            often.estimate,
            *inflated(often.estimate, sd_often, n, factor=factor, tail=tail_often),
        )
        ends = {
            "nested": (outer.mean(), *averaged_repeats([outer], factor=factor, zero_one=zero_one)),
            "bbc": (once.estimate, *inflated(once.estimate, sd, n, factor=factor, tail=tail)),
        }
        for name, (centre, low, high) in ends.items():
            found[f"{name}_{factor}"] = centre, low, high
            found[f"{name}_{factor}_extended"] = centre, low - gain, high
    found[TODAY] = found["nested_1.3_extended" if zero_one else "nested_1.4_extended"]
    top = 1.0 if zero_one else np.inf
    return {
        name: (float(centre), max(0.0, float(low)), min(top, float(high)))
        for name, (centre, low, high) in found.items()
    }  # fmt: skip


#: Estimates of the page, and the interval that each is taken from.
CENTRES = {
    "naive": NAIVE,
    "bbc_5": "bbc_5",
    "bbc_15": "bbc_15",
    "bbc_f_5": "bbc_f_5",
    "nested": TODAY,
    "nested_all_rows": TODAY,
}


def centres(losses, found):
    """Return each estimate with the standard error of the losses, without a factor."""
    own = losses.repeats[0][:, losses.best]
    often = losses.repeats[:, :, losses.best_of_repeats]
    outer, gain = nested(losses)
    each = {"bbc_15": often, "nested": outer, "nested_all_rows": outer}
    estimates = {name: found[method][0] for name, method in CENTRES.items()}
    estimates["nested_all_rows"] -= gain
    result = {}
    for name, centre in estimates.items():
        if losses.zero_one:
            sd = np.sqrt(centre * (1 - centre))
        else:
            sd = np.atleast_2d(each.get(name, own)).std(axis=1, ddof=1).mean()
        result[name] = centre, float(sd / np.sqrt(losses.n))
    return result
