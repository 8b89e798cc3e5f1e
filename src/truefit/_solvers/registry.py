"""The registry: which solvers there are, and in which order they may claim fits."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job, Solver
from truefit._core.stages import AtStage
from truefit._core.task import Fit
from truefit._sklearn import is_tested


class EstimatorSolver:
    """Lets the solvers that estimators provide claim their fits.

    An estimator's class provides one by a static method ``__truefit_solver__`` that returns it. So a solver exists as
    soon as its estimator does, and its imports are those of who uses it. It is offered fits of its own kind only,
    stages of a training run included.

    Examples
    --------
    >>> from sklearn.linear_model import Ridge
    >>> solver_factory(Ridge()) is None
    True
    """

    name = "estimator"

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs of the solvers that estimators provide."""
        solvers: dict[Any, Solver] = {}
        groups: dict[Any, list[Fit]] = {}
        for fit in fits:
            maker = solver_factory(fit.estimator)
            if maker is None:
                continue
            if maker not in solvers:
                solvers[maker] = maker()
            groups.setdefault(maker, []).append(fit)
        return [job for maker, group in groups.items() for job in solvers[maker].claim(group, data)]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Jobs are answered by the solver that claimed them; this is never called."""
        raise NotImplementedError


def solver_factory(estimator: Any) -> Any:
    """Return the factory of the solver that an estimator provides; None if it provides none."""
    inner = estimator.estimator if type(estimator) is AtStage else estimator
    return getattr(type(inner), "__truefit_solver__", None)


def all_solvers() -> tuple[Solver, ...]:
    """Return the solvers in the order in which they may claim fits; plain fitting comes last and takes the rest.

    On a version of scikit-learn that was not tested there are only those that compute nothing themselves.

    Examples
    --------
    >>> [solver.name for solver in all_solvers()]
    ['estimator', 'linear loo', 'naive bayes loo', 'discriminant loo', 'neighbours loo', 'kernel loo',
    'naive bayes sets', 'linear sets', 'discriminant sets', 'scaled neighbours', 'boosting stages', 'stages',
    'step paths', 'shared prefix', 'forest sizes', 'network epochs', 'naive bayes', 'discriminant', 'ridge',
    'neighbours', 'support vectors', 'plain']
    """
    # Imported here: who only wants one solver need not load the estimators of the others.
    from truefit._solvers.closed_form.gaussian_nb import NaiveBayesLooSolver, NaiveBayesSetsSolver, NaiveBayesSolver
    from truefit._solvers.closed_form.kernels import KernelLooSolver
    from truefit._solvers.closed_form.knn import NeighboursLooSolver, NeighboursSolver
    from truefit._solvers.closed_form.knn_row_sets import ScaledNeighboursSolver
    from truefit._solvers.closed_form.lda import DiscriminantLooSolver, DiscriminantSetsSolver, DiscriminantSolver
    from truefit._solvers.closed_form.linear_row_sets import LinearSetsSolver
    from truefit._solvers.closed_form.ridge import LinearLooSolver, RidgeSolver
    from truefit._solvers.paths.boosting import BoostingStagesSolver
    from truefit._solvers.paths.sizes import ForestSizesSolver, NetworkEpochsSolver
    from truefit._solvers.paths.stages import StagesSolver
    from truefit._solvers.pipelines.shared_prefix import PrefixSolver
    from truefit._solvers.pipelines.step_paths import StepPathSolver
    from truefit._solvers.plain import PlainSolver
    from truefit._solvers.relabelled.support_vectors import SupportVectorsSolver

    left_out = (
        LinearLooSolver(),
        NaiveBayesLooSolver(),
        DiscriminantLooSolver(),
        NeighboursLooSolver(),
        KernelLooSolver(),
    )
    row_sets = (
        NaiveBayesSetsSolver(),
        LinearSetsSolver(),
        DiscriminantSetsSolver(),
        ScaledNeighboursSolver(),
    )
    runs = BoostingStagesSolver(), StagesSolver()
    any_labels = (
        ForestSizesSolver(),
        NetworkEpochsSolver(),
        NaiveBayesSolver(),
        DiscriminantSolver(),
        RidgeSolver(),
        NeighboursSolver(),
        SupportVectorsSolver(),
        PlainSolver(),
    )
    if not is_tested():
        return EstimatorSolver(), StagesSolver(), PlainSolver()
    first_steps = StepPathSolver(PrefixSolver(any_labels))
    pipelines = first_steps, PrefixSolver(any_labels, (first_steps,))
    return EstimatorSolver(), *left_out, *row_sets, *runs, *pipelines, *any_labels
