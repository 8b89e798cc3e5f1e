"""FitTask, Fit and Job, and the protocols of those who exchange them: Plan, Solver, Store, Executor."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, get_args, runtime_checkable

from truefit._core.data import Data
from truefit._core.errors import Failure
from truefit._core.outcome import Outcome
from truefit._core.rows import Rows
from truefit._core.typing import Array

Response = Literal["predict", "predict_proba", "decision_function"]
RESPONSES: tuple[Response, ...] = get_args(Response)


@dataclass(frozen=True, slots=True)
class Ask:
    """Answers wanted of a fit: the response of its model on some rows."""

    rows: Rows
    response: Response = "predict"


@dataclass(frozen=True, slots=True)
class Keep:
    """The fitted model is wanted too, if it leads its group.

    ``metric`` gives a loss from the outcome: the least leads, of equal ones the first that was requested.
    Without a metric the first fit of the group leads.
    """

    group: Hashable
    metric: Callable[[Outcome], float] | None = None


class Origin(NamedTuple):
    """The code that a fit is identified with: whoever runs it must have the same.

    ``fingerprint`` is of the estimator, ``environment`` of the installed packages behind it (None where it does not
    matter), with their ``files`` or not. With ``own_code``, code of the user's own takes part, which may change.
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

    ``y`` are labels for the whole table in the place of the data's own; ``repeat`` distinguishes fits that differ
    by their random numbers only.

    With ``each_left_out`` it stands for as many fits as rows are requested: each row is predicted by the fit on the
    training rows without it. Only a closed form answers that. Where none does the outcome has no answers, and the plan
    requests the fits one by one.
    """

    estimator: Any
    train: Rows
    asks: tuple[Ask, ...] = ()
    y: Array | None = None
    repeat: int = 0
    keep: Keep | None = None
    each_left_out: bool = False


class TimedTasks(list[FitTask]):
    """Tasks whose fits may take ``fit_seconds`` each, and a ``description`` of them for the progress.

    A fit that takes longer is stopped where the executor can do that. It has no outcome then, and BudgetSpent is thrown
    into the plan with those of the others.
    """

    def __init__(self, tasks: Iterable[FitTask], fit_seconds: float | None = None, description: str = "") -> None:
        super().__init__(tasks)
        self.fit_seconds = fit_seconds
        self.description = description


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
    y: Array | None = None
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


R = TypeVar("R")

#: A method at work: asks for fits as often as it needs to, is sent their outcomes in the same order, and
#: returns its result. Pure: no clock, no input or output, no global random state, so that replay is resume.
Plan = Generator[Sequence[FitTask], Sequence[Outcome], R]


@dataclass(frozen=True, slots=True, eq=False)
class Job:
    """The unit that an executor runs and a store keeps in one transaction.

    ``work`` is the number of models that are to be fitted for it: one where one piece of work answers all its fits,
    even if a few of these turn out to need a fit of their own.
    """

    solver: Solver
    fits: tuple[Fit, ...]
    work: int = 1

    def run(self, data: Data) -> list[Outcome]:
        """One outcome per fit, in order."""
        return self.solver.solve(self, data)

    def failed(self, failure: Failure) -> list[Outcome]:
        """Outcomes for a job that came to nothing."""
        return [Outcome(fit.key, error=failure, solver=self.solver.name) for fit in self.fits]


@runtime_checkable
class Solver(Protocol):
    """Answers fits in groups, exactly, faster than one by one.

    The contract, checked by ``truefit.testing.SolverContract``:

    - ``claim`` looks at fits and data and returns jobs for those it can answer; it fits nothing, and leaves what
      it cannot do exactly (unusual parameters, subclasses, weights, sparse X) to the solvers after it.
    - ``solve`` returns one outcome per fit of the job in order and never raises for a fit that fails.
    - The answers equal those of plain fitting, within 1e-8 relative; labels are equal.
    - A solver is pickled with its jobs: it holds options, never data or models.
    - One that answers fits which leave out each row in turn (``FitTask.each_left_out``), a job each, says
      ``leaves_out_each = True``. Such fits are offered to nobody else.
    - One that is for estimators of some classes names them (``kinds``, exact types; ``wrappers``: classes of estimators
      that it looks into, such as ``Pipeline``). Fits of other classes are not offered to it.
    """

    name: str

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs for the fits that this solver takes."""

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Answer a job of this solver."""


@runtime_checkable
class Store(Protocol):
    """Keeps outcomes by key.

    The contract, checked by ``truefit.testing.StoreContract``:

    - ``get`` returns the outcomes that are there; absent means to do. Answers may be lazy.
    - ``put`` keeps all outcomes given or none. Answers for a key that is there already are added to it; an
      answer for rows that it has is not stored twice.
    - Values come back bit for bit. Models, failures and unpicklable things are never stored.
    """

    def get(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Outcomes of those keys that are in the store."""

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes, all or none."""

    def close(self) -> None:
        """Close open files. What was put stays readable: a store that is used again opens them again."""


@runtime_checkable
class Executor(Protocol):
    """Runs jobs.

    The contract, checked by ``truefit.testing.ExecutorContract``:

    - ``map`` yields the outcomes of each job once, as jobs finish, in any order. It takes jobs from the iterable
      only as it can start them, so that the caller may still change its mind.
    - A fit that raises is an outcome with a failure, and so is one that hangs past the time limit or kills its
      worker; neighbours are not touched.
    - Closing the iterator stops what runs as far as the executor can, and leaves it usable.
    - With a ``deadline``, in seconds of ``time.monotonic()``, the iterator ends soon after it: jobs that run then are
      stopped as far as the executor can, and have no outcome.
    - With ``fit_seconds``, an executor that can stop fits treats it as a time limit; any other may ignore it.
    """

    def map(
        self, jobs: Iterable[Job], data: Data, *, deadline: float | None = None, fit_seconds: float | None = None
    ) -> Iterator[list[Outcome]]:
        """Run the jobs and yield their outcomes as they finish."""

    def close(self) -> None:
        """Stop the workers."""


@dataclass(frozen=True, slots=True)
class Progress:
    """Counts of fits at one moment of a run.

    Attributes
    ----------
    done, total : int
        Fits that are answered, and fits requested so far; adaptive methods request more as they go.
    run, shared, stored, failed : int
        How the fits that are done were answered: fitted now, requested by another task as well, found in the
        store, or not at all.
    elapsed : float
        Seconds since the run began.
    left : float or None
        Seconds that it may still take; None while there is nothing to tell it from.
    description : str
        What is being done, in a few words.

    Examples
    --------
    >>> Progress(done=3, total=10, run=2, shared=1, stored=0, failed=0, elapsed=1.5, left=3.5).description
    ''
    """

    done: int
    total: int
    run: int
    shared: int
    stored: int
    failed: int
    elapsed: float
    left: float | None
    description: str = ""


@dataclass(frozen=True, slots=True)
class StoredReport:
    """A finished report: plain JSON types only, so that it is read without fitting and without unpickling.

    A report with the ``id`` of another takes its place. ``made_at`` is ISO 8601 in UTC, ``made`` has the command, the
    data and the versions, ``content`` the result and its pictures.
    """

    id: str
    made_at: str
    made: Mapping[str, Any]
    content: Mapping[str, Any]


@runtime_checkable
class ReportStore(Protocol):
    """A store that also keeps finished reports.

    The contract, checked by ``truefit.testing.ReportContract``:

    - ``reports`` returns all that were kept, the one made last first.
    - ``put_report`` takes the place of a report of the same id; reports and fits do not touch each other.
    - ``count_fits`` is the number of outcomes that the store holds.
    """

    def put_report(self, report: StoredReport) -> None:
        """Keep a report."""

    def reports(self) -> list[StoredReport]:
        """Return all reports, the one made last first."""

    def count_fits(self) -> int:
        """How many fits are kept."""
