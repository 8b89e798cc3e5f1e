"""What Perturbed Model Validation is worth as a diagnosis: does it show where regularising would lower the error?

    python -m benchmarks.perturbed_diagnosis --data FOLDER --store perturbed_diagnosis.jsonl --out docs/perturbed-diagnosis.md

FOLDER (or TRUEFIT_DATA) holds the tables as Parquet files, the target last. Each setting of each learner is diagnosed on
a small sample of a table: by memorisation, by the gap between training and cross-validation error, by bias and
variance. The truth is its error on the other rows, and that of the more and less flexible settings of its family. Every
finished sample is a line of the store: the same command goes on from there, and ``--minutes`` ends it early.
"""  # noqa: E501

from __future__ import annotations

import argparse
import json
import math
import os
import time
import warnings
from concurrent.futures import FIRST_COMPLETED, ProcessPoolExecutor, wait
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.stats import rankdata
from sklearn.base import clone
from sklearn.ensemble import RandomForestClassifier, RandomForestRegressor
from sklearn.linear_model import LinearRegression, LogisticRegression, Ridge
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import train_test_split
from sklearn.naive_bayes import GaussianNB
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, SVR
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor
from threadpoolctl import threadpool_limits

import truefit
from truefit import Engine
from truefit._api.validation import read_input, resolve_metric
from truefit._core.errors import InvalidInput
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.perturbation.verdict import diagnose
from truefit._stats.paired import corrected_paired_t
from truefit._study.evidence import StudyEvidence
from truefit._study.fit_diagnosis import fit_diagnosis, variance_share
from truefit._study.plan import _TRAINED, _simpler

#: Tables by task, and from which grade on a wine is good: its grades are a second, binary target.
TABLES = {
    "adult": "classification",
    "bank_marketing": "classification",
    "connect4": "classification",
    "german_credit": "classification",
    "letter": "classification",
    "spambase": "classification",
    "wine_quality (>= 6)": "classification",
    "bike_sharing": "regression",
    "diamonds": "regression",
    "wine_quality": "regression",
}
GOOD_FROM = 6
#: Rows of a sample, samples of each size, and at most so many test rows; fewer than the least is no truth.
SIZES, SAMPLES, TEST_ROWS, FEWEST_TEST_ROWS = (200, 600), 6, 10_000, 800
#: The second effort of a study for noise, and about its least for bias and variance.
LEVELS, REPEATS, ROUNDS, FOLDS = (0.1, 0.2, 0.3, 0.4, 0.5), 5, 30, 5
#: A gain counts above one point of the error of a classification, or 5% of the error of a regression.
POINT, SHARE = 0.01, 0.05


def settings(task):
    """Return each family's settings from rigid to flexible."""
    if task == "classification":
        linear = [(f"logistic C={C:g}", LogisticRegression(C=C, max_iter=200)) for C in (0.01, 100)]
        neighbours, tree, forest, svm = (
            KNeighborsClassifier, DecisionTreeClassifier, RandomForestClassifier, SVC,
        )  # fmt: skip
        more = {"bayes": {"naive Bayes": GaussianNB()}}
    else:
        linear = [(f"ridge alpha={alpha:g}", Ridge(alpha)) for alpha in (1000, 0.01)]
        neighbours, tree, forest, svm = (KNeighborsRegressor, DecisionTreeRegressor, RandomForestRegressor, SVR)
        more = {}

    def scaled(learner):
        return make_pipeline(StandardScaler(), learner)

    depths = {"2": 2, "5": 5, "unlimited": None}
    return {
        "linear": {name: scaled(each) for name, each in linear},
        "kNN": {f"kNN k={k}": scaled(neighbours(k)) for k in (25, 5, 1)},
        "tree": {f"tree depth={name}": tree(max_depth=depth, random_state=0) for name, depth in depths.items()},
        "forest": {f"forest leaf={leaf}": forest(30, min_samples_leaf=leaf, random_state=0) for leaf in (20, 1)},
        "SVM": {f"SVM C={C:g}": scaled(svm(C=C)) for C in (0.1, 1, 100)},
        **more,
    }


