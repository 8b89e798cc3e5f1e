"""A sample of a table: the diagnoses of every setting, and its error on the other rows."""

from __future__ import annotations

import math
import time
from types import SimpleNamespace

import numpy as np
import pandas as pd
from sklearn.base import clone
from sklearn.model_selection import train_test_split

import truefit
from benchmarks.perturbed_diagnosis.settings import (
    FEWEST_TEST_ROWS,
    FOLDS,
    GOOD_FROM,
    LEVELS,
    REPEATS,
    ROUNDS,
    SAMPLES,
    SIZES,
    TABLES,
    TEST_ROWS,
    settings,
)
from benchmarks.real_table import table_file
from truefit import Engine
from truefit._api.validation import read_input, resolve_metric
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.perturbation.verdict import diagnose
from truefit._study.evidence import StudyEvidence
from truefit._study.fit_diagnosis import fit_diagnosis, variance_share
from truefit._study.plan import _TRAINED, _simpler


def planned(folder):
    """Return all samples, one of each table and size before the next."""
    files = {name: table_file(folder, name.split()[0]) for name in TABLES}
    lengths = {name: len(pd.read_parquet(file, columns=[])) for name, file in files.items()}
    return [
        (name, rows, seed)
        for seed in range(SAMPLES)
        for rows in SIZES
        for name in TABLES
        if lengths[name] - rows >= FEWEST_TEST_ROWS
    ]


def drawn(name, rows, seed, folder):
    """Return rows to diagnose on and test rows; categories become columns, a numeric target has unit variance."""
    frame = pd.read_parquet(table_file(folder, name.split()[0]))
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


def diagnosed(name, rows, seed, folder):
    """Diagnose every setting on one sample, and measure the truth: a line of the store."""
    began, task = time.process_time(), TABLES[name]
    (X, y), (X_test, y_test) = drawn(name, rows, seed, folder)
    families = settings(task)
    estimators = {each: estimator for family in families.values() for each, estimator in family.items()}
    kind = "error" if task == "classification" else "rmse"
    with Engine(progress=False) as engine:
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
        verdict = {each: own.flag for each, own in diagnose(known, noise.errors, classes=classes).items()}
        found.perturbation = SimpleNamespace(verdict=verdict, by_name=known, names=list(known), errors=noise.errors)
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
