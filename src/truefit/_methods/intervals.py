"""Plan of prediction intervals: the models of the folds with the scores of their held-out rows, and the final model."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import FitError, reasons
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Keep, Plan, Response
from truefit._core.rows import Rows
from truefit._core.typing import Floats, Positions
from truefit._methods.splitting.splits import Splits
from truefit._metrics.scorers import aligned_answer
from truefit._stats.conformal import fold_quantiles

#: Scores of more rows than this are a random sample of them: as valid, and cheaper to predict with and to save.
MOST_SCORES: Final = 5_000
#: Bins of the predictions in the table of coverage.
BINS: Final = 5


@dataclass(frozen=True, slots=True, eq=False)
class FoldModels:
    """The final model, the model of each fold, and of each held-out row its fold, score and weight."""

    final: Any
    members: list[Any]
    folds: Positions
    scores: Floats
    weights: Floats | None
    new_weight: float
    coverage: dict[str, list[Any]]


def interval_plan(estimator: Any, splits: Splits, data: Data, level: float) -> Plan[FoldModels]:
    """Fit on all but each fold and on all rows, and score the held-out rows."""
    if data.weight is not None:
        check_takes_weights(estimator)
    response: Response = "predict_proba" if data.task == "classification" else "predict"
    tasks = [
        FitTask(estimator, split.train, (Ask(split.test, response),), keep=Keep(("interval", place)))
        for place, split in enumerate(splits)
    ]
    tasks.append(FitTask(estimator, Rows.all(data.n), keep=Keep("final")))
    outcomes = yield tasks
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        raise FitError(
            f"Prediction intervals need the model of every fold and the final one. {len(failures)} of {len(tasks)} "
            f"could not be fitted. {reasons(failures)}",
            failures,
        )
    *of_folds, final = outcomes
    index = np.concatenate([split.test.index for split in splits])
    folds = np.repeat(np.arange(len(splits)), [len(split.test) for split in splits])
    predicted = [aligned_answer(o, data, s.test, response) for o, s in zip(of_folds, splits, strict=True)]
    answers = np.concatenate([each for each in predicted if each is not None])
    if data.codes is None:
        scores = np.abs(data.y[index] - answers)
    else:
        scores = 1 - answers[np.arange(len(index)), data.codes[index]]
    weights, new_weight = _weights(data, index)
    even = np.ones(len(index)) if weights is None else weights
    limits = fold_quantiles(scores, folds, level, even, new_weight)[folds]
    coverage = _coverage(data, index, answers, scores <= limits, limits)
    if len(index) > MOST_SCORES and data.groups is None:
        kept = np.sort(np.random.default_rng(0).permutation(len(index))[:MOST_SCORES])
        folds, scores = folds[kept], scores[kept]
        weights = None if weights is None else weights[kept]
    members = [outcome.model for outcome in of_folds]
    return FoldModels(final.model, members, folds, np.asarray(scores, np.float64), weights, new_weight, coverage)


def _weights(data: Data, index: Positions) -> tuple[Floats | None, float]:
    """Return the weight of each score and that of a new row: of groups each counts once."""
    weight = None if data.weight is None else data.weight[index]
    if data.groups is not None:
        codes = data.group_codes[index]
        own = np.ones(len(index)) if weight is None else weight
        sums = np.bincount(codes, own)
        return own / sums[codes], 1.0
    return weight, 1.0 if weight is None else float(weight.mean())


def _coverage(data: Data, index: Positions, answers: Floats, covered: Any, limits: Floats) -> dict[str, list[Any]]:
    """Return coverage and width of the held-out rows by size of prediction, or by predicted class.

    The model of a row's fold predicts it, and the scores of the other folds give the width. Rows count by weight.
    """
    if data.classes is not None and data.codes is not None:
        labels = answers.argmax(axis=1)
        sets = 1 - answers <= limits[:, None]
        sets[np.arange(len(sets)), labels] = True
        covered = sets[np.arange(len(sets)), data.codes[index]]
        names, size, sizes = [str(label) for label in data.classes], "classes", sets.sum(axis=1)
    else:
        edges = np.unique(np.quantile(answers, np.arange(1, BINS) / BINS))
        labels = np.searchsorted(edges, answers, side="right")
        ends: Sequence[Any] = [f"{edge:.4g}" for edge in edges]
        names = ["all"] if not len(ends) else [f"below {ends[0]}"]
        names += [f"{low} to {high}" for low, high in pairwise(ends)]
        names += [f"from {ends[-1]}"] if len(ends) else []
        size, sizes = "width", 2 * limits
    found: dict[str, list[Any]] = {"prediction": [], "rows": [], "coverage": [], size: []}
    weight = np.ones(len(index)) if data.weight is None else data.weight[index]
    parts = [(name, labels == label) for label, name in enumerate(names)]
    for name, own in [*parts, ("all rows", np.ones(len(index), dtype=bool))]:
        if weight[own].sum() > 0:
            found["prediction"].append(name)
            found["rows"].append(int(own.sum()))
            found["coverage"].append(float(np.average(covered[own], weights=weight[own])))
            found[size].append(float(np.average(sizes[own], weights=weight[own])))
    return found
