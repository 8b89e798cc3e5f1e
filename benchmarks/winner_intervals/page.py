"""The page: coverage, width and bias of each method, and what follows."""

from __future__ import annotations

import math

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from benchmarks.winner_intervals.methods import NAIVE, NESTED, OFTEN, PUBLISHED, REPEATED, TODAY
from benchmarks.winner_intervals.methods import centres as centres_of
from benchmarks.winner_intervals.methods import intervals as intervals_of
from benchmarks.winner_intervals.sources import DRAWN, SOURCES, TABLES
from benchmarks.winner_intervals.studies import losses_of

#: A method meets the target if its coverage lies between these and no source is significantly below the lower one.
LOW, HIGH, ALPHA = 0.93, 0.975, 0.01
ABOUT = """\
## How it was made

    python -m benchmarks.winner_intervals --data FOLDER --store winner_intervals.jsonl --out docs/winner-intervals.md

**{count:,} of {planned:,} studies were run**, in the order of their seeds, and every one is counted. Fixed before any
coverage was computed:

- **Sources.** {tables} selections on real tables (`wine_6` is the wine grade of at least 6 as two classes) and
  {generators} generators of [coverage](coverage.md): {drawn}. A sample has 200 or 400 rows; the truth is the error of
  the selected candidate, fitted on all of them, on up to 20,000 other rows (for generated regressions with the known
  noise variance). Preprocessing is no part of the selection: once per table, before any sample is drawn, numbers are
  standardised (missing ones are the median) and categories one-hot encoded.
- **Candidates.** *Few*: 10, of logistic regression or ridge with three penalties, naive Bayes or boosting, kNN with
  three k, trees of two depths, a forest of 20 trees. *Many*: 70, a grid over the same families, with 200 rows of
  {many} of the sources.
- **Fits.** K=5 stratified folds for classes, plain ones for numbers. 5 fits per candidate: one partition. 15: the
  triangle (without each fold, and without each two), or three partitions. All methods of a study see the same first
  partition. Three partitions may select another candidate; then the truth is the error of that one.
- **Target.** Coverage of 93 to 97.5% at nominal 95%, and no source significantly below 93% (binomial test over the
  studies of a source with both sizes, p < 0.01). The factor on the spread was to be chosen on the generators, as the
  smallest that meets the target there, and checked on the tables: it must not be tuned on these.
- **Not fixed beforehand**: the generators' samples beyond the first 40 of each size, and for BBC on three partitions
  the factors other than 1.1, were added when the first studies had been seen; so was today's interval, which had × 1.4
  for all losses before.

Methods:

- *Naive*: the mean of the winner's own out-of-fold losses, with truefit's interval for one partition (spread × 1.2; not
  extended where there are few rows per column), or without a factor.
- *BBC* (Tsamardinos, Greasidou & Borboudakis, 2018): in each of 1,000 bootstrap samples of the rows the candidate with
  the smallest mean out-of-fold loss is selected and evaluated on the rows that were not drawn. The estimate is the mean
  of these errors. *Percentiles*: the published interval, from their 2.5% to their 97.5% quantile. *× 1.1*: truefit's,
  with the spread of the winner's losses. A row is drawn with its losses in all partitions.
- *BBC-F* (Paraschakis, Castellani, Borboudakis & Tsamardinos, 2024): the same with folds instead of rows. The units are
  the 5 (or 3×5 = 15) mean losses of a fold, one per candidate. As many folds are drawn with replacement, the candidate
  with the smallest mean over them is selected, and its mean over the folds that were not drawn is one bootstrap error;
  draws of all folds are ignored. Of three partitions the folds are drawn independently, although they hold the same
  rows. This is our reading of its abstract, not the authors' code.
- *Nested*: what is selected without a fold is evaluated on it, with the fits of the triangle. *Extended*: at the better
  end by the gain that the fits without two folds predict for the model of all rows
  ([decision 20](decisions/0020-interval-of-the-final-model.md)). *BBC centre, extended*: the same factors and the same
  extension around the estimate of BBC, to separate the effects of centre and width.

*Above* and *below* count the studies with the truth above the interval (it was optimistic) and below. *Bias* is the
mean of (estimate − truth) / truth. Widths are medians over studies of the ratio to that of today's nested interval, and
to that of the naive one × 1.2. The truth has a sampling error of its own. It adds up to {added:.0f}% to the standard
error of the difference from the estimate; for german_credit, of which 600 or 800 rows are left, {added_german:.0f}%,
so that its coverages are too low."""


