"""SvdPathSolver: pipelines that begin with a truncated decomposition of several sizes."""

from __future__ import annotations

from typing import Any

from sklearn.decomposition import TruncatedSVD

from truefit._solvers.step_paths import StepPathSolver, is_count


class SvdPathSolver(StepPathSolver):
    """Pipelines that begin with a ``TruncatedSVD`` of several sizes, on the same rows: it is fitted once.

    ARPACK finds each singular vector to the last digits whatever their number, so that the first k of many are those
    of a decomposition into k, up to rounding. With ``algorithm="randomized"``, the default of scikit-learn, they are
    others (by 0.13 in a table of words), and such steps are left alone, as are those with a tolerance.

    Parameters
    ----------
    prefixes : PrefixSolver
        Answers what follows on the step.

    Examples
    --------
    >>> import numpy as np
    >>> from sklearn.linear_model import Ridge
    >>> from sklearn.pipeline import make_pipeline
    >>> from truefit import Engine, assess
    >>> X = np.random.default_rng(0).normal(size=(60, 8))
    >>> candidates = {str(k): make_pipeline(TruncatedSVD(k, algorithm="arpack"), Ridge()) for k in (1, 3, 5)}
    >>> engine = Engine(solvers=("svd path", "auto"), progress=False)
    >>> plain = assess(candidates, X, X[:, 0], engine=Engine(solvers="plain", progress=False))
    >>> apart = assess(candidates, X, X[:, 0], engine=engine).table["estimate"] - plain.table["estimate"]
    >>> bool(apart.abs().max() < 1e-10)
    True
    """

    name = "svd path"
    exact = False
    takes_sparse = True

    def route(self, step: Any, rows: int, columns: int) -> str | None:
        """Return how a step is fitted whatever its size; None where that depends on it, or the step is another."""
        if type(step) is not TruncatedSVD or step.algorithm != "arpack" or step.tol != 0:
            return None
        return "arpack" if is_count(step.n_components, min(rows, columns) - 1) else None
