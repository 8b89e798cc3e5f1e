"""The tables of a search in the shape of ``GridSearchCV.cv_results_``."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from truefit._core.typing import Floats
from truefit._methods.selection.plan import TRAIN, Search
from truefit._sklearn import BaseSearchCV


def tested_scores(tables: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the scores on test rows among those that a choice is made by."""
    return {name: table for name, table in tables.items() if not name.startswith(TRAIN)}


def trained_scores(tables: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return the scores on training rows among those that a choice is made by."""
    return {name.removeprefix(TRAIN): table for name, table in tables.items() if name.startswith(TRAIN)}


def format_results(
    owner: BaseSearchCV,
    candidates: Sequence[dict[str, Any]],
    scores: Mapping[str, Floats],
    train_scores: Mapping[str, Floats],
    seconds: Floats | None,
    *,
    quiet: bool,
) -> dict[str, Any]:
    """Return what ``GridSearchCV`` would have for ``cv_results_``.

    Parameters
    ----------
    owner : the search
    candidates : list of dict
        Their parameters.
    scores, train_scores : dict of (candidates, splits) arrays
        By name; ``train_scores`` is empty unless the search has ``return_train_score``.
    seconds : (candidates, splits) array, optional
    quiet : bool
        Do not warn of scores that are missing.
    """
    n_splits = next(iter(scores.values())).shape[1]
    out = [
        {
            "test_scores": {name: table[c, s] for name, table in scores.items()},
            "train_scores": {name: table[c, s] for name, table in train_scores.items()},
            "fit_time": 0.0 if seconds is None else seconds[c, s],
            "score_time": 0.0,  # scores are computed from stored predictions, all at once
        }
        for c in range(len(candidates))
        for s in range(n_splits)
    ]
    if not train_scores:
        out = [{name: value for name, value in each.items() if name != "train_scores"} for each in out]
    with warnings.catch_warnings():
        if quiet:
            warnings.filterwarnings("ignore", "One or more of the (test|train) scores are non-finite")
        return owner._format_results(candidates, n_splits, out)  # type: ignore[no-any-return]


def rank_dropped(results: dict[str, Any], search: Search) -> dict[str, Any]:
    """Add ``dropped_after``: candidates that a race dropped have means over the folds they came to, and rank last."""
    after = np.full(len(search.fit_seconds), np.nan)
    for each in search.dropped:
        after[each.candidate] = each.after
    gone = np.flatnonzero(~np.isnan(after))
    fitted = ~np.isnan(search.fit_seconds)
    tables = {"fit_time": search.fit_seconds}
    tables |= {f"test_{name}": table for name, table in search.scores.items()}
    tables |= {f"train_{name}": table for name, table in search.train_scores.items()}
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


def verbose_lines(search: Search, candidates: Sequence[str], *, with_scores: bool) -> list[str]:
    """Return a line for each fit of a search, as ``GridSearchCV`` prints them."""
    n_splits = search.fit_seconds.shape[1]
    several = set(search.scores) != {"score"}
    lines = []
    for place, name in enumerate(candidates):
        for fold in np.flatnonzero(~np.isnan(search.fit_seconds[place])):
            scores = []
            for score in search.scores if with_scores else ():
                test = search.scores[score][place, fold]
                values = f"test={test:.3f}"
                if search.train_scores:
                    values = f"train={search.train_scores[score][place, fold]:.3f}, {values}"
                scores.append(f"{score}: ({values})" if several or search.train_scores else f"score={test:.3f}")
            ended = "; ".join([name, *scores])
            lines.append(f"[CV {fold + 1}/{n_splits}] END {ended} total time={search.fit_seconds[place, fold]:6.1f}s")
    return lines
