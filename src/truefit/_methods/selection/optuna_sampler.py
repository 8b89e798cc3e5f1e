"""Candidates proposed by Optuna: search spaces as scikit-learn has them, translated for a sampler."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from typing import Any, Final

import numpy as np

from truefit._core.errors import InvalidInput, MissingDependency
from truefit._methods.selection.sampled import Point, SamplerFailed

#: Candidates that Optuna's default sampler (TPE) draws at random before it uses scores.
_STARTUP: Final = 10
#: Quantiles between which a distribution without bounds is searched.
_OPEN: Final = 1e-6


def is_optuna_sampler(value: Any) -> bool:
    """Whether a value is a sampler of Optuna; nothing is imported to find out."""
    return any(kind.__module__.startswith("optuna.samplers") for kind in type(value).__mro__)


def import_optuna() -> Any:
    """Return the package, or say how to install it."""
    try:
        import optuna
    except ImportError as error:
        raise MissingDependency("search='optuna' needs Optuna: pip install truefit[optuna].") from error
    return optuna


class OptunaSampler:
    """One study of Optuna in memory.

    Parameters
    ----------
    space : sequence of mappings
        Values by parameter: lists, frozen distributions of scipy, or distributions of Optuna.
    seed : int
        Seed of the default sampler, the tree-structured Parzen estimator (TPE).
    sampler : optuna.samplers.BaseSampler, optional
        A sampler to use instead; it is copied with its state.
    """

    def __init__(self, space: Sequence[Mapping[str, Any]], seed: int, sampler: Any = None) -> None:
        self._optuna = import_optuna()
        self._space = [{name: _parameter(name, values) for name, values in each.items()} for each in space]
        self.startup = _STARTUP if sampler is None else 1
        own = self._optuna.samplers.TPESampler(n_startup_trials=_STARTUP, seed=seed) if sampler is None else sampler
        with _quiet(self._optuna), _failures():
            self._study = self._optuna.create_study(direction="maximize", sampler=deepcopy(own))
        self._open: list[Any] = []

    def ask(self) -> Point:
        """Return the next candidate."""
        with _quiet(self._optuna), _failures():
            trial = self._study.ask()
            self._open.append(trial)
            place = trial.suggest_int("space", 0, len(self._space) - 1) if len(self._space) > 1 else 0
            prefix = f"{place} " if len(self._space) > 1 else ""
            return {name: values.suggest(trial, prefix + name) for name, values in self._space[place].items()}

    def tell(self, scores: Sequence[float]) -> None:
        """Take the scores of the candidates proposed since the last call; NaN for one without a score."""
        trials, self._open = self._open, []
        failed = self._optuna.trial.TrialState.FAIL
        with _quiet(self._optuna), _failures():
            for trial, score in zip(trials, scores, strict=True):
                if np.isfinite(score):
                    self._study.tell(trial, score)
                else:
                    self._study.tell(trial, state=failed)


@contextmanager
def _failures() -> Iterator[None]:
    """Whatever a sampler raises is a failure of the sampler."""
    try:
        yield
    except Exception as error:
        raise SamplerFailed(f"The sampler failed: {type(error).__name__}: {error}") from error


@contextmanager
def _quiet(optuna: Any) -> Iterator[None]:
    """Without Optuna's own log messages, one for each study."""
    level = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(max(level, optuna.logging.WARNING))
    try:
        yield
    finally:
        optuna.logging.set_verbosity(level)


class _Choice:
    """One of some values: of numbers their order is known to the sampler."""

    def __init__(self, values: Sequence[Any]) -> None:
        self._values = list(values)
        self._ordered = len(self._values) > 2 and all(_is_number(value) for value in self._values)
        if self._ordered:
            self._values.sort()

    def suggest(self, trial: Any, name: str) -> Any:
        last = len(self._values) - 1
        if self._ordered:
            return self._values[trial.suggest_int(name, 0, last)]
        return self._values[trial.suggest_categorical(name, list(range(last + 1)))]


class _Quantile:
    """A distribution of scipy, by its quantiles: whatever its shape, the sampler searches between 0 and 1."""

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution
        self._whole = hasattr(getattr(distribution, "dist", None), "pmf")
        self._low = _OPEN if self._whole or not np.isfinite(distribution.ppf(0.0)) else 0.0
        self._high = 1.0 if np.isfinite(distribution.ppf(1.0)) else 1.0 - _OPEN

    def suggest(self, trial: Any, name: str) -> Any:
        value = float(self._distribution.ppf(trial.suggest_float(name, self._low, self._high)))
        return round(value) if self._whole else value


class _OwnDistribution:
    """A distribution of Optuna."""

    def __init__(self, distribution: Any) -> None:
        self._distribution = distribution

    def suggest(self, trial: Any, name: str) -> Any:
        given, kind = self._distribution, type(self._distribution).__name__
        if kind == "CategoricalDistribution":
            return trial.suggest_categorical(name, given.choices)
        suggest = trial.suggest_int if kind == "IntDistribution" else trial.suggest_float
        return suggest(name, given.low, given.high, step=given.step, log=given.log)


def _parameter(name: str, values: Any) -> _Choice | _Quantile | _OwnDistribution:
    if type(values).__module__.startswith("optuna."):
        return _OwnDistribution(values)
    if hasattr(values, "ppf"):
        return _Quantile(values)
    if hasattr(values, "rvs"):
        raise InvalidInput(
            f"With search='optuna' a distribution must have quantiles (ppf), as those of scipy have. {name!r} has "
            f"{values!r}; use one of scipy, or a list of values."
        )
    return _Choice(values)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.number) and not isinstance(value, bool)
