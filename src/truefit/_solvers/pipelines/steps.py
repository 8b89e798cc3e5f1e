"""The steps of a pipeline, each identified by its content; fitted ones, and the tables that they make."""

from __future__ import annotations

import sys
import threading
from collections import OrderedDict
from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from hashlib import blake2b
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from sklearn.pipeline import Pipeline

from truefit._core.data import Data
from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.protocols import Fit
from truefit._core.rows import Rows, add_tokens
from truefit._core.typing import Positions
from truefit._sklearn import has_callbacks

#: Classes whose ``fit`` ignores y, by package. Only these very classes: what a subclass does nobody knows.
IGNORING_LABELS = {
    "sklearn": (
        "Binarizer CountVectorizer DictVectorizer FeatureHasher FunctionTransformer GaussianRandomProjection "
        "HashingVectorizer IncrementalPCA KBinsDiscretizer KNNImputer KernelPCA MaxAbsScaler MinMaxScaler "
        "MissingIndicator Normalizer Nystroem OneHotEncoder OrdinalEncoder PCA PolynomialFeatures "
        "PowerTransformer QuantileTransformer RBFSampler RobustScaler SimpleImputer SparseRandomProjection "
        "SplineTransformer StandardScaler TfidfTransformer TfidfVectorizer TruncatedSVD VarianceThreshold"
    ),
    "skrub": (
        "Cleaner DatetimeEncoder GapEncoder MinHashEncoder PassThrough SquashingScaler StringEncoder ToCategorical"
    ),
}
#: Classes that pass y on to the transformers in them.
CONTAINERS = {"sklearn": "ColumnTransformer FeatureUnion Pipeline", "skrub": "TableVectorizer"}


def ignores_labels(step: Any) -> bool:
    """Whether a transformer is known not to depend on the labels that it is fitted with."""
    if step is None or (isinstance(step, str) and step in ("passthrough", "drop")):
        return True
    package = _package(type(step))
    name = type(step).__name__
    if name in CONTAINERS.get(package, "").split():
        return all(map(ignores_labels, parts_of(step)))
    return name in IGNORING_LABELS.get(package, "").split()


def _package(cls: type) -> str:
    """Return the package that has a class, and not only its name, as its own."""
    home = vars(sys.modules.get(cls.__module__, sys)).get(cls.__name__)
    return cls.__module__.partition(".")[0] if home is cls else ""


def parts_of(container: Any) -> Iterator[Any]:
    """Return the transformers in a container."""
    name = type(container).__name__
    if name == "ColumnTransformer":
        yield from (transformer for _, transformer, _ in container.transformers)
        yield container.remainder
    elif name == "FeatureUnion":
        yield from (transformer for _, transformer in container.transformer_list)
    elif name == "Pipeline":
        yield from (step for _, step in container.steps)
    else:
        yield from (container.low_cardinality, container.high_cardinality, container.numeric, container.datetime)
        yield from (transformer for transformer, _ in container.specific_transformers)


Seeds = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class KeyedStep:
    """A transformer of a pipeline: its place in it, its identity, and whether it ignores the labels."""

    place: int
    key: bytes
    label_free: bool


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The transformers of a pipeline that do something, in order, up to one whose content has no key.

    ``last`` is the key of the last step; None where that or a transformer has none.
    """

    links: tuple[KeyedStep, ...]
    last: bytes | None


#: Chains by the keys of their pipelines: jobs come back to the same few of them.
_chains: dict[bytes, Chain | None] = {}
_MOST_CHAINS = 1000


def chain_of(fit: Fit) -> Chain | None:
    """Return the steps of a fit's pipeline whose first ones can be shared with others; None if there is no such."""
    if not is_shareable(fit.estimator):
        return None
    if fit.estimator_key not in _chains:
        if len(_chains) >= _MOST_CHAINS:
            _chains.clear()
        _chains[fit.estimator_key] = _linked(fit.estimator)
    return _chains[fit.estimator_key]


def claimed_chain(fit: Fit) -> Chain:
    """Return the chain of a fit that was claimed for having one."""
    chain = chain_of(fit)
    assert chain is not None
    return chain


