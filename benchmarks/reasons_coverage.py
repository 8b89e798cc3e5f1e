"""Why intervals of diagnostics of predictions cover more than 95%: the same samples with narrower intervals.

    python -m benchmarks.reasons_coverage --repetitions 100 --workers 16 --out reasons_coverage.jsonl \
        --page docs/coverage-reasons.md

The settings are those of ``benchmarks.predictions_coverage``, the samples are others, and thresholds are chosen on 100
bootstrap samples instead of 400. Each interval is computed as truefit gives it, and narrower in two ways.
"""

from __future__ import annotations

import sys
import time
import warnings
from contextlib import ExitStack, contextmanager
from unittest import mock

import numpy as np

from benchmarks.coverage_runs import command, how_made, versions
from benchmarks.predictions_coverage import (
    QUANTITIES,
    SETTINGS,
    Given,
    by_level,
    by_threshold,
    calibrated,
    cells,
    chosen,
    sampled,
)
from truefit._methods import calibration, decision_curve, subgroups
from truefit._stats import thresholds

#: Intervals as they are given; with a smaller factor, and not extended; without a factor, and not extended.
METHODS = ("truefit", "narrower", "narrowest")
FACTORS = {"narrower": 1.1, "narrowest": 1.0}
DRAWS = 100


@contextmanager
def factor(value):
    """Change the factor on the standard errors of out-of-fold predictions, for an AUC by three quarters of it."""
    with ExitStack() as stack:
        for module in (calibration, decision_curve, subgroups):
            stack.enter_context(mock.patch.object(module, "ONE_PARTITION", value))
        stack.enter_context(mock.patch.object(subgroups, "RANKED", 1 + 0.75 * (value - 1)))
        yield


def measured(place, repetition):
    """Draw one sample, and return a line of the file: all intervals and the truth of each quantity."""
    warnings.simplefilter("ignore")
    began, setting = time.process_time(), SETTINGS[place]
    sample = sampled(setting, np.random.default_rng([2, place, repetition]))
    given = Given(sample.own)

    def diagnosed():
        return calibrated(given, sample) | by_threshold(given, sample) | by_level(given, sample)

    found = diagnosed()
    for method, value in FACTORS.items():
        with factor(value):
            for name, cases in diagnosed().items():
                for case, other in zip(found[name], cases, strict=True):
                    case[method] = other["truefit"]
    line = {"setting": setting.name, "repetition": repetition, "found": found | _chosen(given, sample)}
    return line | {"cpu_seconds": round(time.process_time() - began, 3), "versions": versions()}


def _chosen(given, sample):
    """Return the rates at chosen thresholds; the narrower intervals are those before they are extended."""
    plain, interval = [], thresholds._interval

    def noted(rate, mse, size, factor, level):
        plain.append([interval(rate, mse, size, each, level) for each in (factor, 1.0)])
        return plain[-1][0]

    with mock.patch.object(thresholds, "_interval", noted), mock.patch.object(thresholds, "MOST", DRAWS):
        found = chosen(given, sample)
    for (case,), ends in zip(found.values(), plain, strict=True):
        case |= dict(zip(FACTORS, ends, strict=True))
    return found


_INTRODUCTION = """\
# Why intervals of diagnostics cover more than 95%

The settings of [the coverage of the diagnostics](coverage-predictions.md) again, on other samples, with three intervals
for each quantity: the one that truefit gives, and two narrower ones.

| | as given | narrower | narrowest |
|---|---|---|---|
| calibration, net benefit, subgroups | standard error × 1.2 (AUC: 1.15) | × 1.1 (AUC: 1.075) | × 1 |
| rates at a chosen threshold | × 1.1, extended to what thresholds of bootstrap samples reach | × 1.1, not extended | \
× 1, not extended |

Predictions of *one test set* have no factor. Thresholds are chosen on 100 bootstrap samples here, instead of 400."""


def page(lines, repetitions):
    """The results as Markdown."""
    found = [cells(lines, method) for method in METHODS]
    parts = [
        _INTRODUCTION,
        "## How it was made",
        how_made("reasons", lines, repetitions, len(SETTINGS), len(SETTINGS)),
        "## By quantity",
        "Coverage in %, mean [lowest, highest] over the settings, and mean width.",
        "\n".join(_summary(found)),
        "## Every setting",
        "Coverage in %.",
        "\n".join(_every_setting(found)),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(found):
    yield "| quantity | as given | width | narrower | width | narrowest | width |"
    yield "|---|---|---|---|---|---|---|"
    for quantity in QUANTITIES:
        texts = []
        for method in found:
            own = [cell for cell in method if cell.quantity == quantity]
            covered = [100 * cell.coverage for cell in own]
            texts.append(f"{np.mean(covered):.1f} [{min(covered):.1f}, {max(covered):.1f}]")
            texts.append(f"{np.mean([cell.width for cell in own]):.3f}")
        yield f"| {quantity} | {' | '.join(texts)} |"


def _every_setting(found):
    yield "| setting | quantity | as given | narrower | narrowest |"
    yield "|---|---|---|---|---|"
    for of_cell in zip(*found, strict=True):
        covered = " | ".join(f"{100 * cell.coverage:.1f}" for cell in of_cell)
        yield f"| {of_cell[0].setting} | {of_cell[0].quantity} | {covered} |"


def main(arguments=None):
    command("reasons", SETTINGS, measured, page, arguments)


if __name__ == "__main__":
    main(sys.argv[1:])
