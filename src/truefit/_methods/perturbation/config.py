"""Config of a perturbation: which noise, at which levels, how often, and which rows lie near the decision boundary."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import FitError, InvalidEstimator, InvalidInput, reasons
from truefit._core.parameters import check_takes_weights
from truefit._core.protocols import Ask, FitTask, Plan, Response
from truefit._core.rows import Rows
from truefit._core.typing import Floats
from truefit._methods.candidates import Candidates
from truefit._methods.perturbation.noise import (
    FeatureNoise,
    FlippedLabels,
    Noise,
    PermutedTargets,
    count,
    with_noisy_rows,
)
from truefit._methods.splitting.splits import Splits, is_whole, make_splits, row_subset, whole_number
from truefit._metrics.scorers import aligned_answer


def ranking_response(name: str, estimator: Any) -> Response:
    """Return the response of an estimator that ranks rows by confidence."""
    if hasattr(estimator, "predict_proba"):
        return "predict_proba"
    if hasattr(estimator, "decision_function"):
        return "decision_function"
    raise InvalidEstimator(
        "perturbation='boundary' needs a first estimator with predict_proba or decision_function. "
        f"{name!r} is a {type(estimator).__name__} with neither; put another first."
    )


def boundary_plan(estimator: Any, response: Response, data: Data, splits: Splits) -> Plan[Floats]:
    """Return the distance of each row from the decision boundary, from out-of-fold predictions."""
    outcomes = yield [FitTask(estimator, split.train, (Ask(split.test, response),)) for split in splits]
    failures = [outcome.error for outcome in outcomes if outcome.error is not None]
    if failures:
        raise FitError(
            f"The decision boundary needs all {len(outcomes)} fits. {len(failures)} failed. {reasons(failures)}",
            failures,
        )
    found = np.empty(data.n)
    for split, outcome in zip(splits, outcomes, strict=True):
        predicted = aligned_answer(outcome, data, split.test, response)
        assert predicted is not None
        found[split.test.index] = gaps(predicted)
    return found


def gaps(predicted: npt.ArrayLike) -> Floats:
    """Gap between the two largest values of each row; the absolute value of a single column.

    >>> gaps([[0.2, 0.5, 0.3], [0.9, 0.1, 0.0]]).round(12).tolist(), gaps([-1.5, 0.25]).tolist()
    ([0.2, 0.8], [1.5, 0.25])
    """
    values = np.asarray(predicted, dtype=np.float64)
    if values.ndim == 1:
        return np.abs(values)
    ordered = np.sort(values, axis=1)
    # A class that a fold's model has not seen has a decision value of minus infinity.
    return np.where(np.isfinite(ordered[:, -2]), ordered[:, -1] - ordered[:, -2], np.inf)


PerturbationKind = Literal["auto", "label", "random", "boundary", "feature", "target"]
Mode = Literal["default", "paper"]

#: Kinds of noise by task; the first is "auto".
_KINDS = {"classification": ("label", "random", "boundary", "feature"), "regression": ("target", "feature")}

#: Noise levels of the paper, and the original table.
PAPER_LEVELS = tuple(round(0.05 * step, 2) for step in range(11))
#: Levels of the first stages of an adaptive grid, and repeats of the very first.
CHEAP_LEVELS = (0.0, 0.25, 0.5)
CHEAP_REPEATS = 5
REPEATS = 10


@dataclass(frozen=True, slots=True)
class NoiseGrid:
    """Noise levels and how often each is drawn."""

    levels: tuple[float, ...]
    repeats: int


@dataclass(frozen=True)
class PerturbationConfig:
    """How a table of ``rows`` and their perturbed copies is perturbed; no noise until the boundary is fitted."""

    data: Data
    rows: int
    kind: str
    noise: Noise | None
    stages: tuple[NoiseGrid, ...]
    folds: int | None
    bounds: bool
    mode: Mode
    level: float
    random_state: int | None

    def splits(self) -> Splits | None:
        """Return the folds that other methods share for these rows."""
        if self.folds is None:
            return None
        if self.rows == self.data.n:
            return make_splits(self.data, "kfold", k=self.folds, random_state=self.random_state)
        part = row_subset(self.data, np.arange(self.rows))
        folds = make_splits(part, "kfold", k=self.folds, random_state=self.random_state)
        pairs = ((Rows.of(split.train.index), split.test) for split in folds)
        return Splits(pairs, False, 1, folds.description, chronological=folds.chronological)


def perturbation_config(
    candidates: Candidates,
    data: Data,
    *,
    levels: Any,
    repeats: Any,
    perturbation: Any,
    mode: Any,
    cv: Any,
    bounds: bool,
    level: float,
    random_state: int | None,
) -> PerturbationConfig:
    """Check the options, and make the config for a table."""
    if mode not in get_args(Mode):
        raise InvalidInput(f"The 'mode' parameter must be 'default' or 'paper'. Got {mode!r} instead.")
    kind = _checked_kind(data, perturbation)
    _check_rows(data)
    if data.weight is not None:
        for _, estimator in candidates:
            check_takes_weights(estimator)
    if repeats is None:
        repeats = 1 if mode == "paper" else REPEATS
    stages = _stages(levels, whole_number(repeats, "The 'repeats' parameter"))
    # The paper does not use cross-validation for its verdict.
    folds = None if mode == "paper" and kind != "boundary" else _checked_folds(cv, data)
    if kind == "boundary":
        ranking_response(*next(iter(candidates)))
        if folds is None:
            raise InvalidInput("perturbation='boundary' needs cross-validation. Got cv=None; pass cv=5.")
        if data.time is not None:
            raise InvalidInput(
                "perturbation='boundary' needs held-out predictions of all rows, and in time order the first ones have "
                "none. Use perturbation='label'."
            )
    if bounds and (data.classes is None or len(data.classes) != 2 or kind == "feature"):
        raise InvalidInput(
            "bounds=True needs flipped labels of two classes. Got "
            f"{'a regression' if data.classes is None else f'{len(data.classes)} classes'} and perturbation={kind!r}; "
            "pass bounds=False."
        )
    rows = data.n
    noise: Noise | None = None
    if kind in ("label", "random"):
        noise = FlippedLabels(data, within_classes=kind == "label", random_state=random_state)
    elif kind == "target":
        noise = PermutedTargets(data, random_state)
    elif kind == "feature":
        data = with_noisy_rows(data, stages[-1].repeats, random_state)
        noise = FeatureNoise(data, rows, random_state)
    _check_reach(stages[0].levels, rows, kind, data)
    return PerturbationConfig(data, rows, kind, noise, stages, folds, bounds, mode, level, random_state)


def _checked_kind(data: Data, perturbation: Any) -> str:
    if perturbation not in get_args(PerturbationKind):
        offered = ", ".join(map(repr, get_args(PerturbationKind)))
        raise InvalidInput(f"The 'perturbation' parameter must be one of {offered}. Got {perturbation!r} instead.")
    offered_here = _KINDS[data.task]
    kind = offered_here[0] if perturbation == "auto" else perturbation
    if kind not in offered_here:
        what = "labels of a classification" if data.task == "regression" else "targets of a regression"
        raise InvalidInput(
            f"perturbation={kind!r} is for {what}. Got a {data.task}; use {' or '.join(map(repr, offered_here))}."
        )
    return str(kind)


def _check_rows(data: Data) -> None:
    if data.classes is not None:
        return
    if data.n < 2:
        raise InvalidInput("Permuting targets needs at least 2 rows. Got 1 sample; pass more rows.")
    if not np.ptp(data.y, axis=0).any():
        raise InvalidInput(f"The target y must vary. All its values are {data.y.flat[0].item()!r}; check the column.")


def _stages(levels: Any, repeats: int) -> tuple[NoiseGrid, ...]:
    if levels is None:
        return (NoiseGrid(PAPER_LEVELS, repeats),)
    if not isinstance(levels, str):
        return (NoiseGrid(_checked_levels(levels), repeats),)
    if levels != "adaptive":
        raise InvalidInput(f"The 'levels' parameter must be None, 'adaptive' or a list of shares. Got {levels!r}.")
    few = min(repeats, CHEAP_REPEATS)
    stages = (NoiseGrid(CHEAP_LEVELS, few), NoiseGrid(CHEAP_LEVELS, repeats), NoiseGrid(PAPER_LEVELS, repeats))
    return tuple(dict.fromkeys(stages))


def _checked_levels(levels: Any) -> tuple[float, ...]:
    listed = list(levels) if isinstance(levels, Iterable) else [levels]
    for each in listed:
        number = isinstance(each, int | float | np.number) and not isinstance(each, bool)
        if not number or not 0 <= float(each) <= 0.5:  # NaN is in no range
            raise InvalidInput(
                f"The 'levels' parameter must be shares from 0 to 0.5. Got {each!r}; pass levels such as "
                "[0.1, 0.3, 0.5]."
            )
    found = tuple(sorted({0.0, *(round(float(each), 12) for each in listed)}))
    if len(found) < 2:
        raise InvalidInput(f"The 'levels' parameter must have a share above 0. Got {levels!r}; pass [0.25, 0.5].")
    return found


def _check_reach(levels: tuple[float, ...], rows: int, kind: str, data: Data) -> None:
    """Refuse levels at which no row would be perturbed."""
    largest = rows if data.codes is None or kind in ("random", "feature") else int(np.bincount(data.codes).max())
    least = 2 if kind == "target" else 1
    if count(max(levels), largest) < least:
        raise InvalidInput(
            f"The largest noise level must perturb at least {least} row{'s' * (least > 1)}. Got {max(levels):g} of "
            f"{rows} rows, which is fewer; pass larger levels, or more rows."
        )


def _checked_folds(cv: Any, data: Data) -> int | None:
    if cv is None:
        return None
    if not is_whole(cv) or cv < 2:
        raise InvalidInput(f"The 'cv' parameter must be a whole number of at least 2, or None. Got {cv!r} instead.")
    most = data.n if data.groups is None else len(np.unique(data.groups))
    if data.time is not None:
        most = len(np.unique(data.time)) - 1
    # The rates do not depend on the folds: with few rows, fewer folds will do.
    return min(int(cv), most) if most >= 2 else None
