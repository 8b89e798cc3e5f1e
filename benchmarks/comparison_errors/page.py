"""The page: conclusion, targets, power and every setting."""

from __future__ import annotations

import math
from collections import Counter
from itertools import product

import numpy as np

from benchmarks.comparison_errors.rates import (
    GROUPS,
    WHAT,
    Rates,
    cases,
    exceeds,
    keys_of,
    mean_of,
    overall,
    real_rates,
    true_difference,
)
from benchmarks.comparison_errors.settings import COUNTS, DESIGNS, EQUAL, TESTS, UNEQUAL
from benchmarks.comparison_errors.simulation import jobs
from benchmarks.comparison_errors.tables import NAMES, TABLES
from benchmarks.markdown import table, wrapped

COMMAND = (
    "    python -m benchmarks.comparison_errors --data FOLDER --store comparison_errors.jsonl "
    "--out docs/comparison-errors.md"
)
FIXED = """\
## What was fixed beforehand

Settings, learners, sizes, numbers of candidates, planned differences and the target below were fixed before any test
was computed. Settings take turns until the time is up, and every repetition that was run is counted: {count:,} of
{planned:,}. They are at least {repetitions}. At a rate of 5% the standard error is {se:.1f} points for equally good
candidates, and {se70:.1f} for 70 of them. The learners were grouped afterwards. A study compares the candidates that
racing has not dropped; racing was not simulated.

**Equally good candidates.** Each candidate is the same learner on columns of its own. These measure the same hidden
columns with independent noise, so the losses of the candidates are correlated, and in the average over training sets
all are equally good. A significant difference is a false positive. The number of rows n is 100 or 400. *Similar* and
*different* candidates have columns with noise of 0.3 and 1.0 times the spread of the hidden ones. *Instability* is the
standard deviation, over samples, of the true difference between two fitted candidates, divided by that of their mean
difference in loss on n rows.

**Unequal candidates.** Every other candidate has more noise, so that its error is worse by about 0.5, 1, 2, 5 or 10
points, or its mean squared error by 1%, 2%, 4%, 10% or 20%. The *true difference* is computed from the fitted models
and the known distribution.

**Tests.** `test="corrected_t"` (`"auto"` is the same without groups) and `test="pooled"`, which a study uses;
`compare` has no other, and McNemar's test is not offered. Significant is an adjusted p-value of at most 5%.
*Best of m* is what `compare` prints with `reference=None`: the candidate with the best estimate against the others,
adjusted for its selection by Tukey's method ([decision 40](decisions/0040-selection-of-the-best.md)). For comparison,
in the same samples: *Holm*, which adjusts for the m - 1 tests only, and *Bonferroni*, p-values multiplied by the number
of all pairs, m (m - 1) / 2. *Fixed* is a reference that was named beforehand, *all pairs* is `reference="all"`, both
adjusted by Holm's method. Tukey's method was chosen after an earlier run of this study, in which Holm's missed the
target and Bonferroni cost much power. Rates are shares of comparisons for *one comparison*, and otherwise shares of
studies with at least one false positive. 70 candidates are run in every second repetition (equally good) or every third
(unequal).

**Target.** At most 5%. A setting misses it if its rate is above 5% by more than two standard errors; of settings with a
rate of exactly 5%, about 2% would.

The tests are computed for all candidates at once. That they are those of `truefit.compare` was checked in the same run
on rows and folds of every learner, size, metric, design and kind of reference: {checked:,} p-values and the decisions
after adjustment agree."""
CONCLUSION = """\
Does `truefit.compare` find differences that are not there, and does it find those that are? Rates are means over
settings, with the highest setting in brackets.

- **One comparison that was fixed beforehand keeps 5%, or nearly,** for linear models and nearest neighbours:
  corrected t {pair_t}, pooled {pair_p}, of which {pairabove} of {pairsettings} settings miss 5%. For trees, whose
  fits vary more with the training rows, the rates are {tree_t} and {tree_p}, and for trees on XOR, the most unstable
  setting, {xor_t} and {xor_p}.
- **Against the best of several candidates 5% is kept on average for linear models and neighbours.** This is what
  `reference=None` and a study print. With 10 equally good candidates, at least one is found significantly worse in
  {best10_t} of studies by the corrected t and {best10_p} by the pooled test; with 70 in {best70_t} and {best70_p};
  {bestabove} of {settings} settings are above 5% by more than two standard errors. Holm's method, which does not adjust
  for the selection of the best, has {holm10_t} and {holm10_p} with 10, {holm70_t} and {holm70_p} with 70. For trees no
  adjustment can help where one comparison already misses 5%: with 70, {treebest70_t} and {treebest70_p} (Holm
  {treeholm70_t} and {treeholm70_p}).
- **What that costs.** With 10 candidates, half of them worse by {ten} points, 400 rows, 5 folds and the pooled test,
  {u_best} of the worse ones are significantly worse than the best; by Holm's method {u_holm}, with p-values multiplied
  by the number of all pairs {u_strict}. For {five} points the rates are {v_best}, {v_holm} and {v_strict}, and for
  {ten} points and 70 candidates {w_best}, {w_holm} and {w_strict}.
- **All pairs and a fixed reference keep 5%** for linear models and neighbours: all pairs of 10 candidates {all10_t} and
  {all10_p}, of 70 {all70_t} and {all70_p}, {above} of {settings} settings above 5%; a fixed reference and 70 candidates
  {fixed70_p} (pooled).
- **More folds and repeats cost validity where fits vary with the training rows.** One comparison of trees on XOR by
  the corrected t is a false positive in {xor5} with 5 folds, {xor10} with 10, and {xor310} with 3 × 10; of ordinary
  trees in {tree5}, {tree10} and {tree310}. With 5 folds and against the best of 70, the corrected t has {tree5best} for
  ordinary trees and {xor5best} for trees on XOR.
- **Power.** Two LDA on 400 rows whose errors differ by {five} points are significantly different in {p5_t} of samples
  by the corrected t on 5 folds and in {p5_p} by the pooled test; with 3 × 10 folds in {p310_t} and {p310_p}. For {ten}
  points the rates are {q5_t}, {q5_p}, {q310_t} and {q310_p}; on 100 rows they are {small5_t}, {small5_p}, {small310_t}
  and {small310_p}. Differences of 2 points or less are rarely found with so few rows.
- **Practical equivalence** within 1 point is found in {equivalent} of the samples: 400 rows are too few for it. The
  probability of being better is at least 95%, for a candidate that is equal or worse, in at most {better} of samples,
  except for trees on XOR.
- **Real tables.** Pairs whose true errors differ by less than 0.2 points are significantly different in {near_t} of the
  samples by the corrected t and in {near_p} by the pooled test (means over tables and designs). Among pairs that differ
  by 2 points or more, at most {wrong} of the comparisons are significant in the wrong direction.

| situation | use |
|---|---|
| two candidates, or a reference that was fixed beforehand; learners that vary little with the training rows | \
`test="pooled"` with 5 or 10 folds: most power |
| several candidates, and the best is not known beforehand | `reference=None`, the default, with `test="pooled"` |
| trees and other learners that vary much with the training rows | `test="auto"` with 5 folds |
| repeated cross-validation | only for learners that vary little; both tests then find about the same |

**`test="auto"`** is the corrected t. It is the safer of the two, and the only one that keeps 5% for a fixed pair of
unstable learners, with 5 folds. With one partition it has little power: over the settings with 400 rows it finds {loss}
of what the pooled test finds."""
POWER = """\
## Power

Share in % of the truly worse candidates that are significantly worse than the best one, with 2 / 10 / 70 candidates, of
which half are worse by the true difference: points of error, or % of the mean squared error."""
FALSE = """\
How often in % at least one of the good candidates is found significantly worse than the best one in the same studies,
with 2 / 10 / 70 candidates."""
EQUIVALENT = """\
## Practical equivalence

With `rope=0.01` the Bayesian test, from the same mean and standard error: how often in % the probability is at least
95% that the second candidate is equivalent to the first / better / worse. *Equivalent* is wrong if the true difference
is above 1 point, *better* is always wrong."""
REAL = """\
## Real tables

The population is 15,000 rows of a table, with two classes. In each of {samples} repetitions 400 rows are drawn from it,
and 12 learners are compared. Their true errors are means over {truths} other training sets of 360 rows, on all other
rows of the population. *Near pairs* differ by less than 0.2 points in truth, and should be significant in about 5% of
the samples at most (mean, its standard error, and the highest pair); then the power for pairs that differ by 2 to 5
points and by 5 or more, significant differences in the *wrong direction* among these, and *false against the best*:
samples in which a candidate is found significantly worse than the best one although its true error is not larger."""
EVERY = """\
## Every setting

False positives in % (standard error); bold are those above 5% by more than two standard errors."""


