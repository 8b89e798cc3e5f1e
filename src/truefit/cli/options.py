"""Options that several commands take."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

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
FoldsOption = Annotated[int, typer.Option("--k", help="Number of folds.")]
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
