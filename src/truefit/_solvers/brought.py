"""BroughtSolver: estimators may bring a solver of their own."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job, Solver
from truefit._core.stages import AtStage
from truefit._core.task import Fit


class BroughtSolver:
    """Lets the solvers that estimators bring claim their fits.

    An estimator's class brings one by a static method ``__truefit_solver__`` that returns it. So a solver is there as
    soon as its estimator is, and what it needs is imported by who uses it. It is asked for the fits of its own kind
    only, stages of a training run included.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> brought_by(Ridge()) is None
    True
    """

    name = "brought"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs of the solvers that are brought."""
        solvers: dict[Any, Solver] = {}
        groups: dict[Any, list[Fit]] = {}
        for fit in fits:
            maker = brought_by(fit.estimator)
            if maker is None:
                continue
            if maker not in solvers:
                solvers[maker] = maker()
            groups.setdefault(maker, []).append(fit)
        return [job for maker, group in groups.items() for job in solvers[maker].claim(group, data)]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Jobs are answered by the solver that claimed them; this is never called."""
        raise NotImplementedError


def brought_by(estimator: Any) -> Any:
    """Return what makes the solver that an estimator brings; None if it brings none."""
    inner = estimator.estimator if type(estimator) is AtStage else estimator
    return getattr(type(inner), "__truefit_solver__", None)
