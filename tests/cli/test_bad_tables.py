"""Tables that cannot be studied: a clear sentence, exit code 2, and no traceback."""

import gzip
import json
import time
import zipfile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from pyarrow import feather, parquet
from tests.cli.command import truefit

GOOD = "size,kind\n1,a\n2,b\n3,a\n4,b\n"
CASES = {
    "no target": ("t.csv", GOOD, (), "needs a target: name the column to predict. Columns: size, kind."),
    "a misspelt target": ("t.csv", GOOD, ("--target", "knd"), "has no column 'knd'. Did you mean 'kind'?"),
    "an empty file": ("t.csv", "", ("--target", "kind"), "'t.csv' is empty: it has 0 bytes."),
    "a header only": ("t.csv", "size,kind\n", ("--target", "kind"), "Got columns but no rows."),
    "one row": ("t.csv", "size,kind\n1,a\n", ("--target", "kind"), "Got one row only."),
    "a constant target": (
        "t.csv",
        "size,kind\n1,a\n2,a\n",
        ("--target", "kind"),
        "Got 'a' in every row.",
    ),
    "gaps in the target": ("t.csv", "size,kind\n1,a\n2,\n3,b\n", ("--target", "kind"), "Got 1 of 3 missing."),
    "another delimiter": (
        "t.csv",
        "size^kind\n1^a\n2^b\n",
        ("--target", "kind"),
        "one column only, named 'size^kind'",
    ),
    "not UTF-8": ("t.csv", "size,kind\n1,ä\n2,b\n".encode("latin1"), ("--target", "kind"), "must be UTF-8 text."),
    "no table at all": ("t.csv", "\x00\x01\x02", ("--target", "kind"), "'t.csv'"),
    "only empty columns": (
        "t.csv",
        "size,kind\n,a\n,b\n,a\n",
        ("--target", "kind"),
        "must have a column with values beside the target 'kind'.",
    ),
    "lines that are lists": (
        "t.jsonl",
        '{"size": 1, "kind": "a"}\n[2, "b"]\n',
        ("--target", "kind"),
        "Got a list in line 2.",
    ),
    "lines that are numbers": ("t.jsonl", "\n1\n2\n", ("--target", "kind"), "Got a number in line 2."),
    "lists in the target": (
        "t.jsonl",
        '{"size": 1, "kind": ["a"]}\n{"size": 2, "kind": ["b", "c"]}\n',
        ("--target", "kind"),
        "Got 2 of 2 that are lists or the like, such as ['a'].",
    ),
    "a damaged archive": (
        "t.csv.gz",
        gzip.compress(GOOD.encode())[:12] + b"\xff" * 20,
        ("--target", "kind"),
        "'t.csv.gz' does not unpack as .gz",
    ),
}
ADDRESSES = {
    "postgresql://localhost:1/shop#people": "must answer",
    "mysql://localhost/shop": "Got mysql:// instead",
    "https://example.org/rows.csv": "download it first",
    "sqlite:///nowhere.db": "There is no database",
    "nowhere.csv": "There is no file",
}


