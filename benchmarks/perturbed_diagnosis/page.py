"""The page: what was expected, each diagnostic, the rules, and every setting."""

from __future__ import annotations

import numpy as np

from benchmarks.markdown import table, wrapped
from benchmarks.perturbed_diagnosis.diagnostics import alone, by_setting, by_share, partials, together
from benchmarks.perturbed_diagnosis.rules import (
    ADDED,
    STUDY,
    claims,
    harmless,
    is_best,
    judged,
    kinds,
    regularising_helps,
    selected_truth,
    verdicts,
)
from benchmarks.perturbed_diagnosis.settings import (
    FEWEST_TEST_ROWS,
    FOLDS,
    POINT,
    REPEATS,
    ROUNDS,
    SAMPLES,
    SHARE,
    SIZES,
    TABLES,
    TEST_ROWS,
)
from benchmarks.perturbed_diagnosis.statistics import DEFINED, cell, read, share, spread

COMMAND = """\
    python -m benchmarks.perturbed_diagnosis --data FOLDER --store perturbed_diagnosis.jsonl \\
        --out docs/perturbed-diagnosis.md"""


#: What the tables say, in words; written once they were there.
CONCLUSION = """\
**As a diagnosis too, cross-validation does better, and memorisation adds next to nothing to it.**

- *Where regularising helps.* The gap between training and cross-validation error shows it with an AUC of 0.86,
  memorisation with 0.68. Added to the gap, memorisation changes the AUC by −0.001 ± 0.001. At equal gaps, settings that
  memorise more gain less from regularising, not more (ρ −0.23 ± 0.10): forests with full trees memorise nearly all
  noise, and regularising helped none of them. Best of all (0.91) is to compare the settings in cross-validation
  directly.
- *How large the true gap is.* The CV gap alone nearly says it (ρ 0.92, R² 0.98). It has the training error in common
  with the truth, so this is no surprise. Memorisation alone reaches 0.73 and 0.46. At equal CV gaps its ρ is still
  +0.26 ± 0.07, but R² stays as it is.
- *The share of variance* is the better second opinion: at equal gaps ρ is +0.37 ± 0.11 with the gain from regularising
  and −0.31 ± 0.06 with that from a richer setting. In the AUC that is +0.02 ± 0.02 and +0.03 ± 0.01.
- *Verdicts.* Where a setting is *overfitted*, regularising helps in 67% of cases, nearly twice as often as in all
  (35%); where it only *memorises*, in 2%. What separates the two is cross-validation. Where it is *underfitted*, a
  richer setting helps in 38%, no more often than in all (43%). Nine settings were flagged as memorising or overfitted
  although they had learned hardly more than the majority class. All nine were too rigid.
- *The study's answer.* No rule fixed beforehand has both the precision and the recall of *It overfits* (67% and 62%, of
  settings taken as if selected). One that was added later has slightly more of both (76% and 66%): cross-validation
  alone, where a less flexible setting has an error smaller by more than what counts. Of settings selected by
  cross-validation within their family *It overfits* is rarely said, and regularising rarely helps (10%). The candidate
  that memorises less and is within one standard error is often truly worse: than the setting with the smallest CV error
  of all, in 8 of 10 cases.

What PMV measures and cross-validation does not is how much of wrong labels a model learns. Whether that helps on tables
whose labels are wrong was not tested here."""
ABOUT = """\
**{count} of {planned} samples were run, of {tables} tables: {seeds}.** Fixed before any result was looked at: the
tables ({classification} of classification, {regression} of regression), samples of {sizes} rows, {settings} settings
from rigid to flexible, and what is expected below. Samples are run in the order of their seeds until the time is over,
and every one that was run is counted. Test rows: up to {test:,}, at least {fewest}. Categories become columns
beforehand.

- *Known without the test rows.* Perturbed Model Validation with noise of 10% to 50%, {repeats} repeats: memorisation,
  rate, skill and verdict. {folds}-fold cross-validation: its error, and the gap to the training error (*CV gap*). Bias
  and variance from {rounds} bootstrap samples: the share of variance in the expected loss.
- *The truth.* Each setting is fitted on the whole sample. *True gap*: test error less training error. *Gain from
  regularising*: its test error less that of the best more rigid setting of its family; *gain from a richer one*: the
  same with the more flexible ones. Either *helps* where the gain is more than {point:.0f} point (regression: more than
  {share:.0f}% of the root mean squared error).
- *CV gain*: the same difference in cross-validation error. It needs the neighbouring settings, the others do not.

Every number is computed within a table and size, averaged by table, and shown as mean ± standard error over tables.
ρ is Spearman's rank correlation, AUC the area under the ROC curve: 0.5 is chance. In the AUC for a richer setting the
signs are reversed, except for errors. Memorisation or variance is undefined for {undefined} of {cases} settings (nearly
at chance, or hardly any error); they are left out of the first three tables."""
HEADINGS = {
    "alone": "## Each diagnostic alone",
    "partial": """\
## What each adds

Partial rank correlations: what is left of the correlation where the others are known.""",
    "together": """\
Logistic regressions fitted on the other tables, and evaluated on a table they have not seen. *Less that of the first*
is the difference to the CV gap alone, or to the CV gain alone, in pairs. R²: of linear regressions of the true gap as a
share of the test error (with the CV gap as a share of the CV error), in the same way. The logistic regressions have
ranks within table and size; this was changed after the first 26 samples, since with the values themselves the CV gap
got the wrong sign for richer settings from tables with larger errors. With these, too, memorisation added nothing.""",
    "settings": """\
## By setting

Means over samples; gains in points (regression: hundredths of a standard deviation).""",
    "verdicts": "## Do the verdicts come true?",
    "rules": """\
## Does the study use what wins?

The study's answer "Does it fit?" for each setting as if it was selected among the settings of its family, where its CV
error is below that of the baseline. True: regularising helps.""",
    "family": """\
The same for the setting with the smallest CV error of its family, as tuning selects it (added after the first 26
samples).""",
    "selected": """\
The same for the setting with the smallest CV error of all, as a study selects it: the noise is then compared with the
best less flexible setting and the best ties. True: a less flexible setting of the list has a test error that is smaller
by more than what counts.""",
}