CENTRES_ABOUT = """\
In standard errors of the losses, without a factor: the mean and the standard deviation of (estimate − truth) / se. An
interval of estimate ± 1.96 × factor × se covers 95% with the factor given (the 95% quantile of the absolute values over
1.96)."""
SOURCES_ABOUT = """\
Coverage in %, of both sizes. **Bold**: significantly below 93%."""
#: The methods of most tables; all factors have a table of their own.
TESTED = (
    *PUBLISHED,
    *(each for each in NESTED if each.name.endswith(("1.3_extended", "1.2_extended", "1.4", "1.3", "1.2"))),
    *(each for each in REPEATED if each.name.endswith(("1.3_extended", "1.2_extended"))),
)


def frame_of(lines):
    """Return one row per study and method."""
    rows, centres = [], []
    for line in lines:
        losses = losses_of(line)
        known = {name: line[name] for name in ("arm", "source", "rows", "seed", "zero_one", "cpu_seconds", "truth_se")}
        known["kind"] = "tables" if line["source"] in TABLES else "generators"
        repeats = line["truth_of_repeats"]
        found = intervals_of(losses)
        widths = {name: high - low for name, (_, low, high) in found.items()}
        for name, (estimate, low, high) in found.items():
            truth = repeats if _of_repeats(name) else line["truth"]
            rows.append(
                known
                | {"method": name, "estimate": estimate, "truth": truth, "above": truth > high, "below": truth < low}
                | {"to_today": widths[name] / widths[TODAY], "to_naive": widths[name] / widths[NAIVE]}
            )
        for name, (estimate, se) in centres_of(losses, found).items():
            truth = repeats if _of_repeats(name) else line["truth"]
            centres.append(
                known | {"centre": name, "z": (estimate - truth) / se, "bias": estimate / truth - 1, "se": se}
            )
    frame = pd.DataFrame(rows)
    frame["covered"] = ~(frame["above"] | frame["below"])
    frame["bias"] = frame["estimate"] / frame["truth"] - 1
    return frame, pd.DataFrame(centres)


def _of_repeats(name):
    return name.startswith(("bbc_15", "bbc_f_15"))


def significantly_low(part):
    """Return the sources of one method whose coverage is significantly below the target."""
    counts = part.groupby("source")["covered"].agg(["sum", "count"])
    return [
        name
        for name, (hits, count) in counts.iterrows()
        if binomtest(int(hits), int(count), LOW, alternative="less").pvalue < ALPHA
    ]


def met(part):
    """Whether one method meets the target."""
    return bool(LOW <= part["covered"].mean() <= HIGH) and not significantly_low(part)


def verdict(part):
    """Return whether one method meets the target, or how it misses it."""
    if met(part):
        return "met"
    return "too wide" if part["covered"].mean() > HIGH and not significantly_low(part) else "missed"


def markdown(header, lines):
    head = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join(head + ["| " + " | ".join(line) + " |" for line in lines])


def coverage(part):
    """Return a coverage in percent with its binomial standard error."""
    share, n = part["covered"].mean(), len(part)
    return f"{100 * share:.1f} ± {100 * math.sqrt(share * (1 - share) / n):.1f}"


def sizes_table(frame):
    """Return the coverage of each method by number of rows."""
    sizes = sorted(frame["rows"].unique())
    lines = []
    for method in TESTED:
        part = frame[frame["method"] == method.name]
        lines.append([method.label, *(coverage(part[part["rows"] == rows]) for rows in sizes)])
    return markdown(["method", *(f"{rows} rows, %" for rows in sizes)], lines)


