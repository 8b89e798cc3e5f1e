import os

import pytest

from truefit._executors import file_lock
from truefit._executors.file_lock import is_locked, lock_file


class Msvcrt:
    """Locks bytes of files as Windows does: for one open file at a time, and at its position."""

    LK_NBLCK, LK_UNLCK = 2, 0

    def __init__(self):
        self.locked = {}

    def locking(self, file, mode, size):
        byte = os.fstat(file).st_ino, os.lseek(file, 0, os.SEEK_CUR)
        if mode == self.LK_UNLCK:
            assert self.locked.pop(byte) == file
        elif byte in self.locked:
            raise PermissionError(13, "Permission denied")
        else:
            self.locked[byte] = file


@pytest.fixture(params=["posix", "windows"])
def system(request, monkeypatch):
    if request.param == "windows":
        monkeypatch.setattr(file_lock, "_fcntl", None)
        monkeypatch.setattr(file_lock, "_msvcrt", Msvcrt())


@pytest.mark.usefixtures("system")
def test_a_lock_keeps_others_out_and_leaves_the_content_alone(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"abc")
    with open(path, "rb+", buffering=0) as one, open(path, "rb", buffering=0) as other:
        assert not is_locked(other.fileno())
        one.seek(0, os.SEEK_END)
        lock_file(one.fileno())
        one.write(b"d")
        assert is_locked(other.fileno())
        with pytest.raises(BlockingIOError):
            lock_file(other.fileno())
    assert path.read_bytes() == b"abcd"


def test_a_lock_goes_with_its_file(tmp_path):
    path = tmp_path / "file"
    with open(path, "wb") as one:
        lock_file(one.fileno())
    with open(path, "rb") as other:
        assert not is_locked(other.fileno())


def test_where_there_are_no_locks_that_is_an_error_of_the_system(tmp_path, monkeypatch):
    monkeypatch.setattr(file_lock, "_fcntl", None)
    monkeypatch.setattr(file_lock, "_msvcrt", None)
    with open(tmp_path / "file", "wb") as file:
        for ask in (lock_file, is_locked):
            with pytest.raises(OSError, match="cannot be locked"):
                ask(file.fileno())