def expectations(areas, sets, rows, flags, by_rule):
    """Return the table of what was expected, and whether it was met."""
    by, three = "regularising", ("gap", "memorisation", "variance")

    def beyond(values):
        mean, standard_error = spread(values)
        return mean > 2 * standard_error

    def less(truth, names, others):
        return sets[truth, names] - sets[truth, others]

    helped = {
        verdict: flags["within", verdict][f"{gain}_helps"]
        for verdict, gain in (("overfitted", "regularising"), ("underfitted", "richer"))
    }
    fine = [harmless(row, row["all"]["alternative"]) for row in rows if row["all"]["alternative"] is not None]
    memory, gap = areas["memorisation", by], areas["gap", by]
    best = by_rule[STUDY]
    better = [
        name
        for name, each in by_rule.items()
        if each[0] >= best[0] and each[1] >= best[1] and each != best and not name.endswith(ADDED)
    ]
    lines = [
        ("Memorisation shows where regularising helps: AUC above 0.5", beyond(memory - 0.5), cell(memory)),
        ("It does so better than the CV gap: difference of AUC", beyond(memory - gap), cell(memory - gap, sign=True)),
        (
            "It adds to the CV gap: difference of AUC", beyond(less(by, ("gap", "memorisation"), ("gap",))),
            cell(less(by, ("gap", "memorisation"), ("gap",)), 3, sign=True),
        ),
        (
            "It adds to CV gap and variance", beyond(less(by, three, ("gap", "variance"))),
            cell(less(by, three, ("gap", "variance")), 3, sign=True),
        ),
        (
            "It adds to the CV gain", beyond(less(by, ("by_cv", "memorisation"), ("by_cv",))),
            cell(less(by, ("by_cv", "memorisation"), ("by_cv",)), 3, sign=True),
        ),
        (
            "Verdict *overfitted*: regularising helps in more than half",
            helped["overfitted"].mean() > 0.5, share(helped["overfitted"]),
        ),
        (
            "Verdict *underfitted*: a richer setting helps in more than half",
            helped["underfitted"].mean() > 0.5, share(helped["underfitted"]),
        ),
        (
            "The candidate that memorises less and is within one standard error is truly not worse, in at least 80%",
            np.mean(fine) >= 0.8, share(fine),
        ),
        (
            "No simpler rule has both precision and recall of the study's *overfits* or more", not better,
            "; ".join(better) or "none",
        ),
    ]  # fmt: skip
    return table(
        ["expected", "", "found"], [(text, "met" if met else "**missed**", found) for text, met, found in lines]
    )


def about(frame):
    """Return what was run, and how it is measured."""
    samples = frame[["table", "rows", "seed"]].drop_duplicates()
    tasks = list(TABLES.values())
    return ABOUT.format(
        count=len(samples), planned=SAMPLES * (len(SIZES) * len(TABLES) - 1),  # german_credit has too few rows for 600
        tables=frame["table"].nunique(),
        seeds=" and ".join(f"{count} of {rows} rows" for rows, count in samples["rows"].value_counts().items()),
        classification=tasks.count("classification"), regression=tasks.count("regression"),
        sizes=" and ".join(map(str, SIZES)),
        settings=max(len(each) for _, each in frame.groupby(["table", "rows", "seed"])), test=TEST_ROWS,
        fewest=FEWEST_TEST_ROWS, repeats=REPEATS, folds=FOLDS, rounds=ROUNDS, point=100 * POINT, share=100 * SHARE,
        undefined=int(frame[DEFINED].isna().any(axis=1).sum()), cases=len(frame),
    )  # fmt: skip


def page(lines):
    """Return the page as Markdown, from the lines of the store."""
    frame, selected = read(lines)
    single, areas = alone(frame)
    combined, sets = together(frame)
    flags, by_flag = verdicts(frame)
    rows = frame.to_dict("records")
    of_family = [row for row in rows if row["within"]["kind"] != "baseline"]
    best_of_family = [row for row in of_family if is_best(row)]
    of_study = [row for row in selected if row["study"]["kind"] != "baseline"]
    by_rule, numbers = judged(of_family, "within", regularising_helps)
    parts = [
        "# Is Perturbed Model Validation a good diagnosis?",
        COMMAND,
        CONCLUSION,
        wrapped(about(frame)),
        "## What was expected",
        expectations(areas, sets, rows, by_flag, numbers),
        HEADINGS["alone"],
        single,
        wrapped(by_share(frame)),
        HEADINGS["partial"],
        partials(frame),
        HEADINGS["together"],
        combined,
        HEADINGS["verdicts"],
        flags,
        HEADINGS["rules"],
        by_rule,
        wrapped(claims(of_family, "within")),
        kinds(of_family, "within"),
        HEADINGS["family"],
        judged(best_of_family, "within", regularising_helps)[0],
        wrapped(claims(best_of_family, "within")),
        kinds(best_of_family, "within"),
        HEADINGS["selected"],
        judged(of_study, "study", selected_truth)[0],
        wrapped(claims(of_study, "study")),
        kinds(selected, "study"),
        HEADINGS["settings"],
        by_setting(frame),
    ]
    return "\n\n".join(parts) + "\n"
