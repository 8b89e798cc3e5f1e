"""Chain: the steps of a pipeline, each known by its content."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from weakref import WeakKeyDictionary

from sklearn.pipeline import Pipeline

from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._solvers.blind_steps import is_blind

Seeds = tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Link:
    """A transformer of a pipeline: its place in it, its identity, and whether it is blind to the labels."""

    place: int
    key: bytes
    blind: bool


@dataclass(frozen=True, slots=True, eq=False)
class Chain:
    """The transformers of a pipeline that do something, in their order, up to one that cannot be known by its content.

    ``last`` is the key of the last step; None where that or a transformer cannot be known.
    """

    links: tuple[Link, ...]
    last: bytes | None


#: Chains of pipelines that are still there, with the pipeline's own key: jobs come back to the same few of them.
_chains: WeakKeyDictionary[Any, tuple[bytes, Chain | None]] = WeakKeyDictionary()


def chain_of(estimator: Any, key: bytes) -> Chain | None:
    """Return the steps of a pipeline whose first ones can be shared with others; None if there is no such.

    A pipeline with a cache of its own, one that talks, or one that others listen to is left as it is.

    Parameters
    ----------
    estimator : estimator
    key : bytes
        What the estimator is known by: the same as long as its parameters are.
    """
    if type(estimator) is not Pipeline or len(estimator.steps) < 2:
        return None
    if estimator.memory is not None or estimator.verbose is not False or estimator.transform_input is not None:
        return None
    if any(hasattr(one, "_skl_callbacks") for one in (estimator, *(step for _, step in estimator.steps))):
        return None
    known = _chains.get(estimator)
    if known is None or known[0] != key:
        known = _chains[estimator] = key, _linked(estimator)
    return known[1]


def _linked(pipeline: Pipeline) -> Chain | None:
    links: list[Link] = []
    for place, (_, step) in enumerate(pipeline.steps[:-1]):
        if not idle(step):
            key = _key(step)
            if key is None:
                return Chain(tuple(links), None) if links else None
            links.append(Link(place, key, is_blind(step)))
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
