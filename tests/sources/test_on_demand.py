"""Nested samples from real files: equal to the whole table's rows, and stable when it grows."""

from __future__ import annotations

import contextlib
import sqlite3
import sys

import numpy as np
import pandas as pd
import pytest
from scipy.stats import chisquare

from truefit._core.data import RowSource
from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources import RowsOnDemand, open_rows
from truefit.sources.files import read_frame
from truefit.sources.on_demand import AHEAD, first_keys, hash_of
from truefit.sources.readers import DelimitedReader, ParquetReader

N = 45_000


def made(n=N, seed=0):
    """A table with what makes types of samples differ: rare gaps, late text, categories."""
    rng = np.random.default_rng(seed)
    rare = rng.random(n) < 3 / n
    return pd.DataFrame(
        {
            "number": rng.normal(size=n),
            "whole": rng.integers(0, 9, n),
            "whole with gaps": np.where(rare, np.nan, rng.integers(0, 9, n)),
            "text": rng.choice(["x", "y, z", None], n),
            "late text": [str(i) if i < 40_000 else f"no {i}" for i in range(n)],
            "yes": rng.random(n) < 0.5,
            "yes with gaps": pd.Series(np.where(rare, None, rng.random(n) < 0.5), dtype=object),
            "kind": rng.choice(["a", "b"], n),
        }
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows")
    frame = made()
    frame.to_csv(folder / "rows.csv", index=False)
    frame.to_csv(folder / "numbered.tsv", sep="\t")
    frame["category"] = pd.Categorical(np.where(np.arange(N) < 44_990, "usual", "late"))
    frame["nullable"] = frame["whole with gaps"].astype("Int64")
    frame.to_parquet(folder / "rows.parquet", row_group_size=10_000)
    with contextlib.closing(sqlite3.connect(folder / "rows.db")) as connection, connection:
        connection.execute(
            "CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, height REAL, city TEXT NOT NULL, "
            "member BOOLEAN NOT NULL, born DATE, income INTEGER NOT NULL)"
        )
        rows = [
            (3 * i, None if i == 7 else i % 80, i / 7 if i % 9 else None, f"city {i % 5}", i % 2, "2001-02-03", i % 3)
            for i in range(5000)
        ]
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("CREATE TABLE texts (code TEXT PRIMARY KEY, a REAL, y TEXT)")
        connection.executemany(
            "INSERT INTO texts VALUES (?, ?, ?)", [(f"c'{i}", i, ["no", "yes"][i % 2]) for i in range(300)]
        )
        connection.execute("CREATE TABLE pairs (a INTEGER, b INTEGER, y TEXT, PRIMARY KEY (a, b)) WITHOUT ROWID")
        connection.execute("CREATE VIEW young AS SELECT id, age, income FROM people WHERE age < 30")
    connection.close()
    return folder


@pytest.mark.parametrize("name", ["rows.parquet", "rows.csv", "numbered.tsv"])
def test_a_sample_from_a_file_is_those_rows_of_the_whole(folder, name):
    rows = open_rows(folder / name, "kind", whole=False)
    assert isinstance(rows, RowSource)
    assert (rows.name, rows.total, rows.kind) == (name.split(".")[0], N, "position")
    samples = {n: rows.take(n) for n in (20, 500, 3 * AHEAD)}
    whole = read_frame(folder / name).iloc[rows.keys(3 * AHEAD)].reset_index(drop=True)
    whole = whole.drop(columns=[column for column in whole if column.startswith("Unnamed")])
    for n, (X, y) in samples.items():
        pd.testing.assert_frame_equal(X, whole.drop(columns="kind").iloc[:n])
        pd.testing.assert_series_equal(y, whole["kind"].iloc[:n])
    again = open_rows(folder / name, "kind", whole=False)
    pd.testing.assert_frame_equal(again.take(700)[0], samples[3 * AHEAD][0].iloc[:700])


def test_row_numbers_are_left_out_of_a_sample_too(folder):
    table = open_rows(folder / "numbered.tsv", "kind", whole=False).table(100)
    assert "counts the rows" in table.notes[0]
    assert not any(column.startswith("Unnamed") for column in table.X)


def test_a_file_is_read_whole_when_it_is_small_or_was_before(folder, monkeypatch):
    assert open_rows(folder / "rows.csv", "kind").kind == "content"
    monkeypatch.setattr("truefit.sources.on_demand.WHOLE_BYTES", 1000)
    assert open_rows(folder / "rows.csv", "kind").kind == "position"
    assert open_rows(folder / "rows.csv", "kind", whole=True).kind == "content"
    assert open_rows("iris").total == 150


def test_rows_of_a_frame_are_known_by_content_whatever_their_order():
    frame = made(400)
    rows = open_rows(frame, "kind")
    X, y = rows.take(50)
    X_shuffled, y_shuffled = open_rows(frame.sample(frac=1, random_state=1), "kind").take(50)
    pd.testing.assert_frame_equal(X, X_shuffled)
    pd.testing.assert_series_equal(y, y_shuffled)
    assert len(rows.take(1000)[0]) == 400


def test_equal_rows_are_told_apart():
    frame = pd.DataFrame({"a": [1.0] * 30 + [2.0] * 30, "y": ["p"] * 30 + ["q"] * 30})
    X, _ = open_rows(frame, "y").take(60)
    assert X["a"].value_counts().to_dict() == {1.0: 30, 2.0: 30}


@pytest.mark.parametrize("ending", ["csv", "parquet"])
@pytest.mark.parametrize("whole", [True, False])
def test_rows_sampled_before_come_first_when_a_file_has_grown(tmp_path, ending, whole):
    frame, path = made(3000).drop(columns=["whole with gaps", "yes with gaps"]), tmp_path / f"grows.{ending}"

    def write(rows):
        rows.to_csv(path, index=False) if ending == "csv" else rows.to_parquet(path)

    write(frame[:2000])
    before = open_rows(path, "kind", whole=whole)
    X, y = before.take(1200)
    known = before.keys(1200)
    write(frame)
    after = open_rows(path, "kind", whole=whole, first=known.tolist())
    assert (after.missing, after.total) == (0, 3000)
    X_after, y_after = after.take(2500)
    pd.testing.assert_frame_equal(X_after.iloc[:1200], X)
    assert y_after[:1200].tolist() == y.tolist()
    assert after.digest(1200) == before.digest(1200)
    assert len(set(after.keys(2500).tolist())) == 2500
    assert open_rows(path, "kind", whole=whole).keys(1200).tolist() != known.tolist()


def test_rows_that_were_removed_or_edited_are_noticed(tmp_path):
    frame, path = made(1500), tmp_path / "rows.parquet"
    frame.to_parquet(path)
    before = open_rows(path, "kind", whole=False)
    known, digest = before.keys(1000), before.digest(1000)
    edited = frame.copy()
    edited.loc[known[5], "number"] += 1
    edited.to_parquet(path)
    after = open_rows(path, "kind", whole=False, first=known)
    assert after.missing == 0
    assert after.digest(1000) != digest
    frame.iloc[:1200].to_parquet(path)
    after = open_rows(path, "kind", whole=False, first=known)
    assert after.missing == int((known >= 1200).sum()) > 0
    assert after.keys(5000).tolist()[: 1000 - after.missing] == [key for key in known.tolist() if key < 1200]
    by_content = open_rows(frame, "kind")
    assert open_rows(edited, "kind", first=by_content.keys(1500)).missing == 1


def test_rows_without_a_label_are_counted_and_the_others_keep_their_place(tmp_path):
    frame, path = made(600), tmp_path / "labels.csv"
    frame["label"] = np.arange(600) % 3
    frame.assign(label=frame["label"].where(frame.index % 2 == 0)).to_csv(path, index=False)
    half = open_rows(path, "label")
    assert (half.total, half.unlabelled) == (300, 300)
    X, y = half.take(300)
    assert y.dtype == np.int64
    frame.to_csv(path, index=False)
    full = open_rows(path, "label", first=half.keys(300))
    assert (full.total, full.unlabelled, full.missing) == (600, 0, 0)
    pd.testing.assert_frame_equal(full.take(300)[0], X)


def test_sqlite(folder):
    rows = open_rows(f"sqlite:///{folder}/rows.db", "income", table="people")
    assert (rows.total, rows.kind) == (5000, "key")
    X, y = rows.take(800)
    keys = rows.keys(800)
    assert X.columns.tolist() == ["age", "height", "city", "member", "born"]
    assert [str(X[column].dtype) for column in ("age", "height", "member")] == ["float64", "float64", "int64"]
    assert y.dtype == np.int64
    assert y.tolist() == (keys // 3 % 3).tolist()
    assert X["city"].tolist() == [f"city {key // 3 % 5}" for key in keys]
    assert np.array_equal(X["height"].to_numpy(), np.where(keys // 3 % 9 == 0, np.nan, keys / 21), equal_nan=True)
    by_path = open_rows(folder / "rows.db", "income", table="people")
    pd.testing.assert_frame_equal(by_path.take(3000)[0].iloc[:800], X)
    assert "'id' identifies the rows" in rows.table(10).notes[0]


def test_sqlite_by_text_and_by_a_named_key(folder):
    rows = open_rows(folder / "rows.db", "y", table="texts")
    X, _ = rows.take(200)
    assert [f"c'{int(a)}" for a in X["a"]] == rows.keys(200).tolist()
    later = open_rows(folder / "rows.db", "y", table="texts", first=[*rows.keys(50), "gone"])
    assert later.missing == 1
    assert later.keys(300).tolist()[:50] == rows.keys(50).tolist()
    frame = pd.DataFrame({"a": np.arange(50.0), "y": ["no", "yes"] * 25})
    with contextlib.closing(sqlite3.connect(folder / "plain.db")) as connection, connection:
        frame.to_sql("plain", connection, index=False)
    connection.close()
    plain = open_rows(folder / "plain.db", "y")
    assert plain.take(50)[0]["a"].tolist() == (plain.keys(50) - 1).tolist()
    assert plain.table(50).notes == ()
    view = open_rows(folder / "rows.db", "income", table="young", key="id")
    assert (view.take(10**6)[0]["age"] < 30).all()


def test_a_growing_database_keeps_its_sample(tmp_path):
    path = tmp_path / "grows.sqlite"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE t (id INTEGER PRIMARY KEY, a REAL, y INTEGER)")
        connection.executemany("INSERT INTO t (a, y) VALUES (?, ?)", [(i / 3, i % 2) for i in range(400)])
    before = open_rows(path, "y")
    X, _ = before.take(400)
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.executemany("INSERT INTO t (a, y) VALUES (?, ?)", [(i / 3, i % 2) for i in range(400, 700)])
    connection.close()
    after = open_rows(path, "y", first=before.keys(400).tolist())
    pd.testing.assert_frame_equal(after.take(700)[0].iloc[:400], X)
    assert after.digest(400) == before.digest(400)


def test_rows_that_vanish_while_they_are_read(tmp_path):
    for reader, write in ((ParquetReader, "to_parquet"), (lambda path: DelimitedReader(path, "kind"), "to_csv")):
        path = tmp_path / ("rows" + (".csv" if write == "to_csv" else ".parquet"))
        frame = made(15_000)
        options = {"index": False} if write == "to_csv" else {"row_group_size": 500}
        getattr(frame, write)(path, **options)
        rows = RowsOnDemand(reader(path), "kind")
        rows.take(10)
        getattr(frame[:600], write)(path, **options)
        with pytest.raises(InvalidInput, match=r"'rows' must keep its rows|does not read as Parquet"):
            rows.take(15_000)


BAD = {
    "no target": (("rows.csv", None), {}, "needs a target"),
    "another target": (("rows.csv", "kid"), {}, "no column 'kid'. Did you mean 'kind'"),
    "another target, in parts": (("rows.parquet", "kid"), {"whole": False}, "no column 'kid'. Did you mean 'kind'"),
    "unknown ending": (("rows.xls", "kind"), {}, "There is no file"),
    "database that is not there": (("none.db", "y"), {}, "There is no database"),
    "database of another kind": (("mysql://localhost/x", "y"), {}, "must be sqlite:///FILE or postgresql://"),
    "web": (("https://example.org/a.csv", "y"), {}, "Files are read from this computer"),
    "several tables": (("rows.db", "y"), {}, "name of one table, as in FILE#TABLE. Tables: pairs, people"),
    "another table": (("rows.db", "y"), {"table": "peple"}, "no table 'peple'. Did you mean 'people'"),
    "target of a table": (("rows.db", "incom"), {"table": "people"}, "no column 'incom'. Did you mean 'income'"),
    "key of two columns": (("rows.db", "y"), {"table": "pairs"}, "primary key of one column. Got one of 2 columns"),
    "no key": (("rows.db", "income"), {"table": "young"}, "primary key of one column. Got none"),
    "key that is none": (
        ("rows.db", "income"),
        {"table": "people", "key": "height"},
        "whole numbers or text. Got real",
    ),
    "table of a file": (("rows.csv", "kind"), {"table": "t"}, "are for databases"),
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_wrong_is_said_in_a_sentence(folder, case, monkeypatch):
    monkeypatch.chdir(folder)
    arguments, options, message = BAD[case]
    with pytest.raises(InvalidInput, match=message):
        open_rows(*arguments, **options).take(10)


def test_a_key_that_does_not_tell_rows_apart(folder):
    with pytest.raises(InvalidInput, match="must identify rows"):
        open_rows(folder / "rows.db", "income", table="people", key="city").take(10)


def test_a_file_that_is_no_database(tmp_path):
    (tmp_path / "x.db").write_text("no database " * 500)
    with pytest.raises(InvalidInput, match=r"The database 'x.db' must answer. It reports: .*not a database"):
        open_rows(tmp_path / "x.db", "y", table="t")


def test_a_driver_that_is_missing_says_what_to_install(folder, monkeypatch):
    monkeypatch.setitem(sys.modules, "adbc_driver_sqlite.dbapi", None)
    with pytest.raises(MissingDependency, match=r"pip install truefit\[sql\]"):
        open_rows(folder / "rows.db", "income", table="people")


def test_a_target_with_gaps_in_a_file_that_is_read_in_parts(tmp_path):
    frame = made(3000)
    frame["kind"] = frame["kind"].where(frame.index % 5 > 0)
    frame.to_parquet(tmp_path / "gaps.parquet")
    with pytest.raises(InvalidInput, match=r"must have a value in every row. Got .* missing"):
        open_rows(tmp_path / "gaps.parquet", "kind", whole=False).take(10)


@pytest.mark.parametrize("keys", [np.arange(1000), np.array([f"row {i}" for i in range(1000)], dtype=object)])
def test_samples_contain_each_other_and_do_not_depend_on_the_chunks(keys):
    whole = first_keys([keys], 1000)
    assert sorted(whole.tolist()) == sorted(keys.tolist())
    for n in (0, 1, 7, 400, 999, 2000):
        assert first_keys(np.split(keys, (3, 500, 501)), n).tolist() == whole[:n].tolist()
    assert first_keys(np.split(keys[::-1], (10,)), 50).tolist() == whole[:50].tolist()


def test_another_seed_is_another_sequence_and_none_is_position():
    first = [first_keys([np.arange(10_000)], 100, seed=seed).tolist() for seed in (0, 1, 2**70)]
    assert all(len(set(a) & set(b)) < 10 for a, b in ((first[0], first[1]), (first[1], first[2])))
    # Neighbours must not follow each other, nor any part of the table be preferred.
    counts = np.histogram(first_keys([np.arange(1_000_000)], 20_000), bins=50, range=(0, 1_000_000))[0]
    assert chisquare(counts).pvalue > 0.001
    hashes = hash_of(np.arange(10_000))
    assert abs(np.corrcoef(hashes[1:].astype(float), hashes[:-1].astype(float))[0, 1]) < 0.05


def test_no_keys_make_no_sequence():
    assert first_keys([], 5).tolist() == []
