"""A real PostgreSQL server, started for these tests in a folder of its own."""

from __future__ import annotations

import contextlib

import numpy as np
import pandas as pd
import pytest
from tests.sources.postgres_server import OWNER, execute, program, server

from truefit._core.errors import InvalidInput
from truefit.sources import load, open_rows

ROWS = 30_000


pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(program("initdb") is None, reason="PostgreSQL's server is not installed"),
]

TABLE = f"""
    CREATE TABLE people (
        id bigint PRIMARY KEY, age integer, height double precision, paid numeric(12, 2), city text NOT NULL,
        code varchar(9), born date, seen timestamp, member boolean NOT NULL, keen boolean, token uuid,
        income integer NOT NULL
    );
    INSERT INTO people SELECT 3 * i, NULLIF(i % 80, 7), i / 8.0, i * 1.25, 'city ' || i % 5, 'c' || i % 3,
        date '2000-01-01' + i % 1000, timestamp '2020-01-01' + i * interval '1 minute', i % 2 = 0, NULLIF(i % 3, 2) = 0,
        CAST(md5(i::text) AS uuid), i % 3
    FROM generate_series(0, {ROWS - 1}) i;
    CREATE SCHEMA lab;
    CREATE TABLE lab."By ""token"" " AS SELECT token, height, income FROM people WHERE id < 3000;
    ALTER TABLE lab."By ""token"" " ADD PRIMARY KEY (token);
    CREATE VIEW young AS SELECT id, age, income FROM people WHERE age < 30;
"""


@pytest.fixture(scope="module")
def address():
    with server() as folder:
        address = f"postgresql://{OWNER}:secret@/postgres?host={folder}"
        execute(address, TABLE)
        yield address


def test_a_table_is_read_whole_in_the_order_of_its_key(address):
    table = load(f"{address}#people", "income")
    rows = open_rows(address, "income", table="people")
    assert (table.name, len(table.y)) == ("people", ROWS)
    assert table.y.tolist() == [i % 3 for i in range(ROWS)]
    X, _ = rows.take(500)
    pd.testing.assert_frame_equal(table.X.iloc[rows.keys(500) // 3].reset_index(drop=True), X.reset_index(drop=True))
    assert load(f"{address}#young", "income").X.columns.tolist() == ["id", "age"]


def test_a_sample_is_those_rows_with_their_types(address):
    rows = open_rows(address, "income", table="people")
    assert (rows.name, rows.total, rows.kind) == ("people", ROWS, "key")
    X, y = rows.take(12_000)
    i = rows.keys(12_000) // 3
    assert len(set(i.tolist())) == 12_000
    assert y.tolist() == (i % 3).tolist()
    assert y.dtype == np.int64
    numbers = {
        "age": np.where(i % 80 == 7, np.nan, i % 80),
        "height": i / 8,
        "paid": i * 1.25,
        "member": (i % 2 == 0).astype(np.int64),
        "keen": np.where(i % 3 == 2, np.nan, i % 3 == 0),
    }
    for column, values in numbers.items():
        assert np.array_equal(X[column].to_numpy(), values, equal_nan=True), column
    assert [str(X[column].dtype) for column in ("age", "height", "paid", "member", "keen")] == [
        *["float64"] * 3, "int64", "float64",
    ]  # fmt: skip
    assert X["city"].tolist() == [f"city {each % 5}" for each in i]
    assert pd.Timestamp(X["seen"].iloc[0]) == pd.Timestamp("2020-01-01") + pd.Timedelta(minutes=int(i[0]))
    assert X["token"].map(len).unique().tolist() == [36]
    again = open_rows(address, "income", table="public.people")
    pd.testing.assert_frame_equal(again.take(50)[0], X.iloc[:50])
    assert again.take(50)[0].dtypes.tolist() == X.dtypes.tolist()


def test_the_same_keys_make_the_same_sample_in_any_database(address, tmp_path):
    import sqlite3

    with contextlib.closing(sqlite3.connect(tmp_path / "same.db")) as connection, connection:
        frame = pd.DataFrame({"a": np.arange(ROWS) / 2, "income": np.arange(ROWS) % 3}, index=3 * np.arange(ROWS))
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, a REAL, income INTEGER)")
        frame.to_sql("people", connection, if_exists="append", index_label="id")
    connection.close()
    here, there = (open_rows(place, "income", table="people") for place in (tmp_path / "same.db", address))
    assert here.keys(3000).tolist() == there.keys(3000).tolist()


def test_text_keys_schemas_and_views(address):
    rows = open_rows(address, "income", table='lab.By "token" ')
    X, _ = rows.take(400)
    assert (X.columns.tolist(), rows.total) == (["height"], 1000)
    assert all(len(key) == 36 for key in rows.keys(400))
    view = open_rows(address, "income", table="young", key="id")
    assert (view.take(100)[0]["age"] < 30).all()


def test_a_growing_table_keeps_its_sample(address):
    execute(address, "CREATE TABLE grows AS SELECT id, height, income FROM people WHERE id < 1500")
    execute(address, "ALTER TABLE grows ADD PRIMARY KEY (id)")
    before = open_rows(address, "income", table="grows")
    X, _ = before.take(500)
    execute(address, "INSERT INTO grows SELECT id, height, income FROM people WHERE id >= 1500 AND id < 2400")
    after = open_rows(address, "income", table="grows", first=before.keys(500).tolist())
    assert (after.total, after.missing) == (800, 0)
    pd.testing.assert_frame_equal(after.take(800)[0].iloc[:500], X)
    execute(address, "DELETE FROM grows WHERE id < 30; UPDATE grows SET height = height + 1 WHERE id = 300")
    edited = open_rows(address, "income", table="grows", first=before.keys(500).tolist())
    assert edited.missing == 10


BAD = {
    "table": ({"table": "peple"}, "no table 'peple'. Did you mean 'people'"),
    "no table": ({}, "name of one table, as in FILE#TABLE. Tables: "),
    "no key": ({"table": "young"}, "'young' must have a primary key of one column. Got none"),
    "key": ({"table": "people", "key": "born"}, "must be whole numbers or text. Got date"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_a_sentence(address, case):
    options, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        open_rows(address, "income", **options)


def test_a_password_is_never_shown(address):
    wrong = address.replace("/postgres?", "/nowhere?")
    with pytest.raises(InvalidInput, match='database "nowhere" does not exist') as refused:
        open_rows(wrong, "income", table="people")
    assert "secret" not in str(refused.value)
    assert "secret" not in open_rows(address, "income", table="people").place
