"""What tuning brings: the test error of the model that a tuned study selects, against that of an untuned one.

    python -m benchmarks.tuned_study --data FOLDER --store tuned_study.jsonl --out docs/tuned-study.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. Both see the same sample of a table, with
the same folds and seeds; each model is then fitted on the whole sample and evaluated on held-out rows. Every finished
sample is a line of the store: the same command goes on from there, and ``--minutes`` ends it early. Only the search is
run, not the diagnosis of the selected model.
"""

from __future__ import annotations

import argparse
import json
import math
import os
import re
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split

from benchmarks.real_table import table_file
from truefit import Engine
from truefit._api.validation import read_input, resolve_metric
from truefit._methods.selection.default_candidates import default_candidates
from truefit._methods.selection.families import ModelFamily, default_families, settings_of
from truefit._methods.selection.simplicity import simplest_of_ties, simplicity_order
from truefit._methods.splitting.splits import cv_splits
from truefit._study.budget import TimeBudget
from truefit._study.config import StudyConfig
from truefit._study.plan import _SelectionRun
from truefit.estimators.ensemble import EnsembleClassifier, EnsembleRegressor

#: Every table of the folder with at least twice the rows of the smaller sample, by task.
TABLES = {
    "german_credit": "classification",
    "wine_quality": "regression",
    "spambase": "classification",
    "bike_sharing": "regression",
    "adult": "classification",
    "diamonds": "regression",
    "letter": "classification",
    "bank_marketing": "classification",
    "connect4": "classification",
}
#: Samples of a table: the first half are small, the others large where the table is large enough.
SAMPLES, SMALL, LARGE, TEST_ROWS = 10, 400, 1_000, 20_000
#: Of the rows to judge by, those on which all settings are evaluated to find the best of them.
LIMIT_ROWS = 5_000
TARGET = 0.96

ABOUT = """\
**{count} of {planned} samples were run ({rows}).** Tables, sizes and seeds were fixed beforehand: {samples} samples of
each table, the first half of {small:,} rows, the others of {large:,} where the table is large enough. They are run in
a fixed order, small and large ones in turn, one of each table before the next, and every sample that was run is
counted.

`truefit.study` selects among all settings of all model families; with `tune=False` among one setting of each. Both see
the same sample, with the same folds. The selected models are fitted on the whole sample and evaluated on held-out rows,
up to {test:,}: the share of wrong predictions, or the root mean squared error. *Ratio* is the error of the tuned
selection over that of the untuned one, its geometric mean over samples, with the t-interval of its logarithm.
*Estimate / true* is the mean of the nested estimate of the tuned study over the true error, *covered* how often its 95%
interval holds the true error. Only the search is timed (CPU seconds)."""

OTHERS = """\
## Other selections from the same search

The same search could select the ensemble, or the simplest setting within one standard error of the best: of the best
family, or of all. *Ratio* is their error over that of the tuned selection of the study, *to untuned*
over that of the untuned one.

The last row is no selection but a limit: of all settings the one with the least error on the first {limit:,} held-out
rows. A rule that selects one setting can hardly do better."""


def sizes(seed, rows):
    """Return the size of a sample."""
    return LARGE if seed >= SAMPLES // 2 and rows >= 2 * LARGE else SMALL


def drawn(name, folder, seed):
    """Return rows to study and rows to judge by."""
    frame = pd.read_parquet(table_file(folder, name))
    y = frame.pop(frame.columns[-1])
    y = y.astype(str).to_numpy() if TABLES[name] == "classification" else y.astype(float).to_numpy()
    kept, aside = train_test_split(np.arange(len(y)), train_size=sizes(seed, len(y)), random_state=seed)
    kept, aside = np.sort(kept), aside[:TEST_ROWS]
    return (frame.iloc[kept].reset_index(drop=True), y[kept]), (frame.iloc[aside], y[aside])


