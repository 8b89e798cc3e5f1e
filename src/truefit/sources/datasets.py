"""Data sets by name: scikit-learn's built-in sets, and those of OpenML."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any, Final

from truefit._core.errors import InvalidInput
from truefit.sources.table import Table, find_column

#: Name of the set, and of the function of ``sklearn.datasets`` that has it.
BUILTIN: Final = {
    "breast_cancer": "load_breast_cancer",
    "california_housing": "fetch_california_housing",
    "diabetes": "load_diabetes",
    "digits": "load_digits",
    "iris": "load_iris",
    "wine": "load_wine",
}
#: Prefix of the name of an OpenML table.
OPENML_PREFIX: Final = "openml:"


def load_builtin(name: str, target: str | None = None) -> Table:
    """Return one of scikit-learn's sets; ``target`` is another column than the usual one."""
    from sklearn import datasets

    function = getattr(datasets, BUILTIN[name])
    bunch = function(as_frame=True) if BUILTIN[name].startswith("load_") else _fetch(function, name)
    return Table.of(bunch.frame, name=name, target=target or bunch.target.name)


def _fetch(function: Any, name: str) -> Any:
    from sklearn.datasets import get_data_home

    try:
        return _download(function)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{name} is downloaded the first time it is used, and this failed ({error}). Connect to the "
            f"internet, or copy scikit-learn's data folder from a machine that has it to {get_data_home()}."
        ) from error


def load_openml(address: str, target: str | None = None) -> Table:
    """Return a table of OpenML, downloaded the first time and then read from scikit-learn's data folder."""
    from sklearn.datasets import fetch_openml

    which = _openml_table(address)
    try:
        bunch = _download(fetch_openml, **which)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{address!r} must be a table of OpenML that can be downloaded, or was before. Got: {error}. Check the "
            "name on openml.org, connect to the internet, or pass a file."
        ) from error
    usual = bunch.target_names[0] if len(bunch.target_names or ()) == 1 else None
    if target is not None:
        find_column([str(column) for column in bunch.frame.columns], target, address)
    return Table.of(bunch.frame, name=address.removeprefix(OPENML_PREFIX), target=target or usual)


def _openml_table(address: str) -> dict[str, Any]:
    """Return the arguments of ``fetch_openml`` that name the table.

    >>> _openml_table("openml:adult"), _openml_table("openml:adult@2"), _openml_table("openml:1590")
    ({'name': 'adult', 'version': 'active'}, {'name': 'adult', 'version': 2}, {'data_id': 1590})
    """
    name, _, version = address.removeprefix(OPENML_PREFIX).partition("@")
    if not name or (version and not version.isdecimal()):
        raise InvalidInput(
            f"A table of OpenML must be openml:NAME, openml:NAME@VERSION or openml:NUMBER. Got {address!r} instead."
        )
    if name.isdecimal():
        return {"data_id": int(name)}
    return {"name": name, "version": int(version) if version else "active"}


def _download(function: Callable[..., Any], **which: Any) -> Any:
    with warnings.catch_warnings():
        # Several versions of a table, or a second try at the download: nothing that a reader can act on.
        warnings.simplefilter("ignore", UserWarning)
        return function(**which, as_frame=True, n_retries=1, delay=0.5)
