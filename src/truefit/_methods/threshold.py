"""Threshold: above which predicted probability a row is called positive, chosen by a rule and evaluated nested."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats, Positions
from truefit._methods.per_class import share_of
from truefit._methods.predictions import ModelPredictions
from truefit._methods.result import EstimatorResult, plain
from truefit._methods.text import percent, threshold_text
from truefit._plots.forest import forest
from truefit._stats.thresholds import Judged, Rates, Rule, judge

if TYPE_CHECKING:
    from matplotlib.axes import Axes

RATES = ("sensitivity", "specificity", "precision")
#: Factor on the error of rates from several models that share training rows; the choice is in the error already.
CHOSEN = 1.1
#: Folds of the rows where the predictions come from one test set.
FOLDS = 5


def _rate(place: int, text: str) -> tuple[property, property]:
    def value(self: Threshold) -> Any:
        return self._one_or_all({name: float(each.rates[place]) for name, each in self.judged.items()})

    def interval(self: Threshold) -> Any:
        return self._one_or_all({name: each.intervals[place] for name, each in self.judged.items()})

    return property(value, doc=text), property(interval, doc=f"Interval of the {RATES[place]}.")


class Threshold(EstimatorResult):
    """Threshold chosen by a rule on all rows, with the rates to expect of it on new rows.

    For the rates the threshold of each fold was chosen on the other folds and applied to the fold; counts are pooled
    over the folds. The intervals include the uncertainty of the choice. With one model a number is a float, with
    several a dict by name.

    Attributes
    ----------
    names : list of str
        Names of the models.
    rule : str
        The rule in words.
    pos_label : label
        The positive class.
    level : float
        Level of the intervals.
    judged : dict
        All numbers by name.
    """

    title = "Decision threshold"

    def __init__(
        self, judged: dict[str, Judged], rule: Rule, *, single: bool, level: float, pos_label: Any, rows: int, part: str
    ) -> None:
        self.names = list(judged)
        self.single = single
        self.level = level
        self.rule = rule_text(rule)
        self._given = rule.name == "given"
        self.pos_label = pos_label
        self.judged = judged
        self._rows, self._part = rows, part

    @property
    def threshold(self) -> Any:
        """The threshold: a row is called positive where its probability is at least as high."""
        return self._each("threshold", self.judged)

    sensitivity, sensitivity_interval = _rate(0, "Share of the positive rows that are called positive (recall).")
    specificity, specificity_interval = _rate(1, "Share of the negative rows that are called negative.")
    precision, precision_interval = _rate(2, "Share of the rows called positive that are positive.")

    def _line(self, name: str) -> dict[str, Any]:
        each = self.judged[name]
        line: dict[str, Any] = {"threshold": each.threshold}
        for rate, value, (low, high) in zip(RATES, each.rates, each.intervals, strict=True):
            line |= {rate: float(value), f"{rate}_low": low, f"{rate}_high": high}
        return line

    @property
    def heading(self) -> str:
        """What was chosen, and how."""
        how = self.rule if self._given else f"by {self.rule}"
        return f"Threshold {how}, class {self.pos_label!r}, on {self._rows:,} held-out rows"

    def _text(self, name: str) -> str:
        each = self.judged[name]
        rates = [
            f"{rate} {percent(float(value))} ({percent(low)} to {percent(high)})"
            for rate, value, (low, high) in zip(RATES, each.rates, each.intervals, strict=True)
            if np.isfinite(value)
        ]
        return f"{threshold_text(each.threshold)}: {', '.join(rates)}"

    def _remarks(self) -> list[str]:
        if self._given:
            return [f"The threshold was given, not chosen; {self.level:.0%} confidence intervals."]
        return [
            f"Each {self._part} by a threshold chosen on the others; {self.level:.0%} confidence intervals that "
            "include the choice."
        ]

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        notes = []
        for name, each in self.judged.items():
            missed = int((~each.reached_without).sum())
            if missed:
                notes.append(
                    f"{name}: without {missed} of {len(each.reached_without)} {self._part.split()[0]}s the requirement "
                    "is not reached; the highest precision was taken there."
                )
        return notes

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the rates with their intervals.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        names = [rate if self.single else f"{name}, {rate}" for name in self.names for rate in RATES]
        values = [float(rate) for each in self.judged.values() for rate in each.rates]
        lows, highs = zip(*(ends for each in self.judged.values() for ends in each.intervals), strict=True)
        return forest(names, values, lows, highs, xlabel=f"rate at the threshold by {self.rule}", percent=True, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "threshold",
            "version": 1,
            "rule": self.rule,
            "pos_label": plain(self.pos_label),
            "level": self.level,
            "models": [
                {"name": name, **plain(self._line(name)), "of_folds": plain(each.of_folds)}
                for name, each in self.judged.items()
            ],
            "notes": self.notes,
        }


def rule_text(rule: Rule) -> str:
    """Return a rule in words.

    >>> rule_text(Rule("youden")), rule_text(Rule("cost", costs=(5.0, 1.0)))
    ("Youden's index", 'cost (a false negative 5, a false positive 1)')
    >>> rule_text(Rule("sensitivity", 0.9))
    'sensitivity of at least 90%'
    """
    if rule.name == "youden":
        return "Youden's index"
    if rule.name == "given":
        return f"{rule.value:g}, as given"
    if rule.name == "cost":
        return f"cost (a false negative {rule.costs[0]:g}, a false positive {rule.costs[1]:g})"
    return f"{rule.name} of at least {100 * rule.value:g}%"


def read_rule(rule: Any) -> Rule:
    """Return the rule that was given, or say what a rule is."""
    if isinstance(rule, str) and rule == "youden":
        return Rule("youden")
    if isinstance(rule, int | float) and not isinstance(rule, bool) and 0 < rule < 1:
        return Rule("given", float(rule))
    if isinstance(rule, Mapping) and len(rule) == 1:
        ((name, value),) = rule.items()
        if name == "cost" and isinstance(value, tuple | list) and len(value) == 2:
            try:
                costs = float(value[0]), float(value[1])
            except (TypeError, ValueError):
                costs = (-1.0, -1.0)
            if min(costs) >= 0 and 0 < max(costs) < np.inf:
                return Rule("cost", costs=costs)
        elif name in RATES and isinstance(value, int | float) and 0 < value <= 1:
            return Rule(name, float(value))
    raise InvalidInput(
        'The \'rule\' of a threshold must be "youden", {"sensitivity": 0.9}, {"specificity": 0.9}, {"precision": 0.8} '
        f'(a share up to 1), {{"cost": (false_negative, false_positive)}} with two costs, or a threshold between 0 '
        f"and 1. Got {rule!r} instead."
    )


def threshold_of(
    predictions: Mapping[str, ModelPredictions], *, rule: Any, single: bool, level: float, pos_label: Any = None
) -> Threshold:
    """Return the threshold of one or several models by a rule, evaluated on folds that had no part in the choice."""
    wanted = read_rule(rule)
    judged, label, rows, part = {}, None, 0, "fold"
    for name, own in predictions.items():
        place = own.positive(pos_label)
        assert own.classes is not None
        label, rows = own.classes.tolist()[place], len(own.y)
        y01, p = own.chance_of(place, "A threshold")
        if wanted.name == "given":
            judged[name] = _at(own, y01, p, wanted.value, level)
            continue
        groups = None if own.groups is None else np.unique(own.groups, return_inverse=True)[1]
        part = "part of the rows" if _own_folds(own) is None else "fold"
        found = judge(
            y01, p, wanted, _folds(own, y01, groups),
            weight=own.weight, groups=groups, factor=1.0 if own.folds is None else CHOSEN, level=level,
        )  # fmt: skip
        if not found.reached:
            raise InvalidInput(
                f"No threshold reaches a precision of {100 * wanted.value:g}% for {name}: the highest is "
                f"{percent(found.best_precision)}. Require less, or use a better model."
            )
        judged[name] = found
    return Threshold(judged, wanted, single=single, level=level, pos_label=label, rows=rows, part=part)


def _at(own: ModelPredictions, y01: Floats, p: Floats, threshold: float, level: float) -> Judged:
    """Return the rates at a threshold that had no part in the rows: pooled shares with their intervals."""
    positive, called = y01 == 1, p >= threshold
    shares = [
        share_of(own, among, right, level)
        for among, right in ((positive, called), (~positive, ~called), (called, positive))
    ]
    rates = Rates(*(np.asarray(share) for share, _, _ in shares))
    ends = tuple((0.0, 1.0) if np.isnan(low) else (low, high) for _, low, high in shares)
    return Judged(threshold, rates, ends, np.empty(0), True, np.empty(0, dtype=bool), float("nan"))


def _own_folds(own: ModelPredictions) -> Positions | None:
    """Return the test folds of the models, if these are several, of more than a row each."""
    if own.folds is None:
        return None
    names, folds = np.unique(own.folds, return_inverse=True)
    return np.asarray(folds, dtype=np.intp) if 1 < len(names) <= len(own.y) // 2 else None


def _folds(own: ModelPredictions, y01: Floats, groups: Positions | None) -> Positions:
    """Return the fold of each row: that of the models, or else one of five random ones, stratified or of groups."""
    folds = given = _own_folds(own)
    if folds is None:
        rng = np.random.default_rng(0)
        if groups is not None:
            folds = (rng.permutation(int(groups.max()) + 1) % FOLDS)[groups]
        else:
            folds = np.empty(len(y01), dtype=np.intp)
            for value in (0.0, 1.0):
                rows = np.flatnonzero(y01 == value)
                folds[rng.permutation(rows)] = np.arange(len(rows)) % FOLDS
        folds = np.unique(folds, return_inverse=True)[1]
    for fold in range(int(folds.max()) + 1):
        rest = y01[folds != fold]
        if not 0 < rest.sum() < len(rest):
            part, advice = (f"of {FOLDS} parts of the rows", "") if given is None else ("fold", ", or other folds")
            raise InvalidInput(
                f"A threshold is chosen without each {part}, and needs rows of both classes there. Got one with all "
                f"rows of a class; use more rows{advice}."
            )
    return folds
