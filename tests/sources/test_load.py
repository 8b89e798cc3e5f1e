"""Loading real files, good and bad."""

from __future__ import annotations

import contextlib
import gzip
import sqlite3
import sys
from pathlib import Path
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest
from sklearn import datasets
from sklearn.utils import Bunch

from truefit._core.errors import InvalidInput, MissingDependency
from truefit.sources import Table, load
from truefit.sources.load import BUILTIN

FRAME = pd.DataFrame(
    {"size": [1.5, 2.5, 3.5, 2.0], "origin": ["a", "b", None, "ü"], "kind": ["001", "002", "001", "002"]}
)


def written(path: Path, content: str | bytes) -> Path:
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


@pytest.mark.parametrize("name", sorted(set(BUILTIN) - {"california_housing"}))
def test_built_in_sets_are_scikit_learns(name: str) -> None:
    table = load(name)
    X, y = getattr(datasets, f"load_{name}")(return_X_y=True, as_frame=True)
    pd.testing.assert_frame_equal(table.X, X)
    pd.testing.assert_series_equal(table.y, y)
    assert (table.name, table.target) == (name, "target")
    assert table.task_hint.task == ("regression" if name == "diabetes" else "classification")


def test_built_in_sets_take_another_target() -> None:
    table = load("iris", target="petal length (cm)")
    assert table.task_hint.task == "regression"
    assert "target" in table.X.columns
    with pytest.raises(InvalidInput, match=r"no column 'petal'.*Columns: sepal length \(cm\)"):
        load("iris", target="petal")


def no_network(*_: object, **__: object) -> None:
    raise URLError("no route to host")


