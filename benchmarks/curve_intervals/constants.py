"""The constants of the intervals of single cross-validations, learnt from one half of the curves."""

from __future__ import annotations

from dataclasses import dataclass, replace
from zlib import crc32

import numpy as np

from benchmarks.curve_intervals.measure import finished
from benchmarks.curve_intervals.page import FACTORS
from benchmarks.curve_intervals.reference import LASTS, MULTIPLES, TABLES_TOO, seen, true_errors
from benchmarks.curve_intervals.sources import PARTS, family_of
from papers.lcdb.constants import EXEMPT, FOLDS, TAILS, quantile_regression
from papers.lcdb.curves import _filled
from truefit._stats.curve_forecast import LEAST_POINTS, Outlook
from truefit._stats.curve_points import Points
from truefit._stats.curve_single_runs import FEATURES, features_of, unit_of

#: Truths are off by no more than this many standard errors where the bias of forecasts is learnt: a few curves that
#: fall late do not move all others.
_FARTHEST = 8.0
#: Smaller distances, in standard errors, count as this.
_LEAST = 0.05
#: The scale is right for intervals of 95%; for each kind of learner, near and far, this much more may lie beyond.
_TAIL, _SLACK = 0.025, 2.0
#: Learners of the tables, by their kind among the reference curves.
_KINDS = {"knn": "kernel and kNN", "logistic": "linear", "ridge": "linear", "tree": "trees and ensembles"}
#: Factors up to this are near.
_NEAR = 3.0


@dataclass(frozen=True)
class Measured:
    """Measured curves: their points, the errors at multiples of the last size (NaN unknown), and what they are of."""

    kind: str
    points: Points
    factors: np.ndarray
    truths: np.ndarray
    sources: np.ndarray
    groups: np.ndarray
    learn: np.ndarray

    def __len__(self):
        return len(self.truths)

    def chosen(self, which):
        """Return some of the curves."""
        points = Points(*(None if each is None else each[which] for each in _columns(self.points)))
        kept = {name: getattr(self, name)[which] for name in ("truths", "sources", "groups", "learn")}
        return replace(self, points=points, **kept)


def _columns(points):
    return points.sizes, points.errors, points.stderr, points.covariance, points.baseline


def _side_by_side(columns):
    sizes, errors, covariances, baselines = zip(*columns, strict=True)
    points = Points.of(sizes, errors, [np.sqrt(np.diag(each)) for each in covariances])
    return replace(points, covariance=_filled(covariances, points.sizes.shape[1]), baseline=np.array(baselines))


def reference_curves(curves, baselines, *, seed=1):
    """Return the reference curves at several sizes, as single cross-validations measure them.

    ``baselines`` are the errors of the majority class, by data set.
    """
    random = np.random.default_rng(seed)
    columns, truths, kept = [], [], []
    for curve in curves:
        for last in LASTS:
            if curve.sizes[-1] < _NEAREST * last:
                continue
            sizes, errors, covariance, end = seen(curve, last, random)
            if len(sizes) < LEAST_POINTS:
                continue
            columns.append((sizes, errors, covariance, baselines[curve.dataset]))
            truths.append(true_errors(curve, end))
            kept.append(curve)
    # Tables of the check are on neither half.
    learn = np.array([not curve.judged and curve.family not in TABLES_TOO for curve in kept])
    return Measured(
        "share", _side_by_side(columns), np.array(MULTIPLES), np.array(truths),
        np.array([curve.family for curve in kept]), np.array([curve.group for curve in kept]), learn,
    )  # fmt: skip


#: Reference curves go on at least so far beyond what is seen.
_NEAREST = 1.25


def table_curves(store, part):
    """Return the curves of a part of the tables that are in a file: shares and losses."""
    lines = finished(store)
    known = {key[:3]: line["truths"] for key, line in lines.items() if key[3] is None}
    classes = {source.name: source.classes for source in PARTS[part]}
    found = {"share": [], "loss": []}
    for (source, learner, n, repetition), line in lines.items():
        if repetition is None or source not in classes or (source, learner, n) not in known:
            continue
        truths = known[source, learner, n]
        for metric, curve in line["curves"].items():
            if len(curve["sizes"]) < LEAST_POINTS:
                continue
            sizes, errors, covariance = (np.array(curve[name]) for name in ("sizes", "errors", "covariance"))
            unit = 1.0 if classes[source] else errors.max() or 1.0
            column = (sizes, errors / unit, covariance / unit**2, curve["baseline"] / unit)
            truth = [truths.get(str(factor), {}).get(metric, np.nan) / unit for factor in MULTIPLES]
            found["share" if classes[source] else "loss"].append((column, truth, source, learner))
    return {kind: _measured(kind, each, part) for kind, each in found.items() if each}


