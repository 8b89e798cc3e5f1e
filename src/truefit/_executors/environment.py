"""Environment: what must be alike wherever a fit runs: settings, threads, versions of packages, and code.

``FitEnvironment`` sends the settings of the main process to workers. ``limited_threads`` gives every fit the
same number of threads, so that results do not depend on how many workers there are. ``version_difference`` and
``CodeCheck`` keep workers from running fits with other packages or other code.
"""

from __future__ import annotations

import functools
import os
import platform
import socket
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from importlib import metadata
from typing import Any

import numpy as np
import sklearn
from joblib import cpu_count
from threadpoolctl import ThreadpoolController

from truefit._core.errors import Failure, InvalidInput
from truefit._core.fingerprint import Fingerprint, NotComparable
from truefit._core.identity import Environments
from truefit._core.protocols import Job, Origin

#: An environment variable, so that processes started by a fit in a worker know where they are too.
WORKER_VARIABLE = "TRUEFIT_WORKER"
#: Packages that every worker must have.
_REQUIRED = ("truefit", "scikit-learn", "numpy", "scipy", "pandas", "skrub")
#: Packages that are compared where both have them: a fit that needs one that is missing fails to load by itself.
_OPTIONAL = ("lightgbm", "xgboost", "catboost", "torch", "skorch")
#: Estimators whose fingerprint is cached; beyond that all are dropped.
_MAX_FINGERPRINTS = 1000


_thread = threading.local()


def inside_worker() -> bool:
    """Whether this code runs on behalf of an executor, in one of its workers; more workers would be too many.

    Examples
    --------
    >>> inside_worker()
    False
    """
    return WORKER_VARIABLE in os.environ or getattr(_thread, "depth", 0) > 0


def worker_variables(threads: int) -> dict[str, str]:
    """Return the environment variables of a worker process; numeric libraries read theirs when they are loaded."""
    libraries = ("OMP", "OPENBLAS", "MKL", "BLIS", "NUMEXPR")
    limits = [*(f"{library}_NUM_THREADS" for library in libraries), "VECLIB_MAXIMUM_THREADS"]
    # Some learners request threads of their own (n_jobs of LightGBM): the limit holds for these too.
    return {WORKER_VARIABLE: "1", **dict.fromkeys([*limits, "OMP_THREAD_LIMIT"], str(threads))}


@contextmanager
def as_worker() -> Iterator[None]:
    """Let this thread be known as a worker while a job runs in it."""
    _thread.depth = getattr(_thread, "depth", 0) + 1
    try:
        yield
    finally:
        _thread.depth -= 1


@dataclass(frozen=True)
class FitEnvironment:
    """Settings of scikit-learn and numpy, warning filters, import path and folder of the main process."""

    config: dict[str, Any]
    numpy_errors: dict[str, Any]
    filters: list[tuple[Any, ...]]
    path: list[str]
    folder: str | None

    @classmethod
    def current(cls) -> FitEnvironment:
        """Return the environment of this thread."""
        try:
            folder = os.getcwd()
        except OSError:  # removed meanwhile
            folder = None
        path = [entry for entry in sys.path if isinstance(entry, str)]
        return cls(sklearn.get_config(), dict(np.geterr()), list(warnings.filters), path, folder)

    def apply(self) -> None:
        """Make it this process's own, for good: for a worker that does nothing else."""
        if sys.path != self.path:
            sys.path[:] = self.path
        if self.folder is not None:
            with suppress(OSError):
                os.chdir(self.folder)
        sklearn.set_config(**self.config)
        np.seterr(**self.numpy_errors)
        if warnings.filters != self.filters:
            warnings.resetwarnings()
            warnings.filters.extend(self.filters)  # type: ignore[attr-defined]

    @contextmanager
    def applied(self) -> Iterator[None]:
        """Apply what can be undone afterwards, in a process of the user's."""
        with sklearn.config_context(**self.config), np.errstate(**self.numpy_errors):
            # Filters are the whole process's: where other threads run they must not be touched.
            if threading.current_thread() is not threading.main_thread() or warnings.filters == self.filters:
                yield
                return
            with warnings.catch_warnings():
                warnings.resetwarnings()
                warnings.filters.extend(self.filters)  # type: ignore[attr-defined]
                yield


def available_cores() -> int:
    """Return the number of cores that this process may use: fewer than the machine's in a container or under a limit.

    Examples
    --------
    >>> available_cores() >= 1
    True
    """
    return int(cpu_count())  # joblib looks at the affinity mask and the quota of the container


class _ThreadLimit:
    """Limits that overlap in any order: the newest that is still held counts, and the last to go restores."""

    def __init__(self, user_api: str) -> None:
        self.user_api = user_api
        self._lock = threading.Lock()
        self._held: list[tuple[object, int]] = []
        self._before: dict[str, tuple[Any, int]] = {}  # by the library's file

    def acquire(self, threads: int) -> object:
        token = object()
        libraries = [lib for lib in _controller(len(sys.modules)).lib_controllers if lib.user_api == self.user_api]
        with self._lock:
            if not self._held:
                self._before = {}
            self._held.append((token, threads))
            for lib in libraries:
                self._before.setdefault(lib.filepath, (lib, lib.num_threads))
                lib.set_num_threads(threads)
        return token

    def release(self, token: object) -> None:
        with self._lock:
            self._held = [held for held in self._held if held[0] is not token]
            for lib, before in self._before.values():
                lib.set_num_threads(self._held[-1][1] if self._held else before)


