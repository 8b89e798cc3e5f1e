"""Intervals of extrapolated learning curves, where the truth is known: simulated curves of every family.

    python -m benchmarks curve_coverage

Samples are nested: a row that is hard stays hard, so its losses at all sizes go together, and points that share rows
move together. What is forecast is the true error at 3 and at 10 times the rows that were seen.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace

import numpy as np
from scipy.special import ndtri

from truefit._methods.learning_curve.forecast import CalibratedForecast, MeasuredCurve
from truefit._stats.curve_paper import fit_paper, r_sigma
from truefit._stats.curve_points import nested_covariance

#: Curves of each family; sizes that are seen; multiples of the last that are asked for; how alike a row's losses are.
CURVES, LASTS, AHEAD, ALIKE = 300, (1024, 4096), (3, 10), 0.7
_START = 64
#: How much of an error does not matter.
TOLERANCE = 0.02


def _pow3(random):
    a, fall, c = random.uniform(0.02, 0.3), random.uniform(0.05, 0.4), random.uniform(0.2, 0.95)
    return lambda n: a + fall * (n / _START) ** -c


def _pow2(random):
    first, c = random.uniform(0.1, 0.5), random.uniform(0.05, 0.5)
    return lambda n: first * (n / _START) ** -c


def _pow4(random):
    a, fall, c, d = (
        random.uniform(0.02, 0.3),
        random.uniform(0.05, 0.4),
        random.uniform(0.2, 0.95),
        random.uniform(0, 500),
    )
    return lambda n: a + fall * ((n + d) / (_START + d)) ** -c


def _mmf4(random):
    a, fall, d = random.uniform(0.02, 0.3), random.uniform(0.05, 0.4), random.uniform(0.5, 1.5)
    k = np.exp(random.uniform(np.log(50), np.log(3000)))
    return lambda n: a + fall / (1 + (n / k) ** d)


def _exp3(random):
    a, fall, scale = (
        random.uniform(0.02, 0.3),
        random.uniform(0.05, 0.4),
        np.exp(random.uniform(np.log(50), np.log(3000))),
    )
    return lambda n: a + fall * np.exp(-n / scale)


def _ilog2(random):
    a, fall = random.uniform(0.02, 0.2), random.uniform(0.1, 0.35)
    return lambda n: a + fall * np.log(_START) / np.log(n)


def _constant(random):
    a = random.uniform(0.02, 0.4)
    return lambda n: a + 0.0 * n


TRUTHS = {
    "pow2": _pow2,
    "pow3": _pow3,
    "pow4": _pow4,
    "mmf4": _mmf4,
    "exp3": _exp3,
    "ilog2": _ilog2,
    "constant": _constant,
}


@dataclass(frozen=True)
class Simulated:
    """Points of one curve as they would be measured, and the row noise of them."""

    sizes: np.ndarray
    errors: np.ndarray
    covariance: np.ndarray


def measured(truth, last, random) -> Simulated:
    """Measure a true curve in nested samples that double."""
    sizes = last // 2 ** np.arange(int(np.log2(last / _START)), -1, -1)
    hard = random.standard_normal(last)
    errors, shares = [], []
    for size in sizes:
        own = random.standard_normal(size)
        threshold = ndtri(truth(float(size)))
        losses = (np.sqrt(ALIKE) * hard[:size] + np.sqrt(1 - ALIKE) * own < threshold).astype(np.float64)
        errors.append(losses.mean())
        shares.append((losses - losses.mean()) / size)
    return Simulated(sizes.astype(np.float64), np.array(errors), nested_covariance(shares))


def tried(name, count, seed=0):
    """Return a row per forecast: refused; held, width; gain within its bound; paper's held; off; stops, and wrongly."""
    random = np.random.default_rng([seed, list(TRUTHS).index(name)])
    rows = []
    for i in range(count):
        truth, last, ahead = TRUTHS[name](random), LASTS[i % 2], AHEAD[i // 2 % 2]
        seen = measured(truth, last, random)
        far = float(ahead * last)
        points = MeasuredCurve.of(seen.sizes, seen.errors, np.sqrt(np.diag(seen.covariance)), largest=1.0)
        forecast = CalibratedForecast(
            replace(points, covariance=seen.covariance), 0.95, TOLERANCE, far, single_runs=True
        )
        true = float(truth(far))
        if forecast.refused is not None:
            rows.append((1.0, *[np.nan] * 7))
            continue
        value, low, high = (float(each[0]) for each in forecast.predict(np.array([far])))
        most = float(forecast.most_gain(np.array([float(last)]))[0])
        paper = float(fit_paper(seen.sizes, seen.errors[None]).predict([far])[0, 0])
        by_paper = abs(paper - true) <= r_sigma(seen.errors)[-1]
        gain, stops = float(truth(float(last))) - true, most <= TOLERANCE
        rows.append(
            (
                *(0.0, low <= true <= high, high - low, gain <= most, by_paper, abs(value - true)),
                *(stops, stops and gain > TOLERANCE),
            )
        )
    return np.array(rows, dtype=np.float64)


def table(count=CURVES, seed=0):
    """Return the rows of each family, and of all."""
    found = {name: tried(name, count, seed) for name in TRUTHS}
    return found | {"all": np.concatenate(list(found.values()))}


def as_markdown(found):
    heads = ("truth", "refused", "95% intervals hold", "median width", "median error", "gain within its bound")
    lines = ["| " + " | ".join((*heads, "stopped", "wrongly", "paper's rσ holds")) + " |", "|" + "---|" * 9]
    for name, rows in found.items():
        given = rows[rows[:, 0] == 0]
        refused, held, within, paper = (100 * each for each in (rows[:, 0].mean(), *given[:, [1, 3, 4]].mean(axis=0)))
        wide, off = (100 * np.median(given[:, i]) for i in (2, 5))
        stopped, wrong = 100 * given[:, 6].mean(), 100 * given[:, 7].sum() / max(given[:, 6].sum(), 1)
        lines.append(
            f"| {name} | {refused:.0f}% | {held:.1f}% | {wide:.1f} | {off:.2f} | {within:.1f}% | {stopped:.0f}% "
            f"| {wrong:.1f}% | {paper:.0f}% |"
        )
    return "\n".join(lines)


def main():
    print(as_markdown(table()))


if __name__ == "__main__":
    sys.exit(main())
