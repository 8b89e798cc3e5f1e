"""The engine of a command: in processes of this machine, or on a cluster."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import typer

from truefit.core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit.api.engine import Engine


@contextmanager
def command_engine(
    store: Any, workers: int | None, cluster: str | None, *, default_workers: int = 1, **options: Any
) -> Iterator[Engine]:
    """Yield the engine that ``--store``, ``--workers`` and ``--cluster`` ask for, and close it.

    Parameters
    ----------
    store : path or Store, optional
    workers : int, optional
        As given to the command.
    cluster : str, optional
        Address of a Dask scheduler.
    default_workers : int, default=1
        Where neither is given.
    **options
        Further parameters of the engine.
    """
    from truefit.api.engine import Engine

    if cluster is None:
        with Engine(store, workers=default_workers if workers is None else workers, **options) as engine:
            yield engine
        return
    if workers is not None:
        raise InvalidInput("Fits run either on this machine or on a cluster. Give --workers or --cluster, not both.")
    from truefit.executors.connection import dask_executor

    with (
        dask_executor(cluster, lambda line: typer.echo(line, err=True)) as executor,
        Engine(store, executor=executor, **options) as engine,
    ):
        yield engine