#: Learners whose fits vary little with the training rows, and the letters of the tests in the conclusion.
STABLE, LETTERS = next(iter(GROUPS)), {"t": "corrected_t", "p": "pooled"}
ROPE_SETTINGS = [each for each in (*EQUAL, *UNEQUAL) if each.task == "classification"]
#: Columns of tables with one for each design and test.
COLUMNS = [f"{design}, {title}" for design, title in product(DESIGNS, TESTS.values())]


def percent(value, digits=1):
    return "–" if math.isnan(value) else f"{100 * value:.{digits}f}"


def rate_numbers(rates):
    """Return the false positives that the conclusion names."""

    def text(group, what, test, **options):
        mean, highest = overall(rates, group, what, tests=[test], **options)
        return f"{percent(mean)}%" + ("" if options else f" [{percent(highest)}%]")

    counts = {f"{what}{n}": (STABLE, f"{what} {n}") for what in ("best", "holm", "all", "fixed") for n in (10, 70)}
    counts |= {"pair": (STABLE, "pair"), "tree": ("tree", "pair"), "xor": ("tree on XOR", "pair")}
    counts |= {f"tree{what}70": ("tree", f"{what} 70") for what in ("best", "holm")}
    found = {f"{name}_{letter}": text(*each, LETTERS[letter]) for name, each in counts.items() for letter in LETTERS}
    for (name, group), (short, design) in product(
        (("tree", "tree"), ("xor", "tree on XOR")), (("5", "5-fold"), ("10", "10-fold"), ("310", "3 × 10-fold"))
    ):
        found[f"{name}{short}"] = text(group, "pair", "corrected_t", designs=[design])
        found[f"{name}{short}best"] = text(group, "best 70", "corrected_t", designs=[design])
    pairs = keys_of(STABLE, "pair", ["pooled"])
    tested = [key for what in ("all 10", "all 70") for key in keys_of(STABLE, what)]
    best = [key for what in ("best 10", "best 70") for key in keys_of(STABLE, what)]
    return found | {
        "bestabove": sum(exceeds(rates, *key) for key in best),
        "pairabove": sum(exceeds(rates, *key) for key in pairs), "pairsettings": len(pairs),
        "above": sum(exceeds(rates, *key) for key in tested), "settings": len(tested),
    }  # fmt: skip


