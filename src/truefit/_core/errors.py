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

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truefit._core.outcome import Failure, Outcome


class TruefitError(Exception):
    """Root of everything that truefit raises on purpose."""


class InvalidInput(TruefitError, ValueError):
    """Input that cannot be worked with: says what must hold, what was got, and what to do."""


class InvalidEstimator(InvalidInput, TypeError):
    """An estimator that cannot be fitted, cloned or asked for predictions."""


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
        for traceback in dict.fromkeys(failure.traceback.rstrip() for failure in self.failures if failure.traceback):
            self.add_note(traceback)


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
