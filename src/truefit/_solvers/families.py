"""Families: estimators that differ in some parameters only."""

from __future__ import annotations

from collections.abc import Sequence
from copy import copy

from truefit._core.fingerprint import Fingerprint
from truefit._core.task import Fit

#: Types whose values are known by how they are written; the usual ones, for which nothing else needs to be looked at.
_PLAIN = (bool, int, float, str)


class Families:
    """Tells which fits have estimators that are the same but for the parameters along a path.

    Each estimator is looked at once, however many fits it has.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> from truefit._core.data import Data
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import FitTask
    >>> keys = Keys(Data([[0.0], [1.0]], [0.0, 1.0], task="regression"))
    >>> ridges = Ridge(alpha=1.0), Ridge(alpha=2.0), Ridge(alpha=2.0, solver="svd")
    >>> fits = [keys.fit(FitTask(ridge, Rows.all(2))) for ridge in ridges]
    >>> families = Families(("alpha",))
    >>> [families.of(fit) == families.of(fits[0]) for fit in fits]
    [True, True, False]
    """

    def __init__(self, path: Sequence[str]) -> None:
        self.path = tuple(path)
        self._known: dict[bytes, bytes | None] = {}

    def of(self, fit: Fit) -> bytes | None:
        """Return what the estimators of a family have in common; None where that cannot be known."""
        if not self.path:
            return fit.estimator_key
        if fit.estimator_key not in self._known:
            self._known[fit.estimator_key] = self._family(fit)
        return self._known[fit.estimator_key]

    def _family(self, fit: Fit) -> bytes | None:
        values = {name: value for name, value in vars(fit.estimator).items() if name not in self.path}
        if all(value is None or type(value) in _PLAIN for value in values.values()):
            kind = type(fit.estimator)
            return f"{kind.__module__}.{kind.__qualname__} {sorted(values.items())}".encode()
        try:
            common = copy(fit.estimator)
            for name in self.path:
                setattr(common, name, None)
            return Fingerprint(common).digest
        except Exception:
            return None
