"""Options that several commands take, and what every command does with them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.inputs import candidates_of, load_table, task_of
from truefit._cli.messages import echo
from truefit._cli.stored_reports import provenance, store_result
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    from truefit._api.engine import Engine
    from truefit._core.data import Task
    from truefit._methods.result import Result
    from truefit.sources.table import Table

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


@dataclass(frozen=True)
class CommandConfig:
    """Options that every command with a table and models takes: a parameter of this type stands for all of them."""

    data: DataArgument
    target: TargetOption = None
    model: ModelsOption = None
    task: TaskOption = None
    store: StoreOption = None
    workers: WorkersOption = None
    cluster: ClusterOption = None
    memory: MemoryOption = None
    seed: SeedOption = None
    as_json: JsonOption = False

    @property
    def files(self) -> tuple[str | Path | None, ...]:
        """What the command reads, as it was given."""
        return (self.data, self.store, *(self.model or ()))

    def load(self, models: list[str] | None) -> tuple[Table, Task, dict[str, Any]]:
        """Return the table, its task and the models of these names, or a set that suits the table."""
        table = load_table(self.data, self.target)
        task = task_of(self.task, table)
        return table, task, candidates_of(models, table, task)

    def engine(self, store: Any = None, **options: Any) -> AbstractContextManager[Engine]:
        """Return the engine that is asked for, over this store or the one of ``--store``; see ``command_engine``."""
        return command_engine(store or self.store, self.workers, self.cluster, memory=self.memory, **options)

    def store_result(self, engine: Engine, result: Result, table: Table, **described: Any) -> None:
        """Store what a method returned, with its provenance."""
        store_result(engine, result, provenance(table, engine.stats, task=self.task) | described)

    def show(self, engine: Engine, data: Mapping[str, Any], print_text: Callable[[], None]) -> None:
        """Print a result: as JSON if that is wanted, else as text with the counts of fits."""
        if self.as_json:
            echo(json.dumps(data, indent=2))
        else:
            print_text()
            echo(f"{engine.stats}.")
