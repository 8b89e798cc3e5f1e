"""Recall and precision of each class with intervals: the confusion matrix in shares."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from truefit._core.errors import InvalidInput
from truefit._core.typing import Array, Floats, Mask
from truefit._methods.assessment.estimate import ONE_PARTITION
from truefit._methods.predictions import ModelPredictions
from truefit._methods.result import EstimatorResult, frame, plain
from truefit._plots.forest import forest
from truefit._stats.clustered import design_effect
from truefit._stats.intervals import wilson

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

#: A confusion matrix of more classes is too large to read with its intervals.
MOST_CLASSES = 10


class PerClass(EstimatorResult):
    """Recall and precision of each class, with intervals; counts are pooled over all test sets.

    Attributes
    ----------
    names : list of str
        Names of the models.
    level : float
        Level of the intervals.
    """

    title = "Recall and precision per class"

    def __init__(
        self,
        lines: dict[str, list[dict[str, Any]]],
        cells: dict[str, list[dict[str, Any]]],
        *,
        single: bool,
        level: float,
    ) -> None:
        self.names = list(lines)
        self.single = single
        self.level = level
        self._lines = lines
        self._cells = cells

    @property
    def table(self) -> pd.DataFrame:
        """One row per model and class: rows, recall and precision with intervals, the most frequent wrong label."""
        return frame(
            [{"estimator": name, **line} for name, lines in self._lines.items() for line in lines], "estimator"
        )

    @property
    def confusion(self) -> pd.DataFrame:
        """The confusion matrix: for each true and predicted class the rows, and their share of the true class.

        It has intervals of the shares, and no lines for tables of more than 10 classes.
        """
        import pandas as pd

        found = [{"estimator": name, **cell} for name, cells in self._cells.items() for cell in cells]
        return pd.DataFrame(
            found, columns=["estimator", "class", "predicted", "rows", "share", "low", "high"]
        ).set_index("estimator")

    @property
    def heading(self) -> str:
        """What was counted."""
        rows = sum(line["rows"] for line in self._lines[self.names[0]])
        return f"Recall and precision per class on {rows:,} held-out rows"

    def summary(self) -> str:
        """Return recall and precision of each class."""
        lines = [self.heading]
        for name, found in self._lines.items():
            lines += [f"  {name}, class {each['class']!r}: {_text(each)}" for each in found]
        return "\n".join(lines)

    def plot(self, *, ax: Axes | None = None) -> Axes:
        """Draw the recall of each class with its interval.

        Parameters
        ----------
        ax : matplotlib Axes, optional
            Where to draw. A new figure by default, which a notebook displays.
        """
        found = self.table
        names = [str(label) if self.single else f"{name}, {label}" for name, label in found["class"].items()]
        return forest(
            names, found["recall"], found["recall_low"], found["recall_high"], xlabel="recall", percent=True, ax=ax
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain JSON types."""
        return {
            "kind": "per_class",
            "version": 1,
            "level": self.level,
            "models": [
                {"name": name, **plain(line)} for name, lines in self._lines.items() for line in lines
            ],
            "confusion": [
                {"name": name, **plain(cell)} for name, cells in self._cells.items() for cell in cells
            ],
        }  # fmt: skip


def _text(line: Mapping[str, Any]) -> str:
    parts = [
        f"{rate} {line[rate]:.1%} ({line[f'{rate}_low']:.1%} to {line[f'{rate}_high']:.1%})"
        for rate in ("recall", "precision")
        if np.isfinite(line[rate])
    ]
    return ", ".join([*parts, f"{line['rows']:,} rows"])


def per_class_of(predictions: Mapping[str, ModelPredictions], *, single: bool, level: float) -> PerClass:
    """Return recall and precision of each class of one or several models from their held-out predictions."""
    lines, cells = {}, {}
    for name, own in predictions.items():
        if own.classes is None:
            raise InvalidInput("Recall per class is of a classification. This is a regression; use calibration().")
        if own.predicted is None:
            raise InvalidInput("Recall per class needs predicted labels. Got probabilities or scores only.")
        labels = own.classes.tolist()
        lines[name] = [_line(own, label, level) for label in labels]
        few = labels if len(labels) <= MOST_CLASSES else []
        cells[name] = [_cell(own, true, called, level) for true in few for called in few]
    return PerClass(lines, cells, single=single, level=level)


def _cell(own: ModelPredictions, label: Any, predicted: Any, level: float) -> dict[str, Any]:
    assert own.predicted is not None
    true, called = own.y == label, own.predicted == predicted
    share, low, high = share_of(own, true, called, level)
    rows = int((true & called).sum())
    return {"class": label, "predicted": predicted, "rows": rows, "share": share, "low": low, "high": high}


def _line(own: ModelPredictions, label: Any, level: float) -> dict[str, Any]:
    assert own.predicted is not None
    true, called = own.y == label, own.predicted == label
    line: dict[str, Any] = {"class": label, "rows": int(true.sum())}
    for rate, among, right in (("recall", true, called), ("precision", called, true)):
        share, low, high = share_of(own, among, right, level)
        line |= {rate: share, f"{rate}_low": low, f"{rate}_high": high}
    wrong, counts = np.unique(own.predicted[true & ~called], return_counts=True)
    line["most_often_called"] = wrong.tolist()[int(np.argmax(counts))] if len(wrong) else None
    return line


def share_of(own: ModelPredictions, among: Mask, right: Mask, level: float) -> tuple[float, float, float]:
    """Return the share of some rows that are right, with Wilson's interval at the effective number of rows."""
    if not among.any():
        return float("nan"), float("nan"), float("nan")
    hits = right[among].astype(np.float64)
    weight: Floats = np.ones(len(hits)) if own.weight is None else own.weight[among]
    if not weight.any():
        return float("nan"), float("nan"), float("nan")
    size = float(weight.sum() ** 2 / np.square(weight).sum())
    groups: Array | None = None if own.groups is None else own.groups[among]
    units = 1 if groups is None else len(np.unique(groups))
    if groups is not None and units > 1:
        size /= design_effect(hits, groups)
    factor = 1.0 if own.folds is None else ONE_PARTITION
    share = float(np.average(hits, weights=weight))
    return share, *wilson(share, size / factor**2, level, df=units - 1 if units > 1 else None)