CONCLUSION = """\
## In short

- **Target, 10 candidates** (93 to 97.5%, no source significantly below 93%). Met: {met}. Above
  97.5%: {wide}. Missed: {missed}. On the tables alone it is met by: {met_tables}.
- **Today's interval** (nested, extended, × 1.3 for 0-1 losses and × 1.4 for others) covers {today} with 10 candidates:
  {today_tables} on the tables, {today_generators} on the generators. Significantly below 93%: {today_low}. With 70
  candidates it covers {today_many}.
- **What is right about "BBC dominates nested cross-validation"**: its estimate. At 15 fits per candidate, BBC on three
  partitions × 1.1 covers {often} at {often_width} of the width. This is not a matter of bias: on average the estimate
  is off by {bias_often} standard errors of the losses, nested by {bias_nested}, and the winner's own CV by
  {bias_naive}. It is variance: on the tables the standard deviation of its error is {sd_once} (K=5) and {sd_often}
  (3×K=5) of these standard errors, that of nested {sd_nested}; the mean squared error of nested is larger by
  {gap_once} and {gap_often}. Nested selects once without each fold, on four fifths of the rows; BBC averages over
  1,000 selections, and three partitions average over folds. The large factor around nested covers its variance.
- **What is not right about it**: the intervals as published. The percentiles of BBC cover {percentile}, at
  {percentile_width} of today's width: the mean over the 37% of the rows that are not drawn varies 1.3 times as much as
  the mean of a sample (the root of 0.63 / 0.37), so they have a factor of about 1.3 built in. BBC-F covers {folds} with
  5 folds and {folds_often} with 15: folds of three partitions hold the same rows, and as 15 independent units they make
  the interval far too narrow.
- **No method is safe with an unstable learner.** On xor today's interval covers {xor_today}, BBC × 1.1 {xor_once} (K=5)
  and {xor_often} (3×K=5): the learner varies from sample to sample, which the losses of one partition hardly show.
- **BBC with 5 fits**, × 1.1, covers {once}; its estimate with {once_factors}. With 70 candidates ({many} studies, too
  few to decide) the estimate is off by {many_once} standard errors at K=5 and {many_often} at 3×K=5, nested by
  {many_nested}; 3×K=5 × 1.1 covers {often_many}.
- **Naive** × 1.2 covers {naive} with 10 candidates: the optimism of the selection and the pessimism of models on four
  fifths of the rows cancel on most tables. Without signal it covers {naive_noise}, and with 70 candidates {naive_many}.
- **Width that could be saved.** By the rule fixed beforehand, the smallest factor for nested, extended, that meets the
  target on the generators is {factor}; without xor, a subset chosen afterwards, {stable}; for BBC on three partitions
  {of_bbc}. On the tables alone nested, extended, covers {on_tables}: × 1.2 would save {saved} of the width. The
  extension takes {extension} of it. {per_generators} studies of generators have a standard error of {se} points. With
  xor no factor meets the target, because no factor makes up for a learner that varies from sample to sample
  ([decision 41](decisions/0041-factor-of-the-selected-model.md) says which one was kept).
- **Power.** With {most} studies a source is significantly below 93% only from {critical} covered downwards."""


