"""Arguments that several functions and estimators take, checked and resolved in one way."""

from __future__ import annotations

from typing import Any

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.candidates import Candidates
from truefit._methods.splitting.splits import is_whole
from truefit._metrics.metric import Metric, get_metric


def read_input(estimator: Any, X: Any, y: Any, *, groups: Any, sample_weight: Any) -> tuple[Candidates, Data]:
    """Return the estimators by name, and the table with its target."""
    candidates = Candidates(estimator, y)
    return candidates, Data(X, y, task=candidates.task, groups=groups, weight=sample_weight)


def resolve_metric(data: Data, metric: str | None, pos_label: Any) -> Metric:
    """Return the metric of that name, or the task's own; refuse one that cannot judge these data."""
    if pos_label is not None and (data.classes is None or pos_label not in data.classes.tolist()):
        known = "none: this is a regression" if data.classes is None else ", ".join(map(repr, data.classes.tolist()))
        raise InvalidInput(
            f"The 'pos_label' parameter must be a class of y. Got {pos_label!r}; the classes are {known}."
        )
    chosen = get_metric(metric, data.task, pos_label=pos_label)
    chosen.check(data)
    return chosen


def resolve_seed(random_state: Any) -> int | None:
    """Return a seed as an int, or None; a RandomState or Generator is drawn from once.

    Examples
    --------
    >>> resolve_seed(7), resolve_seed(None)
    (7, None)
    >>> resolve_seed("7")
    Traceback (most recent call last):
    ...
    truefit._core.errors.InvalidInput: The 'random_state' parameter must be None, an int, a numpy RandomState or a ...
    """
    if random_state is None:
        return None
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**31 - 1))
    if is_whole(random_state):
        return int(random_state)
    raise InvalidInput(
        "The 'random_state' parameter must be None, an int, a numpy RandomState or a numpy Generator. "
        f"Got {random_state!r} instead."
    )


def resolve_folds(cv: Any, *, why: str) -> int:
    """Return a number of folds, for functions that cannot take a splitter; ``why`` says the reason."""
    if not is_whole(cv) or cv < 2:
        raise InvalidInput(f"The 'cv' parameter must be a whole number of at least 2 folds: {why}. Got {cv!r} instead.")
    return int(cv)
