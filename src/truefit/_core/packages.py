"""Packages: which modules are installed, in which version, and whether their files are still the same.

A class of an installed package is identified by its name. That is safe only if the package is identified too: by its
version, by the hashes of its files (a package can be reinstalled under the same version, or edited in place), and by
the packages that it requires.
"""

from __future__ import annotations

import base64
import contextlib
import functools
import hashlib
import os
import re
import site
import sys
import sysconfig
import types
from collections.abc import Iterable
from hashlib import blake2b
from importlib import metadata
from importlib.machinery import PathFinder
from pathlib import Path
from typing import NamedTuple

#: Raised whenever what a token, a fingerprint or a key is made of changes.
IDENTITY_VERSION = 3

#: Packages whose distribution has another name, and that nearly everybody uses. Others are searched for.
_DISTRIBUTIONS = {"dateutil": "python-dateutil", "sklearn": "scikit-learn"}
#: What fits of well-known packages rest on. It is less than they require (skrub requires matplotlib, for its reports),
#: and quicker to know. What other packages need is read from their metadata and their imports.
_NEEDS: dict[str, tuple[str, ...]] = {
    "catboost": ("numpy", "scipy", "pandas"),
    "cloudpickle": (),
    "dateutil": (),
    "joblib": (),
    "lightgbm": ("numpy", "scipy"),
    "narwhals": (),
    "numpy": (),
    "pandas": ("numpy", "dateutil", "pyarrow"),
    "polars": ("_polars_runtime_32",),
    "pyarrow": (),
    "scipy": ("numpy",),
    "sklearn": ("numpy", "scipy", "joblib", "threadpoolctl", "narwhals"),
    "skrub": ("sklearn", "pandas"),
    "threadpoolctl": (),
    "xgboost": ("numpy", "scipy"),
}
#: Files beside a package's own that differ between two installations of the same content.
_NOT_CONTENT = ("RECORD", "INSTALLER", "REQUESTED", "direct_url.json", "uv_cache.json")
_REQUIREMENT = re.compile(r"\s*([A-Za-z0-9][A-Za-z0-9._-]*)([^;]*)(;.*)?")
_IMPORT = re.compile(rb"^[ \t]*(?:from|import)[ \t]+([A-Za-z_]\w*)", re.MULTILINE)
#: Seconds by which a file may be younger than the list of a distribution's files, which is written last.
_WRITING_SECONDS = 2.0


