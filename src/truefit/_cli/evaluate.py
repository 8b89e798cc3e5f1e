"""truefit evaluate; and the diagnostics of predictions that truefit validate prints too."""

from __future__ import annotations

import json
import re
import shlex
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer

from truefit._cli.app import plain_command
from truefit._cli.inputs import check_choice, label_in, print_notes
from truefit._cli.messages import echo, note
from truefit._cli.options import JsonOption, LevelOption, PlotOption, PositiveOption, QuietOption, VerboseOption
from truefit._cli.outputs import check_distinct, check_picture, check_report, write_picture, write_report
from truefit._core.errors import InvalidInput

if TYPE_CHECKING:
    import pandas as pd

    from truefit._methods.diagnostics import PredictionDiagnostics
    from truefit._methods.evaluation.inputs import Kind
    from truefit._methods.evaluation.result import Evaluation
    from truefit._methods.result import EstimatorResult


_RULE: Final = re.compile(r"(sensitivity|specificity|precision)=([0-9.]+)|cost=([0-9.]+):([0-9.]+)|([0-9.]+)")
_KINDS = ("label", "probability", "score", "number")

GroupsOfRows = Annotated[
    str | None,
    typer.Option("--groups", metavar="COLUMN", help="Groups of rows, such as patients, or items with several runs."),
]
WeightsOfRows = Annotated[str | None, typer.Option("--weights", metavar="COLUMN", help="Weights of the rows.")]
MetricsOption = Annotated[
    list[str] | None,
    typer.Option(
        "--metric",
        help="error, auc, rmse, ... or the name of a scikit-learn scorer. Repeatable; the first compares the "
        "models. Default: error for classes, rmse for numbers.",
    ),
]
PageOption = Annotated[Path | None, typer.Option("--out", help="Write the result to this .html file.")]
CalibrationOption = Annotated[
    bool, typer.Option("--calibration", help="Also print calibration: slope, in the large, calibration error.")
]
ThresholdOption = Annotated[
    list[str] | None,
    typer.Option(
        "--threshold",
        metavar="RULE",
        help="Also print sensitivity, specificity and precision at the threshold by a rule: youden, sensitivity=0.9, "
        "specificity=0.9, precision=0.8, cost=5:1 (false negative : false positive), or a probability such as 0.2. "
        "Repeatable.",
    ),
]
NetBenefitOption = Annotated[
    list[float] | None,
    typer.Option(
        "--net-benefit", metavar="PROBABILITY", help="Also print the net benefit at this threshold. Repeatable."
    ),
]
ByOption = Annotated[
    list[str] | None,
    typer.Option(
        "--by",
        metavar="COLUMN",
        help="Also print the metric by the levels of a column, or bins of a number. Repeatable.",
    ),
]


