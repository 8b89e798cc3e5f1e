"""Crew: the worker processes of one executor, started when there is work for them."""

from __future__ import annotations

import os
import selectors
import socket
import subprocess
import time
from contextlib import suppress

from truefit._core.errors import ExecutorError
from truefit._executors.hand import Hand
from truefit._executors.shipment import Shipper

_STARTS = 3
_START_SECONDS = 120.0
_FAREWELL_SECONDS = 1.0


class Crew:
    """Hands at work, and the ear that listens to all of them."""

    def __init__(self, workers: int, threads: int, memory: int | None = None) -> None:
        self.workers = workers
        self.threads = threads
        self.memory = memory
        self.hands: list[Hand] = []
        self.shipper = Shipper()
        self._selector = selectors.DefaultSelector()
        self.dismissals = 0
        self._failed_starts = 0
        self._owner = os.getpid()

    @property
    def of_another_process(self) -> bool:
        """Whether we are in a forked child, where these workers are somebody else's."""
        return os.getpid() != self._owner

    @property
    def has_room(self) -> bool:
        """Whether one more may be started."""
        return len(self.hands) < self.workers

    def start(self) -> Hand:
        """Start a worker; it can be given errands at once."""
        hand = Hand(self.threads, self.memory)
        self.hands.append(hand)
        self._selector.register(hand.channel.socket, selectors.EVENT_READ, hand)
        return hand

    def heard(self, wait: float) -> list[Hand]:
        """Return the hands that have said something, or have died, within some seconds."""
        for hand in self.hands:
            if hand.channel.pending:
                self._selector.modify(hand.channel.socket, selectors.EVENT_READ | selectors.EVENT_WRITE, hand)
        heard = []
        for key, events in self._selector.select(wait):
            hand = key.data
            if events & selectors.EVENT_WRITE:
                hand.channel.flush()
                if not hand.channel.pending:
                    self._selector.modify(hand.channel.socket, selectors.EVENT_READ, hand)
            if events & selectors.EVENT_READ:
                heard.append(hand)
        if not heard and wait > 0:
            # A process that the dead worker has forked may hold its end of the channel open.
            heard = [hand for hand in self.hands if hand.exited or self._overdue(hand)]
            for hand in heard:
                hand.channel.ended = True
        return heard

    def _overdue(self, hand: Hand) -> bool:
        return not hand.ready and time.monotonic() - hand.born > _START_SECONDS

    def welcome(self, hand: Hand) -> None:
        """Note that a worker has its data and can work."""
        self._failed_starts = 0
        hand.loaded = True

    def lose(self, hand: Hand) -> None:
        """Take a worker out, dead or alive."""
        self.hands.remove(hand)
        with suppress(KeyError, ValueError):
            self._selector.unregister(hand.channel.socket)
        hand.kill()

    def bury(self, hand: Hand) -> None:
        """Take out a worker that died by itself; enough that never got as far as to be ready mean none will.

        Raises
        ------
        ExecutorError
            If workers cannot start.
        """
        self.lose(hand)
        if hand.loaded:
            return
        self._failed_starts += 1
        if self._failed_starts >= _STARTS:
            self._failed_starts = 0
            raise ExecutorError(
                f"Worker processes must be able to start. {_STARTS} in a row ended before they were ready (the last "
                f"with {hand.fate()}). Check that the interpreter can import truefit from a script, and that there "
                f"is memory left; or run with workers=1. What the last one wrote:\n{hand.last_words or '(nothing)'}"
            )

    def stop_busy(self) -> None:
        """Kill the workers that have something to do."""
        for hand in [hand for hand in self.hands if hand.errands]:
            self.lose(hand)

    def dismiss(self) -> None:
        """Let idle workers leave, kill the others, and remove what was shipped."""
        if self.of_another_process:
            return
        self.dismissals += 1
        for hand in [hand for hand in self.hands if hand.errands or not hand.ready]:
            self.lose(hand)
        for hand in self.hands:
            with suppress(OSError):
                hand.channel.socket.shutdown(socket.SHUT_RDWR)
        deadline = time.monotonic() + _FAREWELL_SECONDS
        for hand in list(self.hands):
            with suppress(subprocess.TimeoutExpired):
                hand.process.wait(max(0.0, deadline - time.monotonic()))
            self.lose(hand)
        self.shipper.close()
