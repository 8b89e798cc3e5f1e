"""Reports in a store: saved with their provenance, and found again by what was requested."""

from __future__ import annotations

import json
import platform
import shlex
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from truefit._core.credentials import HIDDEN, redacted
from truefit._core.errors import InvalidInput
from truefit._core.protocols import ReportStore, StoredReport

if TYPE_CHECKING:
    from truefit._api.engine import Engine
    from truefit._engine.stats import Stats
    from truefit._methods.result import Result
    from truefit._stores.sqlite import SqliteStore
    from truefit.sources.table import Table


def store_report(engine: Engine, content: Mapping[str, Any], made: Mapping[str, Any]) -> str | None:
    """Store a finished report in the engine's store, and return what it is called there.

    The same report, made again, takes its own place. A store that keeps no reports is left as it is.

    Parameters
    ----------
    engine : Engine
    content : mapping
        Plain JSON types with at least ``kind``, ``title``, ``headline``, ``summary`` and ``result``, such as
        ``study_report`` returns.
    made : mapping
        What it takes to make it again, as ``provenance`` returns it.
    """
    store = engine.store
    if not isinstance(store, ReportStore):
        return None
    name = _name(content["kind"], content["result"], made)
    store.put_report(StoredReport(name, datetime.now(UTC).isoformat(timespec="seconds"), made, content))
    return name


def stored_content(
    engine: Engine, kind: str, result: Mapping[str, Any], made: Mapping[str, Any]
) -> Mapping[str, Any] | None:
    """Return the report of this very result, where the engine's store has it: it need not be drawn again.

    Parameters
    ----------
    engine : Engine
    kind : str
        Such as "study".
    result : mapping
        The result's plain data.
    made : mapping
    """
    store = engine.store
    if not isinstance(store, ReportStore):
        return None
    name = _name(kind, result, made)
    return next((report.content for report in store.reports() if report.id == name), None)


def report_for(place: Path, request: str) -> StoredReport | None:
    """Return the report that was made for a request, where the store at a place has it.

    Parameters
    ----------
    place : Path
        Of a store that may not be there yet.
    request : str
        As ``request_key`` returns it.
    """
    if not place.is_file():
        return None
    with closing(open_store(place)) as store:
        return next((report for report in reports_of(store) if report.content.get("request") == request), None)


def store_result(engine: Engine, result: Result, made: Mapping[str, Any]) -> str | None:
    """Store what a method returned: its summary, its table and its plain data."""
    if getattr(engine.store, "path", None) is None:
        return None  # nobody will open the memory of this process again
    frame = result.table.reset_index()
    summary, data = result.summary(), result.to_dict()
    content = {
        "kind": str(data["kind"]).replace("_", " "),
        "version": 1,
        "title": result.title,
        "headline": " ".join(" ".join(summary.splitlines()[:2]).split()),
        "summary": summary,
        "result": data,
        "table": {"columns": list(map(str, frame.columns)), "rows": json.loads(frame.to_json(orient="values") or "[]")},
    }
    return store_report(engine, content, made)


def open_store(place: Path) -> SqliteStore:
    """Open a store that is there, to read what it holds; it may lie where nothing can be written."""
    from truefit._stores.sqlite import SqliteStore

    if not place.is_file():
        raise InvalidInput(f"There is no store {str(place)!r}. Check the path; --store of any command makes one.")
    return SqliteStore(place, read_only=True)


def reports_of(store: SqliteStore) -> list[StoredReport]:
    """Return the reports of a store, as they may be shown: checked to be reports, and without passwords.

    Stores of earlier versions, and those of others, may have a password in a command.
    """
    reports = store.reports()
    for report in reports:
        texts = [report.content.get(name) for name in ("kind", "title", "headline", "summary")]
        if not all(isinstance(text, str) for text in texts) or not isinstance(report.content.get("result"), dict):
            raise store.damaged(f"the report {report.id} lacks a part")
    return [replace(report, made=_redacted(report.made)) for report in reports]


def _redacted(made: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        words = shlex.split(str(made.get("command", "")))
    except ValueError:  # an open quote: no command that was ever kept
        return {**made, "command": HIDDEN}
    clean = [redacted(word) for word in words]
    return made if clean == words else {**made, "command": shlex.join(clean)}


def local_time(report: StoredReport) -> str:
    """Return when a report was made."""
    return f"{report.made_at[:16].replace('T', ' ')} UTC"


def find_report(reports: list[StoredReport], name: str | None, place: Path) -> StoredReport:
    """Return the report of this name, or of a name that begins so; the one made last, if none is named."""
    if not reports:
        raise InvalidInput(f"{place.name!r} holds no finished report yet. Run a command with --store {place} first.")
    if name is None:
        return reports[0]
    hits = [report for report in reports if report.id.startswith(name)]
    if len(hits) == 1:
        return hits[0]
    problem = "no report" if not hits else f"{len(hits)} reports"
    ids = ", ".join(report.id for report in reports)
    raise InvalidInput(f"{place.name!r} has {problem} whose id begins with {name!r}. Ids: {ids}.")


def _name(kind: str, result: Mapping[str, Any], made: Mapping[str, Any]) -> str:
    """Return a short name by what was found and in which data, not by when, how fast or by which options."""
    content = {key: value for key, value in result.items() if key != "fits"}
    found = json.dumps([kind, content, made.get("data")], sort_keys=True, default=str)
    return blake2b(found.encode(), digest_size=4).hexdigest()


#: Packages whose version can change a number.
_PACKAGES: Final = ("truefit", "scikit-learn", "numpy", "scipy", "pandas", "skrub", "lightgbm", "xgboost")


def provenance(table: Table, stats: Stats, *, task: str | None = None) -> dict[str, Any]:
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


def request_key(table: Table, options: Mapping[str, Any]) -> str:
    """Return the key of a request: its table, its options, and all code that may change the answer.

    Parameters
    ----------
    table : Table
    options : mapping
        Everything that was requested, as plain JSON types.
    """
    from truefit._core.hashing import row_tokens, rowset_id, table_blocks

    columns, schema = table_blocks(table.X)
    target, kind = table_blocks(table.y.to_frame())
    rows = rowset_id(row_tokens([*columns, *target])).hex()
    request = [rows, schema, kind, table.name, table.target, dict(options), versions(), _code()]
    return blake2b(json.dumps(request, sort_keys=True).encode(), digest_size=16).hexdigest()


def _code() -> str:
    """Return what truefit's own code is known by: a version that is worked on changes without its number."""
    import truefit

    found = blake2b(digest_size=16)
    package = Path(truefit.__file__).parent
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".json"):
            found.update(f"{file.relative_to(package)} ".encode() + file.read_bytes())
    return found.hexdigest()
