"""The page: what was measured, the targets, a summary, and a table for every setting, as Markdown."""

from __future__ import annotations

import numpy as np

from benchmarks.coverage.generators import GENERATORS
from benchmarks.coverage.methods import FRESH, MANY_FITS, METHODS, SAFE, TRIANGLE
from benchmarks.coverage.sample import TEST_ROWS, Sample
from benchmarks.coverage.settings import CANDIDATES, SETTINGS, SIZES
from benchmarks.coverage.summary import cells, truth_of
from benchmarks.coverage.targets import WORST, verdicts

_INTRODUCTION = """\
# Coverage of the confidence intervals

Coverage of truefit's nominal 95% intervals on samples from known distributions: methods with [few
fits](coverage.md), with [a hundred fits or more](coverage-many-fits.md), and for [the selected
model](coverage-winner.md). A setting is a generator of rows, a learner and a number of rows n. In each repetition a
sample of n rows is drawn, `truefit.assess` or `HonestSearchCV` computes the intervals, and the truth is measured
separately.

- **This model** (Err_XY): how often the interval covers the error of the learner trained on these n rows, measured on
  {test_rows:,} fresh rows. For a regression the noise of those rows is excluded, since its variance is known.
- **Average** (Err): how often it covers the mean of that error over all samples of n rows.
- **× Wald**: mean width over that of the pooled Wald interval of 10 folds on the same samples.
- **Fits**: models that the method trains if run alone. Here the methods of a sample share fits.

Linear discriminants, naive Bayes, nearest neighbours, ridge and logistic regression are scikit-learn's, or written
in a few lines of numpy (`benchmarks/coverage/learners.py`) that predict the same: checking the input takes most of the
time of so small a fit.

Generators, learners, sizes and the labels of stability were fixed before any coverage was computed. All are
reported. A setting is labelled unstable if the true error of the fitted model varies more from sample to sample
than the mean of n fresh losses does (its *movement*, the ratio of the two standard deviations, exceeds 1). That
was measured beforehand on true errors alone; the measured movement is given with each setting. Coverage and
width are over the repetitions in which a method gave an interval; *none* counts those without an interval.
"""


def page(lines, made_with, command):
    """Write up these lines of a store, and the command that made them."""
    found = cells(lines)
    error, selection, ranking = (
        [cell for cell in found if cell.setting.kind == kind] for kind in ("error", "selection", "ranking")
    )
    unstable = [cell for cell in error if cell.setting.unstable]
    parts = [
        _INTRODUCTION.format(test_rows=TEST_ROWS),
        _provenance(found, made_with, command),
        _targets(found),
        _misses(error),
        _summary("Stable settings", [cell for cell in error if not cell.setting.unstable]),
        _summary("Unstable settings", unstable),
        _warning(unstable),
        _summary(f"The winner among {CANDIDATES}", selection, yardstick=False),
        _summary("AUC and F1", ranking, yardstick=False),
        _every_setting(found, lines),
    ]
    return "\n".join(part for part in parts if part)


def _provenance(found, made_with, command):
    text = [f"## How it was made\n\n    {command}\n"]
    for what, many in ((f"methods with fewer than {MANY_FITS} fits", False), ("the others", True)):
        counts = {cell.repetitions for cell in found if (cell.method.fits_for(cell.setting.n) >= MANY_FITS) is many}
        if counts:
            at_95, at_80 = (100 * np.sqrt(share * (1 - share) / max(counts)) for share in (0.95, 0.8))
            text.append(
                f"- {_range(counts)} repetitions in each setting of {what}: the Monte-Carlo standard error of a "
                f"coverage is {at_95:.1f} points at 95%, {at_80:.1f} at 80%."
            )
    for versions, count in made_with:
        listed = ", ".join(f"{name} {version}" for name, version in versions.items())
        text.append(f"- {count:,} intervals were made with {listed}.")
    return "\n".join(text) + "\n"


def _range(values):
    values = set(values)
    if not values:
        return "none"
    return f"{min(values)}" if len(values) == 1 else f"{min(values)} to {max(values)}"


def _targets(found):
    judged = verdicts(found)
    if not judged:
        return ""
    rows = [(v.what, v.wanted, v.seen, "met" if v.met else "**missed**") for v in judged]
    return "## Targets\n\nOn coverage of the error of this model.\n\n" + _table(("target", "wanted", "seen", ""), rows)