def conclusion(few, many, centres):
    """Return what follows, with the numbers of this run."""

    def rows_of(name, part=few):
        return part[part["method"] == name]

    def covered(name, part=few):
        return f"{coverage(rows_of(name, part))}%"

    def median_width(name):
        return rows_of(name)["to_today"].median()

    def width(name):
        return f"{100 * median_width(name):.0f}%"

    def smallest(methods, generated):
        good = [each for each in methods if met(rows_of(each.name, generated))]
        return f"× {good[-1].name.split('_')[-2 if good[-1].name.endswith('extended') else -1]}" if good else "none"

    def z(name, arm="few", kinds=("tables", "generators")):
        known = (centres["arm"] == arm) & (centres["centre"] == name) & centres["kind"].isin(kinds)
        return centres[known].set_index(["source", "rows", "seed"])["z"]

    def spread(name):
        return f"{z(name, kinds=['tables']).std():.2f}"

    def off(name, arm="few"):
        found = z(name, arm)
        return f"{found.mean():+.2f} ± {found.std() / math.sqrt(len(found)):.2f}"

    def gap(name):
        difference = np.square(z("nested", kinds=["tables"])) - np.square(z(name, kinds=["tables"]))
        return f"{difference.mean():.2f} ± {difference.std() / math.sqrt(len(difference)):.2f}"

    generated, real = few[few["kind"] == "generators"], few[few["kind"] == "tables"]
    extended = [each for each in NESTED if each.name.endswith("extended")]
    stable = generated[generated["source"] != "xor"]
    xor = few[few["source"] == "xor"]
    counts = rows_of(TODAY).groupby("source").size()
    critical = max(
        hits
        for hits in range(counts.max() + 1)
        if binomtest(hits, int(counts.max()), LOW, alternative="less").pvalue < ALPHA
    )
    verdicts = {
        seen: "; ".join(each.label for each in PUBLISHED if verdict(rows_of(each.name)) == seen) or "none"
        for seen in ("met", "too wide", "missed")
    }
    often = ", ".join(f"× {factor} {covered(f'bbc_{factor}')}" for factor in (1.2, 1.3))
    return CONCLUSION.format(
        met=verdicts["met"],
        met_tables="; ".join(each.label for each in PUBLISHED if met(rows_of(each.name, real))) or "none",
        wide=verdicts["too wide"],
        missed=verdicts["missed"],
        today=covered(TODAY),
        today_many=covered(TODAY, many),
        often=covered("bbc_15"),
        often_width=width("bbc_15"),
        bias_often=off("bbc_15"),
        bias_nested=off("nested"),
        bias_naive=off("naive"),
        sd_once=spread("bbc_5"),
        sd_often=spread("bbc_15"),
        sd_nested=spread("nested"),
        gap_once=gap("bbc_5"),
        gap_often=gap("bbc_15"),
        percentile=f"{covered('bbc_5_percentile')} (K=5) and {covered('bbc_15_percentile')} (3×K=5)",
        percentile_width=f"{width('bbc_5_percentile')} and {width('bbc_15_percentile')}",
        folds=covered("bbc_f_5"),
        folds_often=covered("bbc_f_15"),
        once=covered("bbc_5"),
        once_factors=often,
        many_once=off("bbc_5", "many"),
        many_often=off("bbc_15", "many"),
        many_nested=off("nested", "many"),
        often_many=covered("bbc_15", many),
        many=len(rows_of(TODAY, many)),
        naive=covered(NAIVE),
        naive_noise=covered(NAIVE, few[few["source"] == "no_signal"]),
        naive_many=covered(NAIVE, many),
        today_tables=covered(TODAY, real),
        today_generators=covered(TODAY, generated),
        today_low=", ".join(significantly_low(rows_of(TODAY))) or "no source",
        xor_today=covered(TODAY, xor),
        xor_once=covered("bbc_5", xor),
        xor_often=covered("bbc_15", xor),
        factor=smallest(extended, generated),
        stable=smallest(extended, stable),
        of_bbc=smallest(OFTEN, generated),
        on_tables=", ".join(f"{covered(each.name, real)} (× {each.name.split('_')[1]})" for each in extended),
        saved=f"{100 - 100 * median_width('nested_1.2_extended'):.0f}%",
        extension=f"{100 - 100 * median_width('nested_1.4') / median_width('nested_1.4_extended'):.0f}%",
        per_generators=len(rows_of(TODAY, generated)),
        se=f"{100 * math.sqrt(0.95 * 0.05 / len(rows_of(TODAY, generated))):.1f}",
        most=counts.max(),
        critical=f"{critical} of {counts.max()}",
    )


def percent(value):
    return f"{100 * value:.1f}"


def methods_table(frame, methods):
    """Return a line per method."""
    header = ["method", "fits", "covered, %", "above", "below", "sources below 93%", "width, × today", "width, × naive"]
    lines = []
    for method in methods:
        part = frame[frame["method"] == method.name]
        lines.append(
            [
                method.label,
                str(method.fits),
                coverage(part),
                str(int(part["above"].sum())),
                str(int(part["below"].sum())),
                f"{len(significantly_low(part))} of {part['source'].nunique()}",
                f"{part['to_today'].median():.2f}",
                f"{part['to_naive'].median():.2f}",
                f"{100 * part['bias'].mean():+.1f}",
                verdict(part),
            ]
        )
    return markdown([*header, "bias, %", "target"], lines)


def factors_table(frame):
    """Return the coverage of each factor, on generators and on tables."""
    header = ["interval", "generators, %", "lowest", "target", "tables, %", "lowest", "target", "width, × today"]
    lines = []
    for method in (*NESTED, *REPEATED, *OFTEN):
        cells = [method.label]
        for kind in ("generators", "tables"):
            part = frame[(frame["method"] == method.name) & (frame["kind"] == kind)]
            if part.empty:
                cells += ["–", "–", "–"]
                continue
            by_source = part.groupby("source")["covered"].mean()
            cells += [coverage(part), f"{by_source.idxmin()} {percent(by_source.min())}"]
            cells.append(verdict(part))
        width = frame[frame["method"] == method.name]["to_today"].median()
        lines.append([*cells, f"{width:.2f}"])
    return markdown(header, lines)


def sources_table(frame, methods):
    """Return the coverage of each method on each source; significantly low ones are bold."""
    known = [source for source in SOURCES if (frame["source"] == source).any()]
    low = {method.name: significantly_low(frame[frame["method"] == method.name]) for method in methods}
    lines = []
    for source in known:
        part = frame[frame["source"] == source]
        cells = [source, str(part["truth"].groupby(part["method"]).size().max())]
        for method in methods:
            text = f"{100 * part[part['method'] == method.name]['covered'].mean():.0f}"
            cells.append(f"**{text}**" if source in low[method.name] else text)
        lines.append(cells)
    return markdown(["source", "studies", *(method.label for method in methods)], lines)


