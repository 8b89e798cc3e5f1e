"""Packing: jobs and outcomes as bytes; what many jobs have in common travels once."""

from __future__ import annotations

import pickle
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from operator import attrgetter
from typing import Any

import cloudpickle  # type: ignore[import-untyped]

from truefit._core.outcome import Failure, Outcome
from truefit._core.protocols import Job
from truefit._core.task import Fit

# Dataclasses with slots pickle slowly; as tuples they do not.
_fit_values = attrgetter(*(field.name for field in fields(Fit)))
_outcome_values = attrgetter(*(field.name for field in fields(Outcome)))
_ESTIMATOR = [field.name for field in fields(Fit)].index("estimator")

#: Parts remembered on either side; beyond that all are forgotten and sent again when needed.
_MANY = 1000


@dataclass(frozen=True, slots=True, eq=False)
class Part:
    """An estimator or a solver: pickled once, known by its number."""

    number: int
    content: bytes
    thing: Any  # held, so that its id stays its own


@dataclass(frozen=True, slots=True, eq=False)
class PackedJob:
    """A job as bytes, and the parts that must be there before it."""

    content: bytes
    parts: tuple[Part, ...]


class Packer:
    """Packs jobs for workers."""

    def __init__(self) -> None:
        self._parts: dict[int, Part] = {}
        self._count = 0

    def pack(self, job: Job) -> PackedJob | Failure:
        """Return a job as bytes, or why it cannot travel."""
        parts: dict[int, Part] = {}
        try:
            solver = self._part(job.solver, parts)
            fits = []
            for fit in job.fits:
                values = list(_fit_values(fit))
                values[_ESTIMATOR] = self._part(fit.estimator, parts)
                fits.append(values)
            return PackedJob(packed((solver, job.work, fits)), tuple(parts.values()))
        except Exception as error:
            names = ", ".join(sorted({type(fit.estimator).__name__ for fit in job.fits}))
            return Failure(
                "raised",
                f"An estimator must be picklable to be fitted in a worker. Got {names}, for which pickling says: "
                f"{type(error).__name__}: {error}. Leave out what cannot be pickled (locks, open files, connections), "
                "or run with workers=1 and no budget, timeout or memory limit.",
            )

    def _part(self, thing: Any, parts: dict[int, Part]) -> int:
        part = self._parts.get(id(thing))
        if part is None:
            if len(self._parts) >= _MANY:
                self._parts.clear()
            part = Part(self._count, packed(thing), thing)
            self._parts[id(thing)] = part
            self._count += 1
        parts[part.number] = part
        return part.number


class Unpacker:
    """Makes jobs of what a Packer has sent."""

    def __init__(self) -> None:
        self._parts: dict[int, Any] = {}
        #: A module that a part needs and that is not installed in this process.
        self.missing_module: str | None = None

    def add(self, number: int, content: bytes | memoryview) -> None:
        """Take in a part; one that cannot be loaded is a failure of the jobs that need it."""
        try:
            self._parts[number] = pickle.loads(content)
        except Exception as error:
            # A module that lacks what is looked for is another one than in the process that sends the fits.
            other = isinstance(error, ImportError | AttributeError)
            self._parts[number] = Failure("other code", _not_loaded(error)) if other else Failure.of(error)
            if isinstance(error, ModuleNotFoundError):
                self.missing_module = error.name

    def forget(self) -> None:
        """Let go of all parts."""
        self._parts.clear()

    def job(self, content: bytes | memoryview) -> Job | Failure:
        """Return a job, or why it cannot be had here."""
        try:
            solver, work, fits = pickle.loads(content)
        except Exception as error:
            return Failure.of(error)
        for number in (solver, *(values[_ESTIMATOR] for values in fits)):
            if isinstance(self._parts[number], Failure):
                return self._parts[number]  # type: ignore[no-any-return]
        for values in fits:
            values[_ESTIMATOR] = self._parts[values[_ESTIMATOR]]
        return Job(self._parts[solver], tuple(Fit(*values) for values in fits), work)


def _not_loaded(error: Exception) -> str:
    return (
        "A worker must run the same code as the process that sends the fits. It could not load an estimator: "
        f"{type(error).__name__}: {error}. Restart Python, or run with workers=1."
    )


class Memory:
    """Which parts a worker has."""

    def __init__(self) -> None:
        self._numbers: set[int] = set()

    def missing(self, parts: Iterable[Part]) -> tuple[bool, list[Part]]:
        """Return the parts to send now, and whether the worker must forget the others first."""
        parts = list(parts)
        full = len(self._numbers) + len(parts) > _MANY
        if full:
            self._numbers.clear()
        lacking = [part for part in parts if part.number not in self._numbers]
        self._numbers.update(part.number for part in lacking)
        return full, lacking

    def clear(self) -> None:
        """Note that the worker has none."""
        self._numbers.clear()


def packed(thing: Any) -> bytes:
    """Pickle anything that a worker has to get, classes and functions of the user's script included."""
    # cloudpickle takes twice as long; only what lies in a script or has no name at all is in need of it.
    if not cloudpickle.list_registry_pickle_by_value():
        try:
            content = pickle.dumps(thing, protocol=5)
        except Exception:
            content = b"__main__"
        if b"__main__" not in content:
            return content
    by_value: bytes = cloudpickle.dumps(thing, protocol=5)
    return by_value


def packed_outcomes(job: Job, outcomes: Iterable[Outcome]) -> bytes:
    """Outcomes as bytes, or the failure to send them back; models stay behind unless they are wanted."""
    try:
        sent = [
            outcome if fit.keep_model or outcome.model is None else replace(outcome, model=None)
            for fit, outcome in zip(job.fits, outcomes, strict=True)
        ]
        return packed([_outcome_values(outcome) for outcome in sent])
    except Exception as error:
        message = (
            f"The outcome of a fit must be picklable to come back from a worker. Got {type(error).__name__}: {error}. "
            "Make the model picklable, or run with workers=1 and no budget, timeout or memory limit."
        )
        return packed(Failure("raised", message))


def unpacked_outcomes(content: bytes | memoryview, job: Job) -> list[Outcome]:
    """Outcomes of a job that came back as bytes."""
    try:
        came = pickle.loads(content)
    except Exception as error:
        came = Failure.of(error)
    return job.failed(came) if isinstance(came, Failure) else [Outcome(*values) for values in came]
