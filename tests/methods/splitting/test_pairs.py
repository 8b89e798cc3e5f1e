import errno
import gc
import os
import pickle
import tracemalloc

import pytest

from truefit._core.errors import StoreUnusable
from truefit._methods.splitting.pairs import BlobList


def test_blobs_of_every_length_are_read_back():
    blobs = [bytes([n % 251]) * n for n in (0, 1, 0, 4088, 5000, 100_000)]
    assert list(BlobList(blobs, limit_bytes=0)) == blobs


def test_blobs_are_read_back_where_files_are_read_at_their_position_only(monkeypatch):  # Windows
    monkeypatch.delattr(os, "pread")
    monkeypatch.delattr(os, "pwrite")
    blobs = [os.urandom(size) for size in (5000, 0, 1, 3000)]
    held = BlobList(limit_bytes=0)
    for blob in blobs:
        held.append(blob)
        assert held[0] == blobs[0]
    assert list(held) == blobs


def test_a_list_that_is_dropped_closes_its_file():
    listed = BlobList([b"one"], limit_bytes=0)
    fd = listed._file
    os.fstat(fd)
    del listed
    with pytest.raises(OSError, match="Bad file descriptor"):
        os.fstat(fd)


def test_a_fork_does_not_write_into_its_parents_file():
    listed = BlobList([b"one"], limit_bytes=0)
    listed._owner = -1
    with pytest.raises(StoreUnusable, match="by the process that made it"):
        listed.append(b"x")


def test_a_full_disk_is_reported_and_loses_nothing(monkeypatch):
    listed = BlobList([b"one"], limit_bytes=0)

    def full(*args):
        raise OSError(errno.ENOSPC, "No space left on device")

    with monkeypatch.context() as patch:
        patch.setattr(os, "pwrite", full)
        with pytest.raises(StoreUnusable, match=r"No space left on device.*TMPDIR"):
            listed.append(b"two")
    listed.append(b"two")
    assert list(listed) == [b"one", b"two"]


@pytest.mark.parametrize("limit", [0, 200, 1 << 20])
def test_a_blob_list_is_a_list_of_blobs_wherever_they_are(limit):
    blobs = [f"blob {i}".encode() for i in range(9)]
    listed = BlobList(blobs, limit_bytes=limit)
    assert list(listed) == blobs
    assert (listed[-1], listed[-9], listed[2:8:3]) == (blobs[-1], blobs[0], blobs[2:8:3])
    with pytest.raises(IndexError):
        listed[9]
    assert list(pickle.loads(pickle.dumps(listed))) == blobs


def test_a_small_list_makes_no_file():
    assert BlobList([b"12345", b"67890"], limit_bytes=100)._file is None


def test_a_list_past_its_limit_grows_by_8_bytes_a_blob():
    listed = BlobList(limit_bytes=1000)
    gc.collect()
    tracemalloc.start()
    for _ in range(10_000):
        listed.append(b"x" * 500)
    held = tracemalloc.get_traced_memory()[0]
    tracemalloc.stop()
    assert held < 10_000 * 12
