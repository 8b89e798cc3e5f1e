"""Channel: messages over a socket; the parent's end never blocks, a worker's does."""

from __future__ import annotations

import socket
import struct
from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

_HEAD = struct.Struct("<cQdQ")  # kind, number of a shared object, seconds, length of the body

# What the parent sends.
SETTINGS, FORGET, OBJECT, JOB = b"I", b"F", b"O", b"J"
# What a worker sends.
READY, LOADED, NOT_LOADED, STARTED, DONE = b"R", b"L", b"N", b"S", b"D"


class ChannelMessage(NamedTuple):
    """What is sent at once."""

    kind: bytes
    number: int
    seconds: float
    body: memoryview


class Channel:
    """Sends and receives whole messages."""

    def __init__(self, end: socket.socket) -> None:
        self.socket = end
        self.ended = False
        self._out: deque[memoryview] = deque()
        self._head: tuple[bytes, int, float] | None = None
        self._want = memoryview(bytearray(_HEAD.size))
        self._got = 0

    @property
    def pending(self) -> bool:
        """Whether something waits to be sent until the other end has read more."""
        return bool(self._out)

    def send(self, kind: bytes, number: int = 0, body: bytes = b"", seconds: float = 0.0) -> None:
        """Send a message, or as much of it as goes now."""
        head = _HEAD.pack(kind, number, seconds, len(body))
        if len(body) < 1 << 16:  # one call to the system instead of two
            self._out.append(memoryview(head + body))
        else:
            self._out += (memoryview(head), memoryview(body))
        self.flush()

    def flush(self) -> None:
        """Send what is pending, as far as it goes."""
        while self._out:
            try:
                sent = self.socket.send(self._out[0])
            except BlockingIOError:
                return
            except ConnectionError:  # what the other end sent last may still be there to be read
                self._out.clear()
                return
            if sent == len(self._out[0]):
                self._out.popleft()
            else:
                self._out[0] = self._out[0][sent:]

    def messages(self) -> Iterator[ChannelMessage]:
        """Yield messages that are there; on a socket that blocks, until the other end is closed."""
        while self._fill():
            if self._head is None:
                kind, number, seconds, length = _HEAD.unpack(self._want)
                self._head = kind, number, seconds
                self._expect(length)
                if length:
                    continue
            message = ChannelMessage(*self._head, self._want)
            self._head = None
            self._expect(_HEAD.size)
            yield message

    def _expect(self, length: int) -> None:
        self._want, self._got = memoryview(bytearray(length)), 0

    def _fill(self) -> bool:
        while self._got < len(self._want):
            try:
                size = self.socket.recv_into(self._want[self._got :])
            except BlockingIOError:
                return False
            except ConnectionError:
                size = 0
            if size == 0:
                self.ended = True
                return False
            self._got += size
        return True