def power_numbers(rates):
    """Return the power that the conclusion names."""
    found = {}
    for key, name, size, worse in (("p", "five", 400, 0.05), ("q", "ten", 400, 0.1), ("small", "", 100, 0.1)):
        (setting,) = [each for each in UNEQUAL if (each.learner, each.n, each.worse) == ("lda", size, worse)]
        found[name] = percent(true_difference(rates, setting))
        for (short, design), (letter, test) in product((("5", "5-fold"), ("310", "3 × 10-fold")), LETTERS.items()):
            rate, *_ = rates.of(setting.key, design, "error", test, "fixed 2")
            found[f"{key}{short}_{letter}"] = f"{percent(rate, 0)}%"
    cases_of_cost = (("u", 10, 0.1), ("v", 10, 0.05), ("w", 70, 0.1))
    for (key, count, worse), what in product(cases_of_cost, ("best", "holm", "strict")):
        (setting,) = [each for each in UNEQUAL if (each.learner, each.n, each.worse) == ("lda", 400, worse)]
        rate, *_ = rates.of(setting.key, "5-fold", "error", "pooled", f"{what} {count}")
        found[f"{key}_{what}"] = f"{percent(rate, 0)}%"
    total = {
        test: sum(
            rates.of(each.key, design, metric, test, "fixed 2")[0]
            for (each, metric), design in product(cases(UNEQUAL), ("5-fold", "10-fold"))
            if each.n == 400
        )
        for test in TESTS
    }
    return found | {"loss": f"{percent(total['corrected_t'] / total['pooled'], 0)}%"}


