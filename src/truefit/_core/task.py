"""FitTask: what a plan asks for, and Fit: the same, made ready to be run."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy.typing as npt

from truefit._core.rows import Rows

if TYPE_CHECKING:
    from truefit._core.outcome import Outcome

Response = Literal["predict", "predict_proba", "decision_function"]
RESPONSES: tuple[Response, ...] = ("predict", "predict_proba", "decision_function")


@dataclass(frozen=True, slots=True)
class Ask:
    """Answers wanted of a fit: the response of its model on some rows."""

    rows: Rows
    response: Response = "predict"


@dataclass(frozen=True, slots=True)
class Keep:
    """The fitted model is wanted too, if it leads its group.

    ``metric`` gives a loss from the outcome: the least leads, of equal ones the first that was asked for.
    Without a metric the first fit of the group leads.
    """

    group: Hashable
    metric: Callable[[Outcome], float] | None = None


class Origin(NamedTuple):
    """The code that a fit is identified with: whoever runs it must have the same.

    Attributes
    ----------
    fingerprint : bytes
        Of the estimator.
    environment : bytes or None
        Of the installed packages behind it; None where it does not matter.
    files : bool
        Whether that includes the packages' files.
    own_code : bool
        Whether code of the user's own takes part, which may change while the process runs.
    """

    fingerprint: bytes
    environment: bytes | None
    files: bool
    own_code: bool


# Of what follows there are as many as fits, and a frozen dataclass takes three times as long to make. Nobody changes
# one: `dataclasses.replace` makes another.


@dataclass(slots=True, eq=False)
class FitTask:
    """A fit that a plan needs: an estimator, the rows to train on, and what to answer.

    ``y`` are labels for the whole table in the place of the data's own; ``repeat`` tells apart fits that differ
    by their random numbers only.

    With ``each_left_out`` it stands for as many fits as rows are asked about: what is said of a row is said by the fit
    on the training rows without it. Only a closed form answers that. Where none does the outcome has no answers, and
    the fits are to be asked for one by one.
    """

    estimator: Any
    train: Rows
    asks: tuple[Ask, ...] = ()
    y: npt.NDArray[Any] | None = None
    repeat: int = 0
    keep: Keep | None = None
    each_left_out: bool = False


class TimedTasks(list[FitTask]):
    """Tasks whose fits may take ``fit_seconds`` each.

    One that takes longer is stopped where the executor can do that. It has no outcome then, and BudgetSpent is thrown
    into the plan with those of the others.
    """

    def __init__(self, tasks: Iterable[FitTask], fit_seconds: float) -> None:
        super().__init__(tasks)
        self.fit_seconds = fit_seconds


@dataclass(slots=True, eq=False)
class Fit:
    """A distinct fit, keyed and seeded, with the asks of everybody who wants it.

    ``estimator_key`` and ``train_key`` are the parts of the identity by which solvers group fits: the estimator
    with its parameters, and the training rows with their labels and the repeat number. Where a ``model`` is at hand
    only the answers are wanted. ``keep`` is there for stages of a training run, which knows by it what to hold on to.
    """

    key: str
    estimator_key: bytes
    train_key: bytes
    estimator: Any
    train: Rows
    asks: tuple[Ask, ...]
    seeds: tuple[tuple[str, int], ...] = ()
    y: npt.NDArray[Any] | None = None
    keep_model: bool = False
    model: Any = None
    keep: Keep | None = None
    each_left_out: bool = False
    origin: Origin | None = None

    @property
    def count(self) -> int:
        """How many fits it stands for."""
        return len(self.asks[0].rows) if self.each_left_out else 1


_PRIVATE = "private-"
_numbers = itertools.count()


def private_key() -> str:
    """Return a key that no other fit of this process has."""
    return f"{_PRIVATE}{next(_numbers)}"


def is_private(key: str) -> bool:
    """Whether the fit cannot be known by content: never shared, never stored."""
    return key.startswith(_PRIVATE)
