"""Methods: the intervals that are put to the test, every one that truefit offers, and a few naive ones beside them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from benchmarks.coverage.claims import (
    assessed,
    fresh_rows,
    loo_normal,
    naive_t,
    own_score,
    repeated_selection,
    searched,
)
from benchmarks.coverage.settings import CANDIDATES

#: A method with this many fits or more is repeated less often.
MANY_FITS = 100


@dataclass(frozen=True)
class Method:
    """An interval method.

    Parameters
    ----------
    name : str
        In the store.
    label : str
        In the table.
    fits : int or callable
        Models that the method trains, were it alone; a callable is given the number of rows.
    make : callable
        Makes its claim about a sample.
    target : str
        What the interval is for; methods with one target have one truth.
    kind : str
        Kind of the settings it is for.
    """

    name: str
    label: str
    fits: int | Callable[[int], int]
    make: Callable
    target: str = "error"
    kind: str = "error"

    def fits_for(self, n):
        return self.fits(n) if callable(self.fits) else self.fits

    def repetitions(self, n, most, of_many_fits):
        return of_many_fits if self.fits_for(n) >= MANY_FITS else most


def _error(name, label, fits, **options):
    return Method(name, label, fits, partial(assessed, **options))


def _winner(name, label, fits, make, target="winner"):
    return Method(name, label, fits * CANDIDATES, make, target, "selection")


def _ranking(name, label, fits, target, make=assessed, **options):
    return Method(name, label, fits, partial(make, target=target, **options), target, "ranking")


#: The yardstick of widths, and the methods that have targets.
WALD, TRIANGLE, DEFAULTS = "bayle_10", "triangle_10", ("pooled_10", "pooled_5")
#: What they are set beside where they miss: the best that could be had, and the widest that is offered for ten folds.
FRESH, SAFE = "fresh", "corrected_t_10"

METHODS = (
    Method(FRESH, "n fresh rows, for comparison (Wilson or t)", 0, fresh_rows),
    Method("naive_t_10", "naive t over 10 folds", 10, naive_t),
    _error("bayle_10", "pooled Wald (Bayle), K=10", 10, cv=10, interval="bayle"),
    _error("pooled_10", "one partition's default: pooled × 1.2, K=10", 10, cv=10),
    _error("pooled_5", "one partition's default: pooled × 1.2, K=5", 5, cv=5),
    _error("corrected_t_10", "corrected t, 10-fold", 10, cv=10, interval="corrected_t"),
    _error("corrected_t_3x10", "corrected t, 3×10-fold", 30, cv=10, repeats=3, interval="corrected_t"),
    _error("averaged_3x10", "repeats' default: averaged × 1.1, 3×10-fold", 30, cv=10, repeats=3),
    _error("triangle_10", "triangle + τ, K=10", 55, cv=10, interval="triangle"),
    _error("triangle_5", "triangle + τ, K=5", 15, cv=5, interval="triangle"),
    _error("triangle_3x5", "triangle + τ, three times K=5", 45, cv=5, repeats=3, interval="triangle"),
    _error("nested_cv_1", "nested CV, K=10, once", 55, cv=10, interval="nested_cv"),
    _error("holdout", "hold-out of 20%", 1, design="holdout", cv=5),
    _error("bootstrap", "leave-one-out bootstrap, B=100", 100, design="bootstrap", repeats=100),
    _error("632", ".632, B=100", 101, design=".632", repeats=100),
    _error("632+", ".632+, B=100", 101, design=".632+", repeats=100),
    Method("loo", "leave-one-out with a normal interval (naive)", lambda n: n, loo_normal),
    _error("conservative_z", "conservative z", 225, design="holdout", cv=10, repeats=15, interval="conservative_z"),
    _error("nested_cv_10", "nested CV, K=10, ten times", 550, cv=10, repeats=10, interval="nested_cv"),
    _winner("own_score", "the winner's own 5-fold CV (naive)", 5, own_score),
    _winner("bbc", "selection repeated on bootstrap samples × 1.1, K=5", 5, repeated_selection),
    _winner("nested_5", "nested × 1.3 or 1.4, reaching to all rows, K=5", 15, partial(searched, repeats=1)),
    _winner(
        "nested_5x5", "nested × 1.1, reaching to all rows, 5×K=5", 75, partial(searched, repeats=5), "winner of five"
    ),
    _ranking("auc_naive", "AUC: naive t over 10 folds", 10, "auc", naive_t),
    _ranking("auc_default", "AUC: default, K=10 (corrected t; from 400 rows DeLong × 1.15)", 10, "auc", cv=10),
    _ranking("auc_corrected_t", "AUC: corrected t, K=10", 10, "auc", cv=10, interval="corrected_t"),
    _ranking("f1_one", "F1: one partition's default × 1.2, K=10", 10, "f1", cv=10),
    _ranking("f1_five", "F1: repeats' default × 1.1, 5×10-fold", 50, "f1", cv=10, repeats=5),
    _ranking("f1_triangle", "F1: triangle + τ, K=10", 55, "f1", cv=10, interval="triangle"),
)


def methods_for(setting):
    return [method for method in METHODS if method.kind == setting.kind]
