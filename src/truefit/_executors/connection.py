"""Connection: a Dask client for the address of a scheduler, as the command line is given it."""

from __future__ import annotations

import logging
import re
import threading
from collections.abc import Callable, Iterator
from concurrent import futures
from contextlib import contextmanager
from queue import Empty, SimpleQueue
from typing import Any

from truefit._core.errors import ExecutorError, InvalidInput, MissingDependency
from truefit._executors.cluster import Cluster

_ADDRESS = re.compile(r"(tcp|tls)://[^\s/]+:\d+")
#: Seconds for the scheduler to answer, and for the first worker to be there.
_CONNECT_SECONDS, _WORKER_SECONDS = 10.0, 60.0


@contextmanager
def dask_executor(address: str, say: Callable[[str], None]) -> Iterator[futures.Executor]:
    """Connect to a Dask scheduler that has workers, and disconnect afterwards.

    Parameters
    ----------
    address : str
        ``tcp://HOST:PORT``, or ``tls://HOST:PORT`` where Dask's configuration has the certificates.
    say : callable
        Is told when there are no workers yet, for which it waits a minute.

    Raises
    ------
    InvalidInput
        If the address is none.
    MissingDependency
        If Dask is not installed.
    ExecutorError
        If no scheduler answers, or it has no workers.
    """
    if not _ADDRESS.fullmatch(address):
        raise InvalidInput(f"The address of a Dask scheduler must be like tcp://HOST:8786. Got {address!r} instead.")
    try:
        import distributed
    except ImportError as error:
        raise MissingDependency("A cluster by its address needs Dask: pip install truefit[dask].") from error
    # What happens to the connection is in our errors; Dask logs it with tracebacks, also after the command has ended.
    for name in ("distributed", "distributed.client", "tornado", "tornado.application"):
        for handler in logging.getLogger(name).handlers:  # Dask gives these loggers handlers and levels of their own
            handler.setLevel(logging.CRITICAL)
    client = _connect(distributed.Client, address)
    with client:
        _wait_for_workers(client, address, say)
        yield client.get_executor()


def _connect(client_class: Any, address: str) -> Any:
    answers: SimpleQueue[Any] = SimpleQueue()

    def connect() -> None:
        try:
            answers.put(client_class(address, timeout=_CONNECT_SECONDS, set_as_default=False))
        except Exception as error:  # Dask raises many kinds: OSError, ValueError where it is no scheduler that answers
            answers.put(error)

    # In a thread that can be left alone: the client waits forever for a peer that takes its call and says nothing.
    threading.Thread(target=connect, daemon=True).start()
    try:
        found = answers.get(timeout=_CONNECT_SECONDS + 1)
    except Empty as error:
        found = error
    if not isinstance(found, Exception):
        return found
    raise ExecutorError(
        f"A Dask scheduler must answer at {address}. None did within {_CONNECT_SECONDS:.0f} s. Check the address, "
        "and that the scheduler is running (dask scheduler)."
    ) from found


def _wait_for_workers(client: Any, address: str, say: Callable[[str], None]) -> None:
    if Cluster(client).width:
        return
    say(f"The Dask cluster at {address} has no workers yet. Waiting {_WORKER_SECONDS:.0f} s for the first.")
    try:
        client.wait_for_workers(1, timeout=_WORKER_SECONDS)
    except TimeoutError as error:
        raise ExecutorError(
            f"The Dask cluster at {address} must have workers. It has none after {_WORKER_SECONDS:.0f} s. Start some "
            f"(dask worker {address}), then run this again."
        ) from error