def _misses(found):
    """Set the settings in which the triangle misses its target beside what could be had there at best."""
    by_name = {(cell.setting.name, cell.method.name): cell for cell in found}
    low = [cell for cell in found if cell.method.name == TRIANGLE and cell.this_model < WORST]
    rows = []
    for cell in low:
        fresh, safe = (by_name.get((cell.setting.name, name)) for name in (FRESH, SAFE))
        shares = [f"{each.this_model:.1%}" if each else "" for each in (fresh, safe)]
        rows.append((cell.setting.name, f"{cell.this_model:.1%}", f"{cell.bias / cell.width:+.2f}", *shares))
    if not rows:
        return ""
    heads = ("setting", "triangle + τ, K=10", "bias over its width", "n fresh rows", "corrected t, 10-fold")
    return "## Where targets are missed\n\n" + _table(heads, rows) + _WHY_MISSED


_WHY_MISSED = """
*n fresh rows* is the interval from the losses of the model itself on n new rows: no bias, no folds, no shared rows. If
even that one misses, the losses do not show their own spread: squared noise of a t distribution with three degrees of
freedom has no finite variance, so a sample without one of the rare large values looks too certain. Where it covers and
the triangle does not, the cause is bias: models trained without one or two folds are worse than the final model, most
of all with hardly more rows than columns. The corrected t is wide enough to cover some of both (`conservative=True`).
"""


def _summary(title, found, *, yardstick=True):
    if not found:
        return ""
    header = ["method", "fits"]
    header += [f"{target}, n={n}" for target in ("this model", "average") for n in SIZES]
    header += ["× Wald"] if yardstick else [f"mean width, n={n}" for n in SIZES]
    rows = []
    for method in METHODS:
        mine = [cell for cell in found if cell.method is method]
        if not mine:
            continue
        sized = [[cell for cell in mine if cell.setting.n == n] for n in SIZES]
        row = [method.label, _range(method.fits_for(n) for n in SIZES)]
        row += [_mean_and_worst(part, target) for target in ("this_model", "average") for part in sized]
        if yardstick:
            row.append(_mean((cell.width_ratio for cell in mine), ".2f"))
        else:
            row += [_mean((cell.width for cell in part), ".3g") for part in sized]
        rows.append(row)
    sizes = [setting.n for setting in {cell.setting for cell in found}]
    counted = ", ".join(f"{sizes.count(n)} with n={n}" for n in SIZES)
    return f"## {title}\n\nCoverage in %, mean [worst] over settings: {counted}.\n\n" + _table(header, rows)


def _mean_and_worst(found, target):
    values = [getattr(cell, target) for cell in found if cell.given]
    return f"{100 * np.mean(values):.1f} [{100 * min(values):.1f}]" if values else "–"


def _mean(values, form):
    values = [value for value in values if not np.isnan(value)]
    return format(np.mean(values), form) if values else "–"


def _warning(unstable):
    if not unstable:
        return ""
    notes = Sample(unstable[0].setting, 0).assess(cv=5).notes
    return "Note with the default interval, from one partition:\n\n" + "\n".join(f"> {note}" for note in notes) + "\n"


def _every_setting(found, lines):
    parts = ["## Every setting\n"]
    for setting in SETTINGS:
        mine = [cell for cell in found if cell.setting is setting]
        if mine:
            parts.append(_one_setting(setting, mine, truth_of(setting, lines)))
    return "\n".join(parts)


def _one_setting(setting, found, truth):
    about = f"{GENERATORS[setting.generator].what}; {_learner(setting)}"
    if truth is not None:
        mark = "unstable" if setting.unstable else "stable"
        about += f". Mean true error {truth.mean:.4g}, movement {truth.movement:.2f}, marked {mark}"
    header = ("method", "fits", "repetitions", "none", "this model", "average", "mean width", "× Wald", "bias")
    rows = [
        (
            cell.method.label,
            cell.method.fits_for(setting.n),
            cell.repetitions,
            cell.refused or "",
            _mean([100 * cell.this_model], ".1f"),
            _mean([100 * cell.average], ".1f"),
            _mean([cell.width], ".3g"),
            _mean([cell.width_ratio], ".2f"),
            _mean([cell.bias], ".2g"),
        )
        for cell in found
    ]
    return f"### {setting.name}\n\n{about[0].upper()}{about[1:]}.\n\n" + _table(header, rows)


def _learner(setting):
    if setting.kind != "selection":
        return f"`{setting.estimator!r}`"
    ((name, values),) = setting.grid.items()
    return f"`{setting.estimator!r}` with `{name}` among {', '.join(map(str, values))}"


def _table(header, rows):
    lines = ["| " + " | ".join(str(each) for each in row) + " |" for row in (header, *rows)]
    lines.insert(1, "|" + "---|" * len(header))
    return "\n".join(lines) + "\n"
