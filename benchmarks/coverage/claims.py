"""Claims: what a method says of a sample, asked for as a user asks, beside the truth of what it speaks of."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy.special import ndtri, stdtrit
from scipy.stats import binomtest
from sklearn.base import clone
from sklearn.model_selection import RepeatedKFold, RepeatedStratifiedKFold

from truefit import HonestSearchCV


@dataclass(frozen=True)
class Claim:
    """An estimate, its interval or why there is none, and the truth."""

    estimate: float
    interval: tuple[float, float] | None
    truth: float
    reason: str | None = None


def assessed(sample, *, target="error", **options):
    """An assessment of the learner; the target says which truth is compared with."""
    metric = None if target == "error" else target
    result = sample.assess(metric=metric, **options)
    return Claim(result.estimate, result.interval, getattr(sample, target), result.interval_reason)


def naive_t(sample, *, target="error"):
    """Student's interval of ten fold scores, as if folds were independent."""
    metric = None if target == "error" else target
    (scores,) = sample.assess(cv=10, metric=metric).split_scores().values()
    half = stdtrit(len(scores) - 1, 0.975) * scores.std(ddof=1) / np.sqrt(len(scores))
    return _around(scores.mean(), half, getattr(sample, target))


def fresh_rows(sample):
    """Wilson's or Student's interval of as many losses on new rows: the best that an interval from losses can do."""
    losses = sample.fresh_losses()
    n, mean = len(losses), float(losses.mean())
    if sample.setting.task == "classification":
        found = binomtest(int(losses.sum()), n).proportion_ci(0.95, method="wilson")
        return Claim(mean, (float(found.low), float(found.high)), sample.error)
    return _around(mean, stdtrit(n - 1, 0.975) * losses.std(ddof=1) / np.sqrt(n), sample.error)


def loo_normal(sample):
    """Normal interval of the leave-one-out losses, as if they were independent."""
    (losses,) = sample.assess(design="loo").split_scores().values()
    return _around(losses.mean(), ndtri(0.975) * losses.std(ddof=1) / np.sqrt(len(losses)), sample.error)


def _around(centre, half, truth):
    if half == 0:
        return Claim(float(centre), None, truth, "all values are the same")
    return Claim(float(centre), (float(centre - half), float(centre + half)), truth)


def own_score(sample):
    """The winner's own cross-validation, as if it had not been chosen by it."""
    result = sample.assess(_candidates(sample), cv=5)
    return _of_winner(sample, result.best, result.estimates[result.best])


def repeated_selection(sample):
    """The winner's estimate: the selection is repeated on bootstrap samples of the out-of-fold losses."""
    result = sample.assess(_candidates(sample), cv=5)
    return _of_winner(sample, result.best, result.winner)


def _candidates(sample):
    setting = sample.setting
    return {str(params): clone(setting.estimator).set_params(**params) for params in setting.candidates}


def _of_winner(sample, best, estimate):
    model = _candidates(sample)[best].fit(sample.X, sample.y)
    return Claim(estimate.value, estimate.interval, sample.error_of(model, best), estimate.reason)


def searched(sample, *, repeats):
    """The assessment of a search, turned from a score into an error."""
    setting = sample.setting
    classification = setting.task == "classification"
    cv = 5
    if repeats > 1:
        kind = RepeatedStratifiedKFold if classification else RepeatedKFold
        cv = kind(n_splits=5, n_repeats=repeats, random_state=sample.seed)
    search = HonestSearchCV(
        setting.estimator,
        setting.grid,
        cv=cv,
        scoring="accuracy" if classification else "neg_mean_squared_error",
        random_state=sample.seed,
        engine=sample.engine,
    ).fit(sample.X, sample.y)
    found = search.assessment_
    best = 1.0 if classification else 0.0
    interval = None if found.interval is None else (best - found.interval[1], best - found.interval[0])
    truth = sample.error_of(search.best_estimator_, str(search.best_params_))
    return Claim(best - found.estimate, interval, truth, found.interval_reason)
