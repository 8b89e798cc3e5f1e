"""Environment: what stands behind the names of installed packages, in this process.

A fingerprint identifies installed classes by name. The same name means the same code only while the files of the
packages are the same, nothing in them was replaced at run time, and the classes hold the same values.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from hashlib import blake2b

from truefit.core.fingerprint import Fingerprint
from truefit.core.packages import package_digest
from truefit.core.patches import class_state, replaced


def environment_digest(packages: Iterable[str], classes: Iterable[type], *, files: bool) -> bytes:
    """Digest of what the names of packages and classes stand for.

    Parameters
    ----------
    packages : iterable of str
    classes : iterable of type
        Installed classes that an estimator is made of.
    files : bool
        Whether the files of the packages count: where an outcome may outlive this process.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> environment_digest(["sklearn"], [Ridge], files=False) == environment_digest(["sklearn"], [Ridge], files=False)
    True
    """
    packages = tuple(packages)
    digest = blake2b(digest_size=16)
    if files:
        digest.update(package_digest(packages))
    for place, value in replaced(packages):
        digest.update(place.encode())
        digest.update(Fingerprint(value).digest)
    for state in sorted(class_state(cls) for cls in classes):
        digest.update(state.encode("utf-8", "surrogatepass"))
    return digest.digest()


class Environments:
    """Environment digests, each computed once as long as no further module is loaded."""

    def __init__(self) -> None:
        self._known: dict[tuple[frozenset[str], frozenset[type], bool], bytes] = {}
        self._modules = 0

    def digest(self, packages: Iterable[str], classes: Iterable[type], *, files: bool) -> bytes:
        """Return ``environment_digest``, from before where nothing can have changed."""
        if len(sys.modules) != self._modules:
            self._modules = len(sys.modules)
            self._known.clear()
        place = frozenset(packages), frozenset(classes), files
        known = self._known.get(place)
        if known is None:
            known = self._known[place] = environment_digest(*place[:2], files=files)
        return known