def drawn(name, folder, rows, seed):
    """Return rows to diagnose on and test rows; categories become columns, a numeric target has unit variance."""
    file = folder / f"{name.split()[0]}.parquet"
    if not file.is_file():
        raise InvalidInput(f"The folder of tables must hold {file.name}. There is none in {folder}. Check --data.")
    frame = pd.read_parquet(file)
    y, task = frame.pop(frame.columns[-1]), TABLES[name]
    if task == "regression":
        y = ((y - y.mean()) / y.std()).to_numpy(float)
    else:
        y = (y >= GOOD_FROM).to_numpy(int) if name.startswith("wine") else y.astype(str).to_numpy()
    X = pd.get_dummies(frame).to_numpy(float)
    kept, rest = train_test_split(
        np.arange(len(y)), train_size=rows, random_state=seed, stratify=y if task == "classification" else None
    )
    rest = rest[:TEST_ROWS]
    return (X[kept], y[kept]), (X[rest], y[rest])


def error(task, predicted, truth):
    """Return the share of wrong predictions, or the root mean squared error in standard deviations of the target."""
    if task == "classification":
        return float(np.mean(predicted != truth))
    return float(math.sqrt(np.mean((predicted - truth) ** 2)))


def diagnosed(name, folder, rows, seed):
    """Diagnose every setting on one sample, and measure the truth: a line of the store."""
    warnings.simplefilter("ignore")
    began, task = time.process_time(), TABLES[name]
    (X, y), (X_test, y_test) = drawn(name, folder, rows, seed)
    families = settings(task)
    estimators = {each: estimator for family in families.values() for each, estimator in family.items()}
    kind = "error" if task == "classification" else "rmse"
    with threadpool_limits(1), Engine(progress=False) as engine:
        common = {"random_state": seed, "engine": engine}
        compared = truefit.compare(estimators, X, y, cv=FOLDS, metric=kind, **common)
        noise = truefit.perturb(estimators, X, y, levels=LEVELS, repeats=REPEATS, cv=FOLDS, **common)
        parts = truefit.bias_variance(estimators, X, y, rounds=ROUNDS, **common)
        fitted = {each: clone(estimator).fit(X, y) for each, estimator in estimators.items()}
        training = {each: error(task, model.predict(X), y) for each, model in fitted.items()}
        test = {each: error(task, model.predict(X_test), y_test) for each, model in fitted.items()}
    _, data = read_input(estimators, X, y, groups=None, sample_weight=None)
    metric = resolve_metric(data, kind, None)
    classes = None if data.classes is None else len(data.classes)
    baseline = float(y.std()) if classes is None else 1 - float(np.bincount(data.codes).max()) / len(y)

    def evidence(best, names, trained, *, study=False):
        """Return what a study would know with this setting selected among these."""
        assessment = compared.assessment
        winner = assessment.estimates[best]
        if not study:  # a setting that is not the best one is diagnosed wherever its error is below the baseline's
            winner = Estimate(winner.value, None, None)
        found = StudyEvidence(
            data.without_table(), X.shape[1], metric, 0.95, best, assessment, winner,
            comparison=compared if study else None, training={each: training[each] for each in trained},
            bias_variance=parts,
        )  # fmt: skip
        if study:  # the selected setting, a less flexible one, and the best ties
            found.simpler = _simpler(found)
            names = list(dict.fromkeys([best, *([found.simpler] if found.simpler else []), *found.ties[:2]]))[:3]
        known = {each: noise.by_name[each] for each in names}
        verdict = {each: said.flag for each, said in diagnose(known, noise.errors, classes=classes).items()}
        found.perturbation = SimpleNamespace(
            verdict=verdict, by_name=known, names=list(known), errors=noise.errors
        )  # fmt: skip
        return found

    def said(found):
        fit = fit_diagnosis(found)
        flag, names = found.perturbation.verdict[found.best], found.perturbation.names
        return {"verdict": flag, "kind": fit.kind, "alternative": fit.alternative, "compared": names}

    lines = {}
    for family, members in families.items():
        for place, each in enumerate(members):
            response = noise.by_name[each]
            of_all = evidence(each, list(estimators), list(estimators))
            lines[each] = {
                "family": family, "place": place, "training": training[each], "test": test[each],
                "cv": compared.assessment.estimates[each].value, "folds": noise.errors.scores[each].tolist(),
                "rate": response.rate, "skill": response.skill, "memorisation": response.memorisation,
                "ends": response.memorisation_ends, "variance": variance_share(of_all),
                "expected_loss": parts.expected_loss[each],
                "all": said(of_all), "within": said(evidence(each, list(members), list(members))),
            }  # fmt: skip
    best = compared.best
    ranked = sorted(estimators, key=lambda each: lines[each]["cv"])
    study = {"best": best} | said(evidence(best, [], dict.fromkeys([best, *ranked[:_TRAINED]]), study=True))
    seconds = time.process_time() - began
    line = {"table": name, "rows": rows, "seed": seed, "seconds": seconds, "baseline": baseline}
    return line | {"study": study, "settings": lines}


