"""Deprecated keywords: names of the release before, which keep working for one release with a FutureWarning."""

from __future__ import annotations

import functools
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

#: The release in which these names were deprecated, and the one in which they are gone.
SINCE, GONE = "0.3", "0.4"


@dataclass(frozen=True, slots=True)
class Renamed:
    """A deprecated keyword, and the one that replaces it.

    ``when`` says which values of ``old`` belong to ``new``, where ``old`` stays a keyword of its own; by default all.
    """

    old: str
    new: str
    when: Callable[[Any], bool] | None = None

    def applies(self, keywords: dict[str, Any]) -> bool:
        """Whether a call uses the deprecated keyword."""
        return self.old in keywords and (self.when is None or self.when(keywords[self.old]))

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

    Examples
    --------
    >>> @renamed_keywords(Renamed("k", "cv"))
    ... def folds(*, cv=5):
    ...     return cv
    >>> with warnings.catch_warnings(record=True) as caught:
    ...     warnings.simplefilter("always")
    ...     folds(k=10)
    10
    >>> print(caught[0].message)
    `k` was renamed to `cv` in 0.3 and will be removed in 0.4: write cv=10.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        @functools.wraps(function)
        def renamed(*arguments: P.args, **keywords: P.kwargs) -> R:
            for name in names:
                if not name.applies(keywords):
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
