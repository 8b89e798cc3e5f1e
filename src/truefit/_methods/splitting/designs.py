"""Designs: the splits that are tested on, and the further fits that an estimate or its interval needs.

Holds the bootstrap samples too, and the triangle: with the folds of one partition, every pair of folds left out is one
fit that two folds share.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Literal, cast

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
)
from truefit._metrics.metric import Metric

#: A sample that cannot be used is drawn again; after so many in a row there is none to be had.
_ATTEMPTS = 1000


def bootstrap_samples(data: Data, rounds: int, random_state: int | None = None) -> Splits:
    """Return bootstrap samples as splits: each trains on n rows drawn with replacement and tests on those not drawn.

    See :func:`draw_samples`, which does not hold them all at once.
    """
    return Splits.of(draw_samples(data, rounds, random_state), f"{rounds} bootstrap samples")


def draw_samples(data: Data, rounds: int, random_state: int | None = None) -> Iterator[Split]:
    """Draw bootstrap samples one after the other.

    A sample depends on the rows' content, the seed and its own number alone: not on the order of the rows, and not on
    how many samples are drawn. So whoever asks for samples of these rows gets the same ones and shares the fits. With
    groups whole groups are drawn. A sample that holds one class only, or leaves no row out, is drawn again.

    Parameters
    ----------
    data : Data
    rounds : int
        How many samples.
    random_state : int, optional

    Returns
    -------
    iterator of Split
        The training rows are a multiset of positions; the rows to test on are those that it lacks.

    Examples
    --------
    >>> from truefit._core.data import Data
    >>> data = Data([[0.0], [1.0], [2.0], [3.0]], [0.5, 1.5, 2.5, 4.0], task="regression")
    >>> for sample in draw_samples(data, 2):
    ...     print(len(sample.train), set(sample.train.index) | set(sample.test.index) == {0, 1, 2, 3})
    4 True
    4 True
    """
    if not is_whole(rounds) or rounds < 1:
        raise InvalidInput(f"The 'rounds' parameter must be a whole number of at least 1. Got {rounds!r} instead.")
    if data.n < 2:
        raise InvalidInput(f"A bootstrap needs at least 2 rows. Got {data.n}.")
    first, second = add_tokens(data.tokens)
    seed = f"bootstrap {first:016x}{second:016x} {data.n} {random_state}"
    return _samples(data, int(rounds), seed)


def _samples(data: Data, rounds: int, seed: str) -> Iterator[Split]:
    blocks = _blocks(data)
    for number in range(rounds):
        digest = blake2b(f"{seed} {number}".encode(), digest_size=16).digest()
        yield _sample(data, blocks, np.random.default_rng(int.from_bytes(digest, "little")))


def _blocks(data: Data) -> list[npt.NDArray[np.intp]] | npt.NDArray[np.intp]:
    """Return what is drawn, in an order that does not depend on where the rows stand: rows, or groups of rows."""
    if data.groups is None:
        return np.lexsort((data.tokens[:, 1], data.tokens[:, 0]))
    _, codes = np.unique(data.groups, return_inverse=True)
    order = np.argsort(codes, kind="stable")
    return np.split(order, np.cumsum(np.bincount(codes))[:-1])


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
        f"A bootstrap sample must leave rows out and, for a classification, hold two classes. Of {len(blocks)} "
        f"{'groups' if data.groups is not None else 'rows'} no such sample could be drawn. Pass more."
    )


def has_triangle(splits: Splits) -> bool:
    """Whether leaving out a second fold leaves rows to train on, and the same ones from either side."""
    return splits.partition and len(splits) >= 3 * splits.repeats


def pair_splits(n: int, splits: Splits) -> list[list[Split]]:
    """For each fold, a split per other fold of its partition: trained without both, tested on the other.

    The training rows of a pair are one object, whichever of the two is tested on.
    """
    pairs: dict[tuple[int, int], Rows] = {}
    tests = [split.test for split in splits]
    per_repeat = len(splits) // splits.repeats
    found = []
    for a, left_out in enumerate(tests):
        start = a - a % per_repeat
        group = []
        for b in range(start, start + per_repeat):
            if b == a:
                continue
            pair = (min(a, b), max(a, b))
            if pair not in pairs:
                pairs[pair] = Rows.without(n, np.concatenate([left_out.listed, tests[b].listed]))
            group.append(Split(pairs[pair], tests[b], a // per_repeat))
        found.append(group)
    return found


def pairs_by_test_fold(splits: Splits) -> list[list[tuple[int, int]]]:
    """For each fold, where ``pair_splits`` has the pairs tested on it: the other fold, and the place among its own."""
    per_repeat = len(splits) // splits.repeats
    found = []
    for a in range(len(splits)):
        start = a - a % per_repeat
        others = (b for b in range(start, start + per_repeat) if b != a)
        found.append([(b, a - start - (a > b)) for b in others])
    return found


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


def is_mean_over_rows(metric: Metric, data: Data) -> bool:
    """Whether a metric is made of values of single rows, and the rows count alike and are independent."""
    return (metric.row_loss is not None or metric.smooth is not None) and data.groups is None and data.weight is None


@dataclass(frozen=True, slots=True)
class _Request:
    """What a design is made of."""

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

    @property
    def dependence(self) -> str:
        given = (("groups", self.data.groups), ("weights", self.data.weight))
        names = [name for name, values in given if values is not None]
        return f" with {' and '.join(names)}" if names else ""


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

    Without a ``design`` it is cross-validation by ``cv``: a number of folds, a splitter, or (train, test) pairs. For
    designs of another name ``cv`` is a number of folds. ``interval="auto"`` becomes a method here where that decides on
    the fits; otherwise it is left to the estimate.
    """
    name = "kfold" if design is None else design
    if not isinstance(name, str) or name not in DESIGNS:
        raise InvalidInput(
            f"The 'design' parameter must be None or one of {', '.join(map(repr, DESIGNS))}. Got {design!r} instead; "
            "splitters and (train, test) pairs are given as cv."
        )
    if cv is not None and not is_whole(cv) and name != "kfold":
        raise InvalidInput(
            f"With design={name!r} 'cv' must be a number of folds. Got {cv!r}; leave out one of the two."
        )
    cv = 5 if cv is None else cv
    return _MAKERS[name](_Request(data, metric, name, cv, repeats, interval, random_state))