LABELS = {
    "naive": "winner's own CV",
    "bbc_5": "BBC, K=5",
    "bbc_15": "BBC, 3×K=5",
    "bbc_f_5": "BBC-F, K=5",
    "nested": "nested",
    "nested_all_rows": "nested less the predicted gain",
}


def centres_table(centres):
    """Return bias and spread of each estimate in its standard errors, and the factor that would cover 95%."""
    header = ["estimate", "bias, %", "bias, se", "sd, se", "root mean square, se"]
    header += ["factor for 95%, generators", "tables", "0-1", "squared"]
    lines = []
    for name, label in LABELS.items():
        part = centres[centres["centre"] == name]
        z = part["z"]
        cells = [f"{100 * part['bias'].mean():+.1f}", f"{z.mean():+.2f}", f"{z.std():.2f}"]
        cells.append(f"{math.sqrt(np.square(z).mean()):.2f}")
        parts = (part["kind"] == "generators", part["kind"] == "tables", part["zero_one"], ~part["zero_one"])
        cells += [f"{np.quantile(z[which].abs(), 0.95) / 1.96:.2f}" if which.any() else "–" for which in parts]
        lines.append([label, *cells])
    return markdown(header, lines)


def biases_table(centres):
    """Return the bias of each estimate on each source and size, in percent of the truth."""
    lines = []
    for source in SOURCES:
        for rows, part in centres[centres["source"] == source].groupby("rows"):
            means = part.groupby("centre")["bias"].mean()
            lines.append([source, f"{rows}", *(f"{100 * means[name]:+.1f}" for name in LABELS)])
    return markdown(["source", "rows", *LABELS.values()], lines)


def page(lines, planned):
    """Return the page as Markdown."""
    frame, centres = frame_of(lines)
    few, many = frame[frame["arm"] == "few"], frame[frame["arm"] == "many"]
    all_centres, centres = centres, centres[centres["arm"] == "few"]
    # The sampling error of the truth, relative to that of an estimate.
    of_truth = few[few["method"] == TODAY].set_index("source")["truth_se"].to_numpy()
    nested = centres[centres["centre"] == "nested"]
    added = (np.sqrt(1 + np.square(of_truth / nested["se"].to_numpy())) - 1) * 100
    added = pd.Series(added).groupby(nested["source"].to_numpy()).mean()
    about = ABOUT.format(
        count=len(lines), planned=planned, tables=len(TABLES), generators=len(DRAWN), drawn=", ".join(DRAWN),
        many=many["source"].nunique(), added=added.drop("german_credit", errors="ignore").max(),
        added_german=added.get("german_credit", math.nan),
    )  # fmt: skip
    count = len(few) // few["method"].nunique()
    parts = ["# Intervals for the error of the selected model"]
    if few["kind"].nunique() == 2 and len(many):
        parts.append(conclusion(few, many, all_centres))
    parts.append(about)
    parts += [f"## All {count:,} studies with 10 candidates", methods_table(few, TESTED)]
    for name, which in (("0-1 losses", few["zero_one"]), ("Squared losses", ~few["zero_one"])):
        if which.any():
            count = few[which].groupby(["source", "rows", "seed"]).ngroups
            parts += [f"## {name}, {count:,} studies", methods_table(few[which], TESTED)]
    if len(many):
        count = len(many) // many["method"].nunique()
        parts += [f"## 70 candidates, {count:,} studies of 200 rows", methods_table(many, TESTED)]
    parts += ["## Which factor", factors_table(few), "## Bias and spread of the estimates", CENTRES_ABOUT]
    parts += [centres_table(centres), biases_table(centres)]
    parts += ["## Every source", SOURCES_ABOUT, sources_table(few, PUBLISHED)]
    others = [
        each for each in (*NESTED, *REPEATED) if each.name.endswith(("1.3_extended", "1.2_extended", "1.3", "1.2"))
    ]
    parts.append(sources_table(few, others))
    parts.append(sizes_table(few))
    seconds = frame.groupby("arm")["cpu_seconds"].mean()
    took = " and ".join(f"{value:.1f} s with {name} candidates" for name, value in seconds.items())
    parts.append(f"A study took {took} in the mean, of CPU.")
    return "\n\n".join(parts) + "\n"