@plain_command
def evaluate(
    predictions: Annotated[
        str,
        typer.Argument(
            metavar="PREDICTIONS",
            help="A CSV, TSV, Parquet, Feather or JSON-lines file, or sqlite:///FILE#TABLE or "
            "postgresql://HOST/NAME#TABLE, with the truth in one column and a model in every other one.",
        ),
    ],
    truth: Annotated[str, typer.Option("--truth", metavar="COLUMN", help="Column of the true labels or numbers.")],
    groups: GroupsOfRows = None,
    weights: WeightsOfRows = None,
    drop: Annotated[
        list[str] | None, typer.Option("--drop", metavar="COLUMN", help="Column that is no model. Repeatable.")
    ] = None,
    metric: MetricsOption = None,
    pos_label: PositiveOption = None,
    classes: Annotated[
        list[str] | None,
        typer.Option("--class", metavar="LABEL", help="A class, where the truth lacks some of them. Repeatable."),
    ] = None,
    kind: Annotated[
        str | None,
        typer.Option("--as", help="What the columns are, where it does not show: label, probability, score or number."),
    ] = None,
    reference: Annotated[
        str | None, typer.Option(help="Model to compare with, or all for every pair. Default: the best.")
    ] = None,
    rope: Annotated[float | None, typer.Option(help="Largest difference that is practically irrelevant.")] = None,
    calibration: CalibrationOption = False,
    threshold: ThresholdOption = None,
    net_benefit: NetBenefitOption = None,
    by: ByOption = None,
    level: LevelOption = 0.95,
    plot: PlotOption = None,
    out: PageOption = None,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
    verbose: VerboseOption = False,
) -> None:
    """Evaluate predictions in a file: every other column is a model, with labels, numbers or probabilities.

    Probabilities of several classes are columns such as "forest:yes" and "forest:no". The page of --out has
    calibration, thresholds, decision curve and confusion matrix too.

    Example: truefit evaluate predictions.csv --truth outcome --groups patient
    """
    from truefit._api.evaluate import evaluate as run
    from truefit.sources.load import load_rows
    from truefit.sources.table import check_names, column_uses, find_column

    check_report(out, (predictions,))
    check_picture(plot, (predictions,))
    check_distinct(out, plot)
    check_choice("--as", kind, _KINDS)
    frame, name, notes = load_rows(predictions)
    print_notes(notes)
    names = [str(column) for column in frame.columns]
    check_names(names, name)
    frame = frame.set_axis(names, axis="columns")
    if not len(frame):
        raise InvalidInput(f"{name!r} must have rows to evaluate. Got none.")
    rules = [rule_of(each) for each in threshold or ()]
    roles = [("as the truth", truth), ("as groups", groups), ("as weights", weights)]
    others = list(column_uses(names, [*roles, *(("to drop", each) for each in drop or ())], name))
    # The subgroups of a column that has another use are of interest too: those of the groups, say.
    columns = [find_column(names, each, name) for each in by or ()]
    others = [*others, *(each for each in dict.fromkeys(columns) if each not in others)]
    missing = int(frame[truth].isna().sum())
    if missing:
        raise InvalidInput(
            f"The truth {truth!r} of {name!r} must have a value in every row. Got {missing:,} of {len(frame):,} "
            "missing. Drop these rows, or fill in their truth."
        )
    numbered = [each for each in names if each.startswith("Unnamed: 0")]
    if numbered:
        note(f"Note: the column without a name in {name!r} counts the rows; it was left out.")
    models = frame.drop(columns=[*others, *numbered])
    if not models.shape[1]:
        raise InvalidInput(f"{name!r} must have a column of predictions beside {', '.join(map(repr, others))}.")
    labels = [*frame[truth].dropna().unique().tolist(), *(classes or ())]
    result = run(
        frame[truth], models_in(models, labels if kind is None or kind == "probability" else []),
        metric=None if not metric else metric[0], groups=None if groups is None else frame[groups],
        pos_label=None if pos_label is None else label_in(pos_label, frame[truth]),
        classes=_all_classes(frame[truth], classes), sample_weight=None if weights is None else frame[weights],
        kind=_kind(kind), reference=reference, rope=rope, level=level,
    )  # fmt: skip
    asked = Diagnostics(calibration, rules, net_benefit or (), [frame[each] for each in columns])
    show_evaluation(result, metric or [], asked, plot, out, as_json=as_json)


def _kind(kind: str | None) -> Kind | None:
    return kind  # type: ignore[return-value]


def _all_classes(truth: pd.Series[Any], given: list[str] | None) -> list[Any] | None:
    """Return the classes of the truth and those named, sorted; None where none is named."""
    if not given:
        return None
    import numpy as np

    known = truth.dropna().unique().tolist()
    kind = type(known[0]) if known else str
    try:
        return list(np.unique([*known, *(label_in(each, truth, kind) for each in given)]).tolist())
    except ValueError as error:
        raise InvalidInput(f"--class must name a label like those of the truth, such as {known[0]!r}.") from error


def models_in(frame: pd.DataFrame, labels: Sequence[Any]) -> dict[str, Any]:
    """Return the predictions of each model; columns such as "model:class" become one table, classes in sorted order."""
    import numpy as np

    known = {str(label): label for label in labels}
    columns: dict[str, dict[Any, str]] = {}
    others: dict[str, list[str]] = {}
    for name in frame.columns:
        model, _, label = name.rpartition(":")
        if model and label in known:
            columns.setdefault(model, {})[label] = name
        elif model:
            others.setdefault(model, []).append(name)
    for model, names in others.items() if known else ():
        if model in columns or _look_like_classes(frame[names], known):
            label = names[0].rpartition(":")[2]
            lacking = f"Name the class, if the truth lacks it (--class {shlex.quote(label)}), or rename the column"
            same = label.casefold() in {each.casefold() for each in known}
            raise InvalidInput(
                f"Column {names[0]!r} must end in a class as it is written in the truth: "
                f"{', '.join(map(repr, known))}. {'Rename the column' if same else lacking}; or leave it out "
                f"(--drop {shlex.quote(names[0])})."
            )
    found: dict[str, Any] = {}
    ordered = [str(label) for label in np.unique(np.array(list(known.values())))] if columns else []
    for name in frame.columns:
        model = name.rpartition(":")[0]
        if model not in columns or name not in columns[model].values():
            found[name] = frame[name]
        elif model not in found:
            found[model] = _table(frame, model, columns[model], ordered)
    return found