def _cross_validation(request: _Request) -> Design:
    """Cross-validation, hold-outs and leave-one-out."""
    splits = _splits(request, request.design)
    return Design("splits", splits, request.interval, _interval_fits(request, splits, request.interval))


def _nested(request: _Request) -> Design:
    splits = _splits(request, "kfold")
    interval = request.interval
    if interval == "auto" and request.by_rows:
        interval = "nested_cv" if splits.repeats >= NESTED_REPEATS else "triangle"
    return Design("nested", splits, interval, _interval_fits(request, splits, interval))


def _splits(request: _Request, design: str) -> Splits:
    repeats = 1 if request.repeats is None else request.repeats
    if design == "kfold":
        return cv_splits(request.data, request.cv, repeats=repeats, random_state=request.random_state)
    return make_splits(request.data, design, k=request.cv, repeats=repeats, random_state=request.random_state)


def _bootstrap(request: _Request) -> Design:
    rounds = BOOTSTRAP_ROUNDS if request.repeats is None else request.repeats
    if not is_whole(rounds) or rounds < 2:
        raise InvalidInput(
            f"A bootstrap needs a whole number of at least 2 samples, given as repeats. Got {rounds!r} instead."
        )
    if request.interval != "auto":
        raise InvalidInput(f"A bootstrap has an interval of its own. Got interval={request.interval!r}; use 'auto'.")
    splits = bootstrap_samples(request.data, int(rounds), request.random_state)
    everything = Rows.all(request.data.n)
    extra = () if request.design == "bootstrap" else (Split(everything, everything),)
    return Design(cast("Kind", request.design), splits, request.interval, extra)


