"""Splits: which rows train and which test, and the partition that methods share."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any, Protocol

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedGroupKFold

from truefit.core.errors import InvalidInput
from truefit.core.rows import Rows
from truefit.core.tokens import Tokens, mix

Array = npt.NDArray[Any]


class Table(Protocol):
    """What splitting has to know of some rows; Data knows it, and so does a part of one."""

    @property
    def n(self) -> int: ...  # noqa: D102
    @property
    def y(self) -> Array: ...  # noqa: D102
    @property
    def tokens(self) -> Tokens: ...  # noqa: D102
    @property
    def groups(self) -> Array | None: ...  # noqa: D102
    @property
    def classes(self) -> Array | None: ...  # noqa: D102
    @property
    def codes(self) -> Array | None: ...  # noqa: D102


DESIGNS = ("holdout", "kfold", "loo")
_WANTED = (
    f"The 'design' parameter must be one of {', '.join(map(repr, DESIGNS))}, a scikit-learn splitter, or an iterable "
    "of (train, test) index arrays. Got {!r} instead."
)


@dataclass(frozen=True, slots=True)
class Split:
    """Rows to train on and rows to test on."""

    train: Rows
    test: Rows
    repeat: int = 0


@dataclass(frozen=True, slots=True)
class Splits:
    """A design spelled out for a table.

    ``partition`` says that within each repeat the test sets hold every row once, each with the rest as training
    set: only then do pairs of folds make the triangle of fits.
    """

    splits: tuple[Split, ...]
    partition: bool
    repeats: int
    description: str

    def __iter__(self) -> Iterator[Split]:
        return iter(self.splits)

    def __len__(self) -> int:
        return len(self.splits)

    @property
    def share(self) -> float:
        """Mean size of a test set over the mean size of its training set."""
        return sum(len(s.test) for s in self.splits) / max(sum(len(s.train) for s in self.splits), 1)


def make_splits(data: Table, design: Any, *, k: int = 5, repeats: int = 1, random_state: int | None = None) -> Splits:
    """Spell out a design: a name, a scikit-learn splitter, or an iterable of (train, test) index arrays."""
    if not is_whole(repeats) or repeats < 1:
        raise InvalidInput(f"The 'repeats' parameter must be a whole number of at least 1. Got {repeats!r} instead.")
    if repeats > 1 and not (isinstance(design, str) and design in ("kfold", "holdout")):
        raise InvalidInput(f"Only 'kfold' and 'holdout' can be repeated. Got repeats={repeats} for {design!r}.")
    if isinstance(design, LeaveOneOut) or (isinstance(design, str) and design == "loo"):
        return leave_one_out(data)
    if not isinstance(design, str):
        return splits_of(data, design)
    if design not in DESIGNS:
        raise InvalidInput(_WANTED.format(design))
    found = []
    for repeat in range(int(repeats)):
        folds = shared_partition(data, k, repeat=repeat, random_state=random_state)
        for fold in range(1 if design == "holdout" else k):
            test = np.flatnonzero(folds == fold)
            found.append(Split(Rows.without(data.n, test), Rows.of(test), repeat))
    times = f"{repeats} times " if repeats > 1 else ""
    if design == "holdout":
        return Splits(tuple(found), False, int(repeats), f"{times}hold-out of {100 / k:.0f}% of the rows")
    return Splits(tuple(found), True, int(repeats), f"{times}{k}-fold cross-validation")


def leave_one_out(data: Table) -> Splits:
    """Leave out each row once; the training sets stay lazy."""
    if data.n < 2:
        raise InvalidInput(f"Leave-one-out needs at least 2 rows. Got {data.n} sample.")
    splits = tuple(Split(Rows.without(data.n, i), Rows.of(np.array([i]))) for i in range(data.n))
    return Splits(splits, True, 1, "leave-one-out cross-validation")


def shared_partition(data: Table, k: int, *, repeat: int = 0, random_state: int | None = None) -> npt.NDArray[np.intp]:
    """Fold of each row, from the rows' content, k, the repeat number and the seed alone.

    Rows are shuffled by their tokens and dealt out class by class, so whoever asks for k folds of these rows gets
    the same folds and shares the fits. Rows of one group stay together.
    """
    _check_k(data, k)
    tokens = data.tokens
    if random_state is not None or repeat:
        salt = blake2b(f"{random_state} {repeat}".encode(), digest_size=16).digest()
        tokens = mix(tokens, np.broadcast_to(np.frombuffer(salt, dtype="<u8"), tokens.shape))
    if data.groups is not None:
        return _grouped_partition(data, k, int(tokens[:, 0].sum(dtype=np.uint64)) % 2**31)
    keys = (tokens[:, 1], tokens[:, 0])
    order = np.lexsort(keys if data.codes is None else (*keys, data.codes))
    folds = np.empty(data.n, dtype=np.intp)
    folds[order] = np.arange(data.n) % k
    return folds


def _grouped_partition(data: Table, k: int, seed: int) -> npt.NDArray[np.intp]:
    kind = GroupKFold if data.codes is None else StratifiedGroupKFold
    splitter = kind(n_splits=k, shuffle=True, random_state=seed)
    folds = np.empty(data.n, dtype=np.intp)
    target = data.y if data.codes is None else data.codes
    for fold, (_, test) in enumerate(splitter.split(np.zeros(data.n), target, data.groups)):
        folds[test] = fold
    return folds


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, Python's or numpy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def _check_k(data: Table, k: Any) -> None:
    if not is_whole(k) or k < 2:
        raise InvalidInput(f"The number of folds k must be a whole number of at least 2. Got {k!r} instead.")
    if k > data.n:
        raise InvalidInput(
            f"The number of folds k must not be greater than the number of rows. Got k={k} and n_samples={data.n}. "
            "Use fewer folds, or design='loo'."
        )
    if data.groups is not None:
        groups = len(np.unique(data.groups))
        if k > groups:
            raise InvalidInput(f"k must not be greater than the number of groups. Got k={k} and {groups} groups.")
    elif data.codes is not None and data.classes is not None:
        counts = np.bincount(data.codes)
        if k > counts.min():
            rarest = data.classes[counts.argmin()].item()
            raise InvalidInput(
                f"k must not be greater than the number of rows in the smallest class. Got k={k}, and class {rarest!r} "
                f"has {counts.min()} rows. Use at most {counts.min()} folds, or merge rare classes."
            )


def splits_of(data: Table, design: Any) -> Splits:
    """Consume a splitter, or an iterable of (train, test) pairs, once."""
    name = type(design).__name__
    found = []
    for train, test in _pairs(data, design, name):
        train, test = (_positions(part, data.n, name) for part in (train, test))
        used = np.zeros(data.n, dtype=bool)
        used[train] = True
        if used[test].any():
            raise InvalidInput(
                f"Rows to test on must not be trained on. A split of {name} has rows in both parts. Mend the splitter."
            )
        used[test] = True
        rows = Rows.of(test)
        # The rest of the table is known by what it leaves out: the same list of rows serves for both.
        rest = len(train) + len(test) == data.n and used.all()
        found.append(Split(Rows(rows.listed, data.n) if rest else Rows.train_of(data.n, train), rows))
    if not found:
        raise InvalidInput(f"A design must have at least one split. {name} gave none.")
    repeats, partition = _repeats_of(data.n, found)
    if repeats > 1:
        per = len(found) // repeats
        found = [Split(s.train, s.test, i // per) for i, s in enumerate(found)]
    label = name if hasattr(design, "split") else "given"
    return Splits(tuple(found), partition, repeats, f"{len(found)} splits ({label})")


def _pairs(data: Table, design: Any, name: str) -> Iterator[tuple[Any, Any]]:
    if hasattr(design, "split"):
        target = data.y if data.codes is None else data.codes
        try:
            yield from design.split(np.zeros((data.n, 1)), target, data.groups)
        except ValueError as error:
            if "groups" in str(error) and data.groups is None:
                raise InvalidInput(
                    f"{name} splits by groups, so groups must be given. Got none. Pass groups=, one value per row."
                ) from error
            raise InvalidInput(f"{name} cannot split these {data.n} rows: {error} Choose another splitter.") from error
    elif isinstance(design, Iterable):
        yield from design
    else:
        raise InvalidInput(_WANTED.format(design))


def _positions(part: Any, n: int, name: str) -> npt.NDArray[np.intp]:
    positions = np.asarray(part)
    if positions.dtype == bool:
        positions = np.flatnonzero(positions)
    if positions.ndim != 1 or positions.size == 0 or positions.dtype.kind not in "iu":
        raise InvalidInput(f"Each part of a split must be a non-empty array of row positions. {name} gave {part!r}.")
    if positions.min() < 0 or positions.max() >= n:
        raise InvalidInput(
            f"Row positions of a split must lie in 0..{n - 1}. {name} gave {positions.min()}..{positions.max()}."
        )
    return positions.astype(np.intp)


def _repeats_of(n: int, splits: list[Split]) -> tuple[int, bool]:
    """Return how often the splits in their order go through all rows exactly once, and whether they do."""
    seen = np.zeros(n, dtype=bool)
    count = repeats = 0
    for split in splits:
        test = split.test.index
        if len(split.train) + len(test) != n or seen[test].any() or len(np.unique(test)) != len(test):
            return 1, False
        seen[test] = True
        count += len(test)
        if count == n:
            repeats, count = repeats + 1, 0
            seen[:] = False
    whole = count == 0 and len(splits) % repeats == 0
    return (repeats, True) if whole else (1, False)