def selected(families, X, y, task, seed):
    """Search among all settings; return the selected estimator and what is reported of it."""
    settings = settings_of(families)
    candidates, data = read_input(
        {name: each.estimator for name, each in settings.items()}, X, y, **dict.fromkeys(("groups", "sample_weight"))
    )
    metric = resolve_metric(data, "rmse" if task == "regression" else "error", None)
    config = StudyConfig(
        candidates, data, cv_splits(data, 5, random_state=seed), metric, 0.95, TimeBudget(None, 1, measured=False),
        seed, families=families, settings=settings,
    )  # fmt: skip
    run = _SelectionRun(config)
    with Engine(on_error="record", progress=False) as engine:
        engine.run(run.run_selection(), data)
        engine.run(run.run_ensemble(), data)
    return candidates.estimators, run


def simple(run, *, within):
    """Return the simplest setting within one standard error of the best: of its family, or of all."""
    config, selected = run.config, run._selected
    settings = [config.settings[name] for name in selected.searched]
    scores = config.sign * selected.scores
    order = simplicity_order(settings, config.families)
    best = settings[int(np.nanargmin(scores.mean(axis=1)))].family
    allowed = [place for place, each in enumerate(settings) if each.family == best or not within]
    return selected.searched[simplest_of_ties(scores, order, allowed)]


def judged(name, folder, seed):
    """Compare both selections on one sample: a line of the store."""
    warnings.simplefilter("ignore")
    (X, y), (others, truths) = drawn(name, folder, seed)
    task = TABLES[name]
    untuned = {each: ModelFamily(each, estimator) for each, estimator in default_candidates(X, task).items()}
    line = {"table": name, "seed": seed, "rows": len(y)}

    def wrong(estimator, rows=TEST_ROWS):
        predicted = estimator.fit(X, y).predict(others[:rows])
        if task == "classification":
            return float(np.mean(predicted != truths[:rows]))
        return float(math.sqrt(np.mean((predicted - truths[:rows]) ** 2)))

    for how, families in (("untuned", untuned), ("tuned", default_families(X, task, y))):
        began = time.process_time()
        estimators, run = selected(families, X, y, task, seed)
        found = run.found
        line[f"{how}_seconds"] = time.process_time() - began
        line |= {
            f"{how}_error": wrong(estimators[found.best]),
            f"{how}_best": found.best,
            f"{how}_estimate": found.estimate,
        }
        line |= {f"{how}_interval": None if found.interval is None else list(found.interval)}
    errors = {name: wrong(estimators[name], LIMIT_ROWS) for name in settings_of(families)}
    best = min(errors, key=lambda name: errors[name])
    line |= {"least_best": best, "least_error": wrong(estimators[best])}
    scores = np.nanmean(run._selected.scores, axis=1)  # of stopped ones the folds that were run
    line["settings"] = {name: [float(scores[place]), errors[name]] for place, name in enumerate(run._selected.searched)}
    for rule, within in (("family", True), ("all", False)):
        place = simple(run, within=within)
        line |= {f"simple_{rule}_best": place, f"simple_{rule}_error": errors[place]}
    if (tested := found.ensemble) is not None:
        members = [(each, estimators[each]) for each in tested.members]
        model = EnsembleRegressor(members, weights=tested.weights)
        if task == "classification":
            model = EnsembleClassifier(members, aggregate=tested.aggregate, weights=tested.weights)
        line |= {"ensemble_error": wrong(model), "ensemble_estimate": tested.estimate, "members": tested.members}
        line |= {"ensemble_interval": None if tested.interval is None else list(tested.interval)}
        line |= {"ensemble_recommended": tested.recommended, "ensemble_gain": tested.gain}
        line |= {"ensemble_p": None if tested.difference.found is None else tested.difference.found.p}
    return line


def missing(store):
    """Return the samples that the store lacks, one of each table before the next."""
    known = set()
    if store.exists():
        known = {(line["table"], line["seed"]) for line in map(json.loads, store.read_text().splitlines())}
    half = SAMPLES // 2
    seeds = [seed for pair in zip(range(half), range(half, SAMPLES), strict=True) for seed in pair]
    return [(name, seed) for seed in seeds for name in TABLES if (name, seed) not in known]