def planned(folder):
    """Return all samples, one of each table and size before the next."""
    lengths = {
        name: len(pd.read_parquet(folder / f"{name.split()[0]}.parquet", columns=[])) for name in TABLES
    }  # fmt: skip
    return [
        (name, rows, seed)
        for seed in range(SAMPLES)
        for rows in SIZES
        for name in TABLES
        if lengths[name] - rows >= FEWEST_TEST_ROWS
    ]


def run(folder, store, workers, minutes):
    """Run what is missing; every finished sample is appended to the store."""
    end, known = time.monotonic() + 60 * minutes, set()
    if store.exists():
        lines = map(json.loads, store.read_text().splitlines())
        known = {(line["table"], line["rows"], line["seed"]) for line in lines}
    todo = [each for each in planned(folder) if each not in known]
    with ProcessPoolExecutor(workers) as pool, store.open("a") as lines:
        running = set()
        while running or (todo and time.monotonic() < end):
            while todo and len(running) < workers and time.monotonic() < end:
                name, rows, seed = todo.pop(0)
                running.add(pool.submit(diagnosed, name, folder, rows, seed))
            done, running = wait(running, return_when=FIRST_COMPLETED)
            for each in done:
                lines.write(json.dumps(each.result()) + "\n")
                lines.flush()


#: Diagnostics, and the sign with which they are expected to show that regularising would help.
DIAGNOSTICS = {
    "gap": ("CV error − training error", 1),
    "relative_gap": ("the same, as a share of the CV error", 1),
    "memorisation": ("memorisation", 1),
    "rate": ("PMV rate", -1),
    "skill": ("PMV skill", -1),
    "variance": ("share of variance", 1),
    "training": ("training error", -1),
    "cv": ("CV error", 1),
}
#: The gain that cross-validation itself predicts, of regularising and of the opposite.
BY_CV = {"regularising": "cv_regularising", "richer": "cv_richer"}
SETS = (
    ("gap",), ("memorisation",), ("variance",), ("gap", "memorisation"), ("gap", "variance"),
    ("memorisation", "variance"), ("gap", "memorisation", "variance"), ("by_cv",), ("by_cv", "gap"),
    ("by_cv", "memorisation"), ("by_cv", "variance"), ("by_cv", "gap", "memorisation", "variance"),
)  # fmt: skip
SHORT = {"gap": "CV gap", "memorisation": "memorisation", "variance": "variance", "by_cv": "CV gain"}


