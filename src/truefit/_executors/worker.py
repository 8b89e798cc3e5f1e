"""Worker: the process at the other end. It ends with its parent, whatever the parent dies of."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import pickle
import select
import signal
import socket
import threading
import time
import traceback
from dataclasses import dataclass

from truefit._core.data import Data
from truefit._core.outcome import Failure
from truefit._executors.agreement import Agreement
from truefit._executors.channel import DONE, FORGET, JOB, LOADED, NO_DATA, PART, READY, STARTED, Channel, Message
from truefit._executors.memory import limit_allocations, with_limit
from truefit._executors.packing import Unpacker, packed, packed_outcomes
from truefit._executors.shipment import Shipment
from truefit._executors.surroundings import Surroundings
from truefit._executors.threads import limited_threads

#: Tables kept open: a plan or two that go back and forth between tables do not load them anew.
_TABLES = 2


@dataclass(frozen=True)
class Orders:
    """What holds for the jobs that follow: their data and surroundings, and whether to say when one starts."""

    shipment: Shipment
    surroundings: Surroundings
    report_starts: bool


class Service:
    """Does what comes through a channel, one thing after the other."""

    def __init__(self, channel: Channel, memory: int | None = None) -> None:
        self.channel = channel
        self.memory = memory
        self.tables: dict[str, Data] = {}
        self.data: Data | None = None
        self.report_starts = False
        self._unpacker = Unpacker()
        self._agreement = Agreement()

    def run(self) -> None:
        """Serve until the other end is closed."""
        for message in self.channel.messages():
            if message.kind == JOB:
                self._work(message)
            elif message.kind == PART:
                self._unpacker.add(message.number, message.body)
            elif message.kind == FORGET:
                self._unpacker.forget()
            else:
                self._prepare(message)

    def _prepare(self, message: Message) -> None:
        self.data = None
        self._unpacker.forget()
        try:
            orders: Orders = pickle.loads(message.body)
            orders.surroundings.settle()
            self.report_starts = orders.report_starts
            identity = orders.shipment.identity
            data = self.tables.pop(identity, None) or orders.shipment.open()
            self.tables = dict([*self.tables.items(), (identity, data)][-_TABLES:])
            self.data = data
        except Exception:
            self.channel.send(NO_DATA, body=traceback.format_exc().encode())
        else:
            self.channel.send(LOADED)

    def _work(self, message: Message) -> None:
        if self.data is None:  # the parent is about to hear of it
            return
        seconds = 0.0
        job = self._unpacker.job(message.body)
        if isinstance(job, Failure):
            content = packed(job)
        else:
            if self.report_starts:
                self.channel.send(STARTED, message.number)
            start = time.perf_counter()
            outcomes = self._agreement.run_job(job, self.data)
            seconds = time.perf_counter() - start
            if self.memory is not None:
                outcomes = with_limit(outcomes, self.memory)
            content = packed_outcomes(job, outcomes)
        self.channel.send(DONE, message.number, content, seconds)
        if self.data.release is not None:
            self.data.release()


def main(end: int, stderr: int, parent: int, threads: int, memory: int | None = None) -> None:
    """Serve the parent at the other end of a socket."""
    _live_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.set_inheritable(end, False)
    with socket.socket(fileno=end) as ours, limited_threads(threads):
        channel = Channel(ours)
        channel.send(READY)
        os.dup2(stderr, 2)  # until here what went wrong was kept for the parent to show
        os.close(stderr)
        faulthandler.enable()
        if memory is not None:
            limit_allocations(memory)
        Service(channel, memory).run()


def _live_with(parent: int) -> None:
    """Be killed, with every process that a fit has started, as soon as the parent is gone.

    Standard input is a pipe that the parent holds open and never writes to. When it closes, the kernel itself sends
    the signal: a fit that never lets another Python thread run is stopped as well.
    """
    lifeline = os.dup(0)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    alone = os.getpgrp() == os.getpid()
    if hasattr(fcntl, "F_SETSIG"):  # Linux
        fcntl.fcntl(lifeline, fcntl.F_SETOWN, -os.getpid() if alone else os.getpid())
        fcntl.fcntl(lifeline, fcntl.F_SETSIG, signal.SIGKILL)
        fcntl.fcntl(lifeline, fcntl.F_SETFL, fcntl.fcntl(lifeline, fcntl.F_GETFL) | os.O_ASYNC)
    if select.select([lifeline], [], [], 0)[0] or os.getppid() != parent:
        os._exit(1)  # too late to be told
    # A child that the parent has forked holds the pipe open too, so the parent is looked after as well.
    threading.Thread(target=_watch, args=(parent, alone), daemon=True, name="truefit-watch").start()


def _watch(parent: int, alone: bool) -> None:
    while os.getppid() == parent:
        time.sleep(1.0)
    if alone:
        os.killpg(0, signal.SIGKILL)
    os._exit(1)
