"""Options that several commands take, and the engine that they describe."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._api.engine import Engine

#: Options of version 0.2 that go by another name since 0.3; they are accepted until 0.4, with a warning.
RENAMED_OPTIONS = {"--k": "--cv"}

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, Parquet, Feather or JSON-lines file; sqlite:///FILE#TABLE or postgresql://HOST/NAME#TABLE; "
        "openml:NAME; or a built-in name such as iris.",
    ),
]
TargetOption = Annotated[str | None, typer.Option("--target", help="The column to predict; not for built-in names.")]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "--models",
        help="dummy, linear, naive_bayes, knn, tree, random_forest, boosting, svm or mlp, or lightgbm or xgboost where "
        "they are installed, or FILE.py:NAME or MODULE:NAME for an "
        "estimator, a dict or list of them, or a function that makes them. May be given several times.",
    ),
]
TaskOption = Annotated[str | None, typer.Option("--task", help="classification or regression; inferred by default.")]
MetricOption = Annotated[str | None, typer.Option(help="Such as error, auc, rmse, or a scikit-learn scorer name.")]
PositiveOption = Annotated[str | None, typer.Option(help="The positive class, where the metric needs one.")]
FoldsOption = Annotated[int, typer.Option("--cv", help="Number of folds.")]
StoreOption = Annotated[Path | None, typer.Option(help="SQLite file that keeps the fits; run again to go on from it.")]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Processes to fit in; -1 for all cores. By default 1, in a study all.", show_default=False),
]
ClusterOption = Annotated[
    str | None,
    typer.Option(metavar="tcp://HOST:PORT", help="Fit on the Dask cluster of this scheduler, in place of --workers."),
]
MemoryOption = Annotated[
    str | None, typer.Option(help="Memory that a worker may use, such as 4GB; a fit that needs more fails.")
]
SeedOption = Annotated[int | None, typer.Option(help="Seed for the folds.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Draw the result into this file: .svg, .png or .pdf.")]


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
    from truefit._api.engine import Engine

    if cluster is None:
        with Engine(store, workers=default_workers if workers is None else workers, **options) as engine:
            yield engine
        return
    if workers is not None:
        raise InvalidInput("Fits run either on this machine or on a cluster. Give --workers or --cluster, not both.")
    from truefit._executors.cluster import dask_executor

    with (
        dask_executor(cluster, lambda line: typer.echo(line, err=True)) as executor,
        Engine(store, executor=executor, **options) as engine,
    ):
        yield engine
