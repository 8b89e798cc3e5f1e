"""Design: the splits that are tested on, and the further fits that an estimate or its interval needs."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from truefit.core.data import Data
from truefit.core.errors import InvalidInput
from truefit.core.rows import Rows
from truefit.methods.splitting.part import Part
from truefit.methods.splitting.resampling import bootstrap_samples
from truefit.methods.splitting.splits import DESIGNS as SPLIT_DESIGNS
from truefit.methods.splitting.splits import Split, Splits, is_whole, make_splits, shared_partition
from truefit.methods.splitting.triangle import has_triangle, pair_splits
from truefit.metrics.metric import Metric

Kind = Literal["splits", "nested", "threeway", "bootstrap", ".632", ".632+"]

BOOTSTRAPS = ("bootstrap", ".632", ".632+")
DESIGNS = (*SPLIT_DESIGNS, "threeway", "nested", *BOOTSTRAPS)

#: Bootstrap samples that are drawn unless another number is asked for.
BOOTSTRAP_ROUNDS = 100
#: Repeated nested cross-validation has settled by then; below, the triangle's own interval is the better one.
NESTED_REPEATS = 10
#: How often the conservative z halves the table.
HALVINGS = 7


@dataclass(frozen=True, slots=True)
class Design:
    """Splits that are tested on, and further ones for the estimate or its interval.

    What ``extra`` holds depends on ``kind`` and ``interval``: the pairs of folds of the triangle, hold-outs within
    halves of the table, all rows for the apparent error, or the validation rows of a three-way hold-out.
    """

    kind: Kind
    splits: Splits
    interval: str
    extra: tuple[Split, ...] = ()

    def suits(self, metric: Metric) -> bool:
        """Whether the interval can be made for a metric."""
        by_rows = metric.row_loss is not None or metric.smooth is not None
        return by_rows or self.interval not in ("triangle", "nested_cv", "pooled", "bayle")


def made_of_rows(metric: Metric, data: Data) -> bool:
    """Whether a metric is made of values of single rows, and the rows count alike and are independent."""
    return (metric.row_loss is not None or metric.smooth is not None) and data.groups is None and data.weight is None


def make_design(
    data: Data,
    design: Any,
    metric: Metric,
    *,
    k: int,
    repeats: int | None,
    interval: str,
    random_state: int | None,
) -> Design:
    """Spell out a design for a table, with the fits that the interval needs.

    ``interval="auto"`` becomes a method here where that decides on the fits; otherwise it is left to the estimate.
    """
    if isinstance(design, str) and design not in DESIGNS:
        raise InvalidInput(
            f"The 'design' parameter must be one of {', '.join(map(repr, DESIGNS))}, a scikit-learn splitter, or an "
            f"iterable of (train, test) index arrays. Got {design!r} instead."
        )
    if isinstance(design, str) and design in BOOTSTRAPS:
        return _bootstrap(data, design, repeats=repeats, interval=interval, random_state=random_state)
    if isinstance(design, str) and design == "threeway":
        return _three_way(data, k, repeats=repeats, interval=interval, random_state=random_state)
    nested = isinstance(design, str) and design == "nested"
    splits = make_splits(
        data, "kfold" if nested else design, k=k, repeats=1 if repeats is None else repeats, random_state=random_state
    )
    by_rows = made_of_rows(metric, data)
    if nested and interval == "auto" and by_rows:
        interval = "nested_cv" if splits.repeats >= NESTED_REPEATS else "triangle"
    if interval in ("triangle", "nested_cv"):
        _check_triangle(data, splits, by_rows, metric, interval)
        pairs = tuple(split for group in pair_splits(data.n, splits) for split in group)
        return Design("nested" if nested else "splits", splits, interval, pairs)
    if interval in ("pooled", "bayle") and not (by_rows and (splits.partition or len(splits) == 1)):
        raise InvalidInput(
            f"interval={interval!r} needs a metric that is made of values of independent rows, each tested once. Got "
            f"{metric.name} by {splits.description}{_dependence(data)}. Use interval='auto'."
        )
    if interval == "conservative_z":
        if not (isinstance(design, str) and design == "holdout" and splits.repeats > 1):
            raise InvalidInput(
                "The conservative z needs repeated hold-outs. Use design='holdout' with repeats=15, or interval='auto'."
            )
        return Design("splits", splits, interval, _halves(data, k, splits.repeats, random_state))
    return Design("nested" if nested else "splits", splits, interval)


def _dependence(data: Data) -> str:
    given = [name for name, values in (("groups", data.groups), ("weights", data.weight)) if values is not None]
    return f" with {' and '.join(given)}" if given else ""


def _check_triangle(data: Data, splits: Splits, by_rows: bool, metric: Metric, interval: str) -> None:
    if not has_triangle(splits):
        raise InvalidInput(
            f"interval={interval!r} needs 3 or more folds that partition the rows. Got {splits.description}. Use "
            "design='kfold', or another interval."
        )
    if not by_rows:
        raise InvalidInput(
            f"interval={interval!r} needs a metric that is made of values of independent rows. Got {metric.name}"
            f"{_dependence(data)}. Use interval='auto'."
        )


def _bootstrap(data: Data, design: Any, *, repeats: int | None, interval: str, random_state: int | None) -> Design:
    rounds = BOOTSTRAP_ROUNDS if repeats is None else repeats
    if not is_whole(rounds) or rounds < 2:
        raise InvalidInput(
            f"A bootstrap needs a whole number of at least 2 samples, given as repeats. Got {rounds!r} instead."
        )
    if interval != "auto":
        raise InvalidInput(f"A bootstrap has an interval of its own. Got interval={interval!r}; use 'auto'.")
    splits = bootstrap_samples(data, int(rounds), random_state)
    everything = Rows.all(data.n)
    extra = () if design == "bootstrap" else (Split(everything, everything),)
    return Design(design, splits, interval, extra)


def _three_way(data: Data, k: int, *, repeats: int | None, interval: str, random_state: int | None) -> Design:
    if repeats not in (None, 1):
        raise InvalidInput(f"A three-way hold-out is made once. Got repeats={repeats!r}; leave it out.")
    if is_whole(k) and k < 3:
        raise InvalidInput(f"A three-way hold-out takes 2 of k folds away from training: k must be 3 or more. Got {k}.")
    folds = shared_partition(data, k, random_state=random_state)
    test, validation = (np.flatnonzero(folds == fold) for fold in (0, 1))
    train = Rows.without(data.n, np.concatenate([test, validation]))
    share = f"{100 / k:.0f}%"
    splits = Splits.of(
        [Split(Rows.without(data.n, test), Rows.of(test))],
        f"three-way hold-out ({share} to choose on, {share} to test on)",
    )
    return Design("threeway", splits, interval, (Split(train, Rows.of(validation)),))


def _halves(data: Data, k: int, holdouts: int, random_state: int | None) -> tuple[Split, ...]:
    """Hold-outs within halves of the table, with as many test rows as those of the whole: half after half."""
    found = []
    for halving in range(HALVINGS):
        # Partitions beyond those of the hold-outs themselves.
        side = shared_partition(data, 2, repeat=holdouts + halving, random_state=random_state)
        for half in (0, 1):
            rows = np.flatnonzero(side == half)
            part = Part(data, rows)
            for repeat in range(holdouts):
                folds = shared_partition(part, max(k // 2, 2), repeat=repeat, random_state=random_state)
                test = rows[folds == 0]
                found.append(Split(Rows.of(rows[folds != 0]), Rows.of(test), repeat))
    return tuple(found)