def read(store):
    """Return one row per setting of a sample, with its truth, and one per sample: the selected setting."""
    rows, selected = [], []
    for line in map(json.loads, store.read_text().splitlines()):
        found = line["settings"]
        for name, each in found.items():
            siblings = [other for other in found.values() if other["family"] == each["family"]]
            rigid = [other for other in siblings if other["place"] < each["place"]]
            rich = [other for other in siblings if other["place"] > each["place"]]
            row = {key: line[key] for key in ("table", "rows", "seed")} | each | {"name": name, "settings": found}
            row |= {"learned": 1 - each["training"] / line["baseline"]}
            row |= {"task": TABLES[line["table"]], "gap": each["cv"] - each["training"]}
            row |= {"true_gap": each["test"] - each["training"], "relative_gap": 1 - each["training"] / each["cv"]}
            for gain, others in (("regularising", rigid), ("richer", rich)):
                row[gain] = each["test"] - min(other["test"] for other in others) if others else math.nan
                row[f"cv_{gain}"] = each["cv"] - min(other["cv"] for other in others) if others else math.nan
                row[f"{gain}_helps"] = large(row[gain], row) if others else math.nan
                row[f"{gain}_relative"] = row[gain] > SHARE * row["test"] if others else math.nan
            if each["memorisation"] is None:
                row["memorisation"] = math.nan
            if each["variance"] is None:
                row["variance"] = math.nan
            rows.append(row)
            if name == line["study"]["best"]:
                selected.append(row | {"study": line["study"]})
    return pd.DataFrame(rows), selected


def large(gain, row, share=SHARE):
    """Whether a gain counts: in points for a classification, as a share of the error for a regression."""
    return gain > (POINT if row["task"] == "classification" else share * row["test"])


def over_tables(frame, statistic):
    """Return a statistic within each table and size, as its mean by table."""
    found = {}
    for (table, _), part in frame.groupby(["table", "rows"], sort=False):
        value = statistic(part)
        if value is not None and not math.isnan(value):
            found.setdefault(table, []).append(value)
    return pd.Series({table: float(np.mean(values)) for table, values in found.items()}, dtype=float)


def spread(values):
    """Return the mean over tables and its standard error."""
    values = values.dropna()
    return values.mean(), values.std() / math.sqrt(len(values)) if len(values) > 1 else math.nan


def cell(values, digits=2, sign=False):
    mean, error = spread(values)
    return f"{mean:{'+' if sign else ''}.{digits}f} ± {error:.{digits}f}"


def rank_correlation(one, other):
    if len(one) < 5 or np.ptp(one) == 0 or np.ptp(other) == 0:
        return None
    return float(np.corrcoef(rankdata(one), rankdata(other))[0, 1])


def partial(one, other, given):
    """Return the rank correlation that is left where the ranks of others are known."""
    ranks = np.column_stack([rankdata(each) for each in given])
    left = []
    for each in (one, other):
        rank = rankdata(each)
        left.append(rank - LinearRegression().fit(ranks, rank).predict(ranks))
    if any(each.std() < 1e-9 for each in left):
        return None
    return float(np.corrcoef(*left)[0, 1])


def auc(truth, score):
    truth = np.asarray(truth, dtype=bool)
    return None if truth.all() or not truth.any() else float(roc_auc_score(truth, score))


def table(header, lines):
    """Return a table as Markdown."""
    rows = ["| " + " | ".join(header) + " |", "|---|" + "---:|" * (len(header) - 1)]
    return "\n".join([*rows, *("| " + " | ".join(map(str, line)) + " |" for line in lines)])


def alone(frame):
    """Return the table of each diagnostic alone, and the areas of memorisation and of the gap."""
    lines, areas = [], {}
    known = frame.dropna(subset=["memorisation", "variance"])
    for key, (text, sign) in [*DIAGNOSTICS.items(), ("by_cv", ("gain by CV", 1))]:
        cells = [text]
        for truth in ("true_gap", "regularising", "richer"):
            column = BY_CV.get(truth) if key == "by_cv" else key
            if column is None:
                cells.append("–")
                continue
            part = known.dropna(subset=[truth, column])
            cells.append(
                cell(over_tables(part, lambda one, c=column, t=truth: rank_correlation(one[c], one[t])), sign=True)
            )
        for truth in ("regularising", "richer"):
            column = BY_CV[truth] if key == "by_cv" else key
            turned = 1 if key in ("by_cv", "cv") else sign if truth == "regularising" else -sign
            if truth == "richer" and key == "training":
                turned = 1
            part = known.dropna(subset=[truth, column])
            found = over_tables(part, lambda one, c=column, t=truth, s=turned: auc(one[f"{t}_helps"], s * one[c]))
            areas[key, truth] = found
            cells.append(cell(found))
        lines.append(cells)
    header = [
        "diagnostic", "ρ true gap", "ρ gain from regularising", "ρ gain from a richer one", "AUC regularising",
        "AUC richer",
    ]  # fmt: skip
    return table(header, lines), areas


