"""Opt-in: solvers whose answers equal those of plain fitting only nearly, and a store that keeps these apart."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from hashlib import blake2b
from typing import Any

from truefit._core.outcome import Outcome
from truefit._core.protocols import Solver, Store


def opt_in_solvers() -> dict[str, Solver]:
    """Return the solvers that are used only where they are asked for, by their names.

    Examples
    --------
    >>> sorted(opt_in_solvers())
    ['lasso path', 'sgd epochs', 'svd path', 'tree depths']
    """
    from truefit._solvers.lasso_path import LassoPathSolver
    from truefit._solvers.plain import PlainSolver
    from truefit._solvers.prefixes import PrefixSolver
    from truefit._solvers.sgd_epochs import SgdEpochsSolver
    from truefit._solvers.svd_path import SvdPathSolver
    from truefit._solvers.tree_depths import TreeDepthsSolver

    decomposed = SvdPathSolver(PrefixSolver((PlainSolver(),)))
    solvers: tuple[Solver, ...] = (TreeDepthsSolver(), LassoPathSolver(), SgdEpochsSolver(), decomposed)
    return {solver.name: solver for solver in solvers}


class ApartStore:
    """A store in which the answers of opt-in solvers have keys of their own.

    Who has not asked for these solvers never finds them. Who has finds exact answers where there are some, and these
    where there are none; an outcome that has both says the opt-in solver's name.

    Parameters
    ----------
    store : Store
    names : sequence of str
        The opt-in solvers that were asked for.
    """

    def __init__(self, store: Store, names: Sequence[str]) -> None:
        self.store, self.names = store, tuple(names)

    @property
    def path(self) -> Any:
        """Where the store is kept, if it is a file."""
        return getattr(self.store, "path", None)

    @property
    def durable(self) -> bool:
        """Whether it outlives this process."""
        return getattr(self.store, "durable", True)

    def get(self, keys: Sequence[str]) -> dict[str, Outcome]:
        """Outcomes of those keys that are in the store, under their own key or apart."""
        found = self.store.get(keys)
        for name in self.names:
            apart = {apart_key(name, key): key for key in keys}
            for other, outcome in self.store.get(list(apart)).items():
                key = apart[other]
                exact = found[key].answers if key in found else ()
                found[key] = replace(outcome, key=key, answers=(*exact, *outcome.answers))
        return found

    def put(self, outcomes: Sequence[Outcome]) -> None:
        """Keep these outcomes, all or none."""
        self.store.put(
            [
                replace(outcome, key=apart_key(outcome.solver, outcome.key))
                if outcome.solver in self.names
                else outcome
                for outcome in outcomes
            ]
        )

    def close(self) -> None:
        """Let go of open files."""
        self.store.close()


def apart_key(name: str, key: str) -> str:
    """Return the key of an opt-in solver's outcome."""
    return blake2b(f"{name} {key}".encode(), digest_size=16).hexdigest()
