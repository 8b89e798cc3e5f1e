"""Targets: what the recommended intervals must show."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from benchmarks.coverage.methods import DEFAULTS, TRIANGLE

MEAN, ENOUGH, SHARE_ENOUGH, WORST, WIDTH = (0.94, 0.975), 0.93, 0.80, 0.90, 1.3


@dataclass(frozen=True)
class Verdict:
    """A target, what was seen, and whether that meets it."""

    what: str
    wanted: str
    seen: str
    met: bool


def verdicts(cells):
    """Judge the methods that have targets, on coverage of the error of this model."""
    found = []
    for name in (TRIANGLE, *DEFAULTS):
        mine = [cell for cell in cells if cell.method.name == name]
        if name != TRIANGLE:
            mine = [cell for cell in mine if not cell.setting.unstable]
        if mine:
            found += _judged(mine, "all settings" if name == TRIANGLE else "stable settings")
    return found


def _judged(cells, where):
    label = cells[0].method.label
    coverage = np.array([cell.this_model for cell in cells])
    mean, share, worst = coverage.mean(), np.mean(coverage >= ENOUGH), coverage.min()
    widths = [cell.width_ratio for cell in cells if not cell.setting.unstable] or [float("nan")]
    width = np.mean(widths)
    low = ", ".join(f"{cell.setting.name} {cell.this_model:.1%}" for cell in cells if cell.this_model < WORST)
    seen = f"{worst:.1%}; below 90%: {low}" if low else f"{worst:.1%}"
    return [
        Verdict(f"{label}: mean coverage, {where}", "94% to 97.5%", f"{mean:.1%}", MEAN[0] <= mean <= MEAN[1]),
        Verdict(f"{label}: {where} of at least 93%", "80% of them", f"{share:.0%}", share >= SHARE_ENOUGH),
        Verdict(f"{label}: lowest, {where}", "at least 90%", seen, worst >= WORST),
        Verdict(f"{label}: width, stable settings", "at most 1.3 × Wald", f"{width:.2f} × Wald", width <= WIDTH),
    ]
