import fcntl
import gc
import io
import os
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from scipy import sparse

from truefit._core.data import STRETCH_BYTES, Data
from truefit._core.errors import ExecutorError
from truefit._executors.dataset_file import (
    DatasetMissing,
    DatasetWriter,
    read_dataset,
    remove_stale_folders,
    user_file_of,
)


@pytest.fixture
def writer(tmp_path, monkeypatch):
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()
    writer = DatasetWriter()
    yield writer
    writer.close()
    assert list((tmp_path / "temporary").iterdir()) == []


def arrived(writer: DatasetWriter, data: Data) -> Data:
    """The data as another process gets them."""
    sent = writer.write(data)
    with open(sent.path, "rb") as file:
        return read_dataset(file, sent.identity)


def tables():
    X = np.random.default_rng(0).normal(size=(30, 4))
    yield "array", X
    yield "columns first", np.asfortranarray(X)
    yield "strided", X[::2, ::-2]
    yield "three dimensions", X.reshape(30, 2, 2)
    yield "no columns", X[:, :0]
    yield "small numbers", X.astype(np.float32)
    yield "dates", np.arange(30).astype("datetime64[D]").reshape(-1, 1)
    yield "objects", np.array([["a", 1], ["b", None]] * 15, dtype=object)
    yield "sparse", sparse.csr_array(np.where(X > 0, X, 0))
    yield "frame", pd.DataFrame({"a": X[:, 0], "b": list("xyz") * 10, "c": pd.Categorical(list("uv") * 15)})


@pytest.mark.parametrize(("kind", "X"), list(tables()))
def test_a_table_arrives_as_it_was(writer, kind, X):
    n = X.shape[0]
    data = Data(X, np.arange(n) % 3, task="classification", groups=np.arange(n), weight=np.arange(n) + 0.5)
    there = arrived(writer, data)
    assert type(there.X) is type(data.X)
    if isinstance(X, np.ndarray):
        assert (there.X.dtype, there.X.shape) == (X.dtype, X.shape)
        assert there.X.flags.f_contiguous == X.flags.f_contiguous or kind == "strided"
        np.testing.assert_array_equal(there.X, X)
    elif sparse.issparse(X):
        assert (there.X != X).nnz == 0
    else:
        pd.testing.assert_frame_equal(there.X, X)
    for name in ("y", "groups", "weight", "classes", "codes", "tokens"):
        np.testing.assert_array_equal(getattr(there, name), getattr(data, name))
    assert (there.total, there.n, there.task) == (data.total, data.n, data.task)


def test_a_polars_frame_arrives_as_it_was(writer):
    polars = pytest.importorskip("polars")
    X = polars.DataFrame({"a": [1.0, None, 3.0], "b": ["x", "y", "z"]})
    assert arrived(writer, Data(X, [0.0, 1.0, 2.0], task="regression")).X.equals(X)


def test_arrays_lie_on_shared_pages_that_cannot_be_written(writer):
    data = Data(np.ones((100, 3)), np.arange(100.0), task="regression")
    there = arrived(writer, data)
    for array in (there.X, there.y, there.tokens):
        assert not array.flags.owndata
        assert not array.flags.writeable
    assert there.take(np.array([0, 1])).flags.writeable