def _measured(kind, found, part):
    columns, truths, sources, groups = zip(*found, strict=True)
    sources = [family_of(source) for source in sources]
    return Measured(
        kind, _side_by_side(columns), np.array(MULTIPLES), np.array(truths), np.array(sources), np.array(groups),
        np.full(len(columns), part == "learn"),
    )  # fmt: skip


@dataclass(frozen=True)
class Forecasts:
    """Fitted curves, one line per factor of a curve that is not refused: features there and at the last size; what
    the error there, and its fall from the last size, are above the curve in standard errors; what they are of.
    """

    features: np.ndarray
    first: np.ndarray
    error: np.ndarray
    gain: np.ndarray
    families: np.ndarray
    cells: np.ndarray


def forecasts(measured):
    """Compare fitted curves with the truth."""
    found = []
    for start in range(0, len(measured.truths), _AT_A_TIME):
        part = measured.chosen(slice(start, start + _AT_A_TIME))
        outlook = Outlook.of(part.points)
        unit = unit_of(outlook, part.kind)
        sizes = part.points.last[:, None] * part.factors
        off = (part.truths - outlook.curve.predict(sizes)) / unit[:, None]
        used = np.isfinite(off) & ~(outlook.nothing_learned | outlook.rising)[:, None]
        used &= ~np.isin(part.groups, EXEMPT)[:, None]
        features = features_of(outlook, sizes, unit)
        near = np.where(part.factors <= _NEAR, ", near", ", far")
        kinds = np.array([_KINDS.get(group, group) for group in part.groups])
        cells = np.char.add(np.broadcast_to(kinds[:, None], used.shape), near[None])
        families = np.broadcast_to(part.sources[:, None], used.shape)
        first = np.broadcast_to(features[:, :1], features.shape)
        found.append([each[used] for each in (features, first, off, off[:, :1] - off, families, cells)])
    return Forecasts(*(np.concatenate(each) for each in zip(*found, strict=True)))


_AT_A_TIME = 2000


def learn(parts):
    """Return the constants of one kind of losses from sets of curves, of which those for learning are used.

    How far curves fall is learnt from shares for losses too: there are few tables, and the reference curves are of
    many.
    """
    parts = [forecasts(part.chosen(part.learn)) for part in parts]
    columns = (np.concatenate([getattr(part, name) for part in parts]) for name in Forecasts.__dataclass_fields__)
    found = Forecasts(*columns)
    centre = _least_squares(found.features, np.clip(found.error, -_FARTHEST, _FARTHEST))
    error = found.error - found.features @ centre
    gain = found.gain - (found.first - found.features) @ centre
    ahead = found.features[:, FEATURES.index("ahead")] > 0
    return {
        "centre": centre.tolist(),
        "error": _spread(found, error, np.ones_like(ahead)),
        "gain": _spread(found, gain, ahead),
    }


def _spread(found, off, used):
    features, families, cells, off = (each[used] for each in (found.features, found.families, found.cells, off))
    fold = folds_of(families)
    sides = {"widths": [1.0] * len(FACTORS)}
    for name, sign in (("below", -1.0), ("above", 1.0)):
        logs, ratio = np.log(np.maximum(sign * off, _LEAST)), np.empty_like(off)
        for each in set(fold):
            others, own = fold != each, fold == each
            weights = quantile_regression(features[others], logs[others], 1 - _TAIL)
            ratio[own] = sign * off[own] / np.exp(features[own] @ weights)
        quantiles = [_quantile(ratio, cells, tail) for tail in TAILS]
        weights = quantile_regression(features, logs, 1 - _TAIL)
        sides[name] = {"weights": weights.tolist(), "quantiles": np.maximum.accumulate(quantiles).tolist()}
    return sides


def folds_of(families):
    """Return which part of the families each belongs to."""
    return np.array([crc32(family.encode()) % FOLDS for family in families])


def _quantile(ratio, cells, tail):
    """Return the quantile of all, or of the cell that needs most with a larger tail."""
    each = (np.quantile(ratio[cells == cell], 1 - _SLACK * tail) for cell in set(cells))
    return float(max(np.quantile(ratio, 1 - tail), *each, 0.0))


def _least_squares(features, target):
    """Weights of least squares, a little shrunk."""
    spread = features.std(axis=0)
    spread[0] = 1.0
    scaled = features / spread
    matrix = scaled.T @ scaled + _SHRINKING * len(scaled) * np.eye(scaled.shape[1])
    return np.linalg.solve(matrix, scaled.T @ target) / spread


_SHRINKING = 1e-3
