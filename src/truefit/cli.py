"""The command line."""

from __future__ import annotations

import difflib
import functools
import importlib
import importlib.util
import json
import platform
import shlex
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, cast, get_args

import typer

from truefit import __version__
from truefit.core.data import Task
from truefit.core.errors import Interrupted, InvalidInput, MissingDependency, StoreError, TruefitError

if TYPE_CHECKING:
    from truefit.methods.assess import Assessment
    from truefit.methods.study import Study
    from truefit.sources.table import Table

app = typer.Typer(
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    rich_markup_mode="rich",
    help="Which model, how good is it really, does it fit, and would more data help?",
)

DataArgument = Annotated[
    str, typer.Argument(metavar="DATA", help="A CSV, TSV, Parquet, Feather or JSON-lines file, or a built-in name.")
]
TargetOption = Annotated[str | None, typer.Option("--target", help="The column to predict; not for built-in names.")]
ModelsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "--models",
        help="dummy, linear, naive_bayes, knn, tree, random_forest or boosting, or FILE.py:NAME or MODULE:NAME for an "
        "estimator, a dict or list of them, or a function that makes them. May be given several times.",
    ),
]
TaskOption = Annotated[str | None, typer.Option("--task", help="classification or regression; inferred by default.")]
MetricOption = Annotated[str | None, typer.Option(help="Such as error, auc, rmse, or a scikit-learn scorer name.")]
PositiveOption = Annotated[str | None, typer.Option(help="The positive class, where the metric needs one.")]
FoldsOption = Annotated[int, typer.Option("--k", help="Number of folds.")]
StoreOption = Annotated[Path | None, typer.Option(help="SQLite file that keeps the fits; run again to go on from it.")]
WorkersOption = Annotated[int, typer.Option(help="Processes to fit in; -1 for all cores.")]
SeedOption = Annotated[int | None, typer.Option(help="Seed for the folds.")]
JsonOption = Annotated[bool, typer.Option("--json", help="Print the result as JSON.")]


def in_plain_words(command: Callable[..., None]) -> Callable[..., None]:
    """Let a command say in a sentence what went wrong, and leave with the exit code for it."""

    @functools.wraps(command)
    def guarded(*arguments: Any, **options: Any) -> None:
        try:
            command(*arguments, **options)
        except Interrupted as interrupt:
            _leave(str(interrupt), 130, interrupt)
        except (InvalidInput, MissingDependency, StoreError) as error:
            _leave(f"Error: {error}", 2, error)
        except TruefitError as error:
            _leave(f"Error: {error}", 1, error)

    return guarded


def _leave(message: str, code: int, reason: BaseException) -> NoReturn:
    typer.echo(message, err=True)
    raise typer.Exit(code) from reason


def _version(wanted: bool) -> None:
    if wanted:
        typer.echo(f"truefit {__version__}")
        raise typer.Exit


