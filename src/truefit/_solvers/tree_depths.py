"""TreeDepthsSolver: trees of several depths from the deepest, cut at each depth; equal to plain fitting up to ties."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
from sklearn.tree import DecisionTreeClassifier, DecisionTreeRegressor

from truefit._core.data import Data
from truefit._core.outcome import Outcome
from truefit._core.protocols import Job
from truefit._core.task import Fit, Response
from truefit._core.typing import Positions
from truefit._solvers.families import Families
from truefit._solvers.parameters import is_seed
from truefit._solvers.plain import as_answer, model_classes, or_plain, row_blocks, train
from truefit._solvers.questions import questions

Key = tuple[bytes, bytes, tuple[tuple[str, int], ...]]


class TreeDepthsSolver:
    """Trees that differ only in their depth (``max_depth``), on the same rows: the deepest is grown, and cut.

    A node's split does not depend on how deep the tree may go, but for one thing: columns are looked at in an order
    that is drawn by chance, from a stream that the nodes of other branches draw from too, and of splits that are
    equally good the first is taken. So where splits tie, the tree that is cut may be another than the tree that stops
    there. That is why this solver is used only where it is named: ``Engine(solvers=("tree depths", "auto"))``.

    Examples
    --------
    >>> from truefit._core.identity import Keys
    >>> from truefit._core.rows import Rows
    >>> from truefit._core.task import Ask, FitTask
    >>> data = Data(np.arange(8.0).reshape(8, 1), [0, 0, 1, 1, 4, 4, 6, 7], task="regression")
    >>> keys, rows = Keys(data), Rows.all(8)
    >>> fits = [keys.fit(FitTask(DecisionTreeRegressor(max_depth=d), rows, (Ask(rows),))) for d in (1, 2)]
    >>> [job] = TreeDepthsSolver().claim(fits, data)
    >>> [outcome.answer(data, rows).tolist() for outcome in job.run(data)]
    [[0.5, 0.5, 0.5, 0.5, 5.25, 5.25, 5.25, 5.25], [0.0, 0.0, 1.0, 1.0, 4.0, 4.0, 6.5, 6.5]]
    """

    name = "tree depths"
    exact = False
    kinds = (DecisionTreeClassifier, DecisionTreeRegressor)
    #: Fits that go together behind the same steps of a pipeline.
    most = 64

    def claim(self, fits: Sequence[Fit], data: Data) -> list[Job]:
        """One job for each family of trees on each set of training rows."""
        families = Families(("max_depth",))
        groups: dict[Key, list[Fit]] = defaultdict(list)
        for fit in fits:
            # A cut is no model that could be kept.
            if fit.model is not None or fit.keep_model or type(fit.estimator) not in self.kinds:
                continue
            if _can_be_cut(fit.estimator) and (data.task == "classification") == hasattr(
                fit.estimator, "predict_proba"
            ):
                family = families.of(fit)
                if family is not None:
                    groups[family, fit.train_key, fit.seeds].append(fit)
        return [Job(self, tuple(group)) for group in groups.values() if len(group) > 1]

    def solve(self, job: Job, data: Data) -> list[Outcome]:
        """Grow the deepest, and let its nodes at each depth answer for the others."""
        return or_plain(self._solve, job, data)

    def _solve(self, job: Job, data: Data) -> list[Outcome]:
        depths = [np.inf if fit.estimator.max_depth is None else int(fit.estimator.max_depth) for fit in job.fits]
        model, seconds = train(job.fits[int(np.argmax(depths))], data)
        classes = model_classes(model, data)
        cuts = {depth: _cut(model.tree_, depth) for depth in set(depths)}
        answers: list[list[Any]] = [[] for _ in job.fits]
        for question in questions(job.fits):
            leaves = np.concatenate([model.apply(data.take(block)) for block in row_blocks(question.rows.index, data)])
            tokens = data.tokens_of(question.rows)
            for response, places in question.wanted.items():
                for place in places:
                    values = model.tree_.value[cuts[depths[place]][leaves], 0]
                    answers[place].append(as_answer(response, tokens, _said(response, values, model), classes))
        share = seconds / len(job.fits)
        return [
            Outcome(fit.key, tuple(given), share, self.name, classes)
            for fit, given in zip(job.fits, answers, strict=True)
        ]


def _can_be_cut(tree: Any) -> bool:
    """Whether nodes are grown branch by branch, by the best of all columns, and none is pruned afterwards."""
    depth = tree.max_depth
    counted = isinstance(depth, int | np.integer) and not isinstance(depth, bool) and bool(depth >= 1)
    best = isinstance(tree.splitter, str) and tree.splitter == "best" and tree.max_features is None
    whole = tree.max_leaf_nodes is None and tree.ccp_alpha == 0
    return (depth is None or counted) and best and whole and is_seed(tree.random_state)


def _cut(tree: Any, depth: float) -> Positions:
    """Return for each node the one above it that is a leaf at this depth; itself where it is not so deep."""
    parents, depths = np.zeros(tree.node_count, dtype=np.intp), np.zeros(tree.node_count, dtype=np.intp)
    for node in range(tree.node_count):  # parents come before their children
        for child in (tree.children_left[node], tree.children_right[node]):
            if child >= 0:
                parents[child], depths[child] = node, depths[node] + 1
    above = np.arange(tree.node_count)
    while (deeper := depths[above] > depth).any():
        above[deeper] = parents[above[deeper]]
    return above


def _said(response: Response, values: npt.NDArray[Any], model: Any) -> npt.NDArray[Any]:
    if not hasattr(model, "classes_"):
        return np.asarray(values[:, 0])
    return np.asarray(values if response == "predict_proba" else model.classes_.take(np.argmax(values, axis=1)))
