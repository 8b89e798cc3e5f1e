"""Identity of a fit: keys from content, and the environment that the names of installed classes stand for."""

from __future__ import annotations

import sys
import warnings
from collections.abc import Iterable, Sequence
from hashlib import blake2b
from typing import Any, NamedTuple

import numpy as np
import numpy.typing as npt
from sklearn import get_config

from truefit._core.code import class_state, replaced
from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.hashing import IDENTITY_VERSION, Tokens, few_values, mix, value_tokens
from truefit._core.metadata import WithFitParams, bare, wants_groups
from truefit._core.packages import package_digest
from truefit._core.parameters import OpenSeed, open_seeds, seeds_for
from truefit._core.rows import Rows
from truefit._core.stages import AtStage
from truefit._core.task import Ask, Fit, FitTask, Origin, private_key

#: Tokens of the rows with each of the labels take at most this much; tables for which they would take more do without.
HELD_BYTES = 32 << 20


class LabelledRows:
    """Digests of the rows of a table with other values at them, the same as :meth:`Data.label_digest` gives.

    A row with a label has the same token in whichever list of labels it has it. Noise draws many lists of the same few
    labels: the tokens of all rows with each of these are worked out once, and a list only picks them.

    Examples
    --------
    >>> data = Data([[0.0], [1.0], [2.0]], ["a", "b", "a"], task="classification")
    >>> labels = np.array(["b", "b", "a"])
    >>> LabelledRows(data).digest(Rows.all(3), labels) == data.label_digest(Rows.all(3), labels)
    True
    """

    def __init__(self, data: Data) -> None:
        self._data = data
        self._most = HELD_BYTES // max(data.tokens.nbytes, 1)
        self._tokens: dict[bytes, Tokens] = {}

    def digest(self, rows: Rows, labels: npt.NDArray[Any]) -> tuple[int, int]:
        """Return the digest of rows with the labels that stand at them."""
        few = few_values(labels) if rows.whole and self._most else None
        if few is None or len(few) > self._most:
            return self._data.label_digest(rows, labels)
        first = second = 0
        for value in few:
            places = np.flatnonzero(labels == value)
            lanes = self._with(value, labels.dtype).take(places, axis=1).sum(axis=1, dtype=np.uint64)
            first, second = first + int(lanes[0]), second + int(lanes[1])
        return first % 2**64, second % 2**64

    def _with(self, value: Any, dtype: np.dtype[Any]) -> Tokens:
        """Tokens of all rows with one label, one lane after the other: along a lane they are added up faster."""
        token = value_tokens(np.array([value], dtype=dtype))
        name = token.tobytes()
        known = self._tokens.get(name)
        if known is None:
            if len(self._tokens) >= self._most:
                self._tokens.clear()
            tokens = mix(self._data.tokens, np.broadcast_to(token, self._data.tokens.shape))
            known = self._tokens[name] = np.ascontiguousarray(tokens.T)
        return known


# A fingerprint identifies installed classes by name. The same name means the same code only while the files of the
# packages are the same, nothing in them was replaced at run time, and the classes hold the same values.


def environment_digest(packages: Iterable[str], classes: Iterable[type], *, files: bool) -> bytes:
    """Digest of what the names of packages and classes stand for.

    Parameters
    ----------
    packages : iterable of str
    classes : iterable of type
        Installed classes that an estimator is made of.
    files : bool
        Whether the files of the packages count: where an outcome may outlive this process.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> environment_digest(["sklearn"], [Ridge], files=False) == environment_digest(["sklearn"], [Ridge], files=False)
    True
    """
    packages = tuple(packages)
    digest = blake2b(digest_size=16)
    if files:
        digest.update(package_digest(packages))
    for place, value in replaced(packages):
        digest.update(place.encode())
        digest.update(Fingerprint(value).digest)
    for state in sorted(class_state(cls) for cls in classes):
        digest.update(state.encode("utf-8", "surrogatepass"))
    return digest.digest()