def rope_numbers(rates):
    """Return the shares of practical equivalence that the conclusion names."""
    found = [
        (setting.name, *np.mean(rates.values[setting.key, design, "error", test, "rope"], axis=0))
        for setting, design, test in product(ROPE_SETTINGS, DESIGNS, TESTS)
    ]
    better = max(better for name, better, *_ in found if name != "tree on XOR")
    equivalent = mean_of([equivalent for _, _, equivalent, _ in found])
    return {"equivalent": f"{percent(equivalent, 2)}%", "better": f"{percent(better, 0)}%"}


def real_numbers(lines):
    """Return the rates on real tables that the conclusion names."""
    found = {
        letter: [real_rates(lines, *each, test) for each in product(TABLES, DESIGNS)]
        for letter, test in LETTERS.items()
    }
    near = {f"near_{letter}": mean_of([each["significant"] for each in own]) for letter, own in found.items()}
    wrong = {"wrong": max(each["wrong"] for own in found.values() for each in own)}
    return {name: f"{percent(value)}%" for name, value in (near | wrong).items()}


def targets(rates):
    """Return the table of targets: the highest rate, and the settings that exceed it."""
    lines = []
    for group, (test, title), (what, name) in product(GROUPS, TESTS.items(), WHAT.items()):
        keys = keys_of(group, what, [test])
        found = {key: rates.of(*key)[0] for key in keys}
        top = max(found, key=found.get)
        above = sum(exceeds(rates, *key) for key in keys)
        mean = float(np.mean(list(found.values())))
        verdict = "met" if not above else f"**missed** in {above} of {len(keys)}"
        lines.append([group, title, name, percent(mean), percent(found[top]), f"{top[0]}, {top[1]}", verdict])
    return table(["learners", "test", "what", "mean", "highest", "where", "at most 5%"], lines, left=3)


def by_design(rates):
    lines = []
    for group, design, (test, title) in product(GROUPS, DESIGNS, TESTS.items()):
        cells = []
        for what in WHAT:
            mean, highest = overall(rates, group, what, tests=[test], designs=[design])
            cells.append(f"{percent(mean)} [{percent(highest)}]")
        lines.append([group, design, title, *cells])
    return table(["learners", "design", "test", *WHAT.values()], lines, left=3)


def every_setting(rates, ratios):
    lines = []
    for (setting, metric), (design, (test, title)) in product(cases(EQUAL), product(DESIGNS, TESTS.items())):
        cells = []
        for what in WHAT:
            rate, se, _ = rates.of(setting.key, design, metric, test, what)
            mark = "**" if exceeds(rates, setting.key, design, metric, test, what) else ""
            cells.append(f"{mark}{percent(rate)}{mark} ({percent(se)})")
        lines.append([setting.name, setting.n, f"{ratios[setting.key]:.1f}", metric, design, title, *cells])
    return table(["learner", "n", "instability", "metric", "design", "test", *WHAT.values()], lines)


def power(rates, what):
    """Return the power with 2, 10 and 70 candidates, or how often an equally good one is found worse."""
    lines = []
    for setting, metric in cases(UNEQUAL):
        cells = []
        for design, test in product(DESIGNS, TESTS):
            keys = [(setting.key, design, metric, test, f"{what} {n}") for n in COUNTS]
            cells.append(" / ".join(percent(rates.of(*key)[0], 0) for key in keys if key in rates.values))
        lines.append([setting.name, metric, setting.n, percent(true_difference(rates, setting)), *cells])
    return table(["learner", "metric", "n", "true difference", *COLUMNS], lines, left=2)