# BLAS has one setting for the process, OpenMP one for each thread that calls it.
_blas = _ThreadLimit("blas")
_openmp = threading.local()


@functools.lru_cache(maxsize=1)
def _controller(modules: int) -> Any:
    """Find the libraries, which takes milliseconds: again only when the number of modules has changed."""
    return ThreadpoolController()


@contextmanager
def limited_threads(threads: int) -> Iterator[None]:
    """Let BLAS and OpenMP use this many threads, here and now; what was set before comes back afterwards."""
    if not hasattr(_openmp, "limit"):
        _openmp.limit = _ThreadLimit("openmp")
    tokens = [(limit, limit.acquire(threads)) for limit in (_blas, _openmp.limit)]
    try:
        yield
    finally:
        for limit, token in tokens:
            limit.release(token)


def check_threads(threads: int, owner: str) -> int:
    """Return a number of threads that can be worked with."""
    if not isinstance(threads, int) or isinstance(threads, bool) or threads < 1:
        raise InvalidInput(f"The 'threads' parameter of {owner} must be an int of at least 1. Got {threads!r} instead.")
    return threads


def installed_versions() -> dict[str, str]:
    """Return the versions that a worker must have too: Python's without its last part, and those of packages.

    Examples
    --------
    >>> installed_versions()["Python"].count(".")
    1
    """
    imported = [name for name in _OPTIONAL if name in sys.modules]
    found = {name: _version(name) for name in ("Python", *_REQUIRED, *imported)}
    return {name: version for name, version in found.items() if version is not None}


def version_difference(expected: Mapping[str, str]) -> str | None:
    """Return the differences in versions between this worker and the process that sends the jobs; None if none.

    Examples
    --------
    >>> version_difference(installed_versions()) is None
    True
    >>> print(version_difference({"scikit-learn": "0.1"}))
    scikit-learn 0.1 here, ... on the worker ...
    """
    parts = []
    for name, version in expected.items():
        found = _version(name)
        if found != version and not (found is None and name in _OPTIONAL):
            parts.append(f"{name} {version} here, {found or 'not installed'}")
    if not parts:
        return None
    return f"{'; '.join(parts)} on the worker {socket.gethostname()} (process {os.getpid()})"


@functools.cache  # reading what is installed takes milliseconds
def _version(name: str) -> str | None:
    if name == "Python":
        return ".".join(platform.python_version_tuple()[:2])
    module = sys.modules.get("sklearn" if name == "scikit-learn" else name) if name in _REQUIRED else None
    version = getattr(module, "__version__", None)
    if isinstance(version, str):  # what runs; what is installed may be shadowed by another
        return version
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None


class CodeCheck:
    """Checks in a worker that it would run the code that a job is identified with.

    A worker is another process: it imports modules from files that may have been edited since, and does not see
    changes made at run time in the process that sends the jobs.
    """

    def __init__(self) -> None:
        self._environments = Environments()
        self._known: dict[int, tuple[Any, Fingerprint]] = {}

    def failure(self, job: Job) -> Failure | None:
        """Return a failure of the kind "other code" for a job that must not be run here, else None."""
        for estimator, origin in origins(job):
            if not self._same(estimator, origin):
                return Failure(
                    "other code",
                    "A worker must run the same code as the process that sends the fits. For "
                    f"{type(estimator).__name__} it has other code: a module or package was edited after it was "
                    "imported, or something was changed at run time. Restart Python, or run with workers=1.",
                )
        return None

    def _same(self, estimator: Any, origin: Origin) -> bool:
        found = self._fingerprint(estimator, origin)
        if found.digest != origin.fingerprint:
            return False
        if origin.environment is None:
            return True
        try:
            return self._environments.digest(found.packages, found.classes, files=origin.files) == origin.environment
        except NotComparable:
            return False

    def _fingerprint(self, estimator: Any, origin: Origin) -> Fingerprint:
        if origin.own_code:  # which may have changed since
            return Fingerprint(estimator, tolerant=True)
        known = self._known.get(id(estimator))
        if known is None:
            if len(self._known) >= _MAX_FINGERPRINTS:
                self._known.clear()
            # The estimator is held so that its id stays its own.
            known = self._known[id(estimator)] = estimator, Fingerprint(estimator, tolerant=True)
        return known[1]


def origins(job: Job) -> Iterator[tuple[Any, Origin]]:
    """Return the different estimators of a job with their origins."""
    seen: set[int] = set()
    for fit in job.fits:
        if fit.origin is not None and id(fit.estimator) not in seen:
            seen.add(id(fit.estimator))
            yield fit.estimator, fit.origin