def by_share(frame):
    """Say what the areas are where a gain counts as a share of the error in a classification too."""
    known = frame.dropna(subset=["memorisation", "variance", "regularising"])
    texts = [
        f"{SHORT[key]} {cell(over_tables(known, lambda one, c=column: auc(one['regularising_relative'], one[c])))}"
        for key, column in (
            *((each, each) for each in ("gap", "memorisation", "variance")),
            ("by_cv", "cv_regularising"),
        )
    ]
    return (
        f"Where a gain counts above {100 * SHARE:.0f}% of the error in a classification too, AUC regularising: "
        f"{', '.join(texts)}."
    )


def claims(cases):
    """Say how the candidate that memorises less and does about as well in CV does on the test rows."""
    named = [(row, said["alternative"]) for row, said in cases if said["alternative"] is not None]
    if not named:
        return "No candidate that memorises less does about as well."
    fine = [harmless(row, other) for row, other in named]
    better = [large(row["test"] - row["settings"][other]["test"], row) for row, other in named]
    return (
        f"A candidate that memorises less and does about as well in cross-validation is named {len(named)} times. On "
        f"the test rows it is not worse by more than what counts in {share(fine)}, better by more in {share(better)}."
    )


def partials(frame):
    """Return the table of partial rank correlations."""
    known = frame.dropna(subset=["memorisation", "variance"])
    lines = []
    for key, given in (
        ("memorisation", ["gap"]), ("variance", ["gap"]), ("gap", ["memorisation"]), ("gap", ["variance"]),
        ("memorisation", ["gap", "variance"]), ("variance", ["gap", "memorisation"]),
        ("gap", ["memorisation", "variance"]), ("memorisation", ["by_cv"]), ("variance", ["by_cv"]),
        ("gap", ["by_cv"]), ("by_cv", ["gap", "memorisation", "variance"]),
    ):  # fmt: skip
        cells = [SHORT[key], " and ".join(SHORT[each] for each in given)]
        for truth in ("true_gap", "regularising", "richer"):
            columns = [BY_CV.get(truth) if each == "by_cv" else each for each in (key, *given)]
            if None in columns:
                cells.append("–")
                continue
            part = known.dropna(subset=[truth, *columns])
            found = over_tables(
                part,
                lambda one, c=columns, t=truth: partial(one[c[0]], one[t], [one[each] for each in c[1:]]),
            )  # fmt: skip
            cells.append(cell(found, sign=True))
        lines.append(cells)
    return table(["diagnostic", "given", "true gap", "gain from regularising", "gain from a richer one"], lines)


def across(frame, truth, names):
    """Return the area within each table of a logistic regression of ranks, fitted on the other tables."""
    columns = [BY_CV[truth] if each == "by_cv" else each for each in names]
    known = frame.dropna(subset=["memorisation", "variance", truth])
    ranks = known.groupby(["table", "rows"])[columns].rank(pct=True)
    scores = pd.Series(index=known.index, dtype=float)
    for name in known["table"].unique():
        inside = known["table"] == name
        model = LogisticRegression().fit(ranks[~inside], known.loc[~inside, f"{truth}_helps"].astype(bool))
        scores[inside] = model.decision_function(ranks[inside])
    return over_tables(known.assign(score=scores), lambda one: auc(one[f"{truth}_helps"], one["score"]))


def explained(frame, names):
    """Return the share of the variance of the true gap in each table that a regression on the other tables explains."""
    known, found = frame.dropna(subset=["memorisation", "variance"]), {}
    columns = ["relative_gap" if each == "gap" else each for each in names]
    truth = known["true_gap"] / known["test"]
    for name in known["table"].unique():
        inside = known["table"] == name
        model = make_pipeline(StandardScaler(), LinearRegression()).fit(known.loc[~inside, columns], truth[~inside])
        found[name] = model.score(known.loc[inside, columns], truth[inside])
    return pd.Series(found)


