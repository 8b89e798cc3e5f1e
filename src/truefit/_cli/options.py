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
from truefit._cli.messages import echo, note
from truefit._cli.stored_reports import provenance
from truefit._core.errors import InvalidInput
from truefit._core.provenance import keeps_reports, store_report

if TYPE_CHECKING:
    from truefit._api.engine import Engine
    from truefit._core.validation import Task
    from truefit._methods.result import Result
    from truefit.sources.table import Table

#: Options of 0.2 that were renamed in 0.3; accepted until 0.4, with a warning.
RENAMED_OPTIONS = {"--k": "--cv"}

DataArgument = Annotated[
    str,
    typer.Argument(
        metavar="DATA",
        help="A CSV, TSV, Parquet, Feather or JSON-lines file; sqlite:///FILE#TABLE or postgresql://HOST/NAME#TABLE; "
        "openml:NAME; or a built-in dataset such as iris.",
    ),
]
TargetOption = Annotated[str | None, typer.Option("--target", help="Column to predict. Not for built-in datasets.")]
GroupsOption = Annotated[
    str | None,
    typer.Option("--groups", metavar="COLUMN", help="Groups of rows, such as patients: folds never split a group."),
]
TimeOption = Annotated[
    str | None,
    typer.Option(
        "--time",
        metavar="COLUMN",
        help="Time of the rows, numbers or dates: models are tested on later rows. Not for curve and agghoo.",
    ),
]
WindowOption = Annotated[
    int | None, typer.Option("--window", metavar="ROWS", help="With --time: train on so many rows, the latest.")
]
GapOption = Annotated[
    int | None, typer.Option("--gap", metavar="ROWS", help="With --time: rows between training and test rows.")
]
WeightsOption = Annotated[
    str | None, typer.Option("--weights", metavar="COLUMN", help="Weights of the rows, in fits and in scores.")
]
DropOption = Annotated[
    list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Column to leave out of the features. Repeatable.")
]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "--models",
        help="dummy, linear, naive_bayes, knn, tree, random_forest, boosting, svm, mlp, and lightgbm, xgboost or "
        "catboost if installed; a classifier with +platt or +isotonic, such as svm+platt, has recalibrated "
        "probabilities; or FILE.py:NAME or MODULE:NAME for your own estimator, list or dict of estimators, or a "
        "function that returns them. Repeatable.",
    ),
]
TaskOption = Annotated[str | None, typer.Option("--task", help="classification or regression. Default: inferred.")]
MetricOption = Annotated[
    str | None,
    typer.Option(
        help="error, auc, rmse, ... or the name of a scikit-learn scorer. Default: error; for regression rmse (study) "
        "or mse."
    ),
]
PositiveOption = Annotated[str | None, typer.Option(help="Positive class, for metrics that need one.")]
FoldsOption = Annotated[int, typer.Option("--cv", help="Number of folds.")]
LevelOption = Annotated[float, typer.Option(help="Confidence level of the intervals.")]
StoreOption = Annotated[
    Path | None, typer.Option(help="SQLite file that caches finished fits. Rerun with the same file to resume.")
]
WorkersOption = Annotated[
    int | None,
    typer.Option(help="Worker processes; -1 for all cores. Default: 1; for study, all cores.", show_default=False),
]
ClusterOption = Annotated[
    str | None, typer.Option(metavar="tcp://HOST:PORT", help="Run the fits on this Dask scheduler, not in --workers.")
]
MemoryOption = Annotated[str | None, typer.Option(help="Memory limit per worker, such as 4GB. Fits above it fail.")]
SeedOption = Annotated[int | None, typer.Option(help="Random seed of the folds.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]
QuietOption = Annotated[
    bool, typer.Option("--quiet", help="Print results and errors only: no progress, notes or warnings.")
]
VerboseOption = Annotated[bool, typer.Option("--verbose", help="Print what is read and which fits are run, too.")]
PlotOption = Annotated[Path | None, typer.Option("--plot", help="Save a plot to this .svg, .png or .pdf file.")]


@contextmanager
def command_engine(
    store: Any, workers: int | None, cluster: str | None, *, default_workers: int = 1, **options: Any
) -> Iterator[Engine]:
    """Yield the engine for ``--store``, ``--workers`` and ``--cluster``, and close it."""
    from truefit._api.engine import Engine

    if cluster is None:
        with Engine(store, workers=default_workers if workers is None else workers, **options) as engine:
            yield engine
        return
    if workers is not None:
        raise InvalidInput("Fits run either on this machine or on a cluster. Give --workers or --cluster, not both.")
    from truefit._executors.cluster import dask_executor

    with dask_executor(cluster, note) as executor, Engine(store, executor=executor, **options) as engine:
        yield engine


@dataclass(frozen=True)
class CommandConfig:
    """Options that every command with a table and models takes: a parameter of this type stands for all of them."""

    data: DataArgument
    target: TargetOption = None
    groups: GroupsOption = None
    time: TimeOption = None
    weights: WeightsOption = None
    drop: DropOption = None
    model: ModelsOption = None
    task: TaskOption = None
    level: LevelOption = 0.95
    store: StoreOption = None
    workers: WorkersOption = None
    cluster: ClusterOption = None
    memory: MemoryOption = None
    seed: SeedOption = None
    as_json: JsonOption = False
    quiet: QuietOption = False
    verbose: VerboseOption = False

    @property
    def files(self) -> tuple[str | Path | None, ...]:
        """Everything that the command reads, as given."""
        return (self.data, self.store, *(self.model or ()))

    @property
    def not_features(self) -> set[str]:
        """Columns that are groups, time or weights, or are dropped."""
        return {column for column in (self.groups, self.time, self.weights, *(self.drop or ())) if column is not None}

    def with_roles(self, table: Table) -> Table:
        """Return the table without the columns that are not features; see ``Table.with_roles``."""
        found = table.with_roles(groups=self.groups, time=self.time, weights=self.weights, drop=self.drop or ())
        if self.groups is not None and found.roles["groups"].is_unique:
            note(f"Note: every row is a group of its own: no two rows have the same {self.groups!r}.")
        return found

    def refuse_time(self, why: str) -> None:
        """Refuse ``--time`` on a command that cannot use it."""
        if self.time is not None:
            raise InvalidInput(f"This command takes no --time: {why} Leave it out.")

    def splits(self, cv: int, window: int | None, gap: int | None) -> Any:
        """Return ``--cv``; with ``--window`` or ``--gap`` the splitter of so many periods."""
        if window is None and gap is None:
            return cv
        if self.time is None:
            raise InvalidInput("--window and --gap are for rows in time order. Name their column with --time.")
        for name, given, least in (("--window", window, 1), ("--gap", gap, 0)):
            if given is not None and given < least:
                raise InvalidInput(f"{name} must be a number of rows of at least {least}. Got {given}.")
        if cv < 2:
            raise InvalidInput(f"--cv must be at least 2 periods. Got {cv}.")
        from sklearn.model_selection import TimeSeriesSplit

        return TimeSeriesSplit(cv, max_train_size=window, gap=gap or 0)

    def load(self, models: list[str] | None) -> tuple[Table, Task, dict[str, Any]]:
        """Return the table, its task and the models of these names; without names the default candidates."""
        table = self.with_roles(load_table(self.data, self.target))
        task = task_of(self.task, table)
        return table, task, candidates_of(models, table, task)

    def engine(self, store: Any = None, **options: Any) -> AbstractContextManager[Engine]:
        """Return the engine over this store, or the one of ``--store``; see ``command_engine``."""
        progress = False if self.quiet else "auto"
        return command_engine(
            store or self.store, self.workers, self.cluster, memory=self.memory, progress=progress, **options
        )

    def store_result(self, engine: Engine, result: Result, table: Table, **described: Any) -> None:
        """Store a result with its provenance."""
        from truefit._methods.result import report_of

        if keeps_reports(engine.store):
            store_report(engine.store, report_of(result), provenance(table, engine.stats, task=self.task) | described)

    def show(self, engine: Engine, data: Mapping[str, Any], print_text: Callable[[], None]) -> None:
        """Print a result: as JSON, or as text with the counts of fits."""
        if self.as_json:
            echo(json.dumps(data, indent=2))
            return
        print_text()
        if not self.quiet:
            echo(f"{engine.stats}.")
