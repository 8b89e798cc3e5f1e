"""Summary: coverage, width and refusals of each method in each setting, from the lines of the store."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.methods import WALD, Method, methods_for
from benchmarks.coverage.settings import SETTINGS, Setting


@dataclass(frozen=True)
class Cell:
    """One method in one setting. Coverage and width are over the repetitions in which an interval was given."""

    setting: Setting
    method: Method
    repetitions: int
    given: int
    this_model: float
    average: float
    width: float
    width_ratio: float
    bias: float

    @property
    def refused(self):
        return self.repetitions - self.given


@dataclass(frozen=True)
class Truth:
    """What is true in a setting: the mean error of its models, how much it varies, and against what noise."""

    mean: float
    sd: float
    movement: float


def cells(lines):
    """Return a cell for each setting and method that has lines, in the order in which both are listed."""
    found = []
    for setting in SETTINGS:
        averages = average_truths(setting, lines)
        for method in methods_for(setting):
            those = lines.get((setting.name, method.name))
            if those and method.target in averages:
                wald = lines.get((setting.name, WALD), ())
                found.append(_cell(setting, method, those, averages[method.target], wald))
    return found


def _cell(setting, method, lines, average, wald):
    given = [line for line in lines if line.low is not None]
    low, high, truth, estimate = (
        np.array([getattr(line, name) for line in given]) for name in ("low", "high", "truth", "estimate")
    )
    nothing = not given
    width = float("nan") if nothing else float(np.mean(high - low))
    return Cell(
        setting,
        method,
        repetitions=len(lines),
        given=len(given),
        this_model=float("nan") if nothing else float(np.mean((low <= truth) & (truth <= high))),
        average=float("nan") if nothing else float(np.mean((low <= average) & (average <= high))),
        width=width,
        width_ratio=width / _width_in({line.repetition for line in given}, wald),
        bias=float("nan") if nothing else float(np.mean(estimate - truth)),
    )


def _width_in(repetitions, wald):
    """Mean width of the yardstick over the same repetitions, so that chance in the samples cancels."""
    widths = [line.high - line.low for line in wald if line.repetition in repetitions and line.low is not None]
    return float(np.mean(widths)) if widths else float("nan")


def average_truths(setting, lines):
    """Return, for each target, the mean truth over the repetitions of the method that has most of them."""
    found = {}
    for method in methods_for(setting):
        truths = [line.truth for line in lines.get((setting.name, method.name), ()) if line.truth is not None]
        if truths and len(truths) > found.get(method.target, (0, 0.0))[0]:
            found[method.target] = len(truths), float(np.mean(truths))
    return {target: mean for target, (_, mean) in found.items()}


def truth_of(setting, lines):
    """Return what is true in a setting of kind "error", or None while it has no repetitions."""
    wald = lines.get((setting.name, WALD), ())
    truths = np.array([line.truth for line in wald if line.truth is not None])
    if len(truths) < 2:
        return None
    # Wald's width is 2 · 1.96 times the noise of the mean of n losses.
    noise = _width_in({line.repetition for line in wald}, wald) / 3.92
    return Truth(float(truths.mean()), float(truths.std(ddof=1)), float(truths.std(ddof=1) / noise))