def together(frame):
    """Return the table of sets of diagnostics, and their areas."""
    lines, areas = [], {}
    for names in SETS:
        first = ("by_cv",) if "by_cv" in names else ("gap",)
        cells = [" + ".join(SHORT[each] for each in names)]
        for truth in ("regularising", "richer"):
            areas[truth, names] = found = across(frame, truth, names)
            cells.append(cell(found))
            cells.append("–" if names == first else cell(found - areas[truth, first], sign=True))
        cells.append("–" if "by_cv" in names else cell(explained(frame, names)))
        lines.append(cells)
    header = ["known", "AUC regularising", "less that of the first", "AUC richer", "less that of the first"]
    return table([*header, "R² true gap"], lines), areas


def share(values):
    """Return a share with its count."""
    values = np.asarray([each for each in values if each == each], dtype=float)
    return f"{100 * values.mean():.0f}% of {len(values)}" if len(values) else "–"


def by_setting(frame):
    """Return the table of means of each setting."""
    lines = []
    for task, part in frame.groupby("task", sort=False):
        for name, each in part.groupby("name", sort=False):
            means = [f"{each[key].mean():.2f}" for key in ("memorisation", "variance", "gap", "true_gap")]
            gains = [
                "–" if each[key].isna().all() else f"{100 * each[key].mean():+.1f}"
                for key in ("regularising", "richer")
            ]
            helps = [share(each[f"{key}_helps"]) for key in ("regularising", "richer")]
            lines.append([f"{name} ({task})", *means, gains[0], helps[0], gains[1], helps[1]])
    header = [
        "setting", "memorisation", "variance", "CV gap", "true gap", "gain from regularising", "helps",
        "gain from a richer one", "helps",
    ]  # fmt: skip
    return table(header, lines)


def harmless(row, alternative):
    """Whether a candidate that memorises less is truly no worse, but for what does not count."""
    return not large(row["settings"][alternative]["test"] - row["test"], row)


def verdicts(frame):
    """Return the table of PMV verdicts and how often they come true."""
    lines, numbers = [], {}
    for scope, text in (("within", "settings of its family"), ("all", "all settings")):
        for flag in ("memorises", "overfitted", "underfitted", "no flag"):
            part = frame[[each["verdict"] == flag for each in frame[scope]]]
            numbers[scope, flag] = part
            truth = [share(part[f"{key}_helps"]) for key in ("regularising", "richer")]
            lines.append([flag, text, len(part), *truth])
        flags = np.array([each["verdict"] in ("memorises", "overfitted") for each in frame[scope]])
        for least in (0.05, 0.25):
            low = frame[flags & (frame["learned"] <= least)]
            truth = [share(low[f"{key}_helps"]) for key in ("regularising", "richer")]
            what = f"either of the first two, avoiding at most {100 * least:.0f}% of the baseline's training error"
            lines.append([what, text, len(low), *truth])
    truth = [share(frame[f"{key}_helps"]) for key in ("regularising", "richer")]
    lines.append(["any", "", len(frame), *truth])
    return table(["verdict", "compared with", "settings", "regularising helps", "a richer one helps"], lines), numbers


def less_flexible(row, names):
    """Return settings whose gap between training and CV error is at most half as large, as a study finds them."""
    found = row["settings"]
    gaps = {each: found[each]["cv"] - found[each]["training"] for each in names}
    return [each for each in names if each != row["name"] and gaps[each] <= row["gap"] / 2] if row["gap"] > 0 else []


def behind(row, name):
    """Return by how much another setting is worse in cross-validation, fold by fold, and the standard error."""
    found = corrected_paired_t(np.subtract(row["settings"][name]["folds"], row["folds"]), 1 / (FOLDS - 1))
    return found.mean, found.se


#: Rules that were not fixed beforehand, and are not compared with what was expected.
ADDED = " (added after the first 26 samples)"


