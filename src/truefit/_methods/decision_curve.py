"""Decision curve: the net benefit of acting where the predicted probability reaches a threshold."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Floats, Positions
from truefit._methods.assessment.estimate import ONE_PARTITION
from truefit._methods.predictions import ModelPredictions
from truefit._methods.result import EstimatorResult, plain
from truefit._plots.classification import decision_curves
from truefit._stats.paired import PairedDifference
from truefit._stats.thresholds import contributions, mean_interval, paired

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Thresholds of the curve where none are given.
DEFAULT_THRESHOLDS = np.linspace(0.01, 0.99, 99)
#: So many thresholds are written one by one.
FEW = 5


class DecisionCurve(EstimatorResult):
    """Net benefit of one or several models over thresholds, beside treating all rows and none.

    At a threshold t a false positive weighs t / (1 - t) as much as a true positive. Rows of all folds are pooled, and
    the band is pointwise. The net benefit of treating none is 0.

    Attributes
    ----------
    names : list of str
        Names of the models.
    thresholds : ndarray
        Thresholds on the probability of the positive class.
    pos_label : label
        The positive class.
    level : float
        Level of the bands.
    """

    title = "Decision curve"

    def __init__(
        self,
        rows: Mapping[str, tuple[Floats, Floats]],
        thresholds: Floats,
        weight: Floats | None,
        groups: Positions | None,
        *,
        single: bool,
        level: float,
        factor: float,
        pos_label: Any,
    ) -> None:
        self.names = list(rows)
        self.single = single
        self.level = level
        self.thresholds = thresholds
        self.pos_label = pos_label
        self._rows, self._weight, self._groups, self._factor = rows, weight, groups, factor
        self._truth = next(iter(rows.values()))[0]
        self._curves = {name: self._curve(*pair, factor) for name, pair in rows.items()}
        self._all = self._curve(self._truth, np.ones_like(self._truth), 1.0)

    def _curve(self, y01: Floats, p: Floats, factor: float) -> Floats:
        """Return net benefit and the ends of its interval, a column for each threshold."""
        found = []
        for threshold in self.thresholds.tolist():
            benefit, ends = mean_interval(
                contributions(y01, p, threshold), self._weight, self._groups, factor=factor, level=self.level
            )
            found.append((benefit, *(ends or (math.nan, math.nan))))
        return np.array(found).T

    @property
    def treat_all(self) -> Floats:
        """Net benefit of treating all rows, at each threshold."""
        return np.asarray(self._all[0])

    @property
    def net_benefit(self) -> Any:
        """Net benefit at each threshold; a dict by name with several models."""
        return self._one_or_all({name: curve[0] for name, curve in self._curves.items()})

    @property
    def table(self) -> pd.DataFrame:
        """A row for each model and threshold: net benefit with its interval, and that of treating all rows."""
        import pandas as pd

        columns = ("net_benefit", "low", "high")
        parts = [
            pd.DataFrame(
                {"estimator": name, "threshold": self.thresholds, **dict(zip(columns, curve, strict=True))}
                | {"treat_all": self._all[0]}
            )
            for name, curve in self._curves.items()
        ]
        return pd.concat(parts, ignore_index=True).set_index("estimator")

    def difference(self, first: str, second: str, threshold: float) -> PairedDifference:
        """Return the paired difference of two models' net benefit at a threshold, with ``interval()`` and ``p``.

        Parameters
        ----------
        first, second : str
            Names of the models: the net benefit of the first minus that of the second.
        threshold : float
            Threshold on the probability.
        """
        (at,) = checked_thresholds([threshold])
        for name in (first, second):
            if name not in self._rows:
                raise InvalidInput(f"A model must be one of {', '.join(map(repr, self.names))}. Got {name!r}.")
        own, other = (contributions(*self._rows[name], float(at)) for name in (first, second))
        return paired(own, other, self._weight, self._groups, self._factor)

    @property
    def heading(self) -> str:
        """What was computed."""
        share = float(np.average(self._truth, weights=self._weight))
        return f"Net benefit on {len(self._truth):,} held-out rows, {share:.1%} of them of class {self.pos_label!r}"

    def _text(self, name: str) -> str:
        if len(self.thresholds) <= FEW:
            return ", ".join(map(_at, self.thresholds.tolist(), *self._curves[name].tolist()))
        own, reference = self._curves[name][0], np.maximum(self._all[0], 0)
        better = self.thresholds[self._curves[name][1] > reference]
        if not len(better):
            return "its band is nowhere above both treating all and treating none"
        middle = len(self.thresholds) // 2
        return (
            f"its band is above treating all and none at thresholds from {better.min():.0%} to {better.max():.0%}; "
            f"{own[middle]:.3f} at {self.thresholds[middle]:.0%}"
        )

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        return [
            "the band is pointwise."
            if self._factor == 1
            else "rows of all test sets are pooled; the band is pointwise."
        ]

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw net benefit over the thresholds, with the band of a single model.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        curves = [(curve[0], curve[1], curve[2]) for curve in self._curves.values()]
        return decision_curves(self.names, self.thresholds, curves, self.treat_all, level=self.level, ax=ax)

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "decision_curve",
            "version": 1,
            "level": self.level,
            "pos_label": plain(self.pos_label),
            "thresholds": plain(self.thresholds),
            "treat_all": plain(self.treat_all),
            "models": [
                {"name": name, "net_benefit": plain(curve[0]), "low": plain(curve[1]), "high": plain(curve[2])}
                for name, curve in self._curves.items()
            ],
            "notes": self.notes,
        }


def _at(threshold: float, benefit: float, low: float, high: float) -> str:
    ends = "" if math.isnan(low) else f" ({low:.3f} to {high:.3f})"
    return f"{benefit:.3f}{ends} at {threshold:g}"


def checked_thresholds(thresholds: Any) -> Floats:
    """Return thresholds on a probability as an array, or say what is wrong with them."""
    if thresholds is None:
        return DEFAULT_THRESHOLDS
    try:
        found = np.atleast_1d(np.asarray(thresholds, dtype=np.float64))
    except (TypeError, ValueError):
        found = np.array([math.nan])
    if found.ndim != 1 or not found.size or not ((found > 0) & (found < 1)).all():
        raise InvalidInput(
            f"Thresholds must be probabilities between 0 and 1, such as [0.1, 0.2]. Got {thresholds!r} instead."
        )
    return found


def decision_curve_of(
    predictions: Mapping[str, ModelPredictions], *, thresholds: Any, single: bool, level: float, pos_label: Any = None
) -> DecisionCurve:
    """Return the decision curve of one or several models from their held-out predictions of the same rows."""
    at = checked_thresholds(thresholds)
    first = next(iter(predictions.values()))
    place = first.positive(pos_label)
    assert first.classes is not None
    rows = {name: own.chance_of(place, "A decision curve") for name, own in predictions.items()}
    codes = None if first.groups is None else np.unique(first.groups, return_inverse=True)[1]
    factor = 1.0 if first.folds is None else ONE_PARTITION
    positive = first.classes.tolist()[place]
    return DecisionCurve(rows, at, first.weight, codes, single=single, level=level, factor=factor, pos_label=positive)