@pytest.mark.parametrize("command", ["study", "assess"])
@pytest.mark.parametrize("case", CASES)
def test_bad_tables(tmp_path, command, case):
    file, content, options, message = CASES[case]
    (tmp_path / file).write_bytes(content.encode() if isinstance(content, str) else content)
    done = truefit(command, file, *options, cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert message in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize("address", ADDRESSES)
def test_addresses_that_cannot_be_read(tmp_path, address):
    done = truefit("study", address, "--target", "kind", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert ADDRESSES[address] in done.stderr
    assert "Traceback" not in done.stderr


def test_semicolons_just_work_and_are_said(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"acid": rng.normal(size=60).round(2), "sugar": rng.normal(size=60).round(2)})
    frame["good"] = np.where(frame["acid"] > 0, "yes", "no")
    frame.to_csv(tmp_path / "wine.csv", sep=";", index=False)
    done = truefit("assess", "wine.csv", "--target", "good", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert "'wine.csv' has semicolons between its columns; it was read accordingly." in done.stderr


def test_ten_thousand_columns(tmp_path):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(60, 10_000))
    frame = pd.DataFrame(X, columns=[f"c{i}" for i in range(10_000)]).round(3)
    frame["kind"] = np.where(X[:, 0] > 0, "a", "b")
    frame.to_csv(tmp_path / "wide.csv", index=False)
    done = truefit("assess", "wide.csv", "--target", "kind", "--model", "tree", cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    done = truefit("assess", "wide.csv", "--target", "kinds", cwd=tmp_path)
    assert done.returncode == 2
    assert "Did you mean 'kind'? Columns: c0, c1" in done.stderr
    assert "and 9,981 more." in done.stderr


def test_a_header_of_a_million_names_is_refused_at_once(tmp_path):
    line = ",".join(f"c{i}" for i in range(1_000_000))
    (tmp_path / "t.csv").write_text(f"{line}\n{line}\n")
    start = time.process_time()
    done = truefit("assess", "t.csv", "--target", "c7", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "must have at most 250,000 columns. Got about 1,000,000." in done.stderr
    # Reading it takes minutes: no measure of speed, but of whether it was read.
    assert time.process_time() - start < 20


@pytest.mark.parametrize("command", ["assess", "curve"])
@pytest.mark.parametrize("column", ["text", "kind"])
def test_text_that_is_not_utf8_in_parquet(tmp_path, command, column):
    n = 40
    broken = pa.StringArray.from_buffers(
        n, pa.py_buffer(np.arange(n + 1, dtype=np.int32).tobytes()), pa.py_buffer(b"\xff" * n)
    )
    columns = {"size": np.arange(n), "text": pa.array(["x"] * n), "kind": pa.array(["a", "b"] * (n // 2))}
    parquet.write_table(pa.table(columns | {column: broken}), tmp_path / "t.parquet")
    done = truefit(command, "t.parquet", "--target", "kind", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert f"The column '{column}' of 't.parquet' must be UTF-8 text." in done.stderr


def test_an_archive_of_two_files(tmp_path):
    with zipfile.ZipFile(tmp_path / "t.csv.zip", "w") as archive:
        archive.writestr("a.csv", GOOD)
        archive.writestr("b.csv", GOOD)
    done = truefit("assess", "t.csv.zip", "--target", "kind", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "'t.csv.zip' must be an archive of one file." in done.stderr


def _rows(tmp_path, name, cells):
    kinds = ["a", "b"]
    rows = [{"size": i, "cell": cells[i % len(cells)], "kind": kinds[i % 2]} for i in range(40)]
    if name.endswith("jsonl"):
        (tmp_path / name).write_text("\n".join(map(json.dumps, rows)))
    else:
        pd.DataFrame(rows).to_parquet(tmp_path / name)


@pytest.mark.parametrize("name", ["t.jsonl", "t.parquet"])
@pytest.mark.parametrize("cells", [[[1, 2], [3], []], [{"x": [1, 2]}, {"x": []}], [None]])
def test_lists_objects_and_gaps_in_cells_are_read(tmp_path, name, cells):
    _rows(tmp_path, name, cells)
    done = truefit("assess", name, "--target", "kind", "--model", "tree", "--cv", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


def test_fields_of_any_length_are_read(tmp_path):
    long = "x" * 140_000
    (tmp_path / "t.csv").write_text(f"size,kind\n{long},a\n" + "1,b\n2,a\n" * 10)
    done = truefit("assess", "t.csv", "--target", "kind", "--model", "dummy", "--cv", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr


@pytest.mark.parametrize("name", ["t.feather", "t.parquet"])
def test_columns_of_one_name(tmp_path, name):
    kinds, sizes = pa.array(["a", "b"] * 20), pa.array(range(40))
    table = pa.table([sizes, sizes, kinds], names=["size", "size", "kind"])
    (feather.write_feather if name.endswith("feather") else parquet.write_table)(table, tmp_path / name)
    done = truefit("assess", name, "--target", "kind", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "'t' must have columns of different names. Got 2 that are called 'size'." in done.stderr


def test_whole_numbers_beyond_float32_are_named(tmp_path):
    lines = "".join(f"{i},{10**39},{'ab'[i % 2]}\n" for i in range(40))
    (tmp_path / "t.csv").write_text(f"size,huge,kind\n{lines}")
    done = truefit("assess", "t.csv", "--target", "kind", cwd=tmp_path)
    assert done.returncode == 2, done.stderr
    assert "column 'huge' has 40 too large values" in done.stderr


def test_json_lines_may_begin_with_a_byte_order_mark(tmp_path):
    _rows(tmp_path, "t.jsonl", [1.5, 2.5])
    content = (tmp_path / "t.jsonl").read_bytes()
    (tmp_path / "t.jsonl").write_bytes(b"\xef\xbb\xbf" + content)
    done = truefit("assess", "t.jsonl", "--target", "kind", "--model", "tree", "--cv", 2, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
