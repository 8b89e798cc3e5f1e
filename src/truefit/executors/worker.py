"""Worker: the process at the other end. Started by ``Hand``, ends with its parent, whatever the parent dies of."""

from __future__ import annotations

import faulthandler
import fcntl
import os
import pickle
import select
import signal
import socket
import sys
import threading
import time
import traceback
from contextlib import suppress
from dataclasses import dataclass

from truefit.core.data import Data
from truefit.core.job import Job
from truefit.core.outcome import Failure
from truefit.executors.attempt import packed, run_packed
from truefit.executors.channel import DONE, JOB, LOADED, NO_DATA, READY, STARTED, Channel, Message
from truefit.executors.shipment import Shipment
from truefit.executors.surroundings import Surroundings
from truefit.executors.threads import limited_threads


@dataclass(frozen=True)
class Orders:
    """What holds for the jobs that follow: their data and surroundings, and whether to say when one starts."""

    shipment: Shipment
    surroundings: Surroundings
    report_starts: bool
    fits: int  # of the job whose ...


def main(end: int, stderr: int, parent: int, threads: int) -> None:
    """Serve the parent at the other end of a socket until it closes."""
    _live_with(parent)
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C is the parent's to handle
    os.set_inheritable(end, False)
    with socket.socket(fileno=end) as ours, limited_threads(threads):
        channel = Channel(ours)
        channel.send(READY)
        os.dup2(stderr, 2)  # until here what went wrong was kept for the parent to show
        os.close(stderr)
        faulthandler.enable()
        Service(channel).run()
