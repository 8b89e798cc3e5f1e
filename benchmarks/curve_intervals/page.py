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

*Tables*: learnt from adult, bank_marketing (each column as the target, of numbers or of classes, but for those of
which one value has 90% of the rows or 1% of the rows more than half of the squares) and generators, four samples of
each size up to 400 rows; checked on other tables, ten samples of each size. Learners are ridge or logistic
regression, nearest neighbours and a tree. `learning_curve` measures the samples with {folds}-fold cross-validation;
the truth is the mean error of models of more rows, over {draws} training sets, on up to {tests} other rows each time.

*How often the check had been seen.* How much intervals are widened, what is refused and what they are learnt from was
chosen on the curves for learning; [what they show](#families-left-out) is at the end. But five earlier settings had
been checked, and what came of them is why there is a sixth:

| setting | curves | hold at 2×, 4×, 8× | width |
|---|---|---|---|
| first | reference | 97.2%, 96.5%, 96.3% | 0.62 at 2× |
| first | tables, regression | 100.0%, 100.0%, 99.5% | 1.49 at 2× |
| second | reference | 96.5%, 95.6%, 95.6% | 0.55, 0.70, 0.85 |
| second | tables, classification | 97.4%, 98.0%, 96.2% | 0.65, 0.80, 0.97 |
| second | tables, regression | 99.8%, 99.3%, 99.1% | 0.88, 0.94, 1.01 |
| third | reference | 96.6%, 95.5%, 95.7% | 0.52, 0.66, 0.81 |
| third | tables, classification | 96.6%, 97.6%, 97.0% | 0.66, 0.80, 0.96 |
| third | tables, regression | 97.6%, 93.0%, 89.6% | 0.57, 0.61, 0.65 |
| third | tables, regression: gains | 93.3%, 87.4%, 87.1% | 0.20, 0.31, 0.41 |
| fourth | reference | 96.0%, 94.9%, 95.0% | 0.50, 0.63, 0.77 |
| fourth | tables, classification | 96.1%, 97.0%, 96.3% | 0.63, 0.77, 0.91 |
| fourth | tables, regression | 97.3%, 97.4%, 96.4% | 0.58, 0.68, 0.79 |
| fourth | tables, regression: gains | 95.8%, 92.7%, 91.9% | 0.24, 0.36, 0.49 |
| fifth | reference | 96.0%, 94.9%, 95.0% | 0.50, 0.63, 0.77 |
| fifth | reference: gains | 95.9%, 94.5%, 94.7% | 0.32, 0.47, 0.65 |
| fifth | tables, classification | 96.1%, 97.0%, 96.3% | 0.63, 0.77, 0.91 |
| fifth | tables, classification: gains | 98.7%, 94.6%, 94.8% | 0.39, 0.56, 0.79 |
| fifth | tables, regression | 97.3%, 97.4%, 96.4% | 0.58, 0.68, 0.79 |
| fifth | tables, regression: gains | 98.1%, 95.4%, 95.5% | 0.30, 0.45, 0.61 |

The first learnt losses from a generator whose squared errors have no variance, too; the second from 13 columns and
generators; the third from 46, many of which hardly fall beyond 400 rows; since the fourth losses are learnt from the
reference curves too ([decision 39](decisions/0039-intervals-of-learning-curves.md)). The fourth had gains of losses
narrowed by a fifth, as far as the tables and generators for learning allowed; because of its numbers the fifth had not,
and was the fourth otherwise. Intervals of the fifth were wider than wanted for classification, and held more often than
in 95%, on the curves for learning too. So the sixth has widths that are calibrated on these, in families left out; how
was fixed before it was checked, and nothing was changed after. The second refused 9.1%, 8.8% and 4.7% of the three
sets; since the third the rule is the present one.

*Width* is the median of the whole interval, as a share of the present error. *Off* is forecast minus truth in standard
errors of the last point, mean and median: above 0, forecasts are too high. *Refused* are curves that rise by more than
their noise, or do not fall and are above the baseline.
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
    sources: np.ndarray

    @classmethod
    def joined(cls, parts):
        """Return all curves of several parts."""
        return cls(*(np.concatenate([getattr(part, name) for part in parts]) for name in cls.__dataclass_fields__))

    def of(self, which):
        """Return some of the curves."""
        return Checked(*(getattr(self, name)[which] for name in self.__dataclass_fields__))

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


def checked(measured, constants=None):
    """Return the intervals of the error, and of the gain, with their truths; by default with the shipped constants."""
    errors, gains = [], []
    places = [list(measured.factors).index(factor) for factor in FACTORS]
    constants = constants or shipped_single_runs(measured.kind)
    for start in range(0, len(measured.truths), _AT_A_TIME):
        part = measured.chosen(slice(start, start + _AT_A_TIME))
        outlook = Outlook.of(part.points)
        sizes = part.points.last[:, None] * np.array(FACTORS)
        largest = 1.0 if part.kind == "share" else np.inf
        refused = outlook.nothing_learned | outlook.rising
        common = (unit_of(outlook, part.kind), part.points.errors[:, -1], refused, part.groups, part.sources)
        truth, first = part.truths[:, places], part.truths[:, :1]
        errors.append(Checked(truth, *constants.errors(outlook, sizes, 0.95, largest=largest), *common))
        gains.append(Checked(first - truth, *constants.gains(outlook, sizes, 0.95), *common))
    return [Checked.joined(found) for found in (errors, gains)]


def table(sets):
    """Return a table in Markdown: a line per set of curves, intervals and factor."""
    lines = ["| curves | interval of the | at | curves | hold | width | off, mean | off, median |", "|" + "---|" * 8]
    for title, _, both in sets:
        for what, found in zip(("error", "gain"), both, strict=True):
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
    for title, _, both in sets:
        for group in sorted(set(both[0].groups) - set(EXEMPT)):
            cells = [found.at(place, group) for found in both for place in range(len(FACTORS))]
            text = " | ".join("–" if not cell.count else f"{cell.held:.1%}" for cell in cells)
            lines.append(f"| {title} | {group} | {text} |")
    return "\n".join(lines)


def targets(sets):
    """Return a table in Markdown: what was wanted of the intervals of the error."""
    lines = ["| curves | what | wanted | seen | |", "|---|---|---|---|---|"]
    for title, kind, (found, _) in sets:
        rows = [found.at(place) for place in range(len(FACTORS))]
        groups = set(found.groups) - set(EXEMPT)
        worst = min(found.at(place, group).held for group in groups for place in range(len(FACTORS)))
        widest = WIDEST[kind]
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
