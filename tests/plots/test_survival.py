"""Every drawing survives what results can be: one fold, one name, thirty long ones, three rows, NaN, all equal."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
from sklearn.metrics import precision_recall_curve, roc_curve

from truefit._plots.bias_variance import bias_variance
from truefit._plots.calibration import Reliability, calibration
from truefit._plots.classification import confusion, decision_curves, precision_recall, roc
from truefit._plots.curve import bands
from truefit._plots.forest import differences, fold_scores, forest
from truefit._plots.regression import predicted_vs_true, residuals

LONG = [f"pipeline-standardscaler-selectkbest-logisticregression-{i}-balanced" for i in range(30)]
PAIRS = [f"{name} − {LONG[7]}" for name in LONG]
SOME = ["ridge", "a $forest$ of_trees", LONG[0]]
NAN = np.nan


def rows(n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    return y, 1 / (1 + np.exp(-(1.5 * (y - 0.5) + rng.normal(size=n))))


def reliability(n: int, seed: int = 0) -> Reliability:
    y, p = rows(n, seed)
    means = np.array([p.mean()]), np.array([y.mean()]), np.array([NAN]), np.array([NAN])
    return Reliability(p, means, None, float(np.mean((y - p) ** 2)))


def decisions(count: int) -> tuple:
    at = np.array([0.1, 0.5])
    return at, [(at, np.full(2, NAN), np.full(2, NAN))] * count, -at


def roc_folds(count: int, n: int = 40) -> list:
    return [roc_curve(*rows(n, seed))[:2] for seed in range(count)]


def pr_folds(count: int, n: int = 40) -> list:
    curves = [precision_recall_curve(*rows(n, seed)) for seed in range(count)]
    return [(recall, precision) for precision, recall, _ in curves]


def lines(names: list[str], n: int) -> dict:
    rng = np.random.default_rng(1)
    return {name: (v := rng.random(n), v - 0.1, v + 0.1) for name in names}


def about(n: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    values = np.random.default_rng(2).normal(size=n)
    return values, values - 0.4, values + 0.3


NOTHING = [NAN] * 3
ALIKE = np.full(40, 0.2), (np.array([0.2]),) * 4, None, 0.0
UNDEFINED = ([0.0, 1.0], [NAN, NAN])

CASES: dict[str, Callable] = {
    "forest, one": lambda: forest(["a"], [0.1], [0.1], [0.1], xlabel="error"),
    "forest, thirty": lambda: forest(LONG, *about(30), xlabel="error", best=LONG[3]),
    "forest, nothing": lambda: forest(SOME, NOTHING, NOTHING, NOTHING, xlabel="error"),
    "forest, endless": lambda: forest(SOME, [1, 2, 3], [-np.inf, 1, 2], [np.inf, np.inf, 4], xlabel="error"),
    "forest, all 0": lambda: forest(SOME, [0] * 3, [0] * 3, [0] * 3, xlabel="error"),
    "folds, one": lambda: fold_scores(["a"], [[0.1]], xlabel="error"),
    "folds, thirty": lambda: fold_scores(LONG, np.random.default_rng(0).random((30, 10)), xlabel="error"),
    "folds, NaN": lambda: fold_scores(SOME, [NOTHING, [1, NAN, 2], [1, 1, 1]], xlabel="error"),
    "differences, one": lambda: differences(["a − b"], [0.0], [0.0], [0.0], significant=[False], rope=0.01),
    "differences, thirty": lambda: differences(PAIRS, *about(30), significant=[True] * 30, rope=0.1, xlabel="d"),
    "differences, nothing": lambda: differences(SOME, NOTHING, NOTHING, NOTHING, significant=[False] * 3, rope=0.1),
    "differences, endless": lambda: differences(
        SOME, [1, 2, 3], [-np.inf, 1, 2], [np.inf, np.inf, 4], significant=[False, False, True]
    ),
    "roc, one fold": lambda: roc(["ridge"], [roc_folds(1)]),
    "roc, three rows": lambda: roc(["ridge"], [roc_folds(1, n=3)]),
    "roc, thirty": lambda: roc(LONG, [roc_folds(3)] * 30),
    "roc, undefined": lambda: roc(SOME, [[UNDEFINED, *roc_folds(4)], [UNDEFINED], []]),
    "roc, equal scores": lambda: roc(SOME[:1], [[([0, 1], [0, 1])] * 3]),
    "precision-recall, one fold": lambda: precision_recall(["ridge"], [pr_folds(1)], base_rate=0.5),
    "precision-recall, three rows": lambda: precision_recall(["ridge"], [pr_folds(1, n=3)], base_rate=0.333),
    "precision-recall, thirty": lambda: precision_recall(LONG, [pr_folds(3)] * 30, base_rate=0.5),
    "precision-recall, undefined": lambda: precision_recall(
        SOME, [[UNDEFINED, *pr_folds(4)], [UNDEFINED], []], base_rate=0.0
    ),
    "calibration, one": lambda: calibration(["ridge"], [reliability(300)]),
    "calibration, three rows": lambda: calibration(["ridge"], [reliability(3)]),
    "calibration, thirty": lambda: calibration(LONG, [reliability(100, i) for i in range(30)]),
    "calibration, equal numbers": lambda: calibration(["a"], [Reliability(*ALIKE)], probabilities=False),
    "decision, thirty": lambda: decision_curves(LONG, *decisions(30)),
    "residuals, three": lambda: residuals([1, 2, 3], [3, 2, 1]),
    "residuals, one": lambda: residuals([1.0], [1.0]),
    "residuals, NaN": lambda: residuals([1, NAN, 3, np.inf], [3, 2, NAN, 1]),
    "residuals, nothing": lambda: residuals([NAN], [1.0]),
    "residuals, equal": lambda: residuals([2.0] * 50, [2.0] * 50),
    "residuals, many": lambda: residuals(*np.random.default_rng(0).standard_t(3, size=(2, 20_000))),
    "predicted, three": lambda: predicted_vs_true([1, 2, 3], [3, 2, 1]),
    "predicted, NaN": lambda: predicted_vs_true([1, NAN, 3], [3, 2, NAN]),
    "predicted, nothing": lambda: predicted_vs_true([NAN], [1.0]),
    "predicted, equal": lambda: predicted_vs_true([0.0] * 9, [0.0] * 9),
    "predicted, many": lambda: predicted_vs_true(*np.random.default_rng(0).standard_t(3, size=(2, 20_000))),
    "bands, one point": lambda: bands([3], lines(SOME, 1), xlabel="x", ylabel="y", mark=("ridge", 3)),
    "bands, thirty": lambda: bands(np.arange(9), lines(LONG, 9), xlabel="x", ylabel="y"),
    "bands, nothing": lambda: bands([1, 2, 3], {"a": (NOTHING, None, None)}, xlabel="x", ylabel="y", mark=("a", 2)),
    "bands, equal": lambda: bands([1, 2, 3], {n: ([0.5] * 3, None, None) for n in SOME}, xlabel="x", ylabel="y"),
    "bands, log": lambda: bands([1e-3, 1, 1e3], lines(SOME, 3), xlabel="x", ylabel="y", log_x=True, mark=("ridge", 1)),
    "bands, names": lambda: bands(SOME, lines(SOME, 3), xlabel="x", ylabel="y", mark=("ridge", SOME[2])),
    "bands, thirty names": lambda: bands(LONG, lines(SOME, 30), xlabel="x", ylabel="y", mark=("ridge", LONG[0])),
    "bands, infinity": lambda: bands([1, np.inf], lines(SOME, 2), xlabel="C", ylabel="y", mark=("ridge", np.inf)),
    "bands, long label": lambda: bands([1, 2], lines(SOME, 2), xlabel="rows", ylabel="neg_mean_absolute_error " * 4),
    "bands, percent": lambda: bands([0.1, 0.4], lines(SOME, 2), xlabel="x", ylabel="y", percent=True, percent_x=True),
    "bands, many names": lambda: bands([f"name {i}" for i in range(90)], lines(SOME, 90), xlabel="x", ylabel="y"),
    "bias and variance, one": lambda: bias_variance(["a"], [0.3], [0.1], xlabel="loss"),
    "bias and variance, thirty": lambda: bias_variance(LONG, *np.random.default_rng(0).random((2, 30)), xlabel="loss"),
    "bias and variance, nothing": lambda: bias_variance(SOME, NOTHING, NOTHING, noise=NOTHING, xlabel="loss"),
    "bias and variance, below 0": lambda: bias_variance(
        SOME, [0.3, 0.2, 0.1], [-0.1, 0.1, NAN], noise=[0.1] * 3, xlabel="loss", percent=True
    ),
    "bias and variance, all 0": lambda: bias_variance(SOME, [0] * 3, [0] * 3, xlabel="loss"),
    "confusion, one": lambda: confusion([[5]], ["only"]),
    "confusion, NaN": lambda: confusion([[5, NAN], [0, 0]], ["a", "b"]),
    "confusion, wide": lambda: confusion(np.full((16, 16), 98_765), LONG[:16]),
    "confusion, thirty": lambda: confusion(np.eye(30), LONG),
    "confusion, hundred": lambda: confusion(np.eye(100), [f"class {i}" for i in range(100)]),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_drawing_survives(case: str, check_layout) -> None:
    check_layout(CASES[case]())
