"""Plan of a comparison, and its config: the reference, the test, and the region of practical equivalence."""

from __future__ import annotations

import difflib
import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, get_args

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.protocols import Plan
from truefit._methods.assessment.plan import assess_plan
from truefit._methods.candidates import Candidates, Named
from truefit._methods.comparison.pairs import compared_by_rows
from truefit._methods.comparison.result import Comparison
from truefit._methods.splitting.designs import BOOTSTRAPS, Design
from truefit._metrics.metric import Metric
from truefit._stats.clustered import LEAST_GROUPS

TestChoice = Literal["auto", "corrected_t", "pooled"]


@dataclass(frozen=True, slots=True)
class CompareConfig:
    """The reference, the region of practical equivalence, the test and the confidence level.

    ``baselines`` are candidates with which any other is compared, as with a reference that was named beforehand.
    """

    reference: str | None = None
    rope: float | None = None
    test: TestChoice = "auto"
    level: float = 0.95
    baselines: tuple[str, ...] = ()

    def check(self, candidates: Named, data: Data, design: Design, metric: Metric) -> None:
        """Check the options before anything is fitted."""
        if len(candidates) < 2:
            raise InvalidInput(
                f"A comparison needs at least 2 estimators. Got {len(candidates)}; name more of them, or use "
                "assess for one."
            )
        if design.kind in BOOTSTRAPS:
            raise InvalidInput(
                f"Learners are compared on splits without replacement. Got design={design.kind!r}; use 'kfold', "
                "'holdout', 'loo' or a splitter."
            )
        if self.test not in get_args(TestChoice):
            offered = " or ".join(map(repr, get_args(TestChoice)))
            raise InvalidInput(f"The 'test' parameter must be {offered}. Got {self.test!r} instead.")
        if self.test == "pooled" and not compared_by_rows(data, design, metric):
            raise InvalidInput(
                "test='pooled' needs RMSE or a per-sample metric on independent rows, each tested once, or a 0-1 loss "
                f"on rows of {LEAST_GROUPS} or more groups. Got {metric.name} by {design.splits.description}. Use "
                "test='corrected_t'."
            )
        self._check_reference(candidates.names)
        self._check_rope()

    def _check_reference(self, names: Sequence[str]) -> None:
        if self.reference in (None, "all", *names):
            return
        near = difflib.get_close_matches(str(self.reference), names, n=1)
        raise InvalidInput(
            f"The 'reference' parameter must be 'all', or one of {', '.join(map(repr, names))}. Got "
            f"{self.reference!r} instead." + (f" Did you mean {near[0]!r}?" if near else "")
        )

    def _check_rope(self) -> None:
        rope: Any = self.rope
        number = isinstance(rope, int | float | np.number) and not isinstance(rope, bool)
        if rope is not None and not (number and math.isfinite(rope) and rope > 0):
            raise InvalidInput(
                "The 'rope' parameter must be a positive number, the largest difference that does not matter. "
                f"Got {rope!r} instead."
            )


def compare_plan(
    candidates: Candidates, data: Data, design: Design, metric: Metric, config: CompareConfig
) -> Plan[Comparison]:
    """Assess all candidates on the same splits, and compare them in pairs."""
    config.check(candidates, data, design, metric)
    assessment = yield from assess_plan(candidates, data, design, metric, level=config.level)
    selected_separately = design.kind == "threeway"
    by_rows = compared_by_rows(data, design, metric)
    return Comparison(assessment, metric, config, by_rows=by_rows, selected_separately=selected_separately)
