"""Content of a value as a digest: plain values, containers, arrays, estimators, and others by ``__reduce__``."""

from __future__ import annotations

import copyreg
import datetime
import enum
import functools
import os
import pathlib
import sys
import types
from collections.abc import Callable, Iterator
from hashlib import blake2b
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator

from truefit._core.packages import installed, package_version
from truefit._core.parameters import params_of

_ALWAYS = ("sklearn", "numpy", "scipy")
_PLAIN = (bool, int, float, complex, str, bytes, datetime.date, datetime.timedelta, datetime.time)
#: Files named by parameters of installed estimators count with their content, up to this size.
_FILE_BYTES = 1 << 30


class NotComparable(Exception):
    """The thing cannot be identified by its content."""


class ContentDigest:
    """Digest of an object's content, and the packages that it comes from; how code is added is up to subclasses.

    Parameters
    ----------
    thing : object
    tolerant : bool, default=False
        Whether parts without comparable content are listed in ``unknown``, where others raise ``NotComparable``.
    """

    def __init__(self, thing: Any, *, tolerant: bool = False) -> None:
        #: What has no content that could be compared; anything but a tolerant fingerprint raises there instead.
        self.unknown: list[str] = []
        self._tolerant = tolerant
        self._hash = blake2b(digest_size=16)
        self._seen: dict[int, int] = {}
        self._open: set[int] = set()  # containers that are being added
        self._alive: list[Any] = []  # ids stay unique only while their objects live
        self._stateful = False
        #: Packages that it comes from, and their classes: what has to be identified besides.
        self.packages: set[str] = set(_ALWAYS)
        self.classes: set[type] = set()
        #: Whether code that is not of an installed package takes part.
        self.own_code = False
        self._add(thing)
        for package in sorted(self.packages):
            self._text(f"{package}=={package_version(package)}")
        self.digest: bytes = self._hash.digest()

    def _not_comparable(self, reason: str, cause: Exception | None = None) -> None:
        if not self._tolerant:
            raise NotComparable(reason) from cause
        self.unknown.append(reason)
        self._text("not comparable")

    def _text(self, text: str) -> None:
        content = text.encode("utf-8", "surrogatepass")
        self._hash.update(b"%d:" % len(content))
        self._hash.update(content)

    def _bytes(self, tag: str, content: Any) -> None:
        self._text(tag)
        view = memoryview(content)
        self._hash.update(b"%d:" % view.nbytes)
        self._hash.update(view)

    def _add(self, thing: Any) -> None:
        if thing is None or thing is Ellipsis or thing is NotImplemented:
            self._text(repr(thing))
        elif isinstance(thing, enum.Enum):
            self._text("enum")
            self._add(type(thing))
            self._text(thing.name)
        elif type(thing) in _PLAIN or isinstance(thing, datetime.date):
            self._text(f"{type(thing).__name__} {thing!r}")
        elif isinstance(thing, pathlib.PurePath):
            self._text(f"path {thing!s}")
        elif isinstance(thing, np.generic):
            # A grid made by numpy holds its float64, and means Python's float.
            value = thing.item()
            same = type(value) in _PLAIN and np.asarray(value).dtype == thing.dtype
            self._text(f"{type(value).__name__} {value!r}" if same else f"numpy {thing.dtype.str} {value!r}")
        elif isinstance(thing, np.dtype):
            self._text(f"dtype {thing.str} {thing.descr if thing.names else ''}")
        elif isinstance(thing, types.ModuleType):
            self._add_module(thing)
        elif type(thing) in (dict, set, frozenset, list, tuple):
            self._add_container(thing)
        elif not self._met_before(thing):
            self._add_compound(thing)

    def _add_container(self, thing: Any) -> None:
        # By content each time: whether two places hold one list or two equal ones differs between processes.
        if id(thing) in self._open:
            self._text("within itself")
            return
        self._open.add(id(thing))
        if type(thing) is dict:
            self._text(f"dict {len(thing)}")  # in its order, which an estimator may go by
            for key, value in list(thing.items()):
                self._add(key)
                self._add(value)
        elif type(thing) in (set, frozenset):
            self._add_unordered("set", thing)
        else:
            self._text(f"{type(thing).__name__} {len(thing)}")
            for item in list(thing):
                self._add(item)
        self._open.discard(id(thing))

    def _met_before(self, thing: Any) -> bool:
        if id(thing) in self._seen:
            self._text(f"again {self._seen[id(thing)]}")
            return True
        self._seen[id(thing)] = len(self._seen)
        self._alive.append(thing)
        return False

    def _add_compound(self, thing: Any) -> None:
        hook = getattr(type(thing), "__truefit_key__", None)
        if hook is not None:
            self._text("keyed")
            self._add(hook(thing))
        elif isinstance(thing, slice | range):
            self._text(repr(thing))
        elif type(thing) in (np.ndarray, np.memmap):
            self._add_array(thing)
        elif sparse.issparse(thing):
            rows = thing.tocsr()
            self._text(f"sparse {rows.shape}")
            for part in (rows.indptr.astype(np.int64), rows.indices.astype(np.int64), rows.data):
                self._add_array(part)
        elif isinstance(thing, type):
            self._add_class(thing)
        elif isinstance(thing, types.FunctionType):
            self._add_with_state(self._add_function, thing)
        elif isinstance(thing, staticmethod | classmethod):
            self._text(type(thing).__name__)
            self._add(thing.__func__)
        elif isinstance(thing, property):
            self._text("property")
            self._add((thing.fget, thing.fset, thing.fdel))
        elif isinstance(thing, functools.cached_property):
            self._text("cached property")
            self._add(thing.func)
        elif isinstance(thing, types.MemberDescriptorType | types.GetSetDescriptorType):
            self._text(f"member {thing.__qualname__}")
        elif hasattr(type(thing), "cache_info") and hasattr(thing, "__wrapped__"):
            self._text("cached function")  # what it has cached follows from what it is
            self._add(thing.__wrapped__)
        elif hasattr(thing, "get_params") and not self._stateful and _clones_by_params(type(thing)):
            # What is fitted is a clone, so whatever else the object carries takes no part.
            self._text("estimator")
            self._add(type(thing))
            params = params_of(thing)
            self._add_unordered("params", params.items())
            if installed(type(thing).__module__):
                self._add_files(params)
            # Set by set_fit_request and set_output; a clone has them too.
            for name in ("_metadata_request", "_sklearn_output_config"):
                self._add(vars(thing).get(name) if hasattr(thing, "__dict__") else None)
        else:
            self._add_with_state(self._add_reduced, thing)

    def _add_with_state(self, add: Callable[[Any], None], thing: Any) -> None:
        """Add something whose parts are kept as they are, not cloned: what is fitted in them counts."""
        stateful, self._stateful = self._stateful, True
        add(thing)
        self._stateful = stateful

    def _add_array(self, array: np.ndarray[Any, Any]) -> None:
        if array.dtype.hasobject:
            self._text(f"objects {array.shape}")
            for item in array.reshape(-1):
                self._add(item)
        else:
            self._bytes(
                f"array {array.dtype.str} {array.shape}",
                np.ascontiguousarray(array).reshape(-1).view(np.uint8),
            )

    def _add_unordered(self, tag: str, items: Any) -> None:
        digests = sorted(self._digest_of(item) for item in items)
        self._text(f"{tag} {len(digests)}")
        for digest in digests:
            self._hash.update(digest)

    def _digest_of(self, thing: Any) -> bytes:
        outer, self._hash = self._hash, blake2b(digest_size=16)
        # Back-references count from the container: the order in which its items come must not matter.
        seen, self._seen = self._seen, dict(self._seen)
        try:
            self._add(thing)
            return self._hash.digest()
        finally:
            self._hash, self._seen = outer, seen

    def _add_files(self, params: dict[str, Any]) -> None:
        """Add the content of files that parameters of an installed estimator name: compiled code may read them."""
        for name, value in sorted(params.items()):
            path = str(value) if isinstance(value, str | pathlib.PurePath) else ""
            if (os.sep in path or "." in path) and os.path.isfile(path):
                if os.path.getsize(path) > _FILE_BYTES:
                    self._not_comparable(f"the file {path!r}, which is too large to be compared")
                    continue
                try:
                    with open(path, "rb") as file:
                        self._text(f"file of {name} {_digest_of_file(file)}")
                except OSError as error:
                    self._not_comparable(f"the file {path!r} ({error.strerror})", error)

    def _add_reduced(self, thing: Any) -> None:
        try:
            reducer = copyreg.dispatch_table.get(type(thing))
            reduced = reducer(thing) if reducer is not None else thing.__reduce_ex__(4)
        except Exception as error:
            self._not_comparable(f"{type(thing).__name__} object ({error})", error)
            return
        if isinstance(reduced, str):
            self._add_named(thing, reduced)
            return
        self._text("reduced")
        if not installed(type(thing).__module__):
            self._add(type(thing))  # also where it says to be made in another way
        constructor, arguments, *state = reduced
        self._add(constructor)
        self._add(tuple(arguments))
        for part in state:
            self._add(list(part) if isinstance(part, Iterator) else part)

    def _add_named(self, thing: Any, name: str) -> None:
        homes = (getattr(thing, "__module__", None), type(thing).__module__, "numpy", "scipy.special")
        if any(isinstance(home, str) and self._known_by_name(thing, home, name) for home in homes):
            return
        self._not_comparable(f"{type(thing).__name__} object {name!r}, which is not part of an installed package")

    def _known_by_name(self, thing: Any, module: str | None, qualname: str) -> bool:
        """Add a name in the place of the content, where an installed module has the very thing under that name."""
        if module is None or not installed(module):
            return False
        found: Any = sys.modules.get(module)
        for name in qualname.split("."):
            found = getattr(found, name, None)
        self.packages.add(module.partition(".")[0])
        if found is not thing:
            return False
        self._text(f"name {module}.{qualname}")
        return True

    def _add_class(self, cls: type) -> None:
        raise NotImplementedError

    def _add_function(self, function: types.FunctionType) -> None:
        raise NotImplementedError

    def _add_module(self, module: types.ModuleType) -> None:
        raise NotImplementedError


def _clones_by_params(cls: type) -> bool:
    own = getattr(cls, "__sklearn_clone__", None)
    return own is None or own is BaseEstimator.__sklearn_clone__


def _digest_of_file(file: Any) -> str:
    """Digest of an open file."""
    digest = blake2b(digest_size=16)
    while block := file.read(1 << 20):
        digest.update(block)
    return digest.hexdigest()
