"""Versions: of the packages that the numbers of a fit depend on, in this process and in a worker."""

from __future__ import annotations

import functools
import os
import platform
import socket
import sys
from collections.abc import Mapping
from importlib import metadata

#: Packages that every worker must have: name of the distribution, and of the module.
_REQUIRED = {
    "truefit": "truefit",
    "scikit-learn": "sklearn",
    "numpy": "numpy",
    "scipy": "scipy",
    "pandas": "pandas",
    "skrub": "skrub",
}
#: Packages that are compared where both have them: a fit that needs one that is missing fails to load by itself.
_OPTIONAL = ("lightgbm", "xgboost", "catboost", "torch", "skorch")


def versions_here() -> dict[str, str]:
    """Return the versions that a worker must have too: Python's without its last part, and those of packages.

    Examples
    --------
    >>> versions_here()["Python"].count(".")
    1
    """
    imported = [name for name in _OPTIONAL if name in sys.modules]
    found = {name: _version(name) for name in ("Python", *_REQUIRED, *imported)}
    return {name: version for name, version in found.items() if version is not None}


def difference_from(expected: Mapping[str, str]) -> str | None:
    """Say in which versions this process, a worker, differs from the one that sends the jobs; None if in none.

    Examples
    --------
    >>> difference_from(versions_here()) is None
    True
    >>> print(difference_from({"scikit-learn": "0.1"}))
    scikit-learn 0.1 here, ... on the worker ...
    """
    return _difference(tuple(expected.items()))


@functools.cache
def _difference(expected: tuple[tuple[str, str], ...]) -> str | None:
    # Once in a worker's life: reading what is installed takes milliseconds.
    parts = []
    for name, version in expected:
        found = _version(name)
        if found != version and not (found is None and name in _OPTIONAL):
            parts.append(f"{name} {version} here, {found or 'not installed'}")
    if not parts:
        return None
    return f"{'; '.join(parts)} on the worker {socket.gethostname()} (process {os.getpid()})"


def _version(name: str) -> str | None:
    if name == "Python":
        return ".".join(platform.python_version_tuple()[:2])
    module = sys.modules.get(_REQUIRED.get(name, ""))
    version = getattr(module, "__version__", None)
    if isinstance(version, str):  # what runs; what is installed may be shadowed by another
        return version
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
