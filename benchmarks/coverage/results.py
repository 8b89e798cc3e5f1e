"""Results: the lines of all repetitions in one small SQLite file, which a killed study goes on from."""

from __future__ import annotations

import json
import platform
import sqlite3
from dataclasses import astuple
from datetime import UTC, datetime
from hashlib import blake2b
from importlib.metadata import version
from pathlib import Path

import numpy as np

import truefit
from benchmarks.coverage.repetition import Line

_SCHEMA = """
CREATE TABLE IF NOT EXISTS settings (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS methods (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE);
CREATE TABLE IF NOT EXISTS runs (id INTEGER PRIMARY KEY, made_with TEXT NOT NULL UNIQUE, first TEXT NOT NULL);
CREATE TABLE IF NOT EXISTS results (
    repetition INTEGER NOT NULL, setting INTEGER NOT NULL, method INTEGER NOT NULL,
    estimate REAL, low REAL, high REAL, truth REAL, fits INTEGER NOT NULL, seconds REAL NOT NULL,
    reason TEXT, run INTEGER NOT NULL,
    PRIMARY KEY (repetition, setting, method)
) WITHOUT ROWID;
CREATE VIEW IF NOT EXISTS lines AS
    SELECT s.name AS setting, repetition, m.name AS method, estimate, low, high, truth, fits, seconds, reason, run
    FROM results JOIN settings s ON s.id = setting JOIN methods m ON m.id = method;
"""


class Results:
    """The file. One process writes, a whole repetition at a time: absent means to do."""

    def __init__(self, path):
        self._connection = sqlite3.connect(path)
        self._connection.executescript(_SCHEMA)
        self._made_with = json.dumps(made_with())

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        self._connection.close()

    def done(self):
        """Return (setting, repetition, method) of every line."""
        return set(self._connection.execute("SELECT setting, repetition, method FROM lines"))

    def put(self, lines):
        """Add the lines of a repetition, all or none."""
        with self._connection as connection:
            today = datetime.now(UTC).date().isoformat()
            run = self._id("runs", "made_with", self._made_with, first=today)
            for line in lines:
                setting, repetition, method, *numbers, fits, seconds, reason = astuple(line)
                key = repetition, self._id("settings", "name", setting), self._id("methods", "name", method)
                values = (*key, *numbers, fits, seconds, reason, run)
                connection.execute(f"INSERT INTO results VALUES ({', '.join('?' * len(values))})", values)

    def _id(self, table, column, value, **further):
        names, values = (column, *further), (value, *further.values())
        self._connection.execute(
            f"INSERT OR IGNORE INTO {table} ({', '.join(names)}) VALUES ({', '.join('?' * len(values))})", values
        )
        (found,) = self._connection.execute(f"SELECT id FROM {table} WHERE {column} = ?", (value,)).fetchone()
        return found

    def lines(self):
        """Return every line, by setting and method in the order of the repetitions."""
        found = {}
        rows = self._connection.execute(
            "SELECT setting, repetition, method, estimate, low, high, truth, fits, seconds, reason FROM lines "
            "ORDER BY repetition"
        )
        for row in rows:
            line = Line(*row)
            found.setdefault((line.setting, line.method), []).append(line)
        return found

    def made_with(self):
        """Return the versions that lines were made with, and how many lines with each."""
        rows = self._connection.execute(
            "SELECT made_with, count(*) FROM results JOIN runs ON runs.id = run GROUP BY run ORDER BY run"
        )
        return [(json.loads(text), count) for text, count in rows]


def made_with():
    """Return what the numbers depend on: versions, and the code of truefit and of this study."""
    found = {"python": platform.python_version()}
    found |= {name: version(name) for name in ("scikit-learn", "scipy")} | {"numpy": np.__version__}
    return found | {"truefit": truefit.__version__, "code": _code()}


def _code():
    digest = blake2b(digest_size=4)
    for folder in (Path(truefit.__file__).parent, Path(__file__).parent):
        for path in sorted(folder.rglob("*.py")):
            digest.update(path.read_bytes())
    return digest.hexdigest()