@functools.cache
def _installed_roots() -> tuple[str, ...]:
    paths = [sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")]
    paths += [*site.getsitepackages(), site.getusersitepackages()]
    paths.append(os.path.dirname(os.path.dirname(__file__)))  # truefit, wherever it is
    return tuple({os.path.realpath(path) + os.sep for path in paths if path})


def under_installed_root(path: str) -> bool:
    """Whether a file belongs to Python or to an installed distribution."""
    return _installed_folder(os.path.dirname(path)) or _listed(path)


@functools.lru_cache(maxsize=10_000)
def _installed_folder(path: str) -> bool:
    # Folders are resolved, files are not: some installers link each file to a cache of theirs.
    return (os.path.realpath(path) + os.sep).startswith(_installed_roots())


@functools.lru_cache(maxsize=10_000)
def _listed(path: str) -> bool:
    """Whether a file is of a distribution that was installed into a folder of the path, as by pip's ``--target``.

    The user's own files may lie in the same folder. Files about distributions are looked for also where there are none.
    """
    folder, name = os.path.split(path)
    place = os.path.join(os.path.realpath(folder), name)
    for root in {os.path.realpath(root) + os.sep for root in sys.path if root}:
        file = place.removeprefix(root)
        if file != place and (os.path.dirname(file).endswith(".dist-info") or file in _listed_in(root)):
            return True
    return False


@functools.lru_cache(maxsize=100)
def _listed_in(root: str) -> frozenset[str]:
    """Return the files that the distributions in a folder list."""
    listed = (path for each in metadata.distributions(path=[root]) for path, _, _ in _recorded(each))
    return frozenset(path.replace("/", os.sep) for path in listed)


def installed(module_name: str | None) -> bool:
    """Whether a module comes from an installed distribution (or Python itself), not from the user's own files."""
    if not module_name or module_name == "__main__":
        return False
    top = module_name.partition(".")[0]
    if top == "truefit":
        return True
    path = getattr(sys.modules.get(module_name) or sys.modules.get(top), "__file__", None)
    if path is not None:
        return under_installed_root(path)
    return top in sys.builtin_module_names or top in sys.stdlib_module_names


def installed_function(function: types.FunctionType) -> bool:
    """Whether the code of a function, wherever the function is found now, comes from an installed package."""
    filename = function.__code__.co_filename
    home = str(function.__globals__.get("__name__", ""))
    if filename.startswith("<"):  # generated, or typed in somewhere
        return installed(home) or home.startswith("namedtuple_") or _calls_installed_only(function)
    return under_installed_root(filename)


def _calls_installed_only(function: types.FunctionType) -> bool:
    """Whether a function was generated in a namespace with functions of installed packages only, as scipy 1.18 does."""
    names = {name: value for name, value in function.__globals__.items() if name != "__builtins__"}
    called = [value for value in names.values() if value is not function]
    return bool(called) and all(
        isinstance(each, types.FunctionType) and under_installed_root(each.__code__.co_filename) for each in called
    )


def _part_of_python(package: str) -> bool:
    return package in sys.stdlib_module_names or package in sys.builtin_module_names


@functools.lru_cache(maxsize=10_000)
def package_version(package: str) -> str:
    """Version of an importable package; truefit's own is the version of its identities."""
    if package == "truefit":
        return str(IDENTITY_VERSION)
    if _part_of_python(package):
        return ".".join(map(str, sys.version_info[:3]))
    version = getattr(sys.modules.get(package), "__version__", None)
    if isinstance(version, str):
        return version
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        names = _distributions_by_search().get(package, [])
        return ",".join(f"{name}=={metadata.version(name)}" for name in sorted(set(names))) or "unknown"


class Package(NamedTuple):
    """An installed package: the digest of its files, and the packages that it needs."""

    digest: bytes
    needs: tuple[str, ...]


def package_digest(packages: Iterable[str]) -> bytes:
    """Digest of the files of packages and of all that they need, as they were when this process loaded them."""
    digest = blake2b(digest_size=16)
    for name in sorted(closure(frozenset(packages))):
        digest.update(f"{name} {package_version(name)} ".encode())
        digest.update(_package(name).digest)
    return digest.digest()


@functools.lru_cache(maxsize=1000)
def closure(packages: frozenset[str]) -> frozenset[str]:
    """Return the packages with all that they need, those of Python itself left out."""
    found: set[str] = set()
    waiting = list(packages)
    while waiting:
        name = waiting.pop()
        if name in found or name == "truefit" or _part_of_python(name):
            continue
        found.add(name)
        waiting.extend(_package(name).needs)
    return frozenset(found)


@functools.lru_cache(maxsize=10_000)
def _package(name: str) -> Package:
    distributions = _distributions_of(name)
    digest = blake2b(digest_size=16)
    folder = _folder_of(name)
    for distribution in distributions:
        digest.update(_content(distribution))
    if not distributions and folder is not None:
        digest.update(_folder_digest(folder))
    if name in _NEEDS:
        return Package(digest.digest(), _NEEDS[name])
    needs = {need for distribution in distributions for need in _required(distribution)}
    if folder is not None:
        needs.update(_imported_by(folder))  # it may import what it does not declare
    return Package(digest.digest(), tuple(sorted(needs - {name})))


def _distributions_of(package: str) -> list[metadata.Distribution]:
    candidate = _DISTRIBUTIONS.get(package, package)
    with contextlib.suppress(metadata.PackageNotFoundError):
        distribution = metadata.distribution(candidate)
        if package in _NEEDS or package in _packages_of(candidate):
            return [distribution]
    if package in _NEEDS and package not in sys.modules:
        return []  # not installed
    return [metadata.distribution(name) for name in sorted(set(_distributions_by_search().get(package, [])))]


@functools.cache
def _distributions_by_search() -> dict[str, list[str]]:
    return dict(metadata.packages_distributions())  # some 0.1 s


def _recorded(distribution: metadata.Distribution) -> list[tuple[str, str, str]]:
    """Return path, hash and size of the files that a distribution has written."""
    found = []
    for line in (distribution.read_text("RECORD") or "").splitlines():
        path, _, rest = line.rpartition(",")
        path, _, hashed = path.rpartition(",")
        path = path.strip('"')
        # Scripts name the interpreter that they are for, which is another in each environment.
        if hashed and not path.startswith("..") and os.path.basename(path) not in _NOT_CONTENT:
            found.append((path, hashed, rest))
    return found


def _content(distribution: metadata.Distribution) -> bytes:
    """Digest of a distribution's files: as recorded when it was installed, or as they are where they were edited."""
    digest = blake2b(digest_size=16)
    recorded = _recorded(distribution)
    root = str(distribution.locate_file(""))
    list_of_files = os.path.join(str(getattr(distribution, "_path", root)), "RECORD")
    if not recorded or not os.path.exists(list_of_files):
        return _folder_digest(str(getattr(distribution, "_path", root)))
    written = os.stat(list_of_files).st_mtime + _WRITING_SECONDS
    for path, hashed, size in sorted(recorded):
        digest.update(f"{path} {hashed} ".encode())
        if "/tests/" in path:
            continue
        place = os.path.join(root, path)
        try:
            state = os.stat(place)
        except OSError:
            digest.update(b"missing")
            continue
        if str(state.st_size) != size or state.st_mtime > written:
            content = Path(place).read_bytes()
            digest.update(blake2b(content, digest_size=16).digest() if not _same(content, hashed) else b"")
    return digest.digest()


def _same(content: bytes, recorded: str) -> bool:
    kind, _, value = recorded.partition("=")
    try:
        actual = hashlib.new(kind, content).digest()
    except ValueError:  # an algorithm that this Python does not have
        return False
    return base64.urlsafe_b64encode(actual).rstrip(b"=").decode() == value


def _required(distribution: metadata.Distribution) -> set[str]:
    """Return the importable packages that a distribution requires, without those of its extras."""
    parsed = map(_REQUIREMENT.match, distribution.requires or ())
    names = [found[1] for found in parsed if found is not None and "extra" not in (found[3] or "")]
    return {package for name in names for package in _packages_of(name)}


@functools.lru_cache(maxsize=10_000)
def _packages_of(distribution_name: str) -> tuple[str, ...]:
    try:
        distribution = metadata.distribution(distribution_name)
    except metadata.PackageNotFoundError:
        return ()  # for another platform or version of Python
    files = [path for path, _, _ in _recorded(distribution) if path.endswith((".py", ".so", ".pyd"))]
    tops = {path.partition("/" if "/" in path else ".")[0] for path in files}
    return tuple(sorted(filter(str.isidentifier, tops)))


def _folder_of(package: str) -> str | None:
    path: str | None = getattr(sys.modules.get(package), "__file__", None)
    if path is None:
        return None
    path = os.path.realpath(path)
    return os.path.dirname(path) if os.path.basename(path).startswith("__init__.") else path


def _python_files(place: str) -> list[str]:
    if os.path.isfile(place):
        return [place]
    found = []
    for folder, folders, files in os.walk(place):
        folders[:] = [name for name in folders if name not in ("__pycache__", "tests")]
        found += [os.path.join(folder, name) for name in files if name.endswith((".py", ".so", ".pyd"))]
    return sorted(found)


def _folder_digest(place: str) -> bytes:
    """Digest of files that no distribution lists: their names, sizes and times."""
    digest = blake2b(digest_size=16)
    for path in _python_files(place):
        state = os.stat(path)
        digest.update(f"{os.path.relpath(path, place)} {state.st_size} {state.st_mtime_ns} ".encode())
    return digest.digest()


def _imported_by(place: str) -> set[str]:
    sources = (Path(path).read_bytes() for path in _python_files(place) if path.endswith(".py"))
    names = {name.decode() for source in sources for name in _IMPORT.findall(source)}
    return {name for name in names if not _part_of_python(name) and _importable(name)}


@functools.lru_cache(maxsize=10_000)
def _importable(package: str) -> bool:
    if package in sys.modules:
        return installed(package)
    found = PathFinder.find_spec(package)
    return found is not None and found.origin is not None and under_installed_root(found.origin)