@app.callback()
def options(
    version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    """Which model, how good is it really, does it fit, and would more data help?"""


@app.command()
@in_plain_words
def assess(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
    design: Annotated[str, typer.Option(help="kfold, holdout or loo.")] = "kfold",
    k: FoldsOption = 5,
    repeats: Annotated[int, typer.Option(help="Number of partitions.")] = 1,
    metric: MetricOption = None,
    pos_label: PositiveOption = None,
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = 1,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say how good models are, with intervals; a linear model, if none is named.

    Example: truefit assess breast_cancer --model linear --model tree --metric auc
    """
    from truefit.api import Engine
    from truefit.api import assess as run

    table = _load(data, target)
    candidates = _candidates(model or ["linear"], table, _task(task, table))
    with Engine(store, workers=workers) as engine:
        result = run(
            candidates, table.X, table.y, design=design, k=k, repeats=repeats, metric=metric,
            pos_label=_label(pos_label, table),
            random_state=seed, engine=engine,
        )  # fmt: skip
        if as_json:
            typer.echo(json.dumps(result.to_dict(), indent=2))
            return
        _print_assessment(result)
        typer.echo(f"{engine.stats}.")


@app.command()
@in_plain_words
def study(
    data: DataArgument,
    target: TargetOption = None,
    model: ModelsOption = None,
    out: Annotated[Path | None, typer.Option(help="Write the report to this HTML file.")] = None,
    k: FoldsOption = 5,
    metric: MetricOption = None,
    pos_label: PositiveOption = None,
    task: TaskOption = None,
    store: StoreOption = None,
    workers: WorkersOption = 1,
    seed: SeedOption = None,
    as_json: JsonOption = False,
) -> None:
    """Say which model to use, and how good it really is.

    Example: truefit study breast_cancer --out report.html
    """
    from truefit.api import Engine
    from truefit.api import study as run

    if out is not None:
        _check_out(out, data, store)
    table = _load(data, target)
    chosen = _task(task, table)
    candidates = _candidates(model, table, chosen) if model else None
    with Engine(store, workers=workers) as engine:
        result = run(
            table.X, table.y, candidates, k=k, metric=metric, pos_label=_label(pos_label, table), task=chosen,
            random_state=seed, engine=engine,
        )  # fmt: skip
        if as_json:
            typer.echo(json.dumps(result.to_dict(), indent=2))
        else:
            typer.echo("\n".join(result.verdict) + "\n")
            _print_assessment(result.assessment)
            typer.echo(f"{engine.stats}.")
        if out is not None:
            _write(out, _page(result, table))
            typer.echo(f"The report is in {out}.", err=as_json)


def _check_out(out: Path, data: str, store: Path | None) -> None:
    """Refuse a place for the report that would fail after all the work, or destroy something."""
    if not out.absolute().parent.is_dir():
        raise InvalidInput(f"The folder of --out must exist. There is no {out.absolute().parent}. Make it first.")
    if out.is_dir():
        raise InvalidInput(f"--out must be a file. {out} is a folder; name a file in it.")
    if any(out.absolute() == other.absolute() for other in (Path(data), store) if other is not None):
        raise InvalidInput(f"--out would overwrite {out}, which this run reads. Name another file.")
    if out.exists() and "<html" not in out.read_text("utf-8", "replace")[:2000].lower():
        raise InvalidInput(f"--out would overwrite {out}, which is no report. Name another file, or remove it first.")


def _write(out: Path, page: str) -> None:
    try:
        out.write_text(page, encoding="utf-8")
    except OSError as error:
        raise InvalidInput(f"The report could not be written to {out}: {error.strerror}. Name another file.") from error


def _load(data: str, target: str | None) -> Table:
    from truefit.sources.load import load

    table = load(data, target)
    for note in table.notes:
        typer.echo(f"Note: {note}", err=True)
    return table


def _task(task: str | None, table: Table) -> Task:
    if task is None:
        typer.echo(f"Taken as a {table.task_hint.task}: {table.task_hint.reason}", err=True)
        return table.task_hint.task
    if task not in get_args(Task):
        raise InvalidInput(f"--task must be {' or '.join(get_args(Task))}. Got {task!r} instead.")
    return cast("Task", task)


def _label(text: str | None, table: Table) -> Any:
    """Return the class that is written like this; the text itself where there is none, to be refused by name."""
    return next((label for label in table.y.unique().tolist() if str(label) == text), text)


def _candidates(names: list[str], table: Table, task: Task) -> dict[str, Any]:
    from truefit.methods.default_candidates import default_candidates

    known = default_candidates(table.X, task)
    candidates: dict[str, Any] = {}
    for name in names:
        if ":" in name:
            candidates |= _own_models(name)
        elif name in known:
            candidates[name] = known[name]
        else:
            near = difflib.get_close_matches(name, known, n=1)
            raise InvalidInput(
                f"--model must be one of {', '.join(known)}, or FILE.py:NAME or MODULE:NAME for your own; give it "
                f"several times for several. Got {name!r} instead." + (f" Did you mean {near[0]!r}?" if near else "")
            )
    return candidates


def _own_models(place: str) -> dict[str, Any]:
    """Estimators from FILE.py:NAME or MODULE:NAME: one, a dict or list of them, or a function that makes them."""
    where, _, name = place.rpartition(":")
    try:
        if where.endswith(".py"):
            spec = importlib.util.spec_from_file_location(Path(where).stem, where)
            if spec is None or spec.loader is None or not Path(where).is_file():
                raise InvalidInput(f"There is no file {where} to take models from. Check the path.")
            module = importlib.util.module_from_spec(spec)
            # Workers unpickle by module name, so it must be found under it.
            sys.modules[spec.name] = module
            sys.path.insert(0, str(Path(where).resolve().parent))
            spec.loader.exec_module(module)
        else:
            module = importlib.import_module(where)
        found = getattr(module, name)
    except (ImportError, AttributeError, SyntaxError) as error:
        raise InvalidInput(f"No models could be taken from {place}: {error}. Check the path and the name.") from error
    if callable(found) and not hasattr(found, "fit"):
        found = found()
    if isinstance(found, dict):
        return found
    estimators = found if isinstance(found, list | tuple) else [found]
    from truefit.methods.candidates import names_of

    return dict(zip(names_of(estimators), estimators, strict=True))


def _print_assessment(result: Assessment) -> None:
    if not sys.stdout.isatty():
        typer.echo(result.summary())
        return
    from rich.console import Console
    from rich.table import Table as RichTable

    drawn = RichTable(title=result.heading, title_justify="left", caption_justify="left")
    for column, justify in (("model", "left"), (result.metric, "right"), (f"{result.level:.0%} interval", "right")):
        drawn.add_column(column, justify=justify)  # type: ignore[arg-type]
    for name, estimate in result.estimates.items():
        interval = "none" if estimate.interval is None else "{:.4g} to {:.4g}".format(*estimate.interval)
        style = "bold" if name == result.best and len(result.names) > 1 else None
        drawn.add_row(name, f"{estimate.value:.4g}", interval, style=style)
    console = Console()
    console.print(drawn)
    for line in (f"Estimated: {result.estimand}.", *(f"Note: {note}" for note in result.notes)):
        console.print(line, style="dim", highlight=False)


def _page(result: Study, table: Table) -> str:
    import numpy
    import sklearn

    from truefit.plots.svg import to_svg
    from truefit.report.page import render_page
    from truefit.report.study_page import study_content

    metric = result.assessment.metric
    svg = to_svg(
        result.plot(),
        title=f"{metric} of the candidates",
        description=f"Each candidate's {metric} with its interval; the best is {result.best}.",
    )
    versions = {"truefit": __version__, "scikit-learn": sklearn.__version__, "numpy": numpy.__version__}
    fits = {name: count for name, count in result.fits.items() if name != "seconds"}
    made = {
        "command": shlex.join(["truefit", *sys.argv[1:]]),
        "data": f"{table.name}: {len(table.y):,} rows, {table.X.shape[1]:,} columns, target {table.target}",
        "task": table.task_hint.reason,
        "fits": fits,
        "versions": {**versions, "Python": platform.python_version()},
    }
    return render_page(study_content(result.to_dict(), title=f"Study of {table.name}", figure_svg=svg, made=made))


def main() -> None:
    """Run the command line."""
    app()


if __name__ == "__main__":
    main()
