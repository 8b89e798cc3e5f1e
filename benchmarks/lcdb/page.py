"""The page: how it was made, targets, and tables, as Markdown."""

from __future__ import annotations

import numpy as np

from benchmarks.lcdb.curves import GROUPS, LEAST_ROWS
from benchmarks.lcdb.observed import LEAST_POINTS
from benchmarks.lcdb.trial import OURS, YARDSTICK

COMMAND = "python -m benchmarks.lcdb --data DIR --table docs/reproduction/lcdb.md"

_INTRODUCTION = """\
# Extrapolating real learning curves

Each of {curves:,} validation curves of LCDB 1.1 that reach {rows:,} rows or more ({datasets} data sets,
{learners} learners) is seen up to a share of its largest size, from at least {points} points, and extrapolated to the
mean of its last three points. Errors and widths are in points (0.01 of an error rate).

    {command}

The recipe was developed on one half of the data sets, by family (sets of one name or source stay together, and a hash
of the family's name decides): {developed} families. The other half, {judged} families, was left alone until the recipe
was fixed; one thing came after, on the evidence of the first half: a peak's own scatter no longer hides that the curve
rises. For each half the constants of the intervals were learnt on the other half alone; those that come with the
package are learnt from both (`--constants src/truefit/stats/curve_interval.json`).

*Refused* are curves for which `extrapolate` gives no number and says why: nothing learned yet, or rising at the end.
Methods are compared on the curves that were not refused; *all* has every curve.
"""

_HALVES = {
    "the judged half": lambda trial: trial.observed.judged,
    "the other half": lambda trial: ~trial.observed.judged,
    "both": lambda trial: np.ones_like(trial.observed.judged),
}


def page(curves, trials, main_trials, seconds):
    """Write up trials; the main ones are those that the targets are about, by their share."""
    judged = {curve.family for curve in curves if curve.judged}
    text = _INTRODUCTION.format(
        curves=len(curves),
        rows=LEAST_ROWS,
        datasets=len({curve.dataset for curve in curves}),
        learners=len({curve.learner for curve in curves}),
        points=LEAST_POINTS,
        command=COMMAND,
        developed=len({curve.family for curve in curves} - judged),
        judged=len(judged),
    )
    parts = [text, _targets(main_trials, seconds)]
    for name, half in _HALVES.items():
        parts += [f"## {name[0].upper()}{name[1:]}\n", _methods(main_trials, half), _groups(main_trials, half)]
    return "\n".join([*parts, _otherwise(trials)])


def _targets(trials, seconds):
    columns = [_verdicts(trials, half, seconds) for half in _HALVES.values()]
    rows = [
        (what, wanted, *(f"{column[i][2]}{'' if column[i][3] else ' **missed**'}" for column in columns))
        for i, (what, wanted, _, _) in enumerate(columns[0])
    ]
    return "## Targets\n\n" + _table(("target", "wanted", *_HALVES), rows)


def _verdicts(trials, half, seconds):
    """What is wanted, what was seen, and whether that is met."""
    found = []
    for share, median, tail, width in ((0.164, 40, 40, 11), (0.05, 20, 15, 22)):
        trial, at = trials[share], f"from {share:.1%}: "
        mine = half(trial)
        given = mine & trial.given
        for name, wanted, ours, theirs in zip(
            ("median", "90th percentile"),
            (median, tail),
            trial.off(OURS, given),
            trial.off(YARDSTICK, given),
            strict=True,
        ):
            gain = 100 * (1 - ours / theirs)
            found.append((f"{at}{name} of the error below {YARDSTICK}", f"≥ {wanted}%", f"{gain:.0f}%", gain >= wanted))
        holds = trial.holds()
        overall = holds[given].mean()
        found.append((f"{at}95% intervals hold", "93–98%", f"{overall:.1%}", 0.93 <= overall <= 0.98))
        groups = [(holds[which].mean(), group) for group, which in _by_group(trial, given) if group not in _EXEMPT]
        worst, group = min(groups)
        found.append((f"{at}in the worst group but QDA, TabNet", "≥ 90%", f"{worst:.1%}, {group}", worst >= 0.9))
        wide = np.median(trial.widths[given])
        found.append((f"{at}median width", f"≤ {width}", f"{wide:.1f}", wide <= width))
        refused = 1 - trial.given[mine].mean()
        found.append((f"{at}refused", "≤ 16%", f"{refused:.1%}", refused <= 0.16))
    found.append(("processor time per curve", "≤ 5 ms", f"{1000 * seconds:.1f} ms", seconds <= 0.005))
    return found


_EXEMPT = ("QDA", "TabNet")


def _by_group(trial, which):
    found = ((group, which & (trial.observed.groups == group)) for group in GROUPS)
    return [(group, mine) for group, mine in found if mine.any()]


def _methods(trials, half):
    head = ("method", *(f"from {share:.1%}{kind}" for share in trials for kind in (", median / 90%", ", all")))
    rows = []
    for name in next(iter(trials.values())).guesses:
        row = [f"**{name}**" if name == OURS else name]
        for trial in trials.values():
            shown = (half(trial) & trial.given, half(trial))
            row += ["{:.2f} / {:.1f}".format(*trial.off(name, which)) for which in shown]
        rows.append(row)
    return _table(head, rows)


def _groups(trials, half):
    columns = ("curves", "refused", "hold", "width")
    head = ("learners", *(f"from {share:.1%}: {what}" for share in trials for what in columns))
    rows = {}
    for trial in trials.values():
        for group, mine in [("all", half(trial)), *_by_group(trial, half(trial))]:
            given = mine & trial.given
            row = rows.setdefault(group, [group])
            row += [mine.sum(), f"{1 - trial.given[mine].mean():.1%}"]
            row += [f"{trial.holds()[given].mean():.1%}", f"{np.median(trial.widths[given]):.1f}"]
    return "95% intervals: how often they hold, and their median width.\n\n" + _table(head, rows.values())


def _otherwise(trials):
    """Fewer points, more noise, nearer and farther: how the judged half does there."""
    head = ("seen", "curves", "refused", YARDSTICK, OURS, "50% hold", "80% hold", "95% hold", "95% width")
    rows = []
    for trial in trials:
        judged = trial.observed.judged
        given = judged & trial.given
        row = [trial.observed.view, judged.sum(), f"{1 - trial.given[judged].mean():.1%}"]
        row += ["{:.2f} / {:.1f}".format(*trial.off(name, given)) for name in (YARDSTICK, OURS)]
        row += [f"{trial.holds(level)[given].mean():.1%}" for level in (0.5, 0.8, 0.95)]
        rows.append([*row, f"{np.median(trial.widths[given]):.1f}"])
    about = (
        "Nearer and farther, with fewer points and with more noise. *Fewer repeats*: noise as if a fifth of the\n"
        "repeats had been made; *one run*: the scatter of a single cross-validation. Intervals are made to hold for\n"
        "each kind of learner, near and far, so that on average they hold more often than they say.\n\n"
    )
    return f"## The judged half, seen otherwise\n\n{about}" + _table(head, rows)


def _table(head, rows):
    lines = ["| " + " | ".join(str(each) for each in row) + " |" for row in (head, *rows)]
    lines.insert(1, "|" + "---|" * len(head))
    return "\n".join(lines) + "\n"