def rules(row, said, names):
    """Return which rules would say that a setting overfits; the first is that of the study."""
    today, other = said["kind"] == "overfits", said["alternative"]
    steps = [behind(row, each) for each in less_flexible(row, names)]
    better = any(mean < 0 for mean, _ in steps)
    others = [row["settings"][each]["cv"] for each in less_flexible(row, names)]
    own = row | {"test": row["cv"]}
    return {
        "study: overfits": today,
        "study: overfits, and the alternative has the smaller CV error": today and behind(row, other)[0] < 0,
        "study: overfits or memorises": said["kind"] in ("overfits", "memorises"),
        "PMV: overfitted": said["verdict"] == "overfitted",
        "PMV: memorises or overfitted": said["verdict"] in ("memorises", "overfitted"),
        "CV: a less flexible setting has a smaller error": better,
        f"CV: the same, by more than what counts{ADDED}": any(large(row["cv"] - each, own) for each in others),
        "CV: the same, by more than one standard error": any(mean < -error for mean, error in steps),
        "CV: a less flexible setting is within one standard error": any(mean <= error for mean, error in steps),
        "CV gap above half of the CV error": row["relative_gap"] > 0.5,
        "CV gap above half, and a less flexible setting has a smaller error": row["relative_gap"] > 0.5 and better,
        "variance above 25%": row["variance"] > 0.25,
        "variance above 50%": row["variance"] > 0.5,
    }


def judged(cases):
    """Return the table of rules by their precision and recall; each case is what the rules say, and the truth."""
    lines, numbers = [], {}
    for name in cases[0][0] if cases else ():
        fired = np.array([said[name] for said, _ in cases], dtype=bool)
        truth = np.array([each for _, each in cases], dtype=bool)
        hits = int((fired & truth).sum())
        precision = hits / fired.sum() if fired.any() else math.nan
        recall = hits / truth.sum() if truth.any() else math.nan
        numbers[name] = precision, recall
        both = 2 * hits / (fired.sum() + truth.sum()) if fired.any() or truth.any() else math.nan
        cells = ["–" if each != each else f"{100 * each:.0f}%" for each in (precision, recall, both)]
        lines.append([name, int(fired.sum()), *cells])
    return table(["it overfits, by", "cases", "precision", "recall", "F1"], lines), numbers


def kinds(cases):
    """Return the table of what the study says of settings, and what is true of them."""
    lines = []
    for kind in dict.fromkeys(kind for kind, _ in sorted(cases, key=lambda each: each[0])):
        part = [row for each, row in cases if each == kind]
        gap = np.mean([row["true_gap"] / row["test"] for row in part])
        truth = [share([row[f"{key}_helps"] for row in part]) for key in ("regularising", "richer")]
        lines.append([kind, len(part), f"{100 * gap:.0f}%", *truth])
    header = ["Does it fit?", "cases", "true gap, of the error", "regularising helps", "a richer one helps"]
    return table(header, lines)


def is_best(row):
    """Whether a setting has the smallest CV error of its family, of equal ones the most rigid."""
    names = row["within"]["compared"]
    return len(names) > 1 and row["name"] == min(names, key=lambda each: row["settings"][each]["cv"])


def selected_truth(row):
    """Whether a less flexible setting of the list has an error that is truly smaller."""
    others = less_flexible(row, list(row["settings"]))
    return any(large(row["test"] - row["settings"][each]["test"], row) for each in others)


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


