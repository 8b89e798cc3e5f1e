"""SparseTreesSolver: trees on one sparse table, as encoders make it: converted once, for deep trees to a dense one."""

from __future__ import annotations

import math
import time
from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy import sparse
from sklearn import get_config
from sklearn.ensemble import ExtraTreesClassifier, RandomForestClassifier
from sklearn.tree import DecisionTreeClassifier

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.parameters import seeded
from truefit._core.protocols import Fit, Job
from truefit._core.typing import Array
from truefit._solvers.plain import fit_plain, labels_of, log_fallback, model_classes, or_plain, respond
from truefit._solvers.registry import is_count

FORESTS = (RandomForestClassifier, ExtraTreesClassifier)

#: Trees in one job: more would share more, but leave less for other workers to do. Of forests each is a job.
MOST = 12
#: Trees that are less deep look at few splits, with many rows each, where skipping the zeros saves time.
DEEP = 6
#: It does so too where fewer of the values than this are other than zero.
DENSITY = 0.1
#: A dense table may take this much memory.
DENSE_BYTES = 64 << 20


class SparseTreesSolver:
    """Classification trees on the same sparse table: it is converted, and the labels are encoded, once for all of them.

    Deep trees, and forests of them, are grown on a dense table, several times as fast unless almost all values are
    zero. How a table is held decides neither which splits are compared, in which order, nor how many rows of each class
    are on both sides of one. These counts are whole numbers, whose sums are exact in any order, so trees equal those of
    plain fitting node by node. With weights they would not be.
    """

    name = "sparse trees"
    kinds = (DecisionTreeClassifier, *FORESTS)

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """Jobs for the trees on the same rows with the same labels, and for single ones that are faster when dense."""
        weighted = data.weight is not None or data.task != "classification"
        if weighted or get_config()["enable_metadata_routing"] or not _is_usual(data.X):
            return []
        groups: dict[tuple[bytes, str, bool], list[Fit]] = defaultdict(list)
        for fit in fits:
            if fit.model is None and _counts_rows(fit.estimator):
                alone = fit.key if type(fit.estimator) in FORESTS else ""
                groups[fit.train_key, alone, _is_faster_dense(fit, data)].append(fit)
        jobs: list[Job] = []
        for (*_, dense), group in groups.items():
            parts = [group[start : start + MOST] for start in range(0, len(group), MOST)]
            jobs.extend(Job(self, tuple(part), work=len(part)) for part in parts if dense or len(part) > 1)
        return jobs

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Convert the table once, and grow the trees on it."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        first = job.fits[0]
        index = first.train.index
        start = time.perf_counter()
        X = data.take(index).astype(np.float32)  # as every tree would
        if not np.isfinite(X.data).all():
            raise ValueError("A sparse table of a tree must be finite. Got NaN or infinite values.")
        X = X.toarray() if _is_faster_dense(first, data) else X.tocsc()
        classes, codes = np.unique(labels_of(first, data)[index], return_inverse=True)
        seconds = (time.perf_counter() - start) / len(job.fits)
        return [self._outcome(fit, data, X, classes, codes, seconds) for fit in job.fits]

    def _outcome(self, fit: Fit, data: Data, X: Any, classes: Array, codes: Array, seconds: float) -> Outcome:
        try:
            start = time.perf_counter()
            model = seeded(fit.estimator, fit.seeds).fit(X, codes)
            seconds += time.perf_counter() - start
            model.classes_ = classes
            seen = model_classes(model, data)
            return Outcome(fit.key, respond(model, fit.asks, data, seen), seconds, self.name, seen, model)
        except Exception as error:  # plain fitting says what is wrong
            log_fallback(self.name, type(fit.estimator).__name__, error)
            return fit_plain(fit, data)


def _is_usual(X: Any) -> bool:
    """Whether X is a sparse table of numbers, row by row, with each value at one place."""
    known = sparse.issparse(X) and X.ndim == 2 and X.format == "csr" and X.dtype.kind in "biuf"
    return bool(known and X.has_canonical_format)


def _counts_rows(estimator: Any) -> bool:
    """Whether trees are computed from numbers of rows, and start from nothing."""
    alone = getattr(estimator, "warm_start", False) is False
    return alone and estimator.class_weight is None and estimator.monotonic_cst is None


def _is_faster_dense(fit: Fit, data: Data) -> bool:
    """Whether trees may be deep, and the dense table is small and has enough values other than zero."""
    tree, columns = fit.estimator, data.X.shape[1]
    deep = tree.max_depth is None or (is_count(tree.max_depth) and tree.max_depth >= DEEP)
    enough = data.X.nnz >= DENSITY * math.prod(data.X.shape)
    return bool(
        deep
        and tree.max_leaf_nodes is None
        and enough
        and len(fit.train) * columns * np.dtype(np.float32).itemsize <= DENSE_BYTES
    )
