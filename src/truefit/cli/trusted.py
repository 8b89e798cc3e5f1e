"""Trusted: what a model's file may hold without being asked about."""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Iterable
from typing import Final

#: Classes of these packages are what models are made of; reading one runs none of the file's own code.
PACKAGES: Final = ("sklearn", "skrub", "truefit", "lightgbm", "xgboost")

#: What the models of these packages hold besides. No other function is trusted: a model may call what it holds.
PARTS: Final = frozenset(
    {
        "functools.partial",
        "numpy.dtype",
        "scipy._lib.array_api_compat.numpy._aliases.asarray",
        "scipy.interpolate._bsplines.BSpline",
        "sklearn.utils.validation.check_array",
        "skrub._dataframe._common.is_any_date",
        "skrub._dataframe._common.is_categorical",
        "skrub._dataframe._common.is_numeric",
        "skrub._table_vectorizer._created_by_predicate",
        "skrub.selectors._selectors._cardinality_below",
    }
)


def not_trusted(types: Iterable[str]) -> list[str]:
    """Return those of the types in a file that somebody has to vouch for.

    Examples
    --------
    >>> not_trusted(["sklearn.tree._tree.Tree", "functools.partial", "os.system", "sklearn.datasets.load_files"])
    ['os.system', 'sklearn.datasets.load_files']
    """
    return [name for name in types if name not in PARTS and not _is_model_class(name)]


def _is_model_class(name: str) -> bool:
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] not in PACKAGES:
        return False
    try:
        return inspect.isclass(getattr(importlib.import_module(module), attribute, None))
    except ImportError:
        return False
