"""Evaluation: how good predictions are that somebody already has, and which of several models is best.

Its page has estimates and differences, then what else the predictions say, in parts that open.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property, partial
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import InvalidInput
from truefit._core.outcome import Outcome
from truefit._core.provenance import now, versions
from truefit._core.rows import Rows
from truefit._methods.assessment.estimate import Estimate
from truefit._methods.assessment.evidence import Evidence
from truefit._methods.assessment.plot import KINDS
from truefit._methods.assessment.result import Assessment
from truefit._methods.calibration import Calibration
from truefit._methods.candidates import Named
from truefit._methods.comparison.pairs import Pair
from truefit._methods.comparison.plan import CompareConfig
from truefit._methods.comparison.result import Comparison
from truefit._methods.decision_curve import DecisionCurve
from truefit._methods.diagnostic_tables import (
    MOST_CLASSES,
    RULES,
    benefit_table,
    calibration_table,
    class_table,
    confusion_tables,
    or_none,
    subgroup_table,
    threshold_table,
)
from truefit._methods.per_class import PerClass
from truefit._methods.result import EstimatorResult, frame, plain, plot_method, report_of
from truefit._methods.splitting.designs import Design
from truefit._methods.splitting.splits import Split, Splits
from truefit._methods.subgroups import Subgroups
from truefit._methods.text import MetricText, counted, new_rows
from truefit._methods.threshold import Threshold
from truefit._metrics.metric import Metric
from truefit._metrics.row_loss import is_share
from truefit._metrics.scorers import is_auc
from truefit._plots.forest import forest
from truefit._plots.svg import to_svgs
from truefit._report.page import details_of, render_page

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes


#: Probability with which so many rows would show a difference of the size seen.
POWER: Final = 0.8
#: With more rows than this nothing is settled in practice.
_MOST_ROWS: Final = 1e9
#: With more predictions than this, thresholds are left to a call of their own: they are chosen again on many samples.
MOST_CHOSEN: Final = 200_000
#: Thresholds of a decision curve that are a table too.
MOST_LINES: Final = 10


class Score(float):
    """A number that carries its confidence interval, or the reason why there is none.

    >>> score = Score(Estimate(0.25, (0.2, 0.3), "hold-out"))
    >>> score + 1, score.interval
    (1.25, (0.2, 0.3))
    """

    interval: tuple[float, float] | None
    reason: str | None

    def __new__(cls, estimate: Estimate) -> Score:
        """Take the value, the interval and the reason of an estimate."""
        score = super().__new__(cls, estimate.value)
        score.interval, score.reason = estimate.interval, estimate.reason
        return score

    def __reduce__(self) -> tuple[Any, ...]:
        return Score, (Estimate(float(self), self.interval, None, self.reason),)


class Evaluation(Assessment):
    """Estimates with intervals from predictions, and paired comparisons of several models.

    With one model ``estimate`` is a float and ``interval`` a pair; with several each is a dict by name.

    Attributes
    ----------
    names : list of str
        The models.
    best : str
        The model with the best estimate.
    groups : ndarray or None
        The group of each row.
    """

    title = "Evaluation"

    def __init__(
        self,
        models: Named,
        data: Data,
        outcomes: Mapping[str, Outcome],
        metric: Metric,
        config: CompareConfig,
        *,
        pos_label: Any = None,
    ) -> None:
        # A hold-out without training rows: all rows are test rows.
        splits = Splits.of([Split(Rows.of(np.arange(0)), Rows.all(data.n))], "test set")
        design = Design("splits", splits, "auto")
        super().__init__(
            models, data, design, metric, {name: [outcomes[name]] for name in models.names}, config.level,
            pos_label=pos_label,
        )  # fmt: skip
        if len(models) > 1:
            config.check(models, data, design, metric)
        self._config = config

    @cached_property
    def _known_evidence(self) -> dict[str, Evidence]:
        """The evidence under the metric, by model: the interval and the comparison take the same from it."""
        return {}

    def _evidence(self, name: str, metric: Metric) -> Evidence:
        if metric is not self._metric:
            return super()._evidence(name, metric)
        if name in self._known_evidence:
            return self._known_evidence[name]
        held = {answer.response for answer in self._outcomes[name][0].answers}  # type: ignore[union-attr]
        if not held & set(metric.accepted):
            needed = "labels" if metric.accepted == ("predict",) else "probabilities or scores"
            given = "labels" if held == {"predict"} else "scores"
            raise InvalidInput(
                f"The metric {metric.name!r} needs predicted {needed}. The predictions of {name!r} are {given}. Pass "
                f"{needed}, or choose another metric, such as {'error' if given == 'labels' else 'auc'!r}."
            )
        if is_auc(metric, self._data):
            weight = self._data.weight
            present = np.unique(self._data.y if weight is None else self._data.y[weight > 0])
            if len(present) == 1:
                rows = self._data.n if weight is None else int((weight > 0).sum())
                raise InvalidInput(
                    f"The metric {metric.name!r} needs rows of both classes. Got {present.tolist()[0]!r} in all "
                    f"{counted(rows, 'row')}{'' if weight is None else ' with a weight above 0'}. Choose another "
                    "metric, such as 'error', or add rows of the other class."
                )
        return self._known_evidence.setdefault(name, super()._evidence(name, metric))

    @property
    def pos_label(self) -> Any:
        """The positive class that was named, for all metrics and curves; None where none was."""
        return self._pos_label

    @cached_property
    def comparison(self) -> Comparison | None:
        """Paired differences between the models, with tests; None with one model."""
        return None if len(self.names) == 1 else Comparison(self, self._metric, self._config, by_rows=True)

    @property
    def ties(self) -> list[str]:
        """The best model and those that do not differ significantly from it."""
        return self.names if self.comparison is None else self.comparison.ties

    @property
    def differences(self) -> pd.DataFrame:
        """One row per pair of models: difference, interval, p-values, verdict, and rows to settle it.

        ``rows_to_settle`` is the number of rows with which a difference as large as the one seen would be significant
        with a probability of 80%; with groups it is the number of groups. It is given for ties only.
        """
        if self.comparison is None:
            columns = ["candidate", "reference", "difference", "low", "high", "p", "p_adjusted", "verdict"]
            import pandas as pd

            return pd.DataFrame(columns=[*columns, "rows_to_settle"])
        settled = [self._rows_to_settle(pair) for pair in self.comparison.pairs]
        return self.comparison.differences.assign(rows_to_settle=settled)

    def _rows_to_settle(self, pair: Pair) -> float:
        assert self.comparison is not None
        if pair.found is None or self.comparison.verdict_on(pair) != "tie":
            return math.nan
        return self._units * pair.found.more_to_settle(self.level, POWER, self.comparison.tests)

    @property
    def _units(self) -> int:
        return self._data.n_groups

    def score(self, metric: str, *, pos_label: Any = None) -> Any:
        """Return the estimate under another metric, with its interval; a dict by name with several models.

        Parameters
        ----------
        metric : str
            Name of a metric or of a scikit-learn scorer.
        pos_label : label, optional
            The positive class. By default that of the evaluation.

        Returns
        -------
        Score
            A float with the attributes ``interval`` and ``reason``.

        Examples
        --------
        >>> from truefit import evaluate
        >>> evaluation = evaluate([0, 0, 1, 1, 0, 1], [0.1, 0.4, 0.35, 0.8, 0.2, 0.9])
        >>> auc = evaluation.score("auc")
        >>> round(auc, 3), auc.interval[0] < auc < auc.interval[1]
        (0.889, True)
        """
        found = self.under(metric, pos_label=pos_label).estimates
        return self._one_or_all({name: Score(each) for name, each in found.items()})

    def under(self, metric: str, *, pos_label: Any = None) -> Evaluation:
        """Return this evaluation under another metric, with its intervals and comparisons.

        Parameters
        ----------
        metric : str
            Name of a metric or of a scikit-learn scorer.
        pos_label : label, optional
            The positive class. By default that of the evaluation.
        """
        other = super().under(metric, pos_label=pos_label)
        assert isinstance(other, Evaluation)
        for cached in ("comparison", "_known_evidence"):
            other.__dict__.pop(cached, None)
        return other

    @cached_property
    def table(self) -> pd.DataFrame:
        """One row per model: estimate, interval, and with several the difference to the reference and ties."""
        if self.comparison is not None:
            return self.comparison.table.rename_axis("model")
        return frame([{"model": name, **self._line(name)} for name in self.names], "model")

    def _line(self, name: str) -> dict[str, Any]:
        each = self.estimates[name]
        low, high = each.interval or (math.nan, math.nan)
        return {"estimate": each.value, "low": low, "high": high}

    @property
    def estimand(self) -> str:
        """What the estimate is an estimate of."""
        models = "the model" if len(self.names) == 1 else "the models"
        name = MetricText.from_name(self.metric).name
        return f"{name} on {new_rows(self._data)} of {models} that made these predictions"

    @property
    def heading(self) -> str:
        """The metric, the rows and the groups."""
        groups = "" if self._data.groups is None else f" in {counted(self._data.n_groups, 'group')}"
        weighted = "" if self._data.weight is None else ", weighted"
        return f"{MetricText.from_name(self.metric).name} on {counted(self._data.n, 'row')}{groups}{weighted}"

    def _remarks(self) -> list[str]:
        found = super()._remarks()
        if self.comparison is None:
            return found
        pairs = [f"  {pair.name}: {self.comparison._text(pair)}" for pair in self.comparison.pairs]
        return [*self.verdict, *pairs, *self.settling, *found]

    @property
    def verdict(self) -> list[str]:
        """Sentences on which model is best; none with one model."""
        return [] if self.comparison is None else self.comparison.verdict

    @property
    def settling(self) -> list[str]:
        """For each tie a sentence: how many rows would settle it, and on which assumption."""
        if self.comparison is None:
            return []
        unit = "row" if self._data.groups is None else "group"
        sentences = []
        for pair in self.comparison.pairs:
            rows = self._rows_to_settle(pair)
            if math.isnan(rows):
                continue
            if rows > _MOST_ROWS:
                sentences.append(f"{pair.name}: no number of {unit}s that can be had would settle this tie.")
            else:
                more = max(math.ceil(rows) - self._units, 1)
                sentences.append(
                    f"{pair.name}: about {_round(more):,} more {unit}s would settle this tie, if difference and spread "
                    f"stay as they are (power {POWER:.0%})."
                )
        return sentences

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        return [*super().notes, *([] if self.comparison is None else self.comparison.notes)]

    @plot_method(*(kind for kind in KINDS if kind != "time"))
    def plot(self, kind: str | None = None, *, ax: Axes | None = None, pos_label: Any = None) -> Axes:
        """Draw the estimates with their intervals, or one of the pictures of an assessment.

        Parameters
        ----------
        kind : str, optional
            By default the estimates with their intervals. "roc", "precision_recall", "calibration", "decision_curve",
            "confusion", "residuals" or "predicted".
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        pos_label : label, optional
            The positive class of a curve; by default that of the evaluation.
        """
        if kind is not None:
            return KINDS[kind](self, pos_label, ax)
        names = self.from_best_to_worst
        lines = [self._line(name) for name in names]
        columns = ([line[column] for line in lines] for column in ("estimate", "low", "high"))
        label, best = MetricText.from_name(self.metric).name, self.best if len(names) > 1 else None
        return forest(names, *columns, xlabel=label, best=best, percent=is_share(self.metric), ax=ax)

    def _page(self) -> str:
        return render_evaluation(self)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        compared = self.comparison
        return {
            "kind": "evaluation",
            "version": 1,
            "metric": self.metric,
            "rows": self._data.n,
            "groups": None if self._data.groups is None else self._data.n_groups,
            "level": self.level,
            "pos_label": plain(self.pos_label),
            "estimand": self.estimand,
            "models": [{"name": name, **self.estimates[name].to_dict()} for name in self.names],
            "best": self.best,
            "ties": self.ties,
            "differences": [] if compared is None else plain(self.differences.to_dict("records")),
            "notes": self.notes,
        }


def _round(number: int) -> int:
    """Return a number with two significant digits: it is an estimate."""
    return int(float(f"{number:.2g}"))


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
