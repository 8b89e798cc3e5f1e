"""Arguments that several functions and estimators take: their validation, and their names in the previous release."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._methods.candidates import Candidates
from truefit._methods.splitting.splits import is_whole
from truefit._metrics.metric import Metric, get_metric

P = ParamSpec("P")
R = TypeVar("R")

#: The release in which these names were deprecated, and the one in which they are gone.
SINCE, GONE = "0.3", "0.4"


def read_input(
    estimator: Any, X: Any, y: Any, *, groups: Any, sample_weight: Any, time: Any = None
) -> tuple[Candidates, Data]:
    """Return the estimators by name, and the table with its target."""
    candidates = Candidates(estimator, y)
    return candidates, Data(X, y, task=candidates.task, groups=groups, weight=sample_weight, time=time)


def refuse_time(time: Any, function: str, why: str) -> None:
    """Refuse rows in time order in a function that cannot keep them in order; ``why`` says the reason."""
    if time is not None:
        raise InvalidInput(f"{function} cannot keep rows in time order: {why}")


def resolve_metric(data: Data, metric: str | None, pos_label: Any) -> Metric:
    """Return the metric of that name, or the task's default; refuse one that is not defined for these data."""
    if pos_label is not None and (data.classes is None or pos_label not in data.classes.tolist()):
        known = "none: this is a regression" if data.classes is None else ", ".join(map(repr, data.classes.tolist()))
        raise InvalidInput(
            f"The 'pos_label' parameter must be a class of y. Got {pos_label!r}; the classes are {known}."
        )
    chosen = get_metric(metric, data.task, pos_label=pos_label)
    chosen.check(data)
    return chosen


def resolve_seed(random_state: Any) -> int | None:
    """Return a seed as an int, or None; a RandomState or Generator is drawn from once."""
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


@dataclass(frozen=True, slots=True)
class Renamed:
    """A deprecated keyword and its replacement; ``when`` tests which values of a keyword that stays were moved."""

    old: str
    new: str
    when: Callable[[Any], bool] | None = None

    def message(self, value: Any) -> str:
        """Return what to write instead."""
        if self.when is None:
            did, will = "was renamed to", "will be removed"
        else:
            did, will = "with such a value was moved to", "will be refused"
        return f"`{self.old}` {did} `{self.new}` in {SINCE} and {will} in {GONE}: write {self.new}={value!r}."


def renamed_keywords(*names: Renamed) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator that passes deprecated keywords on under their new names.

    The decorated function keeps its own signature: old names appear neither there nor in its documentation.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def renamed(*arguments: P.args, **keywords: P.kwargs) -> R:
            for name in names:
                if name.old not in keywords or (name.when is not None and not name.when(keywords[name.old])):
                    continue
                if name.new in keywords:
                    raise TypeError(
                        f"{function.__name__}() takes either `{name.new}` or `{name.old}`, its name before {SINCE}. "
                        f"Got both; leave out `{name.old}`."
                    )
                value = keywords.pop(name.old)
                warnings.warn(name.message(value), FutureWarning, stacklevel=2)
                keywords[name.new] = value
            return function(*arguments, **keywords)

        return renamed

    return decorate


#: ``k`` of version 0.2, in functions whose folds can only be a number.
K_TO_CV = Renamed("k", "cv")
#: What ``design`` took in version 0.2 and is a ``cv``: a splitter, or an iterable of (train, test) pairs.
DESIGN_TO_CV = Renamed("design", "cv", when=lambda value: value is not None and not isinstance(value, str))
