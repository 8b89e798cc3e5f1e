"""The steps of a pipeline, each identified by its content, and whether it ignores the labels."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from sklearn.pipeline import Pipeline

from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.protocols import Fit
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
