"""Reports in a store: saved with their provenance, and found again by what was requested."""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Mapping
from contextlib import closing
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any

from truefit._core.credentials import HIDDEN, redacted
from truefit._core.errors import InvalidInput
from truefit._core.protocols import StoredReport
from truefit._core.provenance import now, versions

if TYPE_CHECKING:
    from truefit._engine.batch import Stats
    from truefit._stores.sqlite import SqliteStore
    from truefit.sources.table import Table


def report_for(place: Path, request: str) -> StoredReport | None:
    """Return the report of a request (see ``request_key``) if the store exists and has it."""
    if not place.is_file():
        return None
    with closing(open_store(place)) as store:
        return next((report for report in reports_of(store) if report.content.get("request") == request), None)


def open_store(place: Path) -> SqliteStore:
    """Open an existing store, read-only."""
    from truefit._stores.sqlite import SqliteStore

    if not place.is_file():
        raise InvalidInput(f"There is no store {str(place)!r}. Check the path; --store of any command makes one.")
    return SqliteStore(place, read_only=True)


def reports_of(store: SqliteStore) -> list[StoredReport]:
    """Return the reports of a store, checked, and without the passwords that a command in them may contain."""
    reports = store.reports()
    for report in reports:
        texts = [report.content.get(name) for name in ("kind", "title", "headline", "summary")]
        if not all(isinstance(text, str) for text in texts) or not isinstance(report.content.get("result"), dict):
            raise store.damaged(f"the report {report.id} lacks a part")
    return [replace(report, made=_redacted(report.made)) for report in reports]


def _redacted(made: Mapping[str, Any]) -> Mapping[str, Any]:
    try:
        words = shlex.split(str(made.get("command", "")))
    except ValueError:  # an open quote: truefit stores no such command
        return {**made, "command": HIDDEN}
    clean = [redacted(word) for word in words]
    return made if clean == words else {**made, "command": shlex.join(clean)}


def local_time(report: StoredReport) -> str:
    """Return when a report was stored."""
    return f"{report.made_at[:16].replace('T', ' ')} UTC"


def find_report(reports: list[StoredReport], name: str | None, place: Path) -> StoredReport:
    """Return the report whose id begins with a name; without a name the latest."""
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


def provenance(table: Table, stats: Stats, *, task: str | None = None) -> dict[str, Any]:
    """Return the running command, its data, its counts of fits and the versions of packages.

    Without a requested ``task`` the inferred one is given, with the reason.
    """
    counts = {"requested" if name == "asked" else name: count for name, count in stats.to_dict().items()}
    fits = {name: count for name, count in counts.items() if name != "seconds" and count}
    return {
        "date": now(),
        # Without passwords: this is stored, and shown in every report.
        "command": shlex.join(["truefit", *map(redacted, sys.argv[1:])]),
        "data": f"{table.name}: {table.contents()}",
        "task": task or f"{table.task_hint.task}: {table.task_hint.reason}",
        "fits": fits,
        "versions": versions(),
    }


def request_key(table: Table, options: Mapping[str, Any], *test: Any) -> str:
    """Return the key of a request: a hash of its table, its options, and all code that may change the answer.

    ``test`` are X and y of test rows, if there are any.
    """
    import pandas as pd

    from truefit._core.rows import row_tokens, rowset_id, table_blocks

    rows = []
    for columns in ((table.X, table.y, *table.roles.values()), test):
        if columns:
            blocks, schema = table_blocks(pd.concat(columns, axis=1))
            rows += [rowset_id(row_tokens(blocks)).hex(), schema]
    request = [rows, list(table.roles), table.name, table.target, dict(options), versions(), _code()]
    return blake2b(json.dumps(request, sort_keys=True).encode(), digest_size=16).hexdigest()


def _code() -> str:
    """Return a hash of truefit's own code: in development it changes without its version."""
    import truefit

    found = blake2b(digest_size=16)
    package = Path(truefit.__file__).parent
    for file in sorted(package.rglob("*")):
        if file.suffix in (".py", ".json"):
            found.update(f"{file.relative_to(package)} ".encode() + file.read_bytes())
    return found.hexdigest()
