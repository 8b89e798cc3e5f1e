"""What ``cv_results_`` says of candidates that a race dropped."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._methods.selection.plan import Search


def with_dropped(results: dict[str, Any], search: Search) -> dict[str, Any]:
    """Tell dropped candidates by the folds that they were fitted on, and rank them after all others."""
    after = np.full(len(search.fit_seconds), np.nan)
    for each in search.dropped:
        after[each.candidate] = each.after
    gone = np.flatnonzero(~np.isnan(after))
    fitted = ~np.isnan(search.fit_seconds)
    tables = {"fit_time": search.fit_seconds, **{f"test_{name}": table for name, table in search.scores.items()}}
    for name, table in tables.items():
        for place in gone[after[gone] > 0]:  # who went on a part of the rows of the first fold has no whole one
            seen = table[place, fitted[place]]
            results[f"mean_{name}"][place], results[f"std_{name}"][place] = seen.mean(), seen.std()
    for name in search.scores:
        ranks = _ranks(after[gone], results[f"mean_test_{name}"][gone])
        results[f"rank_test_{name}"][gone] = len(after) - len(gone) + ranks
    results["dropped_after"] = after
    return results


def _ranks(after: Floats, means: Floats) -> npt.NDArray[np.intp]:
    """Who came further is ahead, since means over different folds do not compare; then who has the better mean."""
    failed = np.isnan(means)
    keys = np.stack([np.where(failed, 0, -after), np.where(failed, 0, -means)], axis=1)
    _, group, sizes = np.unique(keys, axis=0, return_inverse=True, return_counts=True)
    ranks: npt.NDArray[np.intp] = 1 + (np.cumsum(sizes) - sizes)[group.ravel()]
    return ranks
