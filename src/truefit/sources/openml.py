"""Tables of OpenML, by name or number."""

from __future__ import annotations

import warnings
from typing import Any, Final

from truefit._core.errors import InvalidInput
from truefit.sources.table import Table, find_column

#: What the name of such a table begins with.
PREFIX: Final = "openml:"


def load_openml(address: str, target: str | None = None) -> Table:
    """Return a table of OpenML, downloaded the first time and kept in scikit-learn's data folder.

    Parameters
    ----------
    address : str
        ``openml:NAME`` for the active version of a table, ``openml:NAME@VERSION``, or ``openml:NUMBER``.
    target : str, optional
        Another column than the one that OpenML has for it.
    """
    which = _which(address)
    try:
        with warnings.catch_warnings():
            # Several versions of a table, or a second try at the download: nothing that a reader can act on.
            warnings.simplefilter("ignore", UserWarning)
            bunch = _fetched(which)
    except (OSError, ValueError) as error:
        raise InvalidInput(
            f"{address!r} must be a table of OpenML that can be downloaded, or was before. Got: {error}. Check the "
            "name on openml.org, connect to the internet, or pass a file."
        ) from error
    usual = bunch.target_names[0] if len(bunch.target_names or ()) == 1 else None
    if target is not None:
        find_column([str(column) for column in bunch.frame.columns], target, address)
    return Table.of(bunch.frame, name=address.removeprefix(PREFIX), target=target or usual)


def _which(address: str) -> dict[str, Any]:
    """Return how ``fetch_openml`` is told which table.

    Examples
    --------
    >>> _which("openml:adult"), _which("openml:adult@2"), _which("openml:1590")
    ({'name': 'adult', 'version': 'active'}, {'name': 'adult', 'version': 2}, {'data_id': 1590})
    """
    name, _, version = address.removeprefix(PREFIX).partition("@")
    if not name or (version and not version.isdecimal()):
        raise InvalidInput(
            f"A table of OpenML must be openml:NAME, openml:NAME@VERSION or openml:NUMBER. Got {address!r} instead."
        )
    if name.isdecimal():
        return {"data_id": int(name)}
    return {"name": name, "version": int(version) if version else "active"}


def _fetched(which: dict[str, Any]) -> Any:
    from sklearn.datasets import fetch_openml

    return fetch_openml(**which, as_frame=True, n_retries=1, delay=0.5)
