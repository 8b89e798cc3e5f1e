"""What can go wrong, as one tree.

::

    TruefitError
    ├── InvalidInput (ValueError)          what was passed in cannot be worked with
    │   └── InvalidEstimator (also TypeError)
    ├── MissingDependency (ImportError)    an optional package has to be installed
    ├── FitError (ValueError, TypeError)   fits failed, and a plan needed them
    ├── BudgetSpent                        the deadline passed; thrown into plans, which return what they have
    ├── WriteFailed                        an output could not be written: no space left, a failing disk
    ├── ExecutorError                      the workers themselves are gone
    └── StoreError
        ├── StoreUnusable                  a directory, not SQLite, read-only, no space left
        ├── StoreDamaged                   a store of ours that no longer reads
        └── StoreTooNew                    written by a later truefit
    Interrupted (KeyboardInterrupt)        Ctrl-C, with what was kept and how to go on
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from traceback import format_exception
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from truefit._core.outcome import Outcome


#: How numpy writes its single values, and Python objects that have no text of their own.
_NUMPY_VALUE = re.compile(r"""\bnp\.(?:str_|bytes_|bool|float\d+|u?int\d+)\(('[^']*'|"[^"]*"|[^()'"]*|b'[^']*')\)""")
_ADDRESS = re.compile(r" at 0x[0-9a-fA-F]+(?=>)")


def readable(text: str) -> str:
    """Write values as Python does, whatever library wrote the text: no type of numpy, no address in memory.

    >>> readable("only one class: np.str_('ok'), at np.float64(0.5) of <Sampler object at 0x7f3a>")
    "only one class: 'ok', at 0.5 of <Sampler object>"
    """
    return _ADDRESS.sub("", _NUMPY_VALUE.sub(r"\1", text))


class TruefitError(Exception):
    """Root of everything that truefit raises on purpose. Its text is :func:`readable`."""

    def __init__(self, *arguments: object) -> None:
        super().__init__(*(readable(each) if isinstance(each, str) else each for each in arguments))


class InvalidInput(TruefitError, ValueError):
    """Input that cannot be worked with: says what must hold, what was got, and what to do."""


class InvalidEstimator(InvalidInput, TypeError):
    """An estimator that cannot be fitted or cloned, or cannot predict."""


class MissingDependency(TruefitError, ImportError):
    """An optional package is needed; the message says what to install."""


class FitError(TruefitError, ValueError, TypeError):
    """Fits failed that a plan cannot do without.

    The text says in a few sentences what failed, equal reasons once with their count. The tracebacks of the fits are
    notes of the exception: Python shows them below it where nobody catches it, and ``failures`` holds them.

    A ValueError and a TypeError too: those are what estimators raise for a table that they cannot take, and code
    around an estimator expects them from a search over it as well.
    """

    def __init__(self, message: str, failures: Sequence[Failure] = ()) -> None:
        super().__init__(message)
        self.failures = tuple(failures)
        for text in dict.fromkeys(failure.traceback.rstrip() for failure in self.failures if failure.traceback):
            self.add_note(text)


class BudgetSpent(TruefitError):
    """The engine's deadline passed: thrown into a plan with the outcomes that are ready, None for the others."""

    def __init__(self, message: str, outcomes: Sequence[Outcome | None] = ()) -> None:
        super().__init__(message)
        self.outcomes = tuple(outcomes)


class ExecutorError(TruefitError):
    """The executor can no longer run anything."""


class WriteFailed(TruefitError):
    """An output could not be written, and what was in its place is unchanged."""


class StoreError(TruefitError):
    """A store cannot be used."""


class StoreUnusable(StoreError):
    """The path is no place where a store can be: a directory, another kind of file, read-only, full."""


class StoreDamaged(StoreError):
    """The file is a truefit store, but some of it cannot be read any more."""


class StoreTooNew(StoreError):
    """The store was written by a later version of truefit."""


class Interrupted(KeyboardInterrupt):
    """Ctrl-C: every finished fit is kept."""


FailureKind = Literal["raised", "timeout", "died", "memory", "wrong answer", "not fitted", "other code"]


@dataclass(frozen=True, slots=True)
class Failure:
    """Why a fit has no answers."""

    kind: FailureKind
    message: str
    traceback: str = ""

    @classmethod
    def of(cls, error: BaseException, kind: FailureKind = "raised") -> Failure:
        """Record an exception with its traceback; a MemoryError is of its own kind."""
        if isinstance(error, MemoryError):
            kind = "memory"
        text = "".join(format_exception(error))
        return cls(kind, readable(f"{type(error).__name__}: {error}"), text)


#: So many different reasons are listed in the text of an error; the others are counted.
_REASONS = 5
#: Characters of one reason.
_REASON_LENGTH = 400


def reasons(failures: Iterable[Failure]) -> str:
    """Failures as sentences without tracebacks, equal reasons once with their count, the most frequent first.

    >>> reasons([Failure("raised", "ValueError: no luck"), Failure("raised", "ValueError: no luck")])
    '2 fits failed (raised): ValueError: no luck'
    """
    counts = Counter((failure.kind, _first_line(failure.message)) for failure in failures)
    parts = [_counted(count, *reason) for reason, count in counts.most_common(_REASONS)]
    left = len(counts) - len(parts)
    return "\n".join([*parts, f"{left} other reason{'s' if left > 1 else ''}."] if left else parts)


def commonest_reason(failures: Sequence[Failure]) -> str:
    """The most frequent reason in one line.

    >>> commonest_reason([Failure("raised", "ValueError: no luck"), Failure("raised", "ValueError: no luck")])
    ': ValueError: no luck'
    """
    counts = Counter(_first_line(failure.message) for failure in failures)
    ((reason, _),) = counts.most_common(1)
    return f"{'; most often' if len(counts) > 1 else ''}: {reason}"


def grouped_failures(failures: Iterable[Failure]) -> str:
    """Failures as text with tracebacks, identical ones once with their count, the most frequent first."""
    counts = Counter(failures).most_common()
    return "\n\n".join(
        f"{_counted(count, failure.kind, failure.message)}\n{failure.traceback}".rstrip() for failure, count in counts
    )


def _counted(count: int, kind: str, message: str) -> str:
    return f"{count} fit{'s' if count > 1 else ''} failed ({kind}): {message}"


def _first_line(text: str) -> str:
    line = next((line.strip() for line in text.splitlines() if line.strip()), "")
    return line if len(line) <= _REASON_LENGTH else line[: _REASON_LENGTH - 1] + "…"
