"""truefit validate."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from truefit._cli.app import plain_command
from truefit._cli.evaluate import (
    ByOption,
    CalibrationOption,
    Diagnostics,
    GroupsOfRows,
    MetricsOption,
    NetBenefitOption,
    PageOption,
    ThresholdOption,
    WeightsOfRows,
    rule_of,
    show_evaluation,
)
from truefit._cli.inputs import columns_as_fitted, label_in, print_notes
from truefit._cli.options import JsonOption, LevelOption, PlotOption, PositiveOption, QuietOption, VerboseOption
from truefit._cli.outputs import check_distinct, check_picture, check_report
from truefit._cli.saved_model import read_model
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from truefit._models import LoadedModel


@plain_command
def validate(
    model: Annotated[Path, typer.Argument(metavar="MODEL", help="A .skops file written by --save.")],
    data: Annotated[
        str, typer.Argument(metavar="DATA", help="The new rows with their target: a file, a database, a built-in name.")
    ],
    target: Annotated[
        str | None, typer.Option("--target", metavar="COLUMN", help="Column of the target. Default: that of the model.")
    ] = None,
    groups: GroupsOfRows = None,
    weights: WeightsOfRows = None,
    metric: MetricsOption = None,
    pos_label: PositiveOption = None,
    calibration: CalibrationOption = False,
    threshold: ThresholdOption = None,
    net_benefit: NetBenefitOption = None,
    by: ByOption = None,
    level: LevelOption = 0.95,
    trust: Annotated[
        list[str] | None, typer.Option(help="Full name of a further type that the model may contain. Repeatable.")
    ] = None,
    plot: PlotOption = None,
    out: PageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Evaluate a saved model on new rows, with intervals, beside what its study promised.

    Example: truefit validate model.skops breast_cancer
    """
    from truefit._api.validate import validate as run

    check_report(out, (data, model))
    check_picture(plot, (data, model))
    check_distinct(out, plot)
    rules = [rule_of(each) for each in threshold or ()]
    saved = read_model(model, trust or ())
    frame, name, y = _new_rows(data, target, saved)
    levels = [frame[_column(frame, each, name)] for each in by or ()]
    others = [None if each is None else _column(frame, each, name) for each in (groups, weights)]
    by_group, weight = (None if each is None else frame[each] for each in others)
    unknown = [str(each.name) for each in levels if each.name not in (*(saved.columns or frame.columns), y, *others)]
    features = frame.drop(columns=[y, *(each for each in others if each is not None), *dict.fromkeys(unknown)])
    result = run(
        saved, _features(saved, features, name), frame[y], metric=None if not metric else metric[0], groups=by_group,
        pos_label=None if pos_label is None else label_in(pos_label, frame[y]), sample_weight=weight, level=level,
    )  # fmt: skip
    asked = Diagnostics(calibration, rules, net_benefit or (), levels)
    show_evaluation(result, metric or [], asked, plot, out, as_json=as_json)


def _new_rows(data: str, target: str | None, saved: LoadedModel) -> tuple[pd.DataFrame, str, str]:
    """Return the rows, the source's name and the column of the target."""
    from truefit.sources.load import load_rows
    from truefit.sources.table import check_names

    frame, name, notes = load_rows(data)
    print_notes(notes)
    names = [str(column) for column in frame.columns]
    check_names(names, name)
    frame = frame.set_axis(names, axis="columns")
    if not len(frame):
        raise InvalidInput(f"{name!r} must have rows to validate on. Got none.")
    column = _column(frame, saved.target if target is None else target, name)
    missing = int(frame[column].isna().sum())
    if missing:
        raise InvalidInput(
            f"The target {column!r} of {name!r} must have a value in every row. Got {missing:,} of {len(frame):,} "
            "missing. Drop these rows, or fill in their target."
        )
    return frame, name, column


def _column(frame: pd.DataFrame, wanted: str | None, name: str) -> str:
    from truefit.sources.table import find_column

    return find_column(list(frame.columns), wanted, name)


def _features(saved: LoadedModel, frame: pd.DataFrame, name: str) -> Any:
    """Return the columns that the model was fitted on, with their types."""
    if saved.columns is None:
        return frame.to_numpy()
    return columns_as_fitted(frame, saved.columns, name)
