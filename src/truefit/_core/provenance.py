"""Provenance: what it takes to compute a report again, and reports in stores."""

from __future__ import annotations

import json
import platform
from collections.abc import Mapping
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from typing import Any, Final

from truefit._core.protocols import ReportStore, StoredReport

#: Packages whose version can change a number.
_PACKAGES: Final = (
    *("truefit", "scikit-learn", "numpy", "scipy", "pandas", "skrub"),
    *("lightgbm", "xgboost", "catboost"),
)


def versions() -> dict[str, str]:
    """Return the versions of the packages that a number depends on, as far as they are installed."""
    found = {}
    for package in _PACKAGES:
        try:
            found[package] = version(package)
        except PackageNotFoundError:
            continue
    return {**found, "Python": platform.python_version()}


def now() -> str:
    """Return the current time, to the minute."""
    return datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC")


def keeps_reports(store: object) -> bool:
    """Whether a store keeps reports, for longer than this process."""
    return isinstance(store, ReportStore) and bool(getattr(store, "durable", True))


def store_report(store: object, content: Mapping[str, Any], made: Mapping[str, Any]) -> str | None:
    """Store a finished report, and return its id; None where the store keeps no reports.

    The id depends on the result only: the same result, computed again, replaces its report. ``content`` has at least
    ``kind``, ``title``, ``headline``, ``summary`` and ``result``; ``made`` the command, the data and the versions.
    """
    if not isinstance(store, ReportStore) or not keeps_reports(store):
        return None
    result = {key: value for key, value in content["result"].items() if key != "fits"}
    digest = blake2b(json.dumps([content["kind"], result], sort_keys=True, default=str).encode(), digest_size=4)
    made_at = datetime.now(UTC).isoformat(timespec="seconds")
    store.put_report(StoredReport(digest.hexdigest(), made_at, made, content))
    return digest.hexdigest()
