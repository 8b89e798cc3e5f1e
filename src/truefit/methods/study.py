"""Study: which model to use, and how good it is once it has been chosen."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from truefit.core.data import Data
from truefit.core.errors import FitError
from truefit.core.job import Plan
from truefit.core.metadata import check_takes_weights
from truefit.core.outcome import Outcome
from truefit.core.rows import Rows
from truefit.methods.assessment.assess import Assessment
from truefit.methods.candidates import Candidates, default_responses
from truefit.methods.result import Result
from truefit.methods.selection.nested import NestedAssessment
from truefit.methods.selection.search import Search, inner_splits, search_plan
from truefit.methods.splitting.designs import Design, made_of_rows
from truefit.methods.splitting.splits import Splits
from truefit.methods.splitting.triangle import has_triangle
from truefit.metrics.metric import Metric

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


def study_plan(
    candidates: Candidates,
    data: Data,
    splits: Splits,
    metric: Metric,
    *,
    level: float,
    random_state: int | None,
) -> Plan[Study]:
    """Cross-validate all candidates, choose, and assess the choice by nesting it in the same folds."""
    for _, estimator in candidates:
        if data.weight is not None:
            check_takes_weights(estimator)
    responses = [
        tuple(dict.fromkeys((*default_responses(estimator, data.task), *metric.responses(estimator))))
        for _, estimator in candidates
    ]
    sign = 1 if metric.greater_is_better else -1

    def judge(outcome: Outcome, rows: Rows) -> Mapping[str, float]:
        return {metric.name: metric.value(outcome, data, rows)}

    def choose(scores: Mapping[str, npt.NDArray[np.float64]]) -> int:
        means = sign * scores[metric.name].mean(axis=1)
        return int(np.argmax(np.where(np.isnan(means), -np.inf, means)))

    inner = inner_splits(data, splits, len(splits), random_state=random_state)
    search = yield from search_plan(
        list(candidates.estimators.values()),
        data,
        splits,
        responses=responses,
        judge=judge,
        choose=choose,
        inner=inner,
    )
    if search.nested is None:  # a study without its honest number is none
        raise FitError(f"The choice could not be assessed. {search.without_nesting}")
    further = tuple(split for group in inner for split in group)
    by_pairs = has_triangle(splits) and made_of_rows(metric, data)
    design = Design("nested", splits, "triangle" if by_pairs else "auto", further)
    return Study(candidates, data, design, metric, search, level)


class Study(Result):
    """The verdict on a table: the model to use, and the error to expect of it."""

    title = "Study"

    def __init__(
        self, candidates: Candidates, data: Data, design: Design, metric: Metric, search: Search, level: float
    ) -> None:
        names = candidates.names
        candidates.single = False
        self.best = names[search.best]
        by_name = dict(zip(names, search.outcomes, strict=True))
        self.assessment = Assessment(candidates, data, design, metric, by_name, level, best=self.best)
        assert search.nested is not None
        self.honest = NestedAssessment(search.nested, data, design.splits, metric, names=names, level=level)
        self.model = search.model
        #: How many fits this took, by kind; filled in by the engine that ran it.
        self.fits: dict[str, float] = {}
        self._data = data
        self._metric = metric

    @property
    def estimate(self) -> float:
        """Estimate for the chosen model, chosen anew without each test set."""
        return self.honest.estimate

    @property
    def interval(self) -> tuple[float, float] | None:
        """Interval of the estimate."""
        return self.honest.interval

    @property
    def table(self) -> pd.DataFrame:
        """One row per candidate."""
        return self.assessment.table

    @cached_property
    def verdict(self) -> list[str]:
        """The answers, in plain sentences with their numbers."""
        name, level = self._metric.name, self.assessment.level
        own = self.assessment.estimates[self.best].value
        sentences = [f"Use {self.best}."]
        if self.interval is None:
            sentences.append(f"Expect {name} of about {self.estimate:.4g} on new rows.")
        else:
            low, high = self.interval
            sentences.append(
                f"Expect {name} of about {self.estimate:.4g} on new rows "
                f"({level:.0%} interval {low:.4g} to {high:.4g})."
            )
        if len(self.assessment.names) > 1:
            sentences.append(
                f"That is how the choice itself does: it was made anew without each of the {len(self.honest.chosen)} "
                f"folds and judged on it. The winner's own cross-validation says {own:.4g}, but is the best of "
                f"{len(self.assessment.names)}."
            )
        others = [n for n in dict.fromkeys(self.honest.chosen) if n != self.best]
        if others:
            count = self.honest.chosen.count(self.best)
            sentences.append(
                f"The choice is not clear-cut: without one of the folds {self.best} was chosen {count} times out of "
                f"{len(self.honest.chosen)}, and otherwise {', '.join(others)}."
            )
        return sentences

    def summary(self) -> str:
        """Return the verdict, and the candidates behind it."""
        return "\n".join([*self.verdict, "", self.assessment.summary()])

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the candidates with their intervals."""
        return self.assessment.plot(ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "study",
            "version": 1,
            "best": self.best,
            "verdict": self.verdict,
            "honest": self.honest.to_dict(),
            "candidates": self.assessment.to_dict(),
            "fits": dict(self.fits),
        }