def is_shareable(estimator: Any) -> bool:
    """Whether an estimator is a pipeline that does nothing but fit its steps: no cache, no output, no callbacks."""
    if type(estimator) is not Pipeline or len(estimator.steps) < 2:
        return False
    if estimator.memory is not None or estimator.verbose is not False or estimator.transform_input is not None:
        return False
    return not any(has_callbacks(one) for one in (estimator, *(step for _, step in estimator.steps)))


def _linked(pipeline: Pipeline) -> Chain | None:
    links: list[KeyedStep] = []
    for place, (_, step) in enumerate(pipeline.steps[:-1]):
        if not idle(step):
            key = _key(step)
            if key is None:
                return Chain(tuple(links), None) if links else None
            links.append(KeyedStep(place, key, ignores_labels(step)))
    return Chain(tuple(links), _key(pipeline.steps[-1][1])) if links else None


def idle(step: Any) -> bool:
    """Whether a step leaves the table as it is."""
    return step is None or (isinstance(step, str) and step == "passthrough")


def last_of(estimator: Any) -> Any:
    """Return what a pipeline ends in, or the last pipeline in it."""
    while type(estimator) is Pipeline:
        estimator = estimator.steps[-1][1]
    return estimator


def _key(step: Any) -> bytes | None:
    try:
        return Fingerprint(step).digest
    except NotComparable:
        return None


def seeds_of(name: str, seeds: Seeds) -> Seeds:
    """Return the seeds of one step of a pipeline, as the step itself names them.

    Examples
    --------
    >>> seeds_of("pca", (("forest__random_state", 1), ("pca__random_state", 2)))
    (('random_state', 2),)
    """
    prefix = f"{name}__"
    return tuple((path[len(prefix) :], seed) for path, seed in seeds if path.startswith(prefix))


def rest_of(estimator: Any, seeds: Seeds, used: int) -> tuple[Any, Seeds]:
    """Return what follows on the first ``used`` steps: a pipeline, or the last step itself; and its seeds."""
    steps = [(name, step) for name, step in estimator.steps[used:-1] if not idle(step)]
    name, last = estimator.steps[-1]
    if not steps:
        return last, seeds_of(name, seeds)
    names = tuple(f"{one}__" for one, _ in (*steps, (name, last)))
    return Pipeline([*steps, (name, last)]), tuple(pair for pair in seeds if pair[0].startswith(names))


def put_together(estimator: Any, fitted: Sequence[tuple[int, Any]], used: int, rest: Any) -> Any:
    """Put fitted steps, by their places, and the model of the rest into an unfitted pipeline."""
    steps = list(estimator.steps)
    for place, step in fitted:
        steps[place] = (steps[place][0], step)
    behind = dict(rest.steps) if len(steps) - used > 1 and type(rest) is Pipeline else {}
    for place in range(used, len(steps) - 1):
        name, step = steps[place]
        steps[place] = (name, step if idle(step) else behind[name])
    name = steps[-1][0]
    steps[-1] = (name, behind.get(name, rest))
    estimator.steps = steps
    return estimator


#: Transformed rows that are kept for the next fit take at most this much.
KEPT_BYTES = 256 << 20
#: Fitted steps that are kept for the next job take at most this much with their rows; the last ones whatever it is.
HELD_BYTES = 128 << 20


class FittedSteps:
    """Fitted transformers, what they made of their training rows (``fitted``), and a cache of other rows."""

    def __init__(self, steps: Sequence[Any], fitted: Any, seconds: float = 0.0) -> None:
        self.steps, self.fitted, self.seconds = tuple(steps), fitted, seconds
        self._kept: OrderedDict[bytes, Any] = OrderedDict()
        self._kept_bytes = 0
        self._fitted_bytes = _size(fitted)

    @property
    def nbytes(self) -> int:
        """What all the rows take in memory."""
        return self._fitted_bytes + self._kept_bytes

    def rows(self, data: Data, index: Positions) -> Any:
        """Return what the steps make of some rows of the table; not a copy."""
        name = blake2b(index.tobytes(), digest_size=16).digest()
        table = self._kept.get(name)
        if table is None:
            table = data.take(index)
            for step in self.steps:
                table = step.transform(table)
            self._kept[name] = table
            self._kept_bytes += _size(table)
        self._kept.move_to_end(name)
        while self._kept_bytes > KEPT_BYTES:
            self._kept_bytes -= _size(self._kept.popitem(last=False)[1])
        return table


