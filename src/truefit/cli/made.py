"""Made: what it takes to make a result again."""

from __future__ import annotations

import platform
import shlex
import sys
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final

from truefit.core.credentials import redacted

if TYPE_CHECKING:
    from truefit.engine.stats import Stats
    from truefit.sources.table import Table

#: Packages whose version can change a number.
_PACKAGES: Final = ("truefit", "scikit-learn", "numpy", "scipy", "pandas", "skrub", "lightgbm", "xgboost")


def made_of(table: Table, stats: Stats, *, task: str | None = None) -> dict[str, Any]:
    """Return the command that is running, its data, its fits and the versions of what it uses.

    Parameters
    ----------
    table : Table
    stats : Stats
        Of the engine that ran it.
    task : str, optional
        The task, where it was asked for; by default the one that the target suggests, and why.
    """
    fits = {name: count for name, count in stats.to_dict().items() if name != "seconds" and count}
    return {
        # Without passwords: this is stored, and shown in every report.
        "command": shlex.join(["truefit", *map(redacted, sys.argv[1:])]),
        "data": f"{table.name}: {len(table.y):,} rows, {table.X.shape[1]:,} columns, target {table.target}",
        "task": task or f"{table.task_hint.task}: {table.task_hint.reason}",
        "fits": fits,
        "versions": versions(),
    }


def versions() -> dict[str, str]:
    """Return the versions of what a number depends on, as far as it is installed."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "Python": platform.python_version()}
