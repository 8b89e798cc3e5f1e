"""Grid: the points of a parameter grid, all of them or a sample."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from sklearn.model_selection import ParameterGrid, ParameterSampler

from truefit._core.errors import InvalidInput
from truefit._methods.splitting.splits import is_whole


def grid_points(given: Any, *, n_iter: Any = None, seed: int | None = None) -> list[dict[str, Any]]:
    """Return the points of a grid, or so many drawn from it; only then may values be distributions.

    Examples
    --------
    >>> grid_points({"max_depth": [2, 3]})
    [{'max_depth': 2}, {'max_depth': 3}]
    >>> grid_points({"max_depth": 3})
    Traceback (most recent call last):
    ...
    truefit._core.errors.InvalidInput: Each parameter of 'param_grid' must have a list of values to try. 'max_depth' ...
    """
    maps = [given] if isinstance(given, Mapping) else given
    if not isinstance(maps, Sequence) or not maps or not all(isinstance(each, Mapping) for each in maps):
        raise InvalidInput(
            f"The 'param_grid' parameter must be a dict or a list of dicts, not an empty list. Got {given!r} instead."
        )
    for name, values in ((name, values) for each in maps for name, values in each.items()):
        drawn_from = n_iter is not None and hasattr(values, "rvs")
        if not drawn_from and (isinstance(values, str) or not hasattr(values, "__len__") or len(values) == 0):
            raise InvalidInput(
                f"Each parameter of 'param_grid' must have a list of values to try. {name!r} has {values!r}."
            )
    if n_iter is None:
        return list(ParameterGrid(given))
    if not is_whole(n_iter) or n_iter < 1:
        raise InvalidInput(f"The 'n_iter' parameter must be a positive whole number. Got {n_iter!r} instead.")
    return list(ParameterSampler(given, int(n_iter), random_state=seed))
