"""Designs: the splits, bootstrap samples, and the further fits that an estimate or its interval needs.

With the folds of one partition, the fit without a pair of folds serves both: together these fits are the triangle.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, cast, get_args

import numpy as np
import numpy.typing as npt

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.rows import Rows, add_tokens
from truefit._methods.splitting.splits import DESIGNS as SPLIT_DESIGNS
from truefit._methods.splitting.splits import (
    Split,
    Splits,
    cv_splits,
    is_whole,
    make_splits,
    row_subset,
    shared_partition,
    whole_number,
)
from truefit._metrics.metric import Metric

#: A sample that cannot be used is redrawn, at most so many times.
_ATTEMPTS = 1000


def draw_samples(data: Data, rounds: int, random_state: int | None = None) -> Iterator[Split]:
    """Draw bootstrap samples one by one: each trains on n rows drawn with replacement, and tests on the other rows.

    A sample depends on the rows' content, the seed and its own number alone: not on the order of the rows, and not on
    the number of samples, so that methods share their fits. With groups whole groups are drawn. A sample with a single
    class, or without test rows, is redrawn.
    """
    rounds = whole_number(rounds, "The 'rounds' parameter")
    if data.n < 2:
        raise InvalidInput(f"A bootstrap needs at least 2 rows. Got {data.n}.")
    first, second = add_tokens(data.tokens)
    seed = f"bootstrap {first:016x}{second:016x} {data.n} {random_state}"
    return _samples(data, rounds, seed)


def _samples(data: Data, rounds: int, seed: str) -> Iterator[Split]:
    blocks = _blocks(data)
    for number in range(rounds):
        digest = blake2b(f"{seed} {number}".encode(), digest_size=16).digest()
        yield _sample(data, blocks, np.random.default_rng(int.from_bytes(digest, "little")))


def _blocks(data: Data) -> list[npt.NDArray[np.intp]] | npt.NDArray[np.intp]:
    """Return the rows, or groups of rows, to draw from, in an order that depends on their content alone."""
    if data.groups is None:
        return np.lexsort((data.tokens[:, 1], data.tokens[:, 0]))
    codes = data.group_codes
    return np.split(np.argsort(codes, kind="stable"), np.cumsum(np.bincount(codes))[:-1])


def _sample(
    data: Data, blocks: list[npt.NDArray[np.intp]] | npt.NDArray[np.intp], random: np.random.Generator
) -> Split:
    for _ in range(_ATTEMPTS):
        drawn = random.integers(len(blocks), size=len(blocks))
        train = np.concatenate([blocks[i] for i in drawn]) if isinstance(blocks, list) else blocks[drawn]
        left_out = np.ones(data.n, dtype=bool)
        left_out[train] = False
        one_class = data.codes is not None and np.ptp(data.codes[train]) == 0
        if left_out.any() and not one_class:
            return Split(Rows.of(train), Rows.of(np.flatnonzero(left_out)))
    raise InvalidInput(
        f"A bootstrap sample must have test rows and, for a classification, two classes. Of {len(blocks)} "
        f"{'groups' if data.groups is not None else 'rows'} no such sample could be drawn. Pass more."
    )


def has_triangle(splits: Splits) -> bool:
    """Whether the fit without a pair of folds is the same from either side."""
    return splits.partition and len(splits) >= 3 * splits.repeats


def pair_splits(n: int, splits: Splits) -> list[list[Split]]:
    """For each fold, a split per other fold of its partition: trained without both, tested on the other."""
    pairs: dict[frozenset[int], Rows] = {}
    tests = [split.test for split in splits]
    per_repeat = len(splits) // splits.repeats
    found = []
    for a, held_out in enumerate(tests):
        group = []
        for b in _other_folds(a, per_repeat):
            pair = frozenset((a, b))
            if pair not in pairs:
                pairs[pair] = Rows.without(n, np.concatenate([held_out.listed, tests[b].listed]))
            group.append(Split(pairs[pair], tests[b], a // per_repeat))
        found.append(group)
    return found


def _other_folds(fold: int, per_repeat: int) -> list[int]:
    """Return the other folds of the same partition."""
    start = fold - fold % per_repeat
    return [other for other in range(start, start + per_repeat) if other != fold]


def pairs_by_test_fold(splits: Splits) -> list[list[tuple[int, int]]]:
    """For each fold, where ``pair_splits`` has the pairs tested on it: the other fold, and the place among its own."""
    per_repeat = len(splits) // splits.repeats
    return [[(b, a % per_repeat - (a > b)) for b in _other_folds(a, per_repeat)] for a in range(len(splits))]


IntervalChoice = Literal["auto", "pooled", "bayle", "corrected_t", "triangle", "nested_cv", "conservative_z"]
Kind = Literal["splits", "nested", "threeway", "bootstrap", ".632", ".632+"]

BOOTSTRAPS = ("bootstrap", ".632", ".632+")
DESIGNS = (*SPLIT_DESIGNS, "threeway", "nested", *BOOTSTRAPS)

#: Default number of bootstrap samples.
BOOTSTRAP_ROUNDS = 100
#: With fewer repeats of nested cross-validation the triangle's own interval is the better one.
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


def is_mean_over_rows(metric: Metric, data: Data) -> bool:
    """Whether a metric is made of values of single rows, and the rows count alike and are independent."""
    alike = data.groups is None and data.weight is None and data.time is None
    return alike and (metric.row_loss is not None or metric.smooth is not None)


@dataclass(frozen=True, slots=True)
class _Request:
    data: Data
    metric: Metric
    design: str
    cv: Any
    repeats: int | None
    interval: str
    random_state: int | None

    @property
    def by_rows(self) -> bool:
        return is_mean_over_rows(self.metric, self.data)


def make_design(
    data: Data,
    metric: Metric,
    *,
    cv: Any,
    design: Any = None,
    repeats: int | None = None,
    interval: str = "auto",
    random_state: int | None = None,
) -> Design:
    """Return the splits of a design for a table, with the fits that the interval needs.

    ``interval="auto"`` becomes a method here where that decides on the fits; otherwise the estimate decides.
    """
    if interval not in get_args(IntervalChoice):
        offered = ", ".join(map(repr, get_args(IntervalChoice)))
        raise InvalidInput(f"The 'interval' parameter must be one of {offered}. Got {interval!r} instead.")
    name = "kfold" if design is None else design
    if not isinstance(name, str) or name not in DESIGNS:
        raise InvalidInput(
            f"The 'design' parameter must be None or one of {', '.join(map(repr, DESIGNS))}. Got {design!r} instead; "
            "splitters and (train, test) pairs are given as cv."
        )
    if cv is not None and not is_whole(cv) and name != "kfold":
        raise InvalidInput(f"With design={name!r} 'cv' must be a number of folds. Got {cv!r}; omit one of the two.")
    cv = 5 if cv is None else cv
    if data.time is not None:
        _check_in_time(name, interval)
    request = _Request(data, metric, name, cv, repeats, interval, random_state)
    if name in BOOTSTRAPS:
        return _bootstrap(request)
    return _three_way(request) if name == "threeway" else _cross_validation(request)


def _check_in_time(design: str, interval: str) -> None:
    """Refuse designs that would train on later rows, and intervals that need them."""
    if design not in ("kfold", "holdout"):
        raise InvalidInput(
            f"design={design!r} trains on rows that are later than its test rows, which time forbids. Omit it for "
            "forward-chaining over cv periods, or use design='holdout' for the last period."
        )
    if interval != "auto":
        raise InvalidInput(
            f"With time the interval is computed from the spread over periods. Got interval={interval!r}; use 'auto'."
        )


def _cross_validation(request: _Request) -> Design:
    """Cross-validation, nested cross-validation, hold-outs and leave-one-out."""
    nested, repeats = request.design == "nested", 1 if request.repeats is None else request.repeats
    if nested or request.design == "kfold":
        splits = cv_splits(request.data, request.cv, repeats=repeats, random_state=request.random_state)
    else:
        splits = make_splits(
            request.data, request.design, k=request.cv, repeats=repeats, random_state=request.random_state
        )
    interval = request.interval
    if nested and interval == "auto" and request.by_rows:
        interval = "nested_cv" if splits.repeats >= NESTED_REPEATS else "triangle"
    return Design("nested" if nested else "splits", splits, interval, _interval_fits(request, splits, interval))


def _bootstrap(request: _Request) -> Design:
    rounds = BOOTSTRAP_ROUNDS if request.repeats is None else request.repeats
    if not is_whole(rounds) or rounds < 2:
        raise InvalidInput(
            f"A bootstrap needs a whole number of at least 2 samples, given as repeats. Got {rounds!r} instead."
        )
    if request.interval != "auto":
        raise InvalidInput(f"A bootstrap has an interval of its own. Got interval={request.interval!r}; use 'auto'.")
    samples = draw_samples(request.data, int(rounds), request.random_state)
    splits = Splits.of(samples, f"{rounds} bootstrap samples")
    everything = Rows.all(request.data.n)
    extra = () if request.design == "bootstrap" else (Split(everything, everything),)
    return Design(cast("Kind", request.design), splits, request.interval, extra)


def _three_way(request: _Request) -> Design:
    data, folds = request.data, request.cv
    if request.repeats not in (None, 1):
        raise InvalidInput(f"A three-way hold-out has no repeats. Got repeats={request.repeats!r}; omit it.")
    if folds < 3:
        raise InvalidInput(f"A three-way hold-out needs a fold to train on: cv must be 3 or more. Got cv={folds}.")
    fold_of_row = shared_partition(data, folds, random_state=request.random_state)
    test, validation = (np.flatnonzero(fold_of_row == fold) for fold in (0, 1))
    train = Rows.without(data.n, np.concatenate([test, validation]))
    share = f"{100 / folds:.0f}%"
    splits = Splits.of(
        [Split(Rows.without(data.n, test), Rows.of(test))],
        f"three-way hold-out ({share} validation rows, {share} test rows)",
    )
    return Design("threeway", splits, request.interval, (Split(train, Rows.of(validation)),))


def _interval_fits(request: _Request, splits: Splits, interval: str) -> tuple[Split, ...]:
    """Return the further fits of an interval; refuse an interval that these splits and rows do not allow."""
    if interval in ("triangle", "nested_cv") and not has_triangle(splits):
        raise InvalidInput(
            f"interval={interval!r} needs 3 or more folds that partition the rows. Got {splits.description}. Use "
            "cv=5, or another interval."
        )
    tested_once = splits.partition or len(splits) == 1
    if interval in ("triangle", "nested_cv", "pooled", "bayle") and not (request.by_rows and tested_once):
        given = (("groups", request.data.groups), ("weights", request.data.weight))
        names = " and ".join(name for name, values in given if values is not None)
        raise InvalidInput(
            f"interval={interval!r} needs a per-sample metric on independent rows, each tested once. Got "
            f"{request.metric.name} by {splits.description}{' with ' if names else ''}{names}. Use interval='auto'."
        )
    if interval == "conservative_z":
        if not (request.design == "holdout" and splits.repeats > 1):
            raise InvalidInput(
                "The conservative z needs repeated hold-outs. Use design='holdout' with repeats=15, or interval='auto'."
            )
        return _halves(request.data, request.cv, splits.repeats, request.random_state)
    if interval in ("triangle", "nested_cv"):
        return tuple(split for group in pair_splits(request.data.n, splits) for split in group)
    return ()


def _halves(data: Data, k: int, holdouts: int, random_state: int | None) -> tuple[Split, ...]:
    """Return hold-outs within halves of the table, with as many test rows as those of the whole table."""
    found = []
    for halving in range(HALVINGS):
        side = shared_partition(data, 2, repeat=holdouts + halving, random_state=random_state)
        for half in (0, 1):
            rows = np.flatnonzero(side == half)
            part = row_subset(data, rows)
            for repeat in range(holdouts):
                folds = shared_partition(part, max(k // 2, 2), repeat=repeat, random_state=random_state)
                test = rows[folds == 0]
                found.append(Split(Rows.of(rows[folds != 0]), Rows.of(test), repeat))
    return tuple(found)