def expectations(areas, sets, said, numbers, rule_numbers):
    """Return the table of what was expected, and whether it was met."""

    def beyond(values):
        mean, standard_error = spread(values)
        return mean > 2 * standard_error

    def less(truth, names, others):
        return sets[truth, names] - sets[truth, others]

    flags = {flag: numbers["within", flag] for flag in ("overfitted", "underfitted")}
    fine = [harmless(row, row["all"]["alternative"]) for row in said if row["all"]["alternative"] is not None]
    memory, gap = areas["memorisation", "regularising"], areas["gap", "regularising"]
    today = rule_numbers["study: overfits"]
    better = [
        name
        for name, each in rule_numbers.items()
        if each[0] >= today[0] and each[1] >= today[1] and each != today and not name.endswith(ADDED)
    ]  # fmt: skip
    by = "regularising"
    three = ("gap", "memorisation", "variance")
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
            flags["overfitted"]["regularising_helps"].mean() > 0.5, share(flags["overfitted"]["regularising_helps"]),
        ),
        (
            "Verdict *underfitted*: a richer setting helps in more than half",
            flags["underfitted"]["richer_helps"].mean() > 0.5, share(flags["underfitted"]["richer_helps"]),
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


def page(store):
    """Return the tables as Markdown."""
    frame, selected = read(store)
    single, areas = alone(frame)
    combined, sets = together(frame)
    flags, numbers = verdicts(frame)
    rows = frame.to_dict("records")
    diagnosed_rows = [row for row in rows if row["within"]["kind"] != "baseline"]
    regularised = [row for row in diagnosed_rows if row["place"] > 0]
    cases = [
        (rules(row, row["within"], row["within"]["compared"]), row["regularising_helps"]) for row in regularised
    ]  # fmt: skip
    by_rule, rule_numbers = judged(cases)
    of_family = [row for row in diagnosed_rows if is_best(row)]
    by_rule_family, _ = judged(
        [
            (rules(row, row["within"], row["within"]["compared"]), row["regularising_helps"])
            for row in of_family
            if row["place"] > 0
        ]
    )
    of_study = [row for row in selected if row["study"]["kind"] != "baseline"]
    of_selected, _ = judged(
        [(rules(row, row["study"], list(row["settings"])), selected_truth(row)) for row in of_study]
    )
    expected = expectations(areas, sets, rows, numbers, rule_numbers)
    true = [row["regularising_helps"] for row in regularised]
    samples = frame[["table", "rows", "seed"]].drop_duplicates()
    about = ABOUT.format(
        count=len(samples), planned=SAMPLES * (len(SIZES) * len(TABLES) - 1), tables=frame["table"].nunique(),
        seeds=" and ".join(f"{count} of {rows} rows" for rows, count in samples["rows"].value_counts().items()),
        classification=sum(task == "classification" for task in TABLES.values()),
        regression=sum(task == "regression" for task in TABLES.values()), sizes=" and ".join(map(str, SIZES)),
        settings=max(len(each) for _, each in frame.groupby(["table", "rows", "seed"])), test=TEST_ROWS,
        fewest=FEWEST_TEST_ROWS, repeats=REPEATS, folds=FOLDS, rounds=ROUNDS, point=100 * POINT, share=100 * SHARE,
        undefined=int(frame[["memorisation", "variance"]].isna().any(axis=1).sum()), cases=len(frame),
    )  # fmt: skip
    command = (
        "    python -m benchmarks.perturbed_diagnosis --data FOLDER --store perturbed_diagnosis.jsonl \\\n"
        "        --out docs/perturbed-diagnosis.md"
    )
    parts = [
        "# Is Perturbed Model Validation a good diagnosis?",
        command,
        CONCLUSION,
        about,
        "## What was expected",
        expected,
        HEADINGS["alone"],
        single,
        by_share(frame),
        HEADINGS["partial"],
        partials(frame),
        HEADINGS["together"],
        combined,
        HEADINGS["verdicts"],
        flags,
        HEADINGS["rules"],
        f"True in {share(true)} cases.",
        by_rule,
        claims([(row, row["within"]) for row in diagnosed_rows]),
        kinds([(row["within"]["kind"], row) for row in diagnosed_rows]),
        HEADINGS["family"],
        f"True in {share([row['regularising_helps'] for row in of_family])} cases.",
        by_rule_family,
        claims([(row, row["within"]) for row in of_family]),
        kinds([(row["within"]["kind"], row) for row in of_family]),
        HEADINGS["selected"],
        f"True in {share([selected_truth(row) for row in of_study])} cases.",
        of_selected,
        claims([(row, row["study"]) for row in of_study]),
        kinds([(row["study"]["kind"], row) for row in selected]),
        HEADINGS["settings"],
        by_setting(frame),
    ]
    return "\n\n".join(each for each in parts if each) + "\n"


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


def main(arguments=None):
    parser = argparse.ArgumentParser(prog="python -m benchmarks.perturbed_diagnosis", description=__doc__)
    parser.add_argument("--data", type=Path, default=os.environ.get("TRUEFIT_DATA"))
    parser.add_argument("--store", type=Path, default=Path("perturbed_diagnosis.jsonl"))
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