class Environments:
    """Environment digests, each computed once as long as no further module is loaded."""

    def __init__(self) -> None:
        self._known: dict[tuple[frozenset[str], frozenset[type], bool], bytes] = {}
        self._modules = 0

    def digest(self, packages: Iterable[str], classes: Iterable[type], *, files: bool) -> bytes:
        """Return ``environment_digest``, from before where nothing can have changed."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._known.clear()
        place = frozenset(packages), frozenset(classes), files
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = environment_digest(*place[:2], files=files)
        return known


#: Settings of scikit-learn that change what a fit does.
_SETTINGS = (
    "transform_output",
    "enable_metadata_routing",
    "array_api_dispatch",
    "assume_finite",
    "skip_parameter_validation",
)


class _Known(NamedTuple):
    """What depends on the estimator alone."""

    fingerprint: bytes | None  # None where it cannot be identified by content
    origin: Origin
    open_seeds: tuple[OpenSeed, ...]
    wants_groups: bool


class Keys:
    """Gives the tasks on one table their keys and seeds; what depends on the estimator alone is worked out once.

    Parameters
    ----------
    data : Data
    shared : bool, default=False
        Whether outcomes may be used beyond this call, or computed in another process: then what the names of installed
        packages stand for in this process is part of the keys.
    stored : bool, default=False
        Whether outcomes may be used beyond this process: then the files of the packages are part of the keys too.
    """

    def __init__(self, data: Data, *, shared: bool = False, stored: bool = False) -> None:
        self.data = data
        self._shared = shared or stored
        self._stored = stored
        self._environments = Environments()
        settings = {name: get_config().get(name) for name in _SETTINGS}
        self._schema = blake2b(f"{data.schema} {settings} {np.geterr()}".encode(), digest_size=16).digest()
        self._estimators: dict[int, tuple[Any, _Known]] = {}
        self._labelled = LabelledRows(data)
        self._labels: dict[tuple[int, int], tuple[Any, Rows, tuple[int, int]]] = {}

    def fit(self, task: FitTask) -> Fit:
        """Return the fit that a task stands for, with the task's own asks."""
        estimator_key, origin, open_paths, grouped = self._estimator(task.estimator)
        train = b"%016x%016x" % self.data.digest(task.train)
        seeds = seeds_for(open_paths, train, task.repeat) if open_paths else ()
        train_key = b"%b|%d %d" % (train, len(task.train), task.repeat)
        if task.y is not None:
            train_key += b"|labels %016x%016x" % self._label_digest(task.train, task.y)
        if grouped and self.data.groups is not None:
            train_key += b"|groups %016x%016x" % self._label_digest(task.train, self.data.groups)
        if isinstance(task.estimator, WithFitParams) and task.estimator.by_row:
            # Which value a row has is known by where it stands in the table.
            train_key += b"|table %b|places %b" % (self.data.rowset, _digest(task.train.index))
        if task.each_left_out:
            train_key += b"|each left out"
        if estimator_key is None:
            key = private_key()
        else:
            content = b"%d|%b|%b|%b|%b" % (
                IDENTITY_VERSION, self._schema, estimator_key, origin.environment or b"", train_key,
            )  # fmt: skip
            if origin.own_code:
                content += self._order(task.train)
            key = blake2b(content, digest_size=16).hexdigest()
        return Fit(
            key, estimator_key or key.encode(), train_key, task.estimator, task.train, task.asks, seeds, task.y,
            task.keep is not None, keep=task.keep if isinstance(task.estimator, AtStage) else None,
            each_left_out=task.each_left_out, origin=origin,
        )  # fmt: skip

    def _order(self, rows: Rows) -> bytes:
        """Return the order of rows and their integer index, on which code of the user's own may depend."""
        order = b"|order %b" % self.data.rowset_of(rows)
        index = getattr(self.data.X, "index", None)
        if index is None or not hasattr(index, "to_numpy") or index.dtype.kind not in "iu":
            return order
        labels = index.to_numpy()
        return order + b"|index %b" % _digest(labels if rows.whole else labels[rows.index])

    def _estimator(self, estimator: Any) -> _Known:
        known = self._estimators.get(id(estimator))
        if known is None:
            found = Fingerprint(estimator, tolerant=True)
            unknown = list(found.unknown)
            environment: bytes | None = None
            if self._shared:
                try:
                    environment = self._environments.digest(found.packages, found.classes, files=self._stored)
                except NotComparable as reason:
                    unknown.append(str(reason))
            if unknown:
                warnings.warn(
                    f"{type(bare(estimator)).__name__} cannot be identified by its content: {unknown[0]}. Its fits are "
                    "run each time, never shared or stored. Give it parameters that are plain values, arrays, "
                    "functions or estimators.",
                    stacklevel=2,
                )
            origin = Origin(found.digest, environment, self._stored, found.own_code)
            digest = None if unknown else found.digest
            # The estimator is held so that its id stays its own.
            known = estimator, _Known(digest, origin, open_seeds(estimator), wants_groups(estimator))
            self._estimators[id(estimator)] = known
        return known[1]

    def _label_digest(self, rows: Rows, labels: Any) -> tuple[int, int]:
        place = (id(rows), id(labels))
        known = self._labels.get(place)
        if known is None or known[0] is not labels or known[1] is not rows:
            known = (labels, rows, self._labelled.digest(rows, labels))
            self._labels = {place: known}  # tasks come in runs of the same labels: one is enough
        return known[2]


def _digest(numbers: npt.NDArray[np.integer]) -> bytes:
    return blake2b(np.ascontiguousarray(numbers).astype(np.int64).data, digest_size=16).digest()


class RowUnions:
    """Puts the asks of several tasks together: one per response, each row once.

    Rows that are wanted of many fits are put together once, and are then the same object for all of them and for all
    responses: they are gathered and named once.

    Examples
    --------
    >>> one, other = Ask(Rows.of([0, 1])), Ask(Rows.of([1, 2]))
    >>> unions = RowUnions()
    >>> unions.of([one, other])
    (Ask(rows=Rows.of([0, 1, 2]), response='predict'),)
    >>> unions.of([one, other])[0].rows is unions.of([other, one])[0].rows
    True
    """

    def __init__(self) -> None:
        self._known: dict[frozenset[tuple[int | None, str, bytes]], Rows] = {}

    def of(self, asks: Sequence[Ask]) -> tuple[Ask, ...]:
        """Return the asks of several tasks as one per response."""
        if len(asks) <= 1:
            return tuple(asks)
        by_response: dict[str, list[Ask]] = {}
        for ask in asks:
            by_response.setdefault(ask.response, []).append(ask)
        return tuple(Ask(self._rows([ask.rows for ask in group]), group[0].response) for group in by_response.values())

    def _rows(self, wanted: Sequence[Rows]) -> Rows:
        name = frozenset((rows.total, rows.listed.dtype.str, rows.listed.tobytes()) for rows in wanted)
        known = self._known.get(name)
        if known is None:
            if all(rows == wanted[0] for rows in wanted[1:]):
                known = wanted[0]
            else:
                known = Rows.of(np.unique(np.concatenate([rows.index for rows in wanted])))
            self._known[name] = known
        return known
