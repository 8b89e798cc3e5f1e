"""Adaptive search: a sampler proposes candidates from the scores of earlier ones, and is rerun within each outer split.

The search on all rows and those without each of the outer test sets have samplers of their own, with equal seeds. What
they propose before they have seen scores is the same, and these fits are shared: the fit without the folds a and b
serves the searches without a and without b. From then on each follows its own scores, which rest on none of its outer
test rows. Optuna's samplers get search spaces as scikit-learn has them, translated.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass, field
from typing import Any, Final, Protocol

import numpy as np

from truefit._core.data import Data
from truefit._core.errors import Failure, FitError, InvalidInput, MissingDependency, TruefitError, reasons
from truefit._core.outcome import Outcome
from truefit._core.protocols import Ask, FitTask, Plan, Response
from truefit._core.rows import Rows
from truefit._methods.selection.plan import TRAIN, Judge, Nested, Scores, Search, refit_plan
from truefit._methods.splitting.designs import has_triangle
from truefit._methods.splitting.splits import Split, Splits

Point = dict[str, Any]
#: Candidates that Optuna's default sampler (TPE) draws at random before it uses scores.
_STARTUP: Final = 10
#: Quantiles between which a distribution without bounds is searched.
_OPEN: Final = 1e-6


class SamplerFailed(TruefitError):
    """A sampler raised; the message says what."""


class Sampler(Protocol):
    """Proposes candidates, and receives their scores."""

    #: Number of candidates that it proposes before it has to know any score.
    startup: int

    def ask(self) -> Point:
        """Return the next candidate."""

    def tell(self, scores: Sequence[float]) -> None:
        """Take the scores of the candidates proposed since the last call; greater is better, NaN if there is none."""


@dataclass(frozen=True, slots=True)
class SampledConfig:
    """What an adaptive search does: ``score`` is the name of the score that its sampler receives."""

    sampler: Callable[[], Sampler]
    estimator_of: Callable[[Point], Any]
    responses_of: Callable[[Any], tuple[Response, ...]]
    judge: Judge
    choose: Callable[[Mapping[str, Scores], Sequence[Point]], int]
    n_iter: int
    score: str
    refit: bool = True
    error_score: float = float("nan")
    train_scores: bool = False


@dataclass(slots=True)
class _Trial:
    """A candidate of one search: its estimator, its outcome on each split, and its scores, None for a failed fit."""

    point: Point
    estimator: Any
    responses: tuple[Response, ...]
    outcomes: list[Outcome] = field(default_factory=list)
    scores: list[Mapping[str, float] | None] = field(default_factory=list)

    def task(self, split: Split, *, train_scores: bool = False) -> FitTask:
        wanted = (split.test, split.train) if train_scores else (split.test,)
        asks = tuple(Ask(rows, response) for rows in wanted for response in self.responses)
        return FitTask(self.estimator, split.train, asks)


class _SampledSearch:
    """A sampler on one list of splits, with its trials so far."""

    def __init__(self, config: SampledConfig, splits: Sequence[Split]) -> None:
        self._config = config
        self._sampler = config.sampler()
        self.splits = splits
        self.trials: list[_Trial] = []
        self._proposed: list[_Trial] = []

    @property
    def startup(self) -> int:
        return self._sampler.startup

    def propose(self, count: int) -> None:
        points = [self._sampler.ask() for _ in range(count)]
        estimators = [self._config.estimator_of(point) for point in points]
        self._proposed = [
            _Trial(point, estimator, self._config.responses_of(estimator))
            for point, estimator in zip(points, estimators, strict=True)
        ]

    def tasks(self) -> Iterator[FitTask]:
        for trial in self._proposed:
            for split in self.splits:
                yield trial.task(split, train_scores=self._config.train_scores)

    def take(self, outcomes: Iterator[Outcome]) -> None:
        for trial in self._proposed:
            trial.outcomes = [next(outcomes) for _ in self.splits]
            trial.scores = [self._scored(*pair) for pair in zip(trial.outcomes, self.splits, strict=True)]
        self.trials += self._proposed

    def tell(self) -> None:
        proposed, self._proposed = self._proposed, []
        name, failed = self._config.score, self._config.error_score
        means = [[failed if each is None else each.get(name, np.nan) for each in trial.scores] for trial in proposed]
        self._sampler.tell([float(np.mean(each)) for each in means])

    def _scored(self, outcome: Outcome, split: Split) -> Mapping[str, float] | None:
        if outcome.error is not None:
            return None
        scores = dict(self._config.judge(outcome, split.test))
        if self._config.train_scores:
            trained = self._config.judge(outcome, split.train)
            scores |= {TRAIN + name: value for name, value in trained.items()}
        return scores

    def names(self) -> list[str]:
        return list(dict.fromkeys(name for trial in self.trials for each in trial.scores for name in each or ()))

    def table(self, names: Sequence[str]) -> dict[str, Scores]:
        failed = self._config.error_score
        return {
            name: np.array(
                [[failed if each is None else each.get(name, np.nan) for each in trial.scores] for trial in self.trials]
            )
            for name in names
        }

    def selected(self, names: Sequence[str]) -> int:
        return self._config.choose(self.table(names), [trial.point for trial in self.trials])

    def failures(self) -> list[Failure]:
        return [each.error for trial in self.trials for each in trial.outcomes if each.error is not None]

    @property
    def none_complete(self) -> bool:
        return all(any(each.error is not None for each in trial.outcomes) for trial in self.trials)


@dataclass(frozen=True, slots=True)
class SampledResult:
    """A search with the candidates that it sampled; ``stopped`` is why it ended early.

    ``selected`` are those of the searches without each of the outer test sets, to which ``search.nested.chosen``
    refers by position.
    """

    search: Search
    points: list[Point]
    selected: list[Point]
    stopped: str | None = None


def sampled_search_plan(
    config: SampledConfig, data: Data, splits: Splits, inner: Sequence[Sequence[Split]] | None = None
) -> Plan[SampledResult]:
    """Let a sampler propose candidates, select one, assess the selection by rerunning it in each outer split, refit.

    All searches take their steps together, so that they have equally many candidates where a sampler fails.
    """
    nested_in = [place for place, group in enumerate(inner or ()) if group]
    main = _SampledSearch(config, splits)
    within = [_SampledSearch(config, group) for group in inner or () if group]
    stopped = yield from _sample(config, [main, *within])
    failures = main.failures()
    if failures and len(failures) == len(main.trials) * len(splits):
        raise FitError(f"All the {len(failures)} fits failed. {reasons(failures)}", failures)
    names = main.names()
    best = main.selected(names)
    nested, without_nesting, chosen = None, None, [search.selected(search.names()) for search in within]
    lost = [search for search in within if search.none_complete] if np.isnan(config.error_score) else []
    if lost:
        without_nesting = reasons(lost[0].failures())
    elif within:
        trials = [search.trials[place] for search, place in zip(within, chosen, strict=True)]
        outer = splits.periods(nested_in) if splits.chronological else splits
        try:
            nested = yield from _nested(config, trials, outer, [search.splits for search in within])
        except FitError as error:
            without_nesting = str(error)
    model, refit_seconds = None, float("nan")
    if config.refit:
        model, refit_seconds = yield from refit_plan(main.trials[best].estimator, Rows.all(data.n))
    tables = main.table(names)
    # In time order the fits of the inner searches are mostly those of the search.
    failures += [] if splits.chronological else [failure for search in within for failure in search.failures()]
    search = Search(
        scores={name: tables[name] for name in names if not name.startswith(TRAIN)},
        train_scores={name.removeprefix(TRAIN): tables[name] for name in names if name.startswith(TRAIN)},
        fit_seconds=np.array([[each.fit_seconds for each in trial.outcomes] for trial in main.trials]),
        outcomes=[trial.outcomes for trial in main.trials],
        best=best,
        nested=nested,
        failures=tuple(failures),
        model=model,
        refit_seconds=refit_seconds,
        without_nesting=without_nesting,
    )
    selected = [each.trials[place].point for each, place in zip(within, chosen, strict=True)]
    return SampledResult(search, [trial.point for trial in main.trials], selected, stopped)


def _sample(config: SampledConfig, searches: Sequence[_SampledSearch]) -> Plan[str | None]:
    """Sample and fit all candidates of some searches; return why that ended early."""
    done = 0
    while done < config.n_iter:
        count = min(searches[0].startup if done == 0 else 1, config.n_iter)
        try:
            for search in searches:
                search.propose(count)
        except SamplerFailed as error:
            if done == 0:
                raise
            return str(error)
        outcomes = iter((yield [task for search in searches for task in search.tasks()]))
        for search in searches:
            search.take(outcomes)
        done += count
        try:
            for search in searches:
                search.tell()
        except SamplerFailed as error:
            return str(error) if done < config.n_iter else None
    return None


def _nested(
    config: SampledConfig, trials: Sequence[_Trial], outer: Splits, inner: Sequence[Sequence[Split]]
) -> Plan[Nested]:
    """Evaluate what was selected without each outer test set on it; in a triangle without one more fold, too."""
    triangle = has_triangle(outer)
    pairs = list(zip(trials, outer, strict=True))
    tasks = [trial.task(split) for trial, split in pairs]
    if triangle:
        fewer = [
            [Split(each.train, split.test, split.repeat) for each in group]
            for split, group in zip(outer, inner, strict=True)
        ]
        tasks += [trial.task(each) for trial, group in zip(trials, fewer, strict=True) for each in group]
    outcomes = yield tasks
    own, rest = outcomes[: len(pairs)], iter(outcomes[len(pairs) :])
    scored = [_scores(config, outcome, split) for outcome, (_, split) in zip(own, pairs, strict=True)]
    names = [name for name in scored[0] if all(name in each for each in scored)]
    means: dict[str, Scores] = {}
    if triangle:
        groups = [[_scores(config, next(rest), each) for each in group] for group in fewer]
        means = {
            name: np.array([np.mean([each.get(name, np.nan) for each in group]) for group in groups]) for name in names
        }
    scores = {name: np.array([each[name] for each in scored]) for name in names}
    return Nested(list(range(len(trials))), scores, list(own), outer, triangle, means)


def _scores(config: SampledConfig, outcome: Outcome, split: Split) -> Mapping[str, float]:
    return {} if outcome.error is not None else config.judge(outcome, split.test)


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