def test_a_big_table_lets_go_of_its_pages(writer):
    X = np.random.default_rng(0).random((STRETCH_BYTES // 8 // 100 + 1, 100))
    data = Data(X, np.arange(len(X), dtype=float), task="regression")
    there = arrived(writer, data)
    index = np.sort(np.random.default_rng(1).choice(len(X), 1000, replace=False))
    assert there.release is not None
    np.testing.assert_array_equal(there.take(index), X[index])
    there.release()
    np.testing.assert_array_equal(there.take(index), X[index])
    # Rows gathered in stretches come out in C order, which here would be another order than at home.
    assert arrived(writer, Data(np.asfortranarray(X), data.y, task="regression")).release is None


def test_a_table_is_written_once_and_goes_with_the_data(writer):
    data = Data(np.ones((10, 3)), np.arange(10.0), task="regression")
    path = Path(writer.write(data).path)
    assert writer.write(data).path == str(path)
    there = arrived(writer, data)
    assert path.exists()
    del data
    gc.collect()
    assert not path.exists()
    np.testing.assert_array_equal(there.X, 1.0)


def test_a_table_that_was_cleaned_away_is_written_again(writer):
    data = Data(np.ones((10, 3)), np.arange(10.0), task="regression")
    first = writer.write(data)
    os.unlink(first.path)
    assert Path(writer.write(data).path).exists()


def test_within_a_process_the_data_are_the_data(writer):
    data = Data(np.ones((10, 3)), np.arange(10.0), task="regression")
    assert writer.write(data).open() is data


def test_bytes_are_enough(writer):
    data = Data(np.random.default_rng(0).normal(size=(50, 3)), np.arange(50.0), task="regression")
    there = writer.write(data).read(writer.content(data))
    np.testing.assert_array_equal(there.X, data.X)


def test_another_file_under_the_path_is_noticed(writer, monkeypatch):
    tables = [Data(np.full((10, 3), value), np.arange(10.0), task="regression") for value in (1.0, 2.0)]
    first, second = map(writer.write, tables)
    monkeypatch.setattr("truefit._executors.dataset_file._datasets_here", {})  # as in another process
    np.testing.assert_array_equal(first.open().X, 1.0)
    for path in ("/nowhere", second.path, os.devnull):
        with pytest.raises(DatasetMissing):
            type(first)(first.identity, path).open()


def test_no_room_says_where(writer, monkeypatch):
    def full(*arguments):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("truefit._executors.dataset_file.write_dataset", full)
    with pytest.raises(ExecutorError, match=r"(?s)No space left.*TMPDIR"):
        writer.write(Data(np.ones((10, 3)), np.arange(10.0), task="regression"))


class TestMappedFile:
    @pytest.fixture
    def path(self, tmp_path):
        path = tmp_path / "X.npy"
        np.save(path, np.random.default_rng(0).normal(size=(1000, 5)))
        return path

    @pytest.mark.parametrize("part", [slice(None), slice(100, 700)])
    @pytest.mark.parametrize("plain", [False, True])
    def test_it_is_not_copied(self, writer, path, part, plain):
        X = np.load(path, mmap_mode="r")[part]
        X = np.asarray(X) if plain else X
        data = Data(X, np.arange(len(X), dtype=float), task="regression")
        there = arrived(writer, data)
        assert user_file_of(data.X).path == str(path)
        assert os.path.getsize(writer.write(data).path) < data.X.nbytes + data.y.nbytes + data.tokens.nbytes
        np.testing.assert_array_equal(there.X, np.load(path)[part])

    def test_raw_files_with_an_offset(self, writer, tmp_path):
        content = np.arange(3000.0)
        content.tofile(tmp_path / "raw")
        X = np.memmap(tmp_path / "raw", np.float64, "r", offset=8 * 600, shape=(200, 12))
        there = arrived(writer, Data(X, np.arange(200.0), task="regression"))
        np.testing.assert_array_equal(there.X, content[600:].reshape(200, 12))

    @pytest.mark.parametrize("mode", ["r+", "c"])
    def test_one_that_may_be_written_is_copied(self, writer, path, mode):
        X = np.load(path, mmap_mode=mode)
        data = Data(X, np.arange(1000.0), task="regression")
        assert user_file_of(data.X) is None
        there = arrived(writer, data)
        np.testing.assert_array_equal(there.X, np.load(path))

    def test_columns_of_one_are_copied(self, writer, path):
        X = np.load(path, mmap_mode="r")[:, 1:3]
        assert user_file_of(X) is None
        there = arrived(writer, Data(X, np.arange(1000.0), task="regression"))
        np.testing.assert_array_equal(there.X, np.load(path)[:, 1:3])

    def test_one_whose_file_was_replaced_is_copied(self, writer, path):
        X = np.load(path, mmap_mode="r")
        expected = np.array(X)
        other = path.with_name("other.npy")
        np.save(other, np.zeros((1000, 5)))
        os.replace(other, path)
        assert user_file_of(X) is None
        there = arrived(writer, Data(X, np.arange(1000.0), task="regression"))
        np.testing.assert_array_equal(there.X, expected)

    def test_one_whose_file_changes_on_the_way_is_noticed(self, writer, path):
        data = Data(np.load(path, mmap_mode="r"), np.arange(1000.0), task="regression")
        sent = writer.write(data)
        os.utime(path, (1, 1))
        with open(sent.path, "rb") as file, pytest.raises(DatasetMissing, match="has changed"):
            read_dataset(file, sent.identity)

    def test_bytes_hold_it(self, writer, path):
        data = Data(np.load(path, mmap_mode="r"), np.arange(1000.0), task="regression")
        there = writer.write(data).read(writer.content(data))
        path.unlink()
        np.testing.assert_array_equal(there.X, data.X)


def test_what_killed_processes_left_is_swept(tmp_path):
    def folder(name: str, age: float) -> Path:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "data").write_bytes(b"much")
        (folder / "alive").touch()
        os.utime(folder / "alive", (time.time() - age, time.time() - age))
        return folder

    left, young, held = folder("truefit-left", 3600), folder("truefit-young", 0), folder("truefit-held", 3600)
    foreign = folder("somebody-elses", 3600)
    with open(held / "alive") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        remove_stale_folders(tmp_path)
    assert not left.exists()
    assert all(folder.exists() for folder in (young, held, foreign))


def test_a_file_that_is_no_dataset_file_is_missing():
    with pytest.raises(DatasetMissing):
        read_dataset(io.BytesIO(b"short"), "0" * 32)
