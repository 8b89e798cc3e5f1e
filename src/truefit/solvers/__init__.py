"""Solvers: who answers fits, one by one or in groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truefit.core.job import Solver


def all_solvers() -> tuple[Solver, ...]:
    """Return the solvers in the order in which they may claim fits; plain fitting comes last and takes the rest.

    Examples
    --------
    >>> [solver.name for solver in all_solvers()]
    ['brought', 'linear loo', 'boosting stages', 'stages', 'plain']
    """
    # Imported here: who only wants one solver need not load the estimators of the others.
    from truefit.solvers.boosting_stages import BoostingStagesSolver
    from truefit.solvers.brought import BroughtSolver
    from truefit.solvers.linear_loo import LinearLooSolver
    from truefit.solvers.plain import PlainSolver
    from truefit.solvers.stages import StagesSolver

    return BroughtSolver(), LinearLooSolver(), BoostingStagesSolver(), StagesSolver(), PlainSolver()
