"""A password is found nowhere: not in the store, the page, the JSON, the messages, nor in what lists and shows them."""

from __future__ import annotations

import contextlib
import json
import sqlite3
import zlib
from urllib.parse import quote

import pytest
from tests.cli.command import truefit
from tests.core.test_credentials import SHOWN, nobody_there
from tests.sources.postgres_server import OWNER, execute, program, server

from truefit import Engine
from truefit._core.provenance import store_report
from truefit.testing.store_contract import some_report

WORD = "hunter2"
HARD = "hunter2@a/b:c#d?e%f&g"

ROWS = f"""
    CREATE ROLE plain LOGIN PASSWORD '{WORD}';
    CREATE ROLE hard LOGIN PASSWORD '{HARD}';
    CREATE TABLE people AS SELECT i AS id, i % 7 AS age, (i * 37) % 11 AS height, i % 2 AS kind
    FROM generate_series(0, 59) i;
    ALTER TABLE people ADD PRIMARY KEY (id);
    GRANT SELECT ON people TO plain, hard
"""
#: How a password may be given, the first ones in every run; {} is the folder of the server's socket.
WAYS = {
    "userinfo": "postgresql://plain:hunter2@/postgres?host={}",
    "percent-encoded userinfo": f"postgresql://hard:{quote(HARD, safe='')}@/postgres?host={{}}",
    "query": "postgresql:///postgres?host={}&user=plain&password=hunter2",
    "percent-encoded query": f"postgresql:///postgres?user=hard&host={{}}&password={quote(HARD, safe='')}",
    "no host and no path": "postgresql://?host={}&dbname=postgres&user=plain&password=hunter2",
    "no user": "postgresql://:hunter2@/postgres?host={}&user=plain",
    "upper case": "POSTGRES://plain:hunter2@/postgres?host={}",
    "key of a certificate": "postgresql://plain:hunter2@/postgres?host={}&sslpassword=hunter2&sslkey=/hunter2.key",
    "several hosts": "postgresql://plain:hunter2@,/postgres?host={0},{0}",
}


@pytest.fixture(scope="module")
def folder():
    if program("initdb") is None:
        pytest.skip("PostgreSQL's server is not installed")
    with server(rules=f"local all {OWNER} trust\nlocal all all scram-sha-256") as folder:
        execute(f"postgresql://{OWNER}@/postgres?host={folder}", ROWS)
        yield folder


def forms(password):
    return {password.encode(), quote(password, safe="").encode(), quote(password).encode(), b"hunter2"}


def everything(folder):
    """Every byte of every file, what is packed in a store too."""
    for file in folder.iterdir():
        yield file.name.encode() + file.read_bytes()
        if file.suffix == ".db":
            with contextlib.closing(sqlite3.connect(file)) as store:
                yield from (zlib.decompress(content) for (content,) in store.execute("SELECT content FROM reports"))


@pytest.mark.parametrize(
    "way", [way if i < 5 else pytest.param(way, marks=pytest.mark.slow) for i, way in enumerate(WAYS)]
)
def test_a_password_that_connects_is_found_nowhere(folder, tmp_path, way):
    address = WAYS[way].format(folder)
    table = ("--target", "kind", "--model", "linear", "--store", "runs.db")
    commands = [
        ("assess", f"{address}#people", *table, "--json"),
        ("curve", f"{address}#people", *table, "--schedule", "20,30,40", "--cv", "2"),
        ("study", f"{address}#people", *table, "--no-tune", "--budget", "1s", "--workers", "1", "--out", "report.html"),
        ("runs", "runs.db"),
        ("runs", "runs.db", "--json"),
        ("show", "runs.db"),
        ("show", "runs.db", "--json"),
        ("show", "runs.db", "--out", "again.html"),
    ]
    said = [truefit(*command, cwd=tmp_path) for command in commands]
    assert [done.returncode for done in said] == [0] * len(commands), "\n".join(done.stderr for done in said)
    found = [*(f"{done.stdout}{done.stderr}".encode() for done in said), *everything(tmp_path)]
    assert sum(b"postgres" in each for each in found) >= 5  # the address itself is there
    assert not [form for form in forms(HARD) for each in found if form in each]
    assert (tmp_path / "runs.db").stat().st_mode & 0o777 == 0o600
    assert (tmp_path / "report.html").stat().st_mode & 0o777 == 0o600


@pytest.mark.parametrize("way", WAYS)
def test_what_is_wrong_is_said_without_it(folder, tmp_path, way):
    address = WAYS[way].format(folder)
    wrong = {
        "table": f"{address}#peple",
        "password": f"{address}#people".replace("hunter2", "hunter2-wrong"),
        "server": f"{address}#people".replace(folder, "/nowhere"),
        "parameter": f"{address}&hunter2=hunter2#people",
        "scheme": f"{address}#people".replace("postgresql", "mysql").replace("POSTGRES", "MYSQL"),
    }
    for what, given in wrong.items():
        done = truefit("assess", given, "--target", "kind", cwd=tmp_path)
        assert done.returncode == 2, (what, done.stderr)
        assert not [form for form in forms(HARD) if form in f"{done.stdout}{done.stderr}".encode()], what


#: Where an argument may stand, the first ones in every run.
COMMANDS = [
    "assess {} --target y", "curve {} --target y", "assess iris --plot={}", "show {}",
    "predict {} {}", "assess iris --store {}/fits.db", "assess iris --models {}", "assess iris {}", "{}",
]  # fmt: skip


@pytest.mark.parametrize("argument", SHOWN)
@pytest.mark.parametrize("command", COMMANDS[:4] + [pytest.param(c, marks=pytest.mark.slow) for c in COMMANDS[4:]])
def test_arguments_that_cannot_be_used_are_said_without_their_password(tmp_path, monkeypatch, argument, command):
    monkeypatch.setenv("PGCONNECT_TIMEOUT", "1")
    done = truefit(*(word.format(nobody_there(argument)) for word in command.split()), cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    for secret in ("hunter2", "hun@ter2", "hun%40ter2"):
        assert secret not in "".join(f"{done.stdout}{done.stderr}".replace("│", "").split())


def test_the_same_rows_are_known_whatever_the_password(folder, tmp_path):
    for way, fitted in (("userinfo", True), ("percent-encoded query", False)):
        words = ("assess", f"{WAYS[way].format(folder)}#people", "--target", "kind", "--store", "runs.db", "--json")
        done = truefit(*words, cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert (json.loads(done.stdout)["fits"]["run"] > 0) is fitted
    with contextlib.closing(sqlite3.connect(tmp_path / "runs.db")) as store:
        assert store.execute("SELECT count(*) FROM reports").fetchone() == (1,)


def test_stores_of_earlier_versions_are_shown_without_passwords(tmp_path):
    command = "truefit study 'postgresql://me:hunter2@h/shop#sales' --target y"
    content = {"kind": "assessment", "title": "t", "headline": "h", "summary": "s", "result": {}}
    content["table"] = {"columns": ["a"], "rows": [[1]]}
    with Engine(tmp_path / "old.db") as engine:
        store_report(engine.store, content, dict(some_report().made) | {"command": command})
    for words in ("runs old.db", "runs old.db --json", "show old.db", "show old.db --out o.html"):
        done = truefit(*words.split(), cwd=tmp_path)
        assert done.returncode == 0, done.stderr
        assert "hunter2" not in done.stdout + done.stderr
    page = (tmp_path / "o.html").read_text()
    assert "hunter2" not in page
    assert "postgresql://h/shop#sales" in page
