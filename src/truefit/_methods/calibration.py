"""Calibration: whether predicted probabilities, or numbers, agree with what is observed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats
from truefit._methods.assessment.estimate import ONE_PARTITION
from truefit._methods.predictions import ModelPredictions
from truefit._methods.result import EstimatorResult, frame, plain
from truefit._methods.text import number, percent
from truefit._plots.calibration import Reliability
from truefit._plots.calibration import calibration as draw_calibration
from truefit._plots.forest import forest
from truefit._stats.calibration import CalibrationEstimate
from truefit._stats.calibration import calibration as estimate_calibration

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: Estimates by the class that the probabilities are of; one, under None, for a regression.
Classes = Mapping[Any, CalibrationEstimate]


def _of_each(attribute: str, text: str) -> property:
    """Return a property: a number of one model, or a dict by name; of several classes a dict by class."""

    def get(self: Calibration) -> Any:
        return self._one_or_all({
            name: self._one_class({label: getattr(each, attribute) for label, each in classes.items()})
            for name, classes in self.estimates.items()
        })  # fmt: skip

    return property(get, doc=text)


class Calibration(EstimatorResult):
    """Whether predictions agree with what is observed, from predictions of rows that the models were not trained on.

    With one model a number is a float, with several a dict by name; for more than two classes each is a dict by class,
    one class against the rest. Rows of all folds are pooled.

    Attributes
    ----------
    names : list of str
        Names of the models.
    task : str
        "classification" or "regression".
    level : float
        Level of the intervals and bands.
    estimates : dict
        All numbers by name and class.
    """

    title = "Calibration"

    def __init__(
        self,
        estimates: dict[str, Classes],
        predicted: dict[str, Mapping[Any, Floats]],
        *,
        single: bool,
        level: float,
        of_folds: bool,
    ) -> None:
        self.names = list(estimates)
        self.single = single
        self.level = level
        self.estimates = estimates
        self._predicted = predicted
        self._of_folds = of_folds
        self.labels = list(next(iter(estimates.values())))
        self.task = "regression" if self.labels == [None] else "classification"

    def _one_class(self, by_class: dict[Any, Any]) -> Any:
        return by_class if len(self.labels) > 1 else by_class[self.labels[0]]

    slope = _of_each("slope", "Calibration slope: 1 is ideal, below 1 predictions are too extreme (overfitting).")
    slope_interval = _of_each("slope_interval", "Interval of the slope, or None where there is no slope.")
    intercept = _of_each("intercept", "Intercept of the regression that gives the slope: 0 is ideal.")
    intercept_interval = _of_each("intercept_interval", "Interval of the intercept, or None.")
    in_the_large = _of_each(
        "in_the_large",
        "Calibration-in-the-large: the intercept with the slope held at 1. 0 is ideal; above 0 predictions are too low "
        "on average. In log-odds for probabilities.",
    )
    in_the_large_interval = _of_each("in_the_large_interval", "Interval of calibration-in-the-large.")
    ece = _of_each(
        "ece", "Expected calibration error: mean ``|observed - predicted|`` over 10 bins of equally many rows."
    )
    ece_expected = _of_each("ece_expected", "The expected calibration error that chance gives calibrated predictions.")
    ici = _of_each("ici", "Integrated calibration index: mean of ``|smooth curve - prediction|`` over the rows.")
    decomposition = _of_each(
        "parts", "Score (Brier, or mean squared error), and its miscalibration - discrimination + uncertainty."
    )
    reason = _of_each("reason", "Why there is no slope, or None.")

    @property
    def curve(self) -> Any:
        """The smooth curve as a frame: predicted, observed, low, high (a pointwise band)."""
        return self._one_or_all({
            name: self._one_class({label: _frame_of(each) for label, each in classes.items()})
            for name, classes in self.estimates.items()
        })  # fmt: skip

    @property
    def table(self) -> pd.DataFrame:
        """One row per model, and per class where there are more than two."""
        return frame(
            [
                {"estimator": name, **({"class": label} if len(self.labels) > 1 else {}), **_line(each)}
                for name, classes in self.estimates.items()
                for label, each in classes.items()
            ],
            "estimator",
        )

    @property
    def heading(self) -> str:
        """What was compared."""
        what = "true on predicted numbers" if self.task == "regression" else "predicted probabilities"
        if len(self.labels) == 1 and self.labels[0] is not None:
            what += f" of class {self.labels[0]!r}"
        rows = next(iter(next(iter(self.estimates.values())).values())).rows
        return f"Calibration of {what} on {rows:,} held-out rows"

    def summary(self) -> str:
        """Return slope, intercept, calibration-in-the-large and errors of each model, and of each class."""
        lines = [self.heading]
        for name, classes in self.estimates.items():
            for label, each in classes.items():
                who = name if len(self.labels) == 1 else f"{name}, class {label!r}"
                lines.append(f"  {who}: {self._numbers(each)}")
        return "\n".join([*lines, *(f"Note: {note}" for note in self.notes)])

    def _numbers(self, each: CalibrationEstimate) -> str:
        slope = f"no slope ({each.reason})" if each.reason else f"slope {_ends(each.slope, each.slope_interval)}"
        share = number if self.task == "regression" else percent
        return (
            f"{slope}; in the large {_ends(each.in_the_large, each.in_the_large_interval)}; calibration error "
            f"{share(each.ece)} ({share(each.ece_expected)} by chance alone)"
        )

    @property
    def notes(self) -> list[str]:
        """What a reader should know about these numbers."""
        notes = ["A slope of 1 and a value in the large of 0 are ideal."]
        if self._of_folds:
            notes.append(
                "Rows of all test sets are pooled. Intervals from one partition do not include the variance of the "
                "learner itself: for an unstable learner, such as a single tree, they are too narrow."
            )
        extreme = {(name, label): each for name, classes in self.estimates.items() for label, each in classes.items()}
        (name, label), most = max(extreme.items(), key=lambda item: item[1].extreme)
        if most.extreme:
            of_model = f" of {name}" if len(self.names) > 1 else ""
            of_class = f" for class {label!r}" if len(self.labels) > 1 else ""
            notes.append(
                f"{most.extreme:,} of {most.rows:,} predicted probabilities{of_model}{of_class} are exactly 0 or 1. "
                "Their log-odds are infinite; slope and intercept take them as half a row of all, 1 / (2n), from there."
            )
        return notes

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw what is observed over what is predicted; for more than two classes the slope of each.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        if len(self.labels) > 1:
            found = self.table
            names = [str(label) if self.single else f"{name}, {label}" for name, label in found["class"].items()]
            return forest(
                names, found["slope"], found["slope_low"], found["slope_high"], xlabel="calibration slope", ax=ax
            )
        label = self.labels[0]
        curves = []
        for name in self.names:
            each = self.estimates[name][label]
            bins = (each.bins.predicted, each.bins.observed, each.bins.low, each.bins.high)
            curves.append(Reliability(self._predicted[name][label], bins, each.curve, each.parts.score))
        return draw_calibration(
            self.names,
            curves,
            level=self.level,
            probabilities=self.task == "classification",
            title="Brier score" if self.task == "classification" else "mean squared error",
            ax=ax,
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "calibration",
            "version": 1,
            "task": self.task,
            "level": self.level,
            "models": [
                {"name": name, "class": plain(label), **plain(_line(each)), "rows": each.rows, "reason": each.reason}
                for name, classes in self.estimates.items()
                for label, each in classes.items()
            ],
            "notes": self.notes,
        }


def _frame_of(each: CalibrationEstimate) -> pd.DataFrame:
    import pandas as pd

    empty = dict.fromkeys(("predicted", "observed", "low", "high"), np.empty(0))
    return pd.DataFrame(empty if each.curve is None else each.curve._asdict())


def _line(each: CalibrationEstimate) -> dict[str, Any]:
    line: dict[str, Any] = {}
    for key in ("slope", "intercept", "in_the_large"):
        low, high = getattr(each, f"{key}_interval") or (math.nan, math.nan)
        line |= {key: getattr(each, key), f"{key}_low": low, f"{key}_high": high}
    line |= {"ece": each.ece, "ece_expected": each.ece_expected, "ici": each.ici}
    return line | each.parts._asdict()


def _ends(value: float, interval: tuple[float, float] | None) -> str:
    # Rounding first, and 0 added, leaves no minus at 0.
    middle, *ends = (f"{round(each, 2) + 0.0:.2f}" for each in (value, *(interval or ())))
    return f"{middle} ({' to '.join(ends)})" if ends else middle


def calibration_of(
    predictions: Mapping[str, ModelPredictions], *, single: bool, level: float, pos_label: Any = None
) -> Calibration:
    """Return the calibration of one or several models from their held-out predictions."""
    estimates: dict[str, Classes] = {}
    values: dict[str, Mapping[Any, Floats]] = {}
    for name, own in predictions.items():
        pairs = _pairs(own, pos_label)
        estimates[name] = {
            label: estimate_calibration(
                y,
                predicted,
                probabilities=own.classes is not None,
                weight=own.weight,
                groups=own.groups,
                factor=1.0 if own.folds is None else ONE_PARTITION,
                level=level,
            )
            for label, (y, predicted) in pairs.items()
        }
        values[name] = {label: predicted for label, (_, predicted) in pairs.items()}
    of_folds = any(own.folds is not None for own in predictions.values())
    return Calibration(estimates, values, single=single, level=level, of_folds=of_folds)


def _pairs(own: ModelPredictions, pos_label: Any) -> dict[Any, tuple[Array, Floats]]:
    """Return truth and prediction by the class that they are of: the positive one of two, each of several."""
    if own.classes is None:
        if own.y.ndim > 1 or own.predicted is None:
            raise InvalidInput(
                "The calibration of a regression needs one number per row, and its prediction. Got "
                f"{'no predictions' if own.predicted is None else f'{own.y.shape[1]} columns of targets'}."
            )
        predicted = np.asarray(own.predicted, dtype=np.float64)
        if not np.isfinite(predicted).all():
            raise InvalidInput(
                f"Calibration needs a finite prediction for every row. Got {int((~np.isfinite(predicted)).sum())} NaN "
                f"or infinite of {len(predicted)}; drop these rows, or predict them."
            )
        return {None: (own.y, predicted)}
    places = range(len(own.classes)) if len(own.classes) > 2 else [own.positive(pos_label)]
    labels = own.classes.tolist()
    return {labels[place]: own.chance_of(place, "Calibration") for place in places}
