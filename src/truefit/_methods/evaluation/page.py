"""The page of an evaluation: estimates and differences, then what else the predictions say, in parts that open."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from truefit._core.provenance import now, versions
from truefit._methods.calibration import Calibration
from truefit._methods.decision_curve import DecisionCurve
from truefit._methods.diagnostic_tables import (
    benefit_table,
    calibration_table,
    class_table,
    confusion_tables,
    or_none,
    subgroup_table,
    threshold_table,
)
from truefit._methods.per_class import PerClass
from truefit._methods.result import EstimatorResult, report_of
from truefit._methods.subgroups import Subgroups
from truefit._methods.text import counted
from truefit._methods.threshold import Threshold
from truefit._plots.svg import to_svgs
from truefit._report.page import details_of, render_page

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from truefit._methods.evaluation.result import Evaluation

#: With more classes a line for each of them is too much to read.
MOST_CLASSES: Final = 32
#: Rules of the thresholds that a page has by itself.
RULES: Final = ("youden", {"sensitivity": 0.9})
#: With more predictions than this, thresholds are left to a call of their own: they are chosen again on many samples.
MOST_CHOSEN: Final = 200_000
#: Thresholds of a decision curve that are a table too.
MOST_LINES: Final = 10


def render_evaluation(result: Evaluation, further: Sequence[EstimatorResult] = ()) -> str:
    """Return the page of an evaluation, with further diagnostics that were computed from it."""
    made: dict[str, Any] = {"date": now(), "versions": versions()}
    report = report_of(result)
    details = details_of(report) | {"figures": [_figure(result.plot, result.heading, result.summary())]}
    parts = [{"title": title, **part} for title, part in _parts(result, further)]
    lead = "Computed from the same predictions, without any fit."
    diagnostics = [{"id": "diagnostics", "title": "Diagnostics", "lead": lead, "parts": parts}] if parts else []
    numbers = " ".join(result._text(result.names[0]).split())
    first = f"{result.heading}: {numbers}" if len(result.names) == 1 else result.heading
    verdict = [first[:1].upper() + first[1:], *result.verdict]
    details["notes"] = [note for note in details["notes"] if note not in (result.heading, *verdict)]
    return render_page(
        {
            "title": report["title"],
            "facts": [[made["date"], f"truefit {made['versions'].get('truefit', '')}"]],
            "verdict": verdict,
            "sections": [details, *diagnostics],
            "made": made,
        }
    )


def _parts(result: Evaluation, further: Sequence[EstimatorResult]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield title, figures and tables of each part."""
    if result.classes is None:
        if len(result.names) == 1:
            caption = "Predicted against true values"
            yield caption, _part([_figure(partial(result.plot, "predicted"), caption, caption, fixed=True)])
    elif or_none(result.ranked) is not None:
        caption = f"ROC curve on {counted(result._data.n, 'row')}"
        yield "ROC curve", _part([_figure(partial(result.plot, "roc"), caption, caption, fixed=True)])
    own = [*further, *_missing(result, further)]
    for calibration in (each for each in own if isinstance(each, Calibration)):
        figure = _figure(calibration.plot, calibration.heading, calibration.summary(), fixed=True)
        yield calibration.title, _part([figure], [calibration_table(calibration.to_dict())])
    thresholds = [each for each in own if isinstance(each, Threshold)]
    if thresholds:
        yield "Thresholds", _part([], [threshold_table([each.to_dict() for each in thresholds])])
    curves = [each for each in own if isinstance(each, DecisionCurve)]
    if curves:
        figures = [
            _figure(each.plot, each.heading, each.summary()) for each in curves if len(each.thresholds) > MOST_LINES
        ]
        tables = [benefit_table(each.to_dict()) for each in curves if len(each.thresholds) <= MOST_LINES]
        yield DecisionCurve.title, _part(figures, tables)
    for found in (each for each in own if isinstance(each, PerClass)):
        plain = found.to_dict()
        figure = _figure(found.plot, found.heading, found.summary())
        yield found.title, _part([figure], [class_table(plain), *confusion_tables(plain)])
    for groups in (each for each in own if isinstance(each, Subgroups)):
        figure = _figure(groups.plot, groups.heading, groups.summary())
        yield f"{groups.title}: {groups.column}", _part([figure], [subgroup_table(groups.to_dict())])


def _missing(result: Evaluation, further: Sequence[EstimatorResult]) -> Iterator[EstimatorResult]:
    """Yield the diagnostics that the predictions allow and that are not there yet."""
    classes = result.classes
    if classes is not None and len(classes) > MOST_CLASSES:
        return
    given = {type(each) for each in further}
    wanted: list[Callable[[], Any]] = [] if Calibration in given else [result.calibration]
    if classes is not None:
        wanted.append(result.per_class)
    if classes is not None and len(classes) == 2:
        wanted.append(result.decision_curve)
        if Threshold not in given and len(result.names) * result._data.n <= MOST_CHOSEN:
            wanted += [partial(result.threshold, rule) for rule in RULES]
    yield from (found for found in map(or_none, wanted) if found is not None)


def _part(figures: Sequence[dict[str, Any]], tables: Sequence[dict[str, Any]] = ()) -> dict[str, Any]:
    return {"figures": list(figures), "tables": list(tables)}


def _figure(draw: Callable[..., Axes], caption: str, description: str, *, fixed: bool = False) -> dict[str, Any]:
    svg, narrow = to_svgs(draw, title=caption, description=description, fixed=fixed)
    return {"svg": svg, "narrow": narrow, "caption": caption}