def _look_like_classes(columns: pd.DataFrame, known: Iterable[str]) -> bool:
    """Whether columns "model:text" are of classes in other words: in another case, or numbers that sum to 1."""
    if {str(name).rpartition(":")[2].casefold() for name in columns} & {label.casefold() for label in known}:
        return True
    numeric = all(dtype.kind == "f" for dtype in columns.dtypes)
    return numeric and columns.shape[1] > 1 and bool(((columns.sum(axis="columns") - 1).abs() < 0.01).all())


def _table(frame: pd.DataFrame, model: str, columns: dict[Any, str], classes: Sequence[str]) -> Any:
    import numpy as np

    if model in frame.columns:
        raise InvalidInput(f"Model {model!r} must have either a column of its own name or columns per class. Got both.")
    missing = [label for label in classes if label not in columns]
    if missing and len(classes) == 2:
        given = _numbers(frame, columns[next(label for label in classes if label in columns)])
        return np.column_stack([1 - given if label in missing else given for label in classes])
    if missing:
        raise InvalidInput(
            f"Model {model!r} must have a column for each class. Missing: "
            f"{', '.join(repr(f'{model}:{label}') for label in missing)}."
        )
    return np.column_stack([_numbers(frame, columns[label]) for label in classes])


def _numbers(frame: pd.DataFrame, column: str) -> Any:
    import pandas as pd

    from truefit._methods.text import counted

    found = pd.to_numeric(frame[column], errors="coerce")
    text = frame.loc[found.isna() & frame[column].notna(), column]
    if len(text):
        raise InvalidInput(
            f"Column {column!r} must hold probabilities. Got {text.iloc[0]!r} in {counted(len(text), 'row')}."
        )
    return found.to_numpy(dtype=float)


def show_evaluation(
    result: Evaluation,
    metrics: Sequence[str],
    asked: Diagnostics,
    plot: Path | None,
    out: Path | None,
    *,
    as_json: bool,
) -> None:
    """Print a result, the further metrics and diagnostics, and write the plot and the page."""
    further = {name: result.under(name) for name in metrics[1:]}
    diagnostics = asked.of(result)
    if as_json:
        plain = result.to_dict()
        if further:
            plain["metrics"] = {name: each.to_dict()["models"] for name, each in further.items()}
        if diagnostics:
            plain["diagnostics"] = {kind: [each.to_dict() for each in found] for kind, found in diagnostics.items()}
        echo(json.dumps(plain, indent=2))
    else:
        width = max(map(len, result.names))
        blocks = [result.summary()]
        for each in further.values():
            lines = [f"  {name:<{width}}  {found.text(each.level)}" for name, found in each.estimates.items()]
            blocks.append("\n".join([each.heading, *lines]))
        blocks += [each.summary() for found in diagnostics.values() for each in found]
        echo("\n\n".join(blocks))
    if plot is not None:
        write_picture(plot, result.plot, title=result.heading)
    if out is not None:
        from truefit._methods.evaluation.result import render_evaluation

        write_report(out, render_evaluation(result, [each for found in diagnostics.values() for each in found]))


@dataclass(frozen=True)
class Diagnostics:
    """What a command is to say of predictions beside the metrics."""

    calibration: bool
    rules: Sequence[Any]
    net_benefit: Sequence[float]
    by: Sequence[pd.Series[Any]]

    def of(self, result: PredictionDiagnostics) -> dict[str, list[EstimatorResult]]:
        """Return the diagnostics by kind; kinds that were not asked for are absent."""
        found: dict[str, list[EstimatorResult]] = {
            "calibration": [result.calibration()] if self.calibration else [],
            "thresholds": [result.threshold(rule) for rule in self.rules],
            "decision_curve": [result.decision_curve(self.net_benefit)] if self.net_benefit else [],
            "subgroups": [result.by(column) for column in self.by],
        }
        return {kind: results for kind, results in found.items() if results}


def rule_of(text: str) -> Any:
    """Return the rule of a threshold from its text.

    >>> rule_of("youden"), rule_of("sensitivity=0.9"), rule_of("cost=5:1"), rule_of("0.2")
    ('youden', {'sensitivity': 0.9}, {'cost': (5.0, 1.0)}, 0.2)
    """
    from truefit._methods.threshold import read_rule

    match = _RULE.fullmatch(text)
    rule: Any = text
    try:
        if match is not None and match[1]:
            rule = {match[1]: float(match[2])}
        elif match is not None and match[3]:
            rule = {"cost": (float(match[3]), float(match[4]))}
        elif match is not None:
            rule = float(match[5])
        read_rule(rule)
    except (ValueError, InvalidInput):  # such as 0.2.1, or a probability of 1.5
        raise InvalidInput(
            "--threshold must be youden, sensitivity=0.9, specificity=0.9, precision=0.8 (a share above 0, up to 1), "
            f"cost=5:1 (one above 0), or a probability between 0 and 1 such as 0.2. Got {text!r} instead."
        ) from None
    return rule
