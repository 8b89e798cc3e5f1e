"""Serialization: jobs and outcomes as bytes; objects shared by many jobs are sent once."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from truefit._core.errors import Failure
from truefit._core.outcome import Outcome
from truefit._core.protocols import Fit, Job

# Dataclasses with slots pickle slowly; as tuples they do not.
_fit_values = attrgetter(*(field.name for field in fields(Fit)))
_outcome_values = attrgetter(*(field.name for field in fields(Outcome)))
_ESTIMATOR = [field.name for field in fields(Fit)].index("estimator")

#: Shared objects held on either side; beyond that all are dropped and sent again when needed.
MAX_OBJECTS = 1000


@dataclass(frozen=True, slots=True, eq=False)
class SharedObject:
    """An estimator or a solver: pickled once, known by its number."""

    number: int
    content: bytes
    value: Any  # held, so that its id stays its own


@dataclass(frozen=True, slots=True, eq=False)
class SerializedJob:
    """A job as bytes, and the shared objects that must be there before it."""

    content: bytes
    shared: tuple[SharedObject, ...]


class JobSerializer:
    """Makes bytes of jobs, for the workers of one map."""

    def __init__(self) -> None:
        self._objects: dict[int, SharedObject] = {}
        self._count = 0

    def serialize(self, job: Job) -> SerializedJob | Failure:
        """Return a job as bytes, or why it cannot be pickled."""
        shared: dict[int, SharedObject] = {}
        try:
            solver = self._shared(job.solver, shared)
            fits = []
            for fit in job.fits:
                values = list(_fit_values(fit))
                values[_ESTIMATOR] = self._shared(fit.estimator, shared)
                fits.append(values)
            return SerializedJob(serialize((solver, job.work, fits)), tuple(shared.values()))
        except Exception as error:
            names = ", ".join(sorted({type(fit.estimator).__name__ for fit in job.fits}))
            return Failure(
                "raised",
                f"An estimator must be picklable to be fitted in a worker. Got {names}, for which pickling fails with: "
                f"{type(error).__name__}: {error}. Leave out what cannot be pickled (locks, open files, connections), "
                "or run with workers=1 and no budget, timeout or memory limit.",
            )

    def _shared(self, value: Any, shared: dict[int, SharedObject]) -> int:
        item = self._objects.get(id(value))
        if item is None:
            if len(self._objects) >= MAX_OBJECTS:
                self._objects.clear()
            item = SharedObject(self._count, serialize(value), value)
            self._objects[id(value)] = item
            self._count += 1
        shared[item.number] = item
        return item.number


class JobDeserializer:
    """Makes jobs of what a JobSerializer has sent."""

    def __init__(self) -> None:
        self._objects: dict[int, Any] = {}
        #: A module that a shared object needs and that is not installed in this process.
        self.missing_module: str | None = None

    def add(self, number: int, content: bytes | memoryview) -> None:
        """Take in a shared object; one that cannot be loaded is a failure of the jobs that need it."""
        try:
            self._objects[number] = pickle.loads(content)
        except Exception as error:
            # A module that lacks what is looked for is another one than in the process that sends the fits.
            other = isinstance(error, ImportError | AttributeError)
            self._objects[number] = Failure("other code", _not_loaded(error)) if other else Failure.of(error)
            if isinstance(error, ModuleNotFoundError):
                self.missing_module = error.name

    def forget(self) -> None:
        """Let go of all shared objects."""
        self._objects.clear()

    def job(self, content: bytes | memoryview) -> Job | Failure:
        """Return a job, or why it cannot be had here."""
        try:
            solver, work, fits = pickle.loads(content)
        except Exception as error:
            return Failure.of(error)
        for number in (solver, *(values[_ESTIMATOR] for values in fits)):
            if isinstance(self._objects[number], Failure):
                return self._objects[number]  # type: ignore[no-any-return]
        for values in fits:
            values[_ESTIMATOR] = self._objects[values[_ESTIMATOR]]
        return Job(self._objects[solver], tuple(Fit(*values) for values in fits), work)


def _not_loaded(error: Exception) -> str:
    return (
        "A worker must run the same code as the process that sends the fits. It could not load an estimator: "
        f"{type(error).__name__}: {error}. Restart Python, or run with workers=1."
    )


def serialize(value: Any) -> bytes:
    """Pickle anything that a worker has to get, classes and functions of the user's script included."""
    # cloudpickle takes twice as long; only what lies in a script or has no name at all is in need of it.
    if not cloudpickle.list_registry_pickle_by_value():
        try:
            content = pickle.dumps(value, protocol=5)
        except Exception:  # cloudpickle's error counts
            content = b"__main__"
        if b"__main__" not in content:
            return content
    by_value: bytes = cloudpickle.dumps(value, protocol=5)
    return by_value


def serialize_outcomes(job: Job, outcomes: Iterable[Outcome]) -> bytes:
    """Outcomes as bytes, or the failure to send them back; models are dropped unless they were requested."""
    try:
        sent = [
            outcome if fit.keep_model or outcome.model is None else replace(outcome, model=None)
            for fit, outcome in zip(job.fits, outcomes, strict=True)
        ]
        return serialize([_outcome_values(outcome) for outcome in sent])
    except Exception as error:
        message = (
            f"The outcome of a fit must be picklable to come back from a worker. Got {type(error).__name__}: {error}. "
            "Make the model picklable, or run with workers=1 and no budget, timeout or memory limit."
        )
        return serialize(Failure("raised", message))


def deserialize_outcomes(content: bytes | memoryview, job: Job) -> list[Outcome]:
    """Outcomes of a job that came back as bytes."""
    try:
        came = pickle.loads(content)
    except Exception as error:
        came = Failure.of(error)
    return job.failed(came) if isinstance(came, Failure) else [Outcome(*values) for values in came]
