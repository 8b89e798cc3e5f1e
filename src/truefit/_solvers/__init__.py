"""Solvers: who answers fits, one by one or in groups."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from truefit._core.protocols import Solver


def all_solvers(named: Sequence[Solver] = ()) -> tuple[Solver, ...]:
    """Return the solvers in the order in which they may claim fits; plain fitting comes last and takes the rest.

    Parameters
    ----------
    named : sequence of Solver
        Asked before all others, and before those that answer what follows on the shared steps of pipelines.

    Examples
    --------
    >>> [solver.name for solver in all_solvers()]
    ['brought', 'linear loo', 'naive bayes loo', 'discriminant loo', 'quadratic loo', 'neighbours loo', 'kernel loo',
    'count bayes loo', 'centroid loo', 'dummy loo', 'naive bayes sets', 'count bayes sets', 'centroid sets',
    'dummy sets', 'linear sets', 'discriminant sets', 'quadratic sets', 'kernel sets', 'boosting stages', 'stages',
    'step paths', 'shared prefix', 'forest sizes', 'network epochs', 'naive bayes', 'discriminant', 'ridge',
    'neighbours', 'support vectors', 'plain']
    """
    # Imported here: who only wants one solver need not load the estimators of the others.
    from truefit._solvers.boosting_stages import BoostingStagesSolver
    from truefit._solvers.brought import BroughtSolver
    from truefit._solvers.centroid_loo import CentroidLooSolver
    from truefit._solvers.centroid_sets import CentroidSetsSolver
    from truefit._solvers.count_bayes_loo import CountBayesLooSolver
    from truefit._solvers.count_bayes_sets import CountBayesSetsSolver
    from truefit._solvers.discriminant import DiscriminantSolver
    from truefit._solvers.discriminant_loo import DiscriminantLooSolver
    from truefit._solvers.discriminant_sets import DiscriminantSetsSolver
    from truefit._solvers.dummy_loo import DummyLooSolver
    from truefit._solvers.dummy_sets import DummySetsSolver
    from truefit._solvers.forest_sizes import ForestSizesSolver
    from truefit._solvers.kernel_loo import KernelLooSolver
    from truefit._solvers.kernel_sets import KernelSetsSolver
    from truefit._solvers.linear_loo import LinearLooSolver
    from truefit._solvers.linear_sets import LinearSetsSolver
    from truefit._solvers.naive_bayes import NaiveBayesSolver
    from truefit._solvers.naive_bayes_loo import NaiveBayesLooSolver
    from truefit._solvers.naive_bayes_sets import NaiveBayesSetsSolver
    from truefit._solvers.neighbours import NeighboursSolver
    from truefit._solvers.neighbours_loo import NeighboursLooSolver
    from truefit._solvers.network_epochs import NetworkEpochsSolver
    from truefit._solvers.plain import PlainSolver
    from truefit._solvers.prefixes import PrefixSolver
    from truefit._solvers.quadratic_loo import QuadraticLooSolver
    from truefit._solvers.quadratic_sets import QuadraticSetsSolver
    from truefit._solvers.ridge import RidgeSolver
    from truefit._solvers.stages import StagesSolver
    from truefit._solvers.step_paths import StepPathSolver
    from truefit._solvers.support_vectors import SupportVectorsSolver

    left_out = (
        LinearLooSolver(),
        NaiveBayesLooSolver(),
        DiscriminantLooSolver(),
        QuadraticLooSolver(),
        NeighboursLooSolver(),
        KernelLooSolver(),
        CountBayesLooSolver(),
        CentroidLooSolver(),
        DummyLooSolver(),
    )
    row_sets = (
        NaiveBayesSetsSolver(),
        CountBayesSetsSolver(),
        CentroidSetsSolver(),
        DummySetsSolver(),
        LinearSetsSolver(),
        DiscriminantSetsSolver(),
        QuadraticSetsSolver(),
        KernelSetsSolver(),
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
    behind = (*named, *any_labels)
    first_steps = StepPathSolver(PrefixSolver(behind))
    pipelines = first_steps, PrefixSolver(behind, (first_steps,))
    return *named, BroughtSolver(), *left_out, *row_sets, *runs, *pipelines, *any_labels
