"""Bounds of learning theory as numbers, each with a sentence that explains it.

They hold for any distribution of the data and are therefore loose: on ordinary tables they are often vacuous, and the
reading says so. For the expected error, use :func:`truefit.assess`.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
from sklearn.base import is_classifier

from truefit._api.engine import Engine, engine_or_new
from truefit._api.validation import resolve_seed
from truefit._core.data import Data
from truefit._core.errors import InvalidEstimator, InvalidInput
from truefit._core.validation import check_level
from truefit._methods.candidates import Candidates
from truefit._methods.complexity import (
    Bound,
    RademacherComplexity,
    known_dimension,
    number,
    rademacher_plan,
    random_signs,
    share,
    whole,
)
from truefit._methods.splitting.splits import whole_number
from truefit._stats import bounds as decrease_rate
from truefit._stats.bounds import pac_finite, pac_vc, rademacher_slack, vc_gap, vc_gap_realizable

__all__ = [
    "Bound",
    "pac_samples",
    "rademacher",
    "selection_burden",
    "srm_bound",
    "srm_risk",
    "vc",
    "vc_dimension",
]


def vc(
    h: float,
    n: int,
    *,
    eta: float = 0.05,
    tau: float = 1.0,
    realizable: bool = False,
    training_error: float = 0.0,
) -> Bound:
    r"""Bound the true error by the VC dimension.

    With probability :math:`1 - \eta`, for all members of the class at once (Vapnik 1982; Eq. 6 of the small-data paper,
    where a misprint has n for h in the logarithm),

    .. math:: \varepsilon \le \varepsilon_{train} +
        2\tau \sqrt{\frac{h(\ln\frac{2n}{h} + 1) - \ln\frac{\eta}{9}}{n}}

    and for a realizable task and large n (Eq. 7)

    .. math:: \varepsilon \le 2\tau \frac{\ln(2n/h)}{n/h}

    Parameters
    ----------
    h : float
        VC dimension, for instance from :func:`vc_dimension`; may be infinite.
    n : int
        Number of training rows.
    eta : float, default=0.05
        Probability that the bound does not hold. Eq. 7 has none.
    tau : float, default=1
        The largest possible loss; 1 for classification errors.
    realizable : bool, default=False
        Whether a member of the class makes no error at all.
    training_error : float, default=0
        The learner's error on its training rows.

    Returns
    -------
    Bound

    Examples
    --------
    >>> print(f"{vc(10, 10_000):.4f} {vc(10, 10_000, realizable=True):.4f}")
    0.1910 0.0152
    >>> vc(11, 100_000).reading
    'With probability 95% the true error is at most 0.0705 (training error 0 plus 0.0705).'
    >>> vc(1000, 2000).reading
    'The bound of 2.19 is vacuous: it is not below the largest possible error.'
    """
    h = number("h", h, above=0.0, finite=False)
    n = whole("n", n)
    eta = share("eta", eta)
    tau = number("tau", tau, above=0.0)
    error = number("training_error", training_error, at_least=0.0, at_most=tau)
    if realizable and error:
        raise InvalidInput(f"With realizable=True the training error must be 0. Got {error}; pass realizable=False.")
    if realizable:
        gap, how = vc_gap_realizable(h, n, tau=tau), "For large n"
        equation = "Eq. 7: 2τ·ln(2n/h)/(n/h)"
    else:
        gap, how = vc_gap(h, n, eta=eta, tau=tau), _with_probability(eta)
        equation = "Eq. 6: 2τ·sqrt((h(ln(2n/h)+1) − ln(η/9))/n)"
    value = error + gap
    return Bound(value, reading=_error_reading(value, error, tau, how), equation=equation)


def _with_probability(failing: float) -> str:
    return f"With probability {100 * (1 - failing):.4g}%"


def _error_reading(value: float, training_error: float, largest: float, how: str) -> str:
    if math.isinf(value):
        return "The bound is vacuous: too few rows for a class of this VC dimension."
    if value >= largest:
        return f"The bound of {value:.3g} is vacuous: it is not below the largest possible error."
    parts = f"training error {training_error:.3g} plus {value - training_error:.3g}"
    return f"{how} the true error is at most {value:.3g} ({parts})."


def pac_samples(
    class_size: float | None,
    epsilon: float,
    delta: float = 0.05,
    *,
    realizable: bool = True,
    vc_dimension: float | None = None,
) -> Bound:
    r"""Return the number of rows that is enough for probably approximately correct learning.

    For a finite class :math:`H` (Mohri, Rostamizadeh and Talwalkar, Foundations of Machine Learning, theorems 2.5 and
    2.13), where the task is realizable and where it is not:

    .. math:: \frac1\epsilon\left(\ln|H| + \ln\frac1\delta\right) \qquad
        \frac1{2\epsilon^2}\left(\ln|H| + \ln\frac2\delta\right)

    For a class of VC dimension h where it is realizable (Blumer et al. 1989); otherwise the smallest number of rows for
    which the gap of :func:`vc` is at most ε:

    .. math:: \max\left(\frac4\epsilon\log_2\frac2\delta, \frac{8h}\epsilon\log_2\frac{13}\epsilon\right)

    Parameters
    ----------
    class_size : int or None
        Number of hypotheses; None where the VC dimension is given.
    epsilon : float
        Realizable: the largest true error of a hypothesis without training errors. Otherwise: the largest difference
        between training and true error.
    delta : float, default=0.05
        Probability that this does not hold.
    realizable : bool, default=True
        Whether a hypothesis makes no error at all.
    vc_dimension : float, optional
        Used instead of the class size.

    Returns
    -------
    Bound
        A whole number of rows.

    Examples
    --------
    >>> int(pac_samples(1000, 0.1)), int(pac_samples(1000, 0.1, realizable=False))
    (100, 530)
    >>> int(pac_samples(None, 0.1, vc_dimension=3))
    1686
    """
    epsilon, delta = share("epsilon", epsilon), share("delta", delta)
    if (class_size is None) == (vc_dimension is None):
        raise InvalidInput("Either class_size or vc_dimension must be given. Got both or neither; pass one of them.")
    if class_size is not None:
        size = class_size if isinstance(class_size, int) else number("class_size", class_size)
        if isinstance(size, bool) or size < 1:
            raise InvalidInput(
                f"The 'class_size' parameter must be a number of at least 1. Got {class_size!r} instead."
            )
        rows: float = pac_finite(math.log(size), epsilon, delta, realizable=realizable)
        equation = "(ln|H| + ln(1/δ))/ε" if realizable else "(ln|H| + ln(2/δ))/(2ε²)"
    else:
        h = number("vc_dimension", vc_dimension, above=0.0, finite=False)
        rows = pac_vc(h, epsilon, delta, realizable=realizable)
        equation = "max(4/ε·log2(2/δ), 8h/ε·log2(13/ε))" if realizable else "the smallest n with Eq. 6 ≤ ε"
    if math.isinf(rows):
        reading = "No number of rows is enough: a class of infinite VC dimension is not PAC learnable."
        return Bound(rows, reading=reading, equation=equation)
    what = (
        f"a hypothesis that makes no error on them has a true error of at most {epsilon:g}"
        if realizable
        else f"training and true error of every hypothesis are within {epsilon:g} of each other"
    )
    return Bound(rows, reading=f"{_with_probability(delta)}, on {rows:,} rows {what}.", equation=equation)


def srm_risk(k: float, m: int, delta: float = 0.05) -> Bound:
    r"""Return the structural risk index of Perturbed Model Validation from the decrease rate (Eq. 6 of its paper).

    .. math:: r = 1 - 0.5|k| + 3\sqrt{\frac{\ln(2/\delta)}{2m}}

    An index to compare learners; smaller is better. It is not a bound of the error: its derivation replaces a
    Rademacher complexity by an accuracy, so that a perfect learner, with :math:`k = 1`, gets 0.5 and not 0. The bound
    itself is :func:`srm_bound`.

    Parameters
    ----------
    k : float
        The decrease rate; its sign is ignored.
    m : int
        Number of rows.
    delta : float, default=0.05
        Probability that the underlying bound does not hold.

    Returns
    -------
    Bound

    Examples
    --------
    >>> print(f"{srm_risk(0.8, 1000):.4f}")
    0.7288
    """
    k, m, delta = number("k", k), whole("m", m), share("delta", delta)
    value = decrease_rate.srm_risk(k, m, delta)
    reading = (
        f"Index {value:.3g} to compare learners; smaller is better, and {0.5 + rademacher_slack(m, delta):.3g} is the "
        "best possible on these rows. It is not a bound of the error."
    )
    return Bound(value, reading=reading, equation="PMV Eq. 6: 1 − 0.5·|k| + 3·sqrt(ln(2/δ)/(2m))")


def srm_bound(training_error: float, rademacher: Any, m: int, delta: float = 0.05) -> Bound:
    r"""Bound the true error of a classifier by its Rademacher complexity (Eq. 2 of the PMV paper).

    With probability :math:`1 - \delta`, for all members of a class of functions with values ±1 at once,

    .. math:: R(h) \le \hat R_S(h) + \hat{\mathfrak R}_S(H) + 3\sqrt{\frac{\ln(2/\delta)}{2m}}

    Parameters
    ----------
    training_error : float
        The learner's error on its training rows.
    rademacher : float or RademacherComplexity
        The complexity from :func:`rademacher`. Where the learner does not minimise its training error this is below the
        complexity of its class, and the bound is not guaranteed.
    m : int
        Number of rows.
    delta : float, default=0.05
        Probability that the bound does not hold.

    Returns
    -------
    Bound

    Examples
    --------
    >>> print(f"{srm_bound(0.05, 0.2, 1000):.4f}")
    0.3788
    >>> srm_bound(0.0, 1.0, 1000).reading
    'The bound of 1.13 is vacuous: it is not below the largest possible error.'
    """
    error = number("training_error", training_error, at_least=0.0, at_most=1.0)
    complexity = number("rademacher", rademacher, at_least=-1.0, at_most=1.0)
    m, delta = whole("m", m), share("delta", delta)
    value = error + complexity + rademacher_slack(m, delta)
    reading = _error_reading(value, error, 1.0, _with_probability(delta))
    return Bound(value, reading=reading, equation="PMV Eq. 2: R̂ + Rad + 3·sqrt(ln(2/δ)/(2m))")


def selection_burden(N: int, n: int, p: float = 0.2) -> Bound:
    r"""Return the cost of selecting among N models on a hold-out: :math:`(1 + \ln N)/(np)`.

    In Agghoo's oracle inequality the expected excess risk of the selected model is at most :math:`1 + 2\lambda` times
    that of the best one plus a constant times this (cross-tested Agghoo paper, Eq. 2; the constant is unknown).

    Parameters
    ----------
    N : int
        Number of models.
    n : int
        Number of rows.
    p : float, default=0.2
        Share of the rows that is held out.

    Returns
    -------
    Bound

    Examples
    --------
    >>> burden = selection_burden(100, 1000)
    >>> print(f"{burden:.4f} {burden / selection_burden(1, 1000):.1f}")
    0.0280 5.6
    """
    N, n, p = whole("N", N), whole("n", n), share("p", p)
    value = (1 + math.log(N)) / (n * p)
    reading = (
        f"Selecting among {N:,} models on {n * p:,.0f} held-out rows costs at most a constant times {value:.3g}, "
        f"{1 + math.log(N):.2g} times as much as testing one model on them."
    )
    return Bound(value, reading=reading, equation="(1 + ln N)/(n·p)")


def vc_dimension(estimator: Any, n_features: int) -> Bound:
    """Return the VC dimension of a classifier for two classes, where it is known.

    Parameters
    ----------
    estimator : classifier
        The classifier itself, without preprocessing.
    n_features : int
        Number of its input columns, after any preprocessing, as real numbers.

    Returns
    -------
    Bound
        Infinite for learners that can fit any labels; NaN where it is unknown, with ``known`` False.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> from sklearn.linear_model import LogisticRegression
    >>> int(vc_dimension(LogisticRegression(), 10))
    11
    >>> vc_dimension(RandomForestClassifier(), 10).reading
    'The VC dimension is not known for RandomForestClassifier with these parameters.'
    """
    features = whole("n_features", n_features)
    if isinstance(estimator, type) or not hasattr(estimator, "get_params"):
        raise InvalidEstimator(f"The 'estimator' parameter must be a classifier instance. Got {estimator!r} instead.")
    name = type(estimator).__name__
    found = known_dimension(estimator, features)
    if found is None:
        reading = f"The VC dimension is not known for {name} with these parameters."
        return Bound(math.nan, reading=reading, equation="")
    value, why = found
    size = "infinite" if math.isinf(value) else f"{value:g}"
    return Bound(value, reading=f"The VC dimension of {name} on {features:,} features is {size}: {why}.", equation=why)


def rademacher(
    estimator: Any,
    X: Any,
    y: Any = None,
    *,
    rounds: int = 20,
    level: float = 0.95,
    random_state: Any = None,
    engine: Engine | None = None,
) -> RademacherComplexity:
    r"""Measure the empirical Rademacher complexity of a classifier by fitting it to random signs.

    .. math:: \hat{\mathfrak R}_S(H) = E_\sigma\left[\sup_{h \in H} \frac1m \sum_i \sigma_i h(x_i)\right]

    The supremum is approximated by the learner trained on the signs: 2·accuracy − 1 on its training rows.

    Parameters
    ----------
    estimator : classifier, dict of names to classifiers, or list of classifiers
        The classifiers to measure.
    X : table
        The rows; anything scikit-learn accepts.
    y : labels of two classes, optional
        The complexity does not depend on them. Where they are given the learner is fitted to them too, and
        ``training_error`` is its error there, for :func:`srm_bound`.
    rounds : int, default=20
        Number of sets of signs.
    level : float, default=0.95
        Level of the interval over the sets of signs.
    random_state : int, RandomState or None
        Seed of the signs.
    engine : Engine, optional
        Runs and stores the fits; a new one by default.

    Returns
    -------
    RademacherComplexity

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from sklearn.naive_bayes import GaussianNB
    >>> from sklearn.tree import DecisionTreeClassifier
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> float(rademacher(DecisionTreeClassifier(), X, rounds=3))
    1.0
    >>> bayes = rademacher(GaussianNB(), X, y)
    >>> srm_bound(bayes.training_error, bayes, bayes.rows) < 1
    True
    """
    rounds = whole_number(rounds, "The 'rounds' parameter")
    check_level(level)
    labelled = y is not None
    if not labelled:
        y = np.arange(X.shape[0] if hasattr(X, "shape") else len(X)) % 2  # never fitted to
    candidates = Candidates(estimator, y)
    for name, each in candidates:
        if not is_classifier(each):
            raise InvalidEstimator(
                f"Rademacher complexity needs a classifier. {name!r} is a {type(each).__name__}; pass a classifier."
            )
    data = Data(X, y, task="classification")
    if labelled and data.classes is not None and len(data.classes) != 2:
        raise InvalidInput(
            f"The target must have two classes. Got {len(data.classes)}; merge classes, or do not pass y."
        )
    signs = random_signs(data.X, rounds, resolve_seed(random_state))
    plan = rademacher_plan(candidates, data, signs, level=level, labelled=labelled)
    return engine_or_new(engine).run(plan, data, description="rademacher complexity")