def run(folder, store, workers, minutes):
    """Run what is missing; every finished sample is appended to the store."""
    end = time.monotonic() + 60 * minutes
    todo = missing(store)
    with ProcessPoolExecutor(workers) as pool, store.open("a") as lines:
        running = {pool.submit(judged, name, folder, seed) for name, seed in todo[:workers]}
        todo = todo[workers:]
        while running:
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                lines.write(json.dumps(each.result()) + "\n")
                lines.flush()
                if todo and time.monotonic() < end:
                    name, seed = todo.pop(0)
                    running.add(pool.submit(judged, name, folder, seed))


def ratio_cells(logs):
    """Return the geometric mean of ratios and its t-interval, given their logarithms."""
    from scipy import stats

    mean, count = logs.mean(), len(logs)
    half = stats.t.ppf(0.975, count - 1) * logs.std() / math.sqrt(count) if count > 1 else math.nan
    ends = "–" if count < 2 else f"{math.exp(mean - half):.3f} to {math.exp(mean + half):.3f}"
    return [f"{math.exp(mean):.3f}", ends]


def others(frame):
    """Return the table of what else the search could have selected."""
    ways = {
        "ensemble": "ensemble",
        "ensemble where it is recommended, otherwise the selected setting": "recommended",
        "simplest within one standard error, of the best family": "simple_family",
        "simplest within one standard error, of all": "simple_all",
        "the limit: the setting with the least error on the held-out rows": "least",
    }
    header = ["selected", "samples", "another model", "ratio", "95% interval", "to untuned", "95% interval"]
    lines = ["| " + " | ".join([*header, "estimate / true"]) + " |", "|---|" + "---:|" * len(header)]
    for what, name in ways.items():
        if f"{name}_error" not in frame:
            continue
        known = frame[frame[f"{name}_error"].notna()]
        changed = int((known[f"{name}_best"] != known["tuned_best"]).sum())
        share = "–"
        if name == "ensemble":
            share = f"{(known['ensemble_estimate'] / known['ensemble_error']).mean():.3f}"
        errors = known[f"{name}_error"]
        cells = [each for how in ("tuned", "untuned") for each in ratio_cells(np.log(errors / known[f"{how}_error"]))]
        lines.append("| " + " | ".join([what, f"{len(known)}", f"{changed}", *cells, share]) + " |")
    return "\n".join(lines)


def alike(settings):
    """Return settings by names that samples share: values that depend on the table, by their rank."""
    ranks = {}
    for parameter in ("gamma", "ccp_alpha"):
        values = {found[1] for name in settings if (found := re.search(rf"{parameter}=([^,)]+)", name))}
        ranks |= {f"{parameter}={each}": f"{parameter} {rank}" for rank, each in enumerate(sorted(values, key=float))}
    return {re.sub(r"(gamma|ccp_alpha)=[^,)]+", lambda found: ranks[found[0]], name): each
            for name, each in settings.items()}  # fmt: skip


def by_family(line, prior):
    """Return the best setting of the family whose best three settings have the best mean."""
    families = {}
    for name, (score, _) in line["settings"].items():
        families.setdefault(name.partition(" ")[0], []).append((score, name))
    best = min(families.values(), key=lambda found: np.mean([score for score, _ in sorted(found)[:3]]))
    return min(best)[1]


def by_prior(line, prior):
    """Return the setting with the best score after shrinking it towards what is known from other tables."""
    known = [name for name in line["settings"] if name in prior]
    return min(known, key=lambda name: math.log(max(line["settings"][name][0], 1e-9)) + WEIGHT * prior[name])


RULES = {
    "the best family by the mean of its best three settings": by_family,
    "the best score, shrunk towards the errors on other tables": by_prior,
}
#: Weight of what is known from other tables, against that of the score: the best of 0.1, 0.2, 0.3, 0.5, 1 and 2.
WEIGHT = 0.5

ABOUT_RULES = """\
## Could another rule select better?

Of every sample the scores of all settings and their errors on the first {limit:,} held-out rows are known, so other
rules can be tried afterwards. *Ratio* is the error of the setting that a rule selects over that of the setting with the
best score. One rule uses what no study can know: how large the errors of each setting were on the held-out rows of the
*other* tables, with the weight that turned out best here. It shows about how much a good default order of settings
could bring."""


