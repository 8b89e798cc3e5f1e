"""The built-in sets: scikit-learn's, by name."""

from __future__ import annotations

import warnings
from typing import Any, Final

from truefit._core.errors import InvalidInput
from truefit.sources.table import Table

#: Name of the set, and of the function of ``sklearn.datasets`` that has it.
BUILTIN: Final = {
    "breast_cancer": "load_breast_cancer",
    "california_housing": "fetch_california_housing",
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}


def load_builtin(name: str, target: str | None = None) -> Table:
    """Return one of scikit-learn's sets, with its values and column names as scikit-learn has them.

    Parameters
    ----------
    name : str
        A key of ``BUILTIN``.
    target : str, optional
        Another column than the usual one.

    Examples
    --------
    >>> wine = load_builtin("wine")
    >>> wine.X.shape, wine.target, wine.task_hint.task
    ((178, 13), 'target', 'classification')
    """
    from sklearn import datasets

    function = getattr(datasets, BUILTIN[name])
    bunch = function(as_frame=True) if BUILTIN[name].startswith("load_") else _fetched(function, name)
    return Table.of(bunch.frame, name=name, target=target or bunch.target.name)


def _fetched(function: Any, name: str) -> Any:
    from sklearn.datasets import get_data_home

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of a second try at the download
            return function(as_frame=True, n_retries=1, delay=0.5)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{name} is downloaded the first time it is used, and this failed ({error}). Connect to the "
            f"internet, or copy scikit-learn's data folder from a machine that has it to {get_data_home()}."
        ) from error