class RecentSteps(threading.local):
    """The steps last fitted on each table, per thread: pipelines that share them may come in several jobs.

    They are released with their table.
    """

    def __init__(self) -> None:
        self._tables: WeakKeyDictionary[Data, OrderedDict[Hashable, FittedSteps]] = WeakKeyDictionary()

    def of(self, data: Data, name: Hashable, fit: Callable[[], FittedSteps]) -> tuple[FittedSteps, float]:
        """Return fitted steps by a name of all that they depend on, and the seconds that fitting took now."""
        known = self._tables.setdefault(data, OrderedDict())
        steps = known.get(name)
        if steps is not None:
            known.move_to_end(name)
            return steps, 0.0
        self._make_room(known)
        steps = known[name] = fit()
        return steps, steps.seconds

    def _make_room(self, known: OrderedDict[Hashable, FittedSteps]) -> None:
        while known and sum(each.nbytes for table in self._tables.values() for each in table.values()) > HELD_BYTES:
            known.popitem(last=False)


def copied(table: Any) -> Any:
    """Return a copy of a table of any kind."""
    if isinstance(table, np.ndarray):
        return table.copy(order="K")  # the last bits of what is made of it may go with the layout
    return table.copy() if hasattr(table, "copy") else table.clone()


def _size(table: Any) -> int:
    """Return about how much memory a table takes."""
    if hasattr(table, "memory_usage"):
        return int(table.memory_usage(index=False).sum())
    parts: list[Any] = [getattr(table, name, None) for name in ("data", "indices", "indptr")]
    sizes = [int(part.nbytes) for part in parts if hasattr(part, "nbytes")]
    return sum(sizes) or int(table.shape[0] * table.shape[1] * 8)


class TransformedData(Data):
    """The training rows as transformed when the steps were fitted, then the rows to predict, transformed when taken.

    A row that is both is there twice: ``fit_transform`` may differ from ``transform``. Rows are transformed in the same
    blocks as in plain fitting. ``X`` is the table of the training rows, by which solvers see what kind of table this
    is.
    """

    def __init__(self, data: Data, train: Positions, steps: FittedSteps, asked: Sequence[Rows]) -> None:
        # These are of the rows as they stand there.
        own = {name: value for name, value in vars(data).items() if name not in ("rowset", "group_codes")}
        self.__dict__.update(own)
        self.source, self.steps = data, steps
        self.X = steps.fitted
        self.trained = len(train)
        #: Position of each row here in the table itself.
        self.origin = np.concatenate([train, *(rows.index for rows in asked)])
        self.n = len(self.origin)
        self.y, self.tokens = data.y[self.origin], data.tokens[self.origin]
        self.codes = None if data.codes is None else data.codes[self.origin]
        self.groups = None if data.groups is None else data.groups[self.origin]
        self.weight = None if data.weight is None else data.weight[self.origin]
        self.total, self.release = add_tokens(self.tokens), None

    @property
    def train(self) -> Rows:
        """The training rows."""
        return Rows.of(np.arange(self.trained))

    def asked(self, asked: Sequence[Rows]) -> list[Rows]:
        """Return the positions here of the rows to predict, in the same order."""
        ends = self.trained + np.cumsum([len(rows) for rows in asked])
        return [Rows.of(np.arange(end - len(rows), end)) for rows, end in zip(asked, ends, strict=True)]

    @property
    def row_bytes(self) -> int:
        """As in the table itself, so that rows are predicted on in the same blocks."""
        return self.source.row_bytes

    def take(self, index: Positions) -> Any:
        """Return transformed rows, as a copy: the training rows, or one block of those to predict."""
        if len(index) == self.trained and index[-1] < self.trained:
            return copied(self.X)
        return copied(self.steps.rows(self.source, self.origin[index]))