def _three_way(request: _Request) -> Design:
    data, folds = request.data, request.cv
    if request.repeats not in (None, 1):
        raise InvalidInput(f"A three-way hold-out is made once. Got repeats={request.repeats!r}; leave it out.")
    if folds < 3:
        raise InvalidInput(
            f"A three-way hold-out takes 2 folds away from training: cv must be 3 or more. Got cv={folds}."
        )
    fold_of_row = shared_partition(data, folds, random_state=request.random_state)
    test, validation = (np.flatnonzero(fold_of_row == fold) for fold in (0, 1))
    train = Rows.without(data.n, np.concatenate([test, validation]))
    share = f"{100 / folds:.0f}%"
    splits = Splits.of(
        [Split(Rows.without(data.n, test), Rows.of(test))],
        f"three-way hold-out ({share} to choose on, {share} to test on)",
    )
    return Design("threeway", splits, request.interval, (Split(train, Rows.of(validation)),))


_MAKERS: dict[str, Callable[[_Request], Design]] = {
    **dict.fromkeys(SPLIT_DESIGNS, _cross_validation),
    "nested": _nested,
    "threeway": _three_way,
    **dict.fromkeys(BOOTSTRAPS, _bootstrap),
}


def _interval_fits(request: _Request, splits: Splits, interval: str) -> tuple[Split, ...]:
    """Return the further fits that an interval needs; refuse an interval that these splits and rows do not allow."""
    needs = _INTERVAL_FITS.get(interval)
    return () if needs is None else needs(request, splits, interval)


def _pairs_of_folds(request: _Request, splits: Splits, interval: str) -> tuple[Split, ...]:
    if not has_triangle(splits):
        raise InvalidInput(
            f"interval={interval!r} needs 3 or more folds that partition the rows. Got {splits.description}. Use "
            "cv=5, or another interval."
        )
    if not request.by_rows:
        raise InvalidInput(
            f"interval={interval!r} needs a metric that is made of values of independent rows. Got "
            f"{request.metric.name}{request.dependence}. Use interval='auto'."
        )
    return tuple(split for group in pair_splits(request.data.n, splits) for split in group)


def _rows_tested_once(request: _Request, splits: Splits, interval: str) -> tuple[Split, ...]:
    if not (request.by_rows and (splits.partition or len(splits) == 1)):
        raise InvalidInput(
            f"interval={interval!r} needs a metric that is made of values of independent rows, each tested once. Got "
            f"{request.metric.name} by {splits.description}{request.dependence}. Use interval='auto'."
        )
    return ()


def _holdouts_in_halves(request: _Request, splits: Splits, interval: str) -> tuple[Split, ...]:
    if not (request.design == "holdout" and splits.repeats > 1):
        raise InvalidInput(
            "The conservative z needs repeated hold-outs. Use design='holdout' with repeats=15, or interval='auto'."
        )
    return _halves(request.data, request.cv, splits.repeats, request.random_state)


_INTERVAL_FITS: dict[str, Callable[[_Request, Splits, str], tuple[Split, ...]]] = {
    "triangle": _pairs_of_folds,
    "nested_cv": _pairs_of_folds,
    "pooled": _rows_tested_once,
    "bayle": _rows_tested_once,
    "conservative_z": _holdouts_in_halves,
}


def _halves(data: Data, k: int, holdouts: int, random_state: int | None) -> tuple[Split, ...]:
    """Hold-outs within halves of the table, with as many test rows as those of the whole: half after half."""
    found = []
    for halving in range(HALVINGS):
        # Partitions beyond those of the hold-outs themselves.
        side = shared_partition(data, 2, repeat=holdouts + halving, random_state=random_state)
        for half in (0, 1):
            rows = np.flatnonzero(side == half)
            part = row_subset(data, rows)
            for repeat in range(holdouts):
                folds = shared_partition(part, max(k // 2, 2), repeat=repeat, random_state=random_state)
                test = rows[folds == 0]
                found.append(Split(Rows.of(rows[folds != 0]), Rows.of(test), repeat))
    return tuple(found)