def rope(rates):
    lines = []
    for setting in ROPE_SETTINGS:
        cells = []
        for design, test in product(DESIGNS, TESTS):
            found = np.mean(rates.values[setting.key, design, "error", test, "rope"], axis=0)
            cells.append(" / ".join(percent(found[place], 0) for place in (1, 0, 2)))
        true = 0.0 if not setting.worse else true_difference(rates, setting)
        lines.append([setting.name, setting.n, percent(true), *cells])
    return table(["learner", "n", "true difference", *COLUMNS], lines)


def real(lines):
    """Return the tables about real tables: what the tests find, and the true errors."""
    found, errors = [], []
    for name in TABLES:
        true = np.array([line["errors"] for line in lines if line["kind"] == "truth" and line["setting"] == name])
        ses = true.std(axis=0) / math.sqrt(len(true))
        errors.append([name, *(f"{percent(e)} ({percent(se)})" for e, se in zip(true.mean(axis=0), ses, strict=True))])
        for design, (test, title) in product(DESIGNS, TESTS.items()):
            own = real_rates(lines, name, design, test)
            found.append([
                name, design, title, own["near"], f"{percent(own['significant'])} ({percent(own['se'])})",
                percent(own["highest"]), own["middle"], percent(own["middle found"], 0), own["clear"],
                percent(own["clear found"], 0), percent(own["wrong"], 2),
                *(percent(own[rule]) for rule in ("worse", "holm", "strict")),
            ])  # fmt: skip
    header = [
        "table", "design", "test", "near pairs", "significant", "highest", "pairs of 2 to 5", "significant",
        "pairs of 5 or more", "significant", "wrong direction", "false against the best", "by Holm", "by Bonferroni",
    ]  # fmt: skip
    return table(header, found, left=3), table(["table", *NAMES], errors)


def page(lines, checked):
    """Return the page as Markdown, from the lines of the store and the number of p-values that were checked."""
    rates = Rates(lines)
    ratios = {line["setting"]: line["ratio"] for line in lines if line["kind"] == "stability"}
    kinds = {
        "equal": "of each setting with equally good candidates",
        "unequal": "with unequal ones",
        "real": "samples of each real table",
    }
    tables, errors = real(lines)
    counts = Counter((line["kind"], line["setting"]) for line in lines)

    def least(kind):
        return min(count for (each, _), count in counts.items() if each == kind)

    fixed = FIXED.format(
        count=len(lines), planned=len(jobs()), checked=checked,
        se=100 * math.sqrt(0.0475 / least("equal")), se70=100 * math.sqrt(0.0475 / (least("equal") / 2)),
        repetitions=", ".join(f"{least(kind)} {name}" for kind, name in kinds.items()),
    )  # fmt: skip
    numbers = rate_numbers(rates) | power_numbers(rates) | rope_numbers(rates) | real_numbers(lines)
    parts = [
        "# Errors of paired tests",
        COMMAND,
        wrapped(CONCLUSION.format(**numbers)),
        wrapped(fixed),
        "## False positives against the target\n\nMean and highest rate in % over settings, designs and metrics.",
        targets(rates),
        "## By design\n\nFalse positives in %: mean [highest].",
        by_design(rates),
        POWER,
        power(rates, "best"),
        "The same by Holm's method, which does not keep 5% (above).",
        power(rates, "holm"),
        "The same with p-values multiplied by the number of all pairs (Bonferroni).",
        power(rates, "strict"),
        'With all pairs (`reference="all"`), 2 / 10 candidates: share of the pairs of a better and a worse one.',
        power(rates, "all"),
        FALSE,
        power(rates, "best false"),
        EQUIVALENT,
        rope(rates),
        REAL.format(samples=least("real"), truths=least("truth")),
        tables,
        "True errors in % (standard error):",
        errors,
        EVERY,
        every_setting(rates, ratios),
    ]
    return "\n\n".join(parts) + "\n"