def rules(frame):
    """Return the table of other rules of selection, from the scores and errors of all settings."""
    lines = [
        line | {"settings": alike(line["settings"]), "task": TABLES[line["table"]]} for line in frame.to_dict("records")
    ]
    rows = ["| rule | samples | another setting | ratio | 95% interval |", "|---|---:|---:|---:|---:|"]
    for what, rule in RULES.items():
        logs, changed = [], 0
        for line in lines:
            others = [each for each in lines if each["task"] == line["task"] and each["table"] != line["table"]]
            by_setting = {}
            for each in others:
                usual = float(np.median(sorted(error for _, error in each["settings"].values())[:10]))
                for name, (_, error) in each["settings"].items():
                    by_setting.setdefault(name, []).append(math.log(error / usual))
            prior = {name: float(np.mean(found)) for name, found in by_setting.items()}
            found, best = rule(line, prior), min(line["settings"], key=lambda name: line["settings"][name][0])
            logs.append(math.log(line["settings"][found][1] / line["settings"][best][1]))
            changed += found != best
        rows.append("| " + " | ".join([what, f"{len(lines)}", f"{changed}", *ratio_cells(pd.Series(logs))]) + " |")
    return "\n".join(rows)


def page(store):
    """Return the tables as Markdown."""
    frame = pd.DataFrame(map(json.loads, store.read_text().splitlines()))
    frame["log"] = np.log(frame["tuned_error"] / frame["untuned_error"])
    recommended = frame["ensemble_recommended"].eq(True)
    frame["ensemble_best"] = "ensemble"
    frame["recommended_best"] = np.where(recommended, "ensemble", frame["tuned_best"])
    frame["recommended_error"] = np.where(recommended, frame["ensemble_error"], frame["tuned_error"])
    frame["share"] = frame["tuned_estimate"] / frame["tuned_error"]
    frame["covered"] = [
        ends is not None and ends[0] <= error <= ends[1]
        for ends, error in zip(frame["tuned_interval"], frame["tuned_error"], strict=True)
    ]

    def line(name, part):
        one = part["table"].nunique() == 1  # errors of different tables have no common mean
        errors = [f"{part[f'{how}_error'].mean():.4g}" if one else "–" for how in ("untuned", "tuned")]
        cells = [
            name, f"{len(part)}", *errors, *ratio_cells(part["log"]),
            f"{part['share'].mean():.3f}", f"{int(part['covered'].sum())}",
            f"{part['untuned_seconds'].mean():.0f}", f"{part['tuned_seconds'].mean():.0f}",
        ]  # fmt: skip
        return "| " + " | ".join(cells) + " |"

    header = ["table", "samples", "untuned error", "tuned error", "ratio", "95% interval", "estimate / true"]
    header += ["covered", "untuned s", "tuned s"]
    lines = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    lines += [line(name, frame[frame["table"] == name]) for name in TABLES if (frame["table"] == name).any()]
    lines.append(line("all", frame))
    counts = frame["rows"].value_counts().sort_index()
    about = ABOUT.format(
        count=len(frame), planned=SAMPLES * len(TABLES), samples=SAMPLES, small=SMALL, large=LARGE, test=TEST_ROWS,
        rows=" and ".join(f"{count} of {rows:,} rows" for rows, count in counts.items()),
    )  # fmt: skip
    command = "    python -m benchmarks.tuned_study --data FOLDER --store tuned_study.jsonl --out docs/tuned-study.md"
    parts = ["# What tuning brings", command, about, "\n".join(lines), OTHERS.format(limit=LIMIT_ROWS), others(frame)]
    if "settings" in frame:
        parts += [ABOUT_RULES.format(limit=LIMIT_ROWS), rules(frame)]
    return "\n\n".join(parts) + "\n"


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.tuned_study", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("tuned_study.jsonl"))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--minutes", type=float, default=math.inf)
    options = parser.parse_args(arguments)
    if options.data is None:
        parser.error("name the folder of tables: --data FOLDER, or TRUEFIT_DATA")
    run(Path(options.data), options.store, options.workers, options.minutes)
    text = page(options.store)
    print(text)
    if options.out is not None:
        options.out.write_text(text)


if __name__ == "__main__":
    main()
