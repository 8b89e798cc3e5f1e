"""Splits: which rows train and which test, and the partition that methods share."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any, overload

import numpy as np
import numpy.typing as npt
from sklearn.model_selection import GroupKFold, LeaveOneOut, StratifiedGroupKFold, TimeSeriesSplit

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.rows import Rows, salted
from truefit._core.typing import Positions
from truefit._methods.splitting.forward import (
    check_forward,
    earlier_splits,
    forward_pairs,
    refuse_splitter,
    series_pairs,
    warn_of_one_class,
)
from truefit._methods.splitting.pairs import LeaveOneOutPairs, PackedPairs, Pair
from truefit._methods.text import counted
from truefit._stats.clustered import LEAST_GROUPS

DESIGNS = ("holdout", "kfold", "loo")
_WANTED = (
    f"The 'design' parameter must be one of {', '.join(map(repr, DESIGNS))}, a scikit-learn splitter, or an iterable "
    "of (train, test) index arrays. Got {!r} instead."
)


@dataclass(slots=True, unsafe_hash=True)
class Split:
    """Rows to train on and rows to test on."""

    train: Rows
    test: Rows
    repeat: int = 0


#: With more pairs than this, or more bytes in their lists of rows, they are packed.
_MOST_PAIRS, _MOST_BYTES = 1_000, 64 << 20


class Splits(Sequence[Split]):
    """The splits of a design for a table.

    Within each repeat of a ``partition`` the test sets hold every row once, each with the rest as training set: only
    then do pairs of folds make the triangle of fits. Each repeat has equally many splits. The test sets of
    ``chronological`` splits are periods in time, each later than its training set; ``skipped`` more are not tested.
    """

    __slots__ = ("_pairs", "_per_repeat", "_sizes", "chronological", "description", "partition", "repeats", "skipped")

    def __init__(
        self,
        pairs: Iterable[Pair] | LeaveOneOutPairs,
        partition: bool,
        repeats: int,
        description: str,
        *,
        chronological: bool = False,
    ) -> None:
        self._pairs, self._sizes = _collected(pairs)
        self.chronological = chronological
        self.skipped = 0
        self.describe(partition, repeats, description)

    def describe(self, partition: bool, repeats: int, description: str) -> None:
        """Set what is known once all splits are read."""
        self._per_repeat = max(len(self._pairs) // repeats, 1)
        self.partition = partition
        self.repeats = repeats
        self.description = description

    @classmethod
    def of(cls, splits: Iterable[Split], description: str) -> Splits:
        """Return splits that are no partition."""
        return cls(((split.train, split.test) for split in splits), False, 1, description)

    def periods(self, places: Iterable[int]) -> Splits:
        """Return some of the periods of chronological splits."""
        pairs = [self._pairs[place] for place in places]
        found = Splits(pairs, False, 1, self.description, chronological=True)
        found.skipped = len(self) - len(found)
        return found

    @overload
    def __getitem__(self, place: int) -> Split: ...
    @overload
    def __getitem__(self, place: slice) -> list[Split]: ...
    def __getitem__(self, place: int | slice) -> Split | list[Split]:
        if isinstance(place, slice):
            return [self[i] for i in range(*place.indices(len(self)))]
        train, test = self._pairs[place]
        return Split(train, test, (place if place >= 0 else place + len(self)) // self._per_repeat)

    def __iter__(self) -> Iterator[Split]:
        for place, (train, test) in enumerate(self._pairs):
            yield Split(train, test, place // self._per_repeat)

    def __len__(self) -> int:
        return len(self._pairs)

    @property
    def leave_one_out(self) -> bool:
        """Whether each row of the table is left out once."""
        return isinstance(self._pairs, LeaveOneOutPairs)

    @property
    def mean_train_rows(self) -> float:
        """Mean size of a training set."""
        return self._sizes[0] / max(len(self._pairs), 1)

    @property
    def share(self) -> float:
        """Mean size of a test set over the mean size of its training set."""
        return self._sizes[1] / max(self._sizes[0], 1)

    @property
    def forward(self) -> bool:
        """Whether every test set comes after its training set, as in a series over time."""
        return not self.partition and all(
            split.train.index[-1] < split.test.index[0] for split in self if len(split.train) and len(split.test)
        )


def _collected(
    pairs: Iterable[Pair] | LeaveOneOutPairs,
) -> tuple[list[Pair] | LeaveOneOutPairs | PackedPairs, tuple[int, int]]:
    """Return the pairs, and their total numbers of training and test rows."""
    if isinstance(pairs, LeaveOneOutPairs):
        return pairs, (pairs.n * (pairs.n - 1), pairs.n)
    trained, tested, row_bytes = 0, 0, 0
    listed: list[Pair] = []

    def counted() -> Iterator[Pair]:
        nonlocal trained, tested, row_bytes
        for train, test in pairs:
            trained, tested = trained + len(train), tested + len(test)
            row_bytes += train.nbytes + test.nbytes
            yield train, test

    rest = counted()
    for pair in rest:
        listed.append(pair)
        if len(listed) > _MOST_PAIRS or row_bytes > _MOST_BYTES:
            packed = PackedPairs(chain(listed, rest))
            return packed, (trained, tested)
    return listed, (trained, tested)


def make_splits(data: Data, design: Any, *, k: int = 5, repeats: int = 1, random_state: int | None = None) -> Splits:
    """Return the splits of a design: a name, a scikit-learn splitter, or an iterable of (train, test) index arrays."""
    repeats = whole_number(repeats, "The 'repeats' parameter")
    if data.time is not None:
        return forward_splits(data, design, k=k, repeats=repeats)
    if repeats > 1 and not (isinstance(design, str) and design in ("kfold", "holdout")):
        raise InvalidInput(f"Only 'kfold' and 'holdout' can be repeated. Got repeats={repeats} for {design!r}.")
    if isinstance(design, LeaveOneOut) or (isinstance(design, str) and design == "loo"):
        return leave_one_out(data)
    if not isinstance(design, str):
        return splits_of(data, design)
    if design not in DESIGNS:
        raise InvalidInput(_WANTED.format(design))
    _warn_of_rare_classes(data, k)

    def pairs() -> Iterator[Pair]:
        for repeat in range(repeats):
            folds = shared_partition(data, k, repeat=repeat, random_state=random_state)
            for fold in range(1 if design == "holdout" else k):
                test = Rows.of(np.flatnonzero(folds == fold))
                yield Rows(test.listed, data.n), test

    times = f"{repeats} times " if repeats > 1 else ""
    if design == "holdout":
        return Splits(pairs(), False, repeats, f"{times}hold-out of {100 / k:.0f}% of the rows")
    return Splits(pairs(), True, repeats, f"{times}{k}-fold cross-validation")


def forward_splits(data: Data, design: Any, *, k: int, repeats: int) -> Splits:
    """Return splits whose training rows are earlier than their test rows; refuse a design that has others."""
    if repeats > 1:
        raise InvalidInput(
            f"With time there is one order of the rows, so splits are not repeated. Got repeats={repeats}; omit it, or "
            "use more periods (cv)."
        )
    by_number = isinstance(design, str) and design in ("kfold", "holdout")
    if by_number:
        pairs = forward_pairs(data, whole_number(k, "The number of periods", 2))
        description = f"forward-chaining over {k} periods"
        if design == "holdout":
            pairs, description = pairs[-1:], f"hold-out of the last of {k + 1} periods"
    elif isinstance(design, TimeSeriesSplit):
        pairs = series_pairs(data, design)
        description = f"forward-chaining over {len(pairs)} periods (TimeSeriesSplit)"
    elif isinstance(design, str) or hasattr(design, "split") or not isinstance(design, Iterable):
        refuse_splitter(design)
    else:
        given = splits_of(data, design)
        pairs = [(split.train.index, split.test.index) for split in given]
        for train, test in pairs:
            check_forward(data, train, test)
        description = f"forward-chaining over {len(pairs)} periods (given)"
    warn_of_one_class(data, pairs, periods=by_number and design == "kfold")
    rows = ((Rows.train_of(data.n, train), Rows.of(test)) for train, test in pairs)
    return Splits(rows, False, 1, description, chronological=True)


def earlier_periods(data: Data, splits: Splits) -> list[list[Split]]:
    """For each of chronological splits, those before it, whose scores are known when its model is selected."""
    earlier = earlier_splits(data, [(split.train.index, split.test.index) for split in splits])
    return [[splits[place] for place in places] for places in earlier]


def cv_splits(data: Data, cv: Any, *, repeats: int = 1, random_state: int | None = None) -> Splits:
    """Return the splits of a ``cv`` parameter: a number of folds, a scikit-learn splitter, or (train, test) pairs."""
    if is_whole(cv):
        return make_splits(data, "kfold", k=int(cv), repeats=repeats, random_state=random_state)
    if isinstance(cv, str) or not (hasattr(cv, "split") or isinstance(cv, Iterable)):
        raise InvalidInput(
            "The 'cv' parameter must be a number of folds, a scikit-learn splitter, or an iterable of (train, test) "
            f"index arrays. Got {cv!r} instead."
        )
    return make_splits(data, cv, repeats=repeats)


def leave_one_out(data: Data) -> Splits:
    """Return the splits that hold out each row once; with groups each group."""
    if data.n < 2:
        raise InvalidInput(f"Leave-one-out needs at least 2 rows. Got {data.n} sample.")
    if data.groups is not None:
        tests = (Rows.of(np.flatnonzero(data.group_codes == group)) for group in range(data.n_groups))
        pairs = ((Rows(test.listed, data.n), test) for test in tests)
        return Splits(pairs, True, 1, "leave-one-group-out cross-validation")
    return Splits(LeaveOneOutPairs(data.n), True, 1, "leave-one-out cross-validation")


def shared_partition(data: Data, k: int, *, repeat: int = 0, random_state: int | None = None) -> npt.NDArray[np.intp]:
    """Return the fold of each row, from the rows' content, k, the repeat number and the seed alone.

    All methods that need k folds of these rows get the same ones and share the fits. Folds are stratified; rows of one
    group stay together. The rows of a class that has fewer than there are folds are spread as far as they go.
    """
    _check_k(data, k)
    tokens = data.tokens
    if random_state is not None or repeat:
        tokens = salted(tokens, f"{random_state} {repeat}")
    if data.groups is not None:
        return _grouped_partition(data, k, int(tokens[:, 0].sum(dtype=np.uint64)) % 2**31)
    keys = (tokens[:, 1], tokens[:, 0])
    order = np.lexsort(keys if data.codes is None else (*keys, data.codes))
    folds = np.empty(data.n, dtype=np.intp)
    folds[order] = np.arange(data.n) % k
    return folds


def _grouped_partition(data: Data, k: int, seed: int) -> npt.NDArray[np.intp]:
    stratified = data.codes is not None and np.bincount(data.codes).max() >= k
    splitter = (StratifiedGroupKFold if stratified else GroupKFold)(n_splits=k, shuffle=True, random_state=seed)
    folds = np.empty(data.n, dtype=np.intp)
    with warnings.catch_warnings():  # of rare classes: make_splits warns of them
        warnings.simplefilter("ignore", UserWarning)
        for fold, (_, test) in enumerate(splitter.split(np.zeros(data.n), data.codes, data.group_codes)):
            folds[test] = fold
    return folds


def is_whole(value: Any) -> bool:
    """Whether a value is a whole number, Python's or numpy's."""
    return isinstance(value, int | np.integer) and not isinstance(value, bool)


def whole_number(value: Any, what: str, least: int = 1) -> int:
    """Return a whole number of at least ``least``, or raise; ``what`` is what the message calls it."""
    if not is_whole(value) or value < least:
        raise InvalidInput(f"{what} must be a whole number of at least {least}. Got {value!r} instead.")
    return int(value)


def _check_k(data: Data, k: Any) -> None:
    whole_number(k, "The number of folds", 2)
    if k > data.n:
        advice = f"Use at most {data.n} folds, which is leave-one-out" if data.n > 1 else "Get more rows"
        raise InvalidInput(
            f"The number of folds must not be greater than the number of rows. Got {k} folds and "
            f"{counted(data.n, 'sample')}. {advice}."
        )
    if data.groups is not None and k > data.n_groups:
        advice = f"Use at most {data.n_groups} folds" if data.n_groups > 1 else "Get rows of more groups"
        raise InvalidInput(
            f"The number of folds must not be greater than the number of groups. Got {k} folds and "
            f"{counted(data.n_groups, 'group')}. {advice}, or leave groups out if rows are independent."
        )


def _warn_of_rare_classes(data: Data, k: Any) -> None:
    if data.codes is None or data.classes is None or not is_whole(k) or k > data.n:
        return
    counts = np.bincount(data.codes)
    rare = np.flatnonzero(counts < k)
    if len(rare):
        label, rows = data.classes[counts.argmin()].item(), counts.min()
        fewest = f"class {label!r} has {rows} row{'s' if rows > 1 else ''}"
        named = f"C{fewest[1:]}, fewer than the {k} folds"
        if len(rare) > 1:
            named = f"{len(rare):,} of the {len(counts):,} classes have fewer rows than the {k} folds ({fewest})"
        warnings.warn(
            f"{named}: some folds have no test row of {'it' if len(rare) == 1 else 'them'}.",
            UserWarning,
            stacklevel=3,
        )


def splits_of(data: Data, design: Any) -> Splits:
    """Consume a splitter, or an iterable of (train, test) pairs, once."""
    name = type(design).__name__
    runs = _Runs(data.n)

    def pairs() -> Iterator[Pair]:
        for train, test in _given_pairs(data, design, name):
            train, test = (_positions(part, data.n, name) for part in (train, test))
            used = np.zeros(data.n, dtype=bool)
            used[train] = True
            if used[test].any():
                raise InvalidInput(f"Training and test rows must not overlap. A split of {name} has rows in both.")
            if data.groups is not None:
                _check_whole_groups(data, train, test, name)
            used[test] = True
            rows = Rows.of(test)
            # Training rows that are the rest of the table share the list of the test rows.
            rest = len(train) + len(test) == data.n and bool(used.all())
            runs.add(test, rest)
            yield Rows(rows.listed, data.n) if rest else Rows.train_of(data.n, train), rows

    splits = Splits(pairs(), False, 1, "")
    if not splits:
        raise InvalidInput(f"A design must have at least one split. {name} gave none.")
    label = name if hasattr(design, "split") else "given"
    splits.describe(runs.partition, runs.repeats, f"{len(splits)} splits ({label})")
    return splits


def _check_whole_groups(data: Data, train: Positions, test: Positions, name: str) -> None:
    trained = np.zeros(data.n_groups, dtype=bool)
    trained[data.group_codes[train]] = True
    both = test[trained[data.group_codes[test]]]
    if len(both):
        assert data.groups is not None
        raise InvalidInput(
            f"A group must be in the training or in the test rows, not in both. A split of {name} has rows of group "
            f"{data.groups[both[:1]].tolist()[0]!r} in both. Use a number of folds or a splitter by groups such as "
            "GroupKFold, or leave groups out."
        )


def _given_pairs(data: Data, design: Any, name: str) -> Iterator[tuple[Any, Any]]:
    if hasattr(design, "split"):
        target = data.y if data.codes is None else data.codes
        try:
            with warnings.catch_warnings():
                # A split group is an error here, not a warning.
                warnings.filterwarnings("ignore", "The groups parameter is ignored")
                pairs = design.split(np.zeros((data.n, 1)), target, data.groups)
            yield from pairs
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


class _Runs:
    """Counts the runs of splits whose test sets hold every row once, with equally many splits in each run."""

    def __init__(self, n: int) -> None:
        self._seen = np.zeros(n, dtype=bool)
        self._sizes = [0]  # splits of each run; the last one is incomplete
        self._broken = False

    def add(self, test: npt.NDArray[np.intp], rest: bool) -> None:
        """Add a test set; ``rest`` says that all other rows are its training set, and that each row is in it once."""
        self._broken |= not rest or bool(self._seen[test].any())
        self._seen[test] = True
        self._sizes[-1] += 1
        if self._seen.all():
            self._seen[:] = False
            self._sizes.append(0)

    @property
    def partition(self) -> bool:
        """Whether all splits belong to such runs."""
        return not self._broken and self._sizes[-1] == 0 and len(set(self._sizes[:-1])) == 1

    @property
    def repeats(self) -> int:
        """Number of runs; 1 where the splits are no partition."""
        return len(self._sizes) - 1 if self.partition else 1


def lacks_a_class(data: Data, splits: Splits) -> bool:
    """Whether a test set has no row of some class."""
    codes, classes = data.codes, data.classes
    if codes is None or classes is None:
        return False
    return any(len(np.unique(codes[split.test.index])) < len(classes) for split in splits)


def has_clusters(data: Data, splits: Splits) -> bool:
    """Whether groups show the spread of losses: each row counts alike and is tested once per run, in enough groups."""
    if data.groups is None or data.weight is not None or not (splits.partition or len(splits) == 1):
        return False
    tested = data.group_codes if splits.partition else data.group_codes[splits[0].test.index]
    return len(np.unique(tested)) >= LEAST_GROUPS


def row_subset(data: Data, rows: Positions) -> Data:
    """Return some rows as a table to be split."""
    part = data.subset(rows)
    if part.classes is not None and len(part.classes) < 2:
        raise InvalidInput(
            f"Training rows must have at least 2 classes. All are of class {part.classes[0]!r}; stratify the splits."
        )
    return part