def test_a_set_that_cannot_be_fetched_says_how_to_get_it(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("SCIKIT_LEARN_DATA", str(tmp_path))
    # Below scikit-learn's own functions, so that they see what they are asked with.
    monkeypatch.setattr("sklearn.datasets._base.urlretrieve", no_network)
    monkeypatch.setattr("sklearn.datasets._openml.urlopen", no_network)
    with pytest.raises(InvalidInput, match=r"california_housing is downloaded.*no route to host.*internet"):
        load("california_housing")
    with pytest.raises(InvalidInput, match=r"'openml:wine' must be a table of OpenML.*no route to host.*internet"):
        load("openml:wine")


@pytest.mark.parametrize("ending", [".csv", ".csv.gz", ".tsv", ".jsonl", ".parquet", ".pq", ".feather", ".arrow"])
def test_every_format_gives_the_same_table(tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"shells{ending}"
    frame = FRAME.assign(kind=["x1", "x2", "x1", "x2"])
    match ending:
        case ".csv" | ".csv.gz":
            frame.to_csv(path, index=False)
        case ".tsv":
            frame.to_csv(path, index=False, sep="\t")
        case ".jsonl":
            frame.to_json(path, orient="records", lines=True)
        case ".parquet" | ".pq":
            frame.to_parquet(path)
        case _:
            frame.to_feather(path)
    table = load(path, target="kind")
    assert isinstance(table, Table)
    assert (table.name, table.target, table.task_hint.task) == ("shells", "kind", "classification")
    assert table.X.columns.tolist() == ["size", "origin"]
    np.testing.assert_array_equal(table.X["size"], FRAME["size"])
    assert table.X["origin"].isna().tolist() == [False, False, True, False]
    assert table.X["origin"].tolist()[3] == "ü"
    assert table.y.tolist() == ["x1", "x2", "x1", "x2"]
    assert table.notes == ()


def test_both_layouts_of_arrow_are_read(tmp_path: Path) -> None:
    pa = pytest.importorskip("pyarrow")
    arrow = pa.Table.from_pandas(FRAME)
    path = tmp_path / "stream.arrow"
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, arrow.schema) as stream:
        stream.write_table(arrow)
    assert load(path, "kind").X.shape == (4, 2)


def test_json_says_itself_what_is_text(tmp_path: Path) -> None:
    path = tmp_path / "shells.jsonl"
    FRAME.to_json(path, orient="records", lines=True)
    assert load(str(path), "kind").y.tolist() == ["001", "002", "001", "002"]


def test_categories_of_parquet_stay_categories(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    frame = FRAME.assign(origin=FRAME["origin"].astype("category"), kind=FRAME["kind"].astype("category"))
    frame.set_index(pd.Index([7, 7, 9, 1])).to_parquet(path)
    table = load(path, "kind")
    assert isinstance(table.X["origin"].dtype, pd.CategoricalDtype)
    assert table.X.index.tolist() == [0, 1, 2, 3]
    assert table.task_hint.reason == "the target is a category with 2 distinct values"


def test_a_byte_order_mark_is_no_part_of_a_name(tmp_path: Path) -> None:
    path = written(tmp_path / "t.csv", b"\xef\xbb\xbfkind,size\na,1\nb,2\n")
    assert load(path, "kind").X.columns.tolist() == ["size"]


@pytest.mark.parametrize(
    ("file", "content", "note"),
    [
        ("t.csv", "size;kind\n1.5;a\n2.5;b\n", "'t.csv' has semicolons between its columns; it was read accordingly."),
        ("t.csv", "size;kind\n1,5;a\n2,5;b\n", "semicolons between its columns, and commas in its numbers"),
        ("t.csv", "size\tkind\n1.5\ta\n2.5\tb\n", "'t.csv' has tabs"),
        ("t.tsv", "size,kind\n1.5,a\n2.5,b\n", "'t.tsv' has commas"),
        ("t.tsv", "size\tkind\n1,5\ta\n2,5\tb\n", "'t.tsv' has commas in its numbers"),
        ("t.csv", "size|kind\n1.5|a\n2.5|b\n", "'t.csv' has vertical bars"),
        ("t.csv.gz", gzip.compress(b"size;kind\n1.5;a\n2.5;b\n", mtime=0), "'t.csv.gz' has semicolons"),
        ("t.csv", 'size;kind\n1.5;"a; and\nmore"\n2.5;b\n', "semicolons"),
    ],
)
def test_another_separator_is_read_and_said(tmp_path: Path, file: str, content: str | bytes, note: str) -> None:
    table = load(written(tmp_path / file, content), "kind")
    assert table.X["size"].tolist() == [1.5, 2.5]
    assert len(table.notes) == 1
    assert note in table.notes[0]


def test_semicolons_inside_values_are_no_separators(tmp_path: Path) -> None:
    table = load(written(tmp_path / "t.csv", "size,kind\n1,a;b\n2,c;d\n"), "kind")
    assert table.y.tolist() == ["a;b", "c;d"]
    assert table.notes == ()


def test_a_table_of_sqlite_is_read_whole_in_the_order_of_its_key(tmp_path: Path) -> None:
    path = tmp_path / "shop.db"
    with contextlib.closing(sqlite3.connect(path)) as connection, connection:
        connection.execute("CREATE TABLE people (id INTEGER PRIMARY KEY, age INTEGER, city TEXT, bought INTEGER)")
        connection.executemany(
            "INSERT INTO people VALUES (?, ?, ?, ?)", [(3, 40, "Ulm", 1), (1, None, "Jena", 0), (2, 30, None, 1)]
        )
        connection.execute("CREATE TABLE pets (name TEXT)")
    table = load(f"sqlite:///{path}#people", "bought")
    assert table.X.columns.tolist() == ["age", "city"]
    assert table.y.tolist() == [0, 1, 1]
    assert table.y.dtype == np.int64
    assert table.name == "people"
    assert table.notes == ("The column 'id' identifies the rows; it is not among the inputs.",)
    assert load(f"{path}#people", "bought").X.equals(table.X)
    with pytest.raises(InvalidInput, match=r"name of one table, as in FILE#TABLE. Tables: people, pets"):
        load(str(path), "bought")
    with pytest.raises(InvalidInput, match=r"no table 'peple'. Did you mean 'people'"):
        load(f"{path}#peple", "bought")


def test_unreadable_addresses_are_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="There is no database"):
        load(f"sqlite:///{tmp_path}/none.db", "kind")
    with pytest.raises(InvalidInput, match=r"'postgresql://localhost:1/shop' must answer.*Check its address"):
        load("postgresql://me:secret@localhost:1/shop#people", "kind")
    with pytest.raises(InvalidInput, match="Got mysql:// instead"):
        load("mysql://localhost/shop", "kind")
    with pytest.raises(InvalidInput, match="download it first"):
        load("ftp://example.org/rows.csv", "kind")


def test_a_table_of_openml(monkeypatch: pytest.MonkeyPatch) -> None:
    asked = []

    def fetch(**options: object) -> object:
        asked.append(options)
        if options.get("name") == "none":
            raise ValueError("No active dataset none found")
        return datasets.load_wine(as_frame=True) | {"target_names": ["target"]}

    monkeypatch.setattr(datasets, "fetch_openml", lambda **options: Bunch(**fetch(**options)))
    table = load("openml:wine@1")
    assert (table.name, table.target, table.X.shape) == ("wine@1", "target", (178, 13))
    assert asked[0]["name"] == "wine"
    assert asked[0]["version"] == 1
    assert load("openml:187", "alcohol").task_hint.task == "regression"
    with pytest.raises(InvalidInput, match=r"'openml:none' must be a table of OpenML.*No active dataset"):
        load("openml:none")
    with pytest.raises(InvalidInput, match=r"no column 'alcool'. Did you mean 'alcohol'"):
        load("openml:wine", "alcool")
    with pytest.raises(InvalidInput, match="openml:NAME, openml:NAME@VERSION or openml:NUMBER"):
        load("openml:wine@latest")


def test_separators_at_the_ends_of_lines_do_not_shift_columns(tmp_path: Path) -> None:
    table = load(written(tmp_path / "t.csv", "size,kind\n1,a,\n2,b,\n"), "kind")
    assert table.X["size"].tolist() == [1, 2]
    assert table.y.tolist() == ["a", "b"]


def test_row_numbers_of_a_written_index_are_left_out_and_said(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    FRAME.to_csv(path)
    table = load(path, "kind")
    assert table.X.columns.tolist() == ["size", "origin"]
    assert "counts the rows" in table.notes[0]
    FRAME.set_index(pd.Index([3, 1, 4, 1])).to_csv(path)
    assert load(path, "kind").X.shape == (4, 3)


GOOD = "size,kind\n1,a\n2,b\n"


@pytest.mark.parametrize(
    ("file", "content", "says"),
    [
        ("t.csv", "", "'t.csv' is empty: it has 0 bytes"),
        ("t.csv", "\n\n", "'t.csv' is empty"),
        ("t.csv", "size,kind\n", "'t' must have rows.*columns but no rows"),
        ("t.csv", "size,kind\n1,a\n", "'t' must have rows.*one row only"),
        ("t.jsonl", "{}\n{}\n", "no columns"),
        ("t.csv", "size^kind\n1^a\n2^b\n", "commas, semicolons, tabs or vertical.*one column only, named .size.kind"),
        ("t.csv", "size;kind\n1;a\n2;b;c\n", "one column only, named 'size;kind'.*fix lines that have more"),
        ("t.csv", "size,kind\n1,ä\n2,b\n".encode("latin1"), "must be UTF-8 text. Got byte 0xe4.*iconv -f LATIN1"),
        ("t.csv", GOOD.encode("utf-16"), "must be UTF-8 text. Got UTF-16.*iconv -f UTF-16"),
        ("t.csv", "size,kind\n1,a\n2,b,c\n", "as many values in each line.*Expected 2 fields in line 3, saw 3"),
        ("t.csv", "size,kind\n1,a,7\n2,b,8\n", "a name in its header for every value"),
        ("t.csv", "size,kind,kind\n1,a,a\n2,b,b\n", "one column 'kind'. Got 2"),
        ("t.csv", 'size,kind\n1,"a\n2,b\n', "EOF inside string"),
        ("t.csv.gz", "not packed", "does not unpack as .gz"),
        ("t.csv.gz", gzip.compress(GOOD.encode(), mtime=0)[:-9], "does not unpack as .gz"),
        ("t.jsonl", '{"size": 1, "kind": "a"\n{"size": 2}\n', "one JSON object per line"),
        ("t.jsonl", b'{"size": "\xe4", "kind": 1}\n', "must be UTF-8"),
        ("t.parquet", "PAR1 no", "'t.parquet' does not read as Parquet"),
        ("t.feather", "no arrow here", "'t.feather' does not read as Arrow"),
        ("t.xlsx", "PK", "'t.xlsx' must end in one of .*.csv.*Got '.xlsx'"),
        ("t", GOOD, "Got 'no ending'"),
        ("t.csv", "kind\na\nb\n", "a column beside the target 'kind'"),
        ("t.csv", "size,kind\n1,a\n2,a\n", "at least 2 values. Got 'a' in every row"),
        ("t.csv", "size,kind\n1,5\n2,5\n", "at least 2 values. Got 5 in every row"),
        ("t.csv", "size,kind\n1,a\n2,\n3,b\n4,\n", "a value in every row. Got 2 of 4 missing"),
        ("t.csv", "size,kind\n1,2.5\n2,inf\n", "must be finite. Got 1 infinite of 2"),
        ("t.csv", "size,Kind\n1,a\n2,b\n", "no column 'kind'. Did you mean 'Kind'"),
        ("t.csv", "size,knd\n1,a\n2,b\n", "no column 'kind'. Did you mean 'knd'.*Columns: size, knd."),
        ("t.csv", "size,kind\n" + "".join(f'1,"{i},5"\n' for i in range(25)), "numbers with a comma.*'0,5'"),
    ],
)
def test_bad_files_say_what_is_wrong(tmp_path: Path, file: str, content: str | bytes, says: str) -> None:
    with pytest.raises(InvalidInput, match=says):
        load(written(tmp_path / file, content), "kind")


def test_many_columns_are_not_all_listed(tmp_path: Path) -> None:
    names = ",".join(f"c{i}" for i in range(500))
    path = written(tmp_path / "wide.csv", f"{names}\n{names}\n{names}\n")
    with pytest.raises(InvalidInput, match=r"needs a target.*c19, and 480 more\.$"):
        load(path)


def test_no_such_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    written(tmp_path / "shells.csv", GOOD)
    with pytest.raises(InvalidInput, match=r"no file.*Did you mean 'shells\.csv'"):
        load(tmp_path / "shels.csv", "kind")
    with pytest.raises(InvalidInput, match="is a folder"):
        load(tmp_path, "kind")
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InvalidInput, match=r"Did you mean 'breast_cancer'.*Built-in sets: breast_cancer, "):
        load("brest_cancer")
    with pytest.raises(InvalidInput, match="Did you mean 'iris'"):
        load("iris.csv")
    with pytest.raises(InvalidInput, match="download it first"):
        load("https://example.org/iris.csv")


@pytest.mark.parametrize("file", ["t.parquet", "t.feather"])
def test_a_missing_package_says_what_to_install(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, file: str) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependency, match=r"'t.*' needs pyarrow.*pip install truefit\[parquet\]"):
        load(written(tmp_path / file, "anything"), "kind")
